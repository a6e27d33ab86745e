//! The acknowledgement: telling the customer that the row is there.
//!
//! It has a state of its own and never changes the write. `confirmed` is evidence that the Bot API accepted the
//! message, not that anybody read it. An uncertain one is not repeated by a machine: a bot cannot read messages back,
//! so only a person can weigh a second message against none.

use super::{
    Attempt, AttemptToken, Cause, DueStep, NotPossible, OpenReview, ReviewReason, retry_pause_seconds,
};
use crate::limits::HALT_PAUSE_SECONDS;
use crate::moment::Moment;
use crate::outcome::NotSent;
use crate::submission::ChatId;

/// The acknowledgement of one submission whose write is confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledgement {
    pub state: AckState,
    /// Tries that counted: those that Telegram turned away for its own load do not.
    pub attempts: u32,
    /// The chat that Telegram named when the submission's own had become another one.
    pub moved_to: Option<ChatId>,
}

/// What is known about the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AckState {
    /// Not sent.
    Pending { due_at: Moment, cause: Option<Cause> },
    /// One worker may be sending it now, until its lease ends.
    Attempting { attempt: Attempt },
    /// It may have been sent; a person looks since then.
    Uncertain { attempt: Attempt, cause: Cause, review_since: Moment },
    /// Accepted by the Bot API; without an id when only a person saw it.
    Confirmed { message_id: Option<i64> },
    /// Telegram refused it for good: the chat is gone or blocked.
    Refused { cause: Cause },
    /// An operator left it.
    Abandoned,
}

/// What an operator may order about an uncertain acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AckOrder {
    Seen { why: String },
    SendAgain { why: String },
    Leave { why: String },
}

/// What may happen to an acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AckEvent {
    Claimed {
        token: AttemptToken,
        lease_seconds: u64,
    },
    LeaseRanOut,
    Accepted {
        message_id: Option<i64>,
    },
    Refused {
        cause: Cause,
    },
    /// The chat has become another one.
    Moved {
        to: ChatId,
    },
    NotSent(NotSent),
    Unknown {
        cause: Cause,
    },
    Ordered(AckOrder),
}

impl AckEvent {
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Claimed { .. } => "ack_claimed",
            Self::LeaseRanOut => "ack_lease_ran_out",
            Self::Accepted { .. } => "ack_accepted",
            Self::Refused { .. } => "ack_refused",
            Self::Moved { .. } => "ack_chat_moved",
            Self::NotSent(_) => "ack_not_sent",
            Self::Unknown { .. } => "ack_unknown",
            Self::Ordered(AckOrder::Seen { .. }) => "ordered_seen",
            Self::Ordered(AckOrder::SendAgain { .. }) => "ordered_send_again",
            Self::Ordered(AckOrder::Leave { .. }) => "ordered_leave",
        }
    }

    /// The word that says why, where there is one.
    #[must_use]
    pub fn cause(&self) -> Option<Cause> {
        match self {
            Self::Refused { cause } | Self::Unknown { cause } => Some(cause.clone()),
            Self::NotSent(reason) => Some(reason.cause()),
            Self::Claimed { .. }
            | Self::LeaseRanOut
            | Self::Accepted { .. }
            | Self::Moved { .. }
            | Self::Ordered(_) => None,
        }
    }

    pub(super) fn why(&self) -> Option<String> {
        match self {
            Self::Claimed { .. } | Self::LeaseRanOut | Self::Accepted { .. } | Self::Moved { .. } => None,
            Self::Refused { cause } | Self::Unknown { cause } => Some(cause.0.clone()),
            Self::NotSent(reason) => Some(reason.cause().0),
            Self::Ordered(AckOrder::Seen { why } | AckOrder::SendAgain { why } | AckOrder::Leave { why }) => {
                Some(why.clone())
            }
        }
    }
}

impl AckState {
    /// The stored word.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Pending { .. } => "pending",
            Self::Attempting { .. } => "attempting",
            Self::Uncertain { .. } => "uncertain",
            Self::Confirmed { .. } => "confirmed",
            Self::Refused { .. } => "refused",
            Self::Abandoned => "abandoned",
        }
    }
}

impl Acknowledgement {
    pub(super) fn pending(now: Moment) -> Self {
        // Rounded down: the acknowledger hears the ring at once and must find it due.
        Self {
            state: AckState::Pending { due_at: now.whole_second(), cause: None },
            attempts: 0,
            moved_to: None,
        }
    }

    pub(super) fn due(&self) -> Option<(DueStep, Moment)> {
        match &self.state {
            AckState::Pending { due_at, .. } => Some((DueStep::Acknowledge, *due_at)),
            AckState::Attempting { attempt } => Some((DueStep::Acknowledge, attempt.lease_until)),
            AckState::Uncertain { .. }
            | AckState::Confirmed { .. }
            | AckState::Refused { .. }
            | AckState::Abandoned => None,
        }
    }

    pub(super) fn review(&self) -> Option<OpenReview> {
        match &self.state {
            AckState::Uncertain { review_since, .. } => {
                Some(OpenReview { reason: ReviewReason::AckUncertain, since: *review_since })
            }
            AckState::Pending { .. }
            | AckState::Attempting { .. }
            | AckState::Confirmed { .. }
            | AckState::Refused { .. }
            | AckState::Abandoned => None,
        }
    }

    /// The only place where an acknowledgement changes.
    pub fn after(&self, event: &AckEvent, now: Moment) -> Result<Self, NotPossible> {
        use AckEvent as E;
        use AckState as S;
        let not_possible = Err(NotPossible { state: self.state.as_str(), event: event.as_str() });
        match (&self.state, event) {
            (S::Pending { due_at, .. }, E::Claimed { token, lease_seconds }) if *due_at <= now => {
                let lease_until = now.plus_seconds(*lease_seconds).up_to_second();
                let attempt = Attempt { token: token.clone(), at: now, lease_until };
                Ok(Self { state: S::Attempting { attempt }, attempts: self.attempts + 1, ..*self })
            }
            (
                S::Pending { .. },
                E::Claimed { .. }
                | E::LeaseRanOut
                | E::Accepted { .. }
                | E::Refused { .. }
                | E::Moved { .. }
                | E::NotSent(_)
                | E::Unknown { .. }
                | E::Ordered(_),
            ) => not_possible,

            (S::Attempting { attempt }, E::LeaseRanOut) if attempt.lease_until <= now => {
                Ok(self.uncertain(attempt, Cause::new("lease_ran_out"), now))
            }
            (S::Attempting { .. }, E::Accepted { message_id }) => {
                Ok(self.with(S::Confirmed { message_id: *message_id }))
            }
            (S::Attempting { .. }, E::Refused { cause }) => {
                Ok(self.with(S::Refused { cause: cause.clone() }))
            }
            (S::Attempting { .. }, E::Moved { to }) => Ok(match self.moved_to {
                // Once: a chat that keeps moving is not followed for ever.
                None => Self { moved_to: Some(*to), ..Self::pending(now) },
                Some(_) => self.with(S::Refused { cause: Cause::new("chat_moved_twice") }),
            }),
            (S::Attempting { .. }, E::NotSent(reason)) => Ok(self.turned_away(reason, now)),
            (S::Attempting { attempt }, E::Unknown { cause }) => {
                Ok(self.uncertain(attempt, cause.clone(), now))
            }
            (S::Attempting { .. }, E::LeaseRanOut | E::Claimed { .. } | E::Ordered(_)) => not_possible,

            (S::Uncertain { .. }, E::Ordered(order)) => Ok(match order {
                AckOrder::Seen { .. } => self.with(S::Confirmed { message_id: None }),
                AckOrder::SendAgain { .. } => Self { moved_to: self.moved_to, ..Self::pending(now) },
                AckOrder::Leave { .. } => self.with(S::Abandoned),
            }),
            (
                S::Uncertain { .. },
                E::Claimed { .. }
                | E::LeaseRanOut
                | E::Accepted { .. }
                | E::Refused { .. }
                | E::Moved { .. }
                | E::NotSent(_)
                | E::Unknown { .. },
            ) => not_possible,

            (
                S::Confirmed { .. } | S::Refused { .. } | S::Abandoned,
                E::Claimed { .. }
                | E::LeaseRanOut
                | E::Accepted { .. }
                | E::Refused { .. }
                | E::Moved { .. }
                | E::NotSent(_)
                | E::Unknown { .. }
                | E::Ordered(_),
            ) => not_possible,
        }
    }

    /// Definitely not sent: later again, for as long as it takes. Only the pause is bounded: a customer who waits for
    /// an answer is not given up because a line was down.
    fn turned_away(&self, reason: &NotSent, now: Moment) -> Self {
        let (attempts, pause) = match reason {
            NotSent::TryAgain(_) => (self.attempts, retry_pause_seconds(self.attempts)),
            NotSent::Busy { retry_after_seconds } => (self.attempts.saturating_sub(1), *retry_after_seconds),
            NotSent::Halt(_) => (self.attempts.saturating_sub(1), HALT_PAUSE_SECONDS),
        };
        let due_at = now.plus_seconds(pause).up_to_second();
        Self { state: AckState::Pending { due_at, cause: Some(reason.cause()) }, attempts, ..*self }
    }

    fn uncertain(&self, attempt: &Attempt, cause: Cause, now: Moment) -> Self {
        self.with(AckState::Uncertain { attempt: attempt.clone(), cause, review_since: now })
    }

    fn with(&self, state: AckState) -> Self {
        Self { state, ..*self }
    }
}
