//! One acknowledgement: claim, send once, keep what is known.
//!
//! Claimed before sent: a crash after the claim leaves a lease that runs out, and then a person weighs a second message
//! against none. A machine never repeats what may have been sent.

use docket_domain::alert;
use docket_domain::catalog::Catalog;
use docket_domain::limits::{CLAIMING_MS, MARKING_MS, Timing};
use docket_domain::metric::Metric;
use docket_domain::moment::Moment;
use docket_domain::outcome::{NotSent, SendOutcome};
use docket_domain::ports::{Alerts, Applied, Clock, Messenger, Meter, StoreError, Submissions};
use docket_domain::reference::Reference;
use docket_domain::reply;
use docket_domain::status::{AckEvent, AckState, AttemptToken, By, Cause, Record};
use docket_domain::submission::ChatId;
use uuid::Uuid;

use crate::pace::Pace;

/// The acknowledger's surroundings.
#[derive(Debug)]
pub struct Acknowledger<S, T, C, M> {
    pub submissions: S,
    pub messenger: T,
    pub clock: C,
    pub meter: M,
    pub timing: Timing,
    pub catalog: Catalog,
    pub pace: Pace,
    /// Where the operator hears of open reviews.
    pub operator_chat: Option<ChatId>,
}

/// What one ring led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Onward {
    /// The next ring may be worked on.
    Next,
    /// Telegram asks to wait, or does not know our token: the other records stay due.
    Stop,
}

impl<S: Submissions + Alerts, T: Messenger, C: Clock, M: Meter> Acknowledger<S, T, C, M> {
    /// Does what is due for one reference: the customer's message first, then the operator's.
    ///
    /// # Errors
    /// The store failed; the ring must come again.
    pub async fn work(&self, reference: &Reference, deadline: Moment) -> Result<Onward, StoreError> {
        let record = match self.submissions.get(reference).await {
            Ok(Some(record)) => record,
            Ok(None) => {
                self.meter.record(Metric::MessageDropped, 1.0);
                tracing::warn!(%reference, step = "read", outcome = "dropped", "a ring for no record");
                return Ok(Onward::Next);
            }
            // It stays due, and is counted at each sweep.
            Err(StoreError::Unreadable(cause)) => {
                self.meter.record(Metric::RecordUnreadable, 1.0);
                tracing::error!(%reference, step = "read", outcome = "unreadable", %cause, "a record cannot be read");
                return Ok(Onward::Next);
            }
            Err(error) => return Err(error),
        };
        let now = self.clock.now();
        match due_for(&record, now) {
            DueFor::Nothing if !record.reviews().is_empty() => self.alert(&record, deadline).await,
            DueFor::Nothing => {
                tracing::debug!(%reference, step = "gather", outcome = "nothing_to_do", "a ring that leads to nothing");
                Ok(Onward::Next)
            }
            DueFor::LeaseRanOut => {
                self.keep(record, AckEvent::LeaseRanOut).await?;
                Ok(Onward::Next)
            }
            DueFor::Sending => self.send(record, deadline).await,
        }
    }

    async fn send(&self, record: Record, deadline: Moment) -> Result<Onward, StoreError> {
        let reference = record.submission.reference.clone();
        let chat_id =
            record.acknowledgement.as_ref().and_then(|ack| ack.moved_to).unwrap_or(record.submission.chat_id);
        if !self.waits_for_its_turn(Some(chat_id), deadline).await {
            tracing::info!(%reference, step = "send", outcome = "no_time", "left to the next sweep");
            return Ok(Onward::Stop);
        }
        let now = self.clock.now();
        let claim = AckEvent::Claimed {
            token: AttemptToken(Uuid::new_v4().to_string()),
            lease_seconds: self.timing.lease_seconds,
        };
        let Ok(claimed) = record.acknowledgement_after(&claim, now, &By::Acknowledger) else {
            return Ok(Onward::Next);
        };
        match self.submissions.apply(&record, &claimed, now).await? {
            Applied::Ours => {}
            Applied::Lost(_) => {
                tracing::info!(%reference, step = "claim", outcome = "lost", "another worker was faster");
                return Ok(Onward::Next);
            }
        }
        let event = if self.clock.now().plus_millis(self.timing.send_timeout_ms + MARKING_MS) > deadline {
            AckEvent::NotSent(NotSent::TryAgain(Cause::new("no_time")))
        } else {
            self.pace.left(chat_id, self.clock.now());
            event_of(self.messenger.send(chat_id, &self.text(&claimed)).await)
        };
        let onward = match &event {
            AckEvent::NotSent(NotSent::Busy { .. } | NotSent::Halt(_)) => Onward::Stop,
            AckEvent::NotSent(NotSent::TryAgain(_))
            | AckEvent::Claimed { .. }
            | AckEvent::LeaseRanOut
            | AckEvent::Accepted { .. }
            | AckEvent::Refused { .. }
            | AckEvent::Moved { .. }
            | AckEvent::Unknown { .. }
            | AckEvent::Ordered(_) => Onward::Next,
        };
        self.keep(claimed, event).await?;
        Ok(onward)
    }

    /// Returns when a message to this chat may leave; false, at once, when the time left does not cover claiming, sending and
    /// marking after that.
    async fn waits_for_its_turn(&self, chat: Option<ChatId>, deadline: Moment) -> bool {
        let wait_ms = chat.map_or(0, |chat| self.pace.wait_ms(chat, self.clock.now()));
        let needed_ms = wait_ms + CLAIMING_MS + self.timing.send_timeout_ms + MARKING_MS;
        if self.clock.now().plus_millis(needed_ms) > deadline {
            return false;
        }
        if wait_ms > 0 {
            self.clock.pause_ms(wait_ms).await;
        }
        true
    }

    /// Tells the operator of an open review, unless that was done. Noted before it is sent, so that a crash costs one message and
    /// never makes two.
    async fn alert(&self, record: &Record, deadline: Moment) -> Result<Onward, StoreError> {
        let reference = &record.submission.reference;
        if !self.waits_for_its_turn(self.operator_chat, deadline).await {
            return Ok(Onward::Stop);
        }
        let now = self.clock.now();
        let reviews = record.reviews();
        let Some(owed_at) = alert::newest_owed(&reviews, now) else { return Ok(Onward::Next) };
        if !self.submissions.note(reference, owed_at, now).await? {
            return Ok(Onward::Next);
        }
        for review in &reviews {
            let (reason, since) = (review.reason.as_str(), review.since);
            tracing::warn!(%reference, step = "alert", outcome = "review", reason, %since, "a person is needed");
        }
        let Some(chat) = self.operator_chat else { return Ok(Onward::Next) };
        self.pace.left(chat, self.clock.now());
        let (told, cause) = match self.messenger.send(chat, &alert::text(record)).await {
            SendOutcome::Accepted { .. } => return Ok(Onward::Next),
            // Perhaps told. Nobody is told twice of what is on a list anyway.
            SendOutcome::Unknown(cause) | SendOutcome::Refused(cause) => (true, cause),
            SendOutcome::Moved { .. } => (true, Cause::new("chat_moved")),
            SendOutcome::NotSent(reason) => (false, reason.cause()),
        };
        tracing::warn!(%reference, step = "alert", outcome = "not_told", %cause, "the operator's chat was not reached");
        if !told {
            self.submissions.take_back(reference, now).await?;
        }
        // Whatever Telegram says about the operator's chat holds up no customer's message.
        Ok(Onward::Next)
    }

    fn text(&self, record: &Record) -> String {
        let reference = &record.submission.reference;
        match &record.words {
            Some(words) => reply::given_up(reference, words),
            None => reply::recorded(&self.catalog, reference),
        }
    }

    /// Keeps what is known now. A crash before this line is the same as an answer that was lost.
    async fn keep(&self, record: Record, event: AckEvent) -> Result<(), StoreError> {
        let mut seen = record;
        loop {
            let now = self.clock.now();
            let Ok(next) = seen.acknowledgement_after(&event, now, &By::Acknowledger) else { return Ok(()) };
            match self.submissions.apply(&seen, &next, now).await? {
                Applied::Ours => {
                    self.say(&next, &event);
                    return Ok(());
                }
                // A conflict may have been added meanwhile: what Telegram said stands.
                Applied::Lost(Some(current))
                    if current.acknowledgement == seen.acknowledgement && *current != seen =>
                {
                    seen = *current;
                }
                Applied::Lost(_) => return Ok(()),
            }
        }
    }

    fn say(&self, record: &Record, event: &AckEvent) {
        let reference = &record.submission.reference;
        let Some(ack) = &record.acknowledgement else { return };
        let (outcome, cause) = (ack.state.as_str(), event.cause().map(|cause| cause.0).unwrap_or_default());
        match &ack.state {
            AckState::Confirmed { .. } => {
                self.meter.record(Metric::AckConfirmed, 1.0);
                self.meter.record(Metric::BotHalted, 0.0);
                tracing::info!(%reference, step = "send", outcome, attempt = ack.attempts, "acknowledged");
            }
            AckState::Refused { .. } => {
                self.meter.record(Metric::AckRefused, 1.0);
                tracing::warn!(%reference, step = "send", outcome, cause, "the chat refuses messages");
            }
            AckState::Uncertain { .. } => {
                self.meter.record(Metric::AckUncertain, 1.0);
                self.meter.record(Metric::ReviewOpened, 1.0);
                tracing::warn!(%reference, step = "send", outcome, cause, "a person must look");
            }
            AckState::Pending { .. } => {
                self.meter.record(Metric::AckNotSent, 1.0);
                if let AckEvent::NotSent(NotSent::Halt(_)) = event {
                    self.meter.record(Metric::BotHalted, 1.0);
                    tracing::error!(%reference, step = "send", outcome = "halted", cause, "Telegram refuses the bot's token");
                } else {
                    tracing::warn!(%reference, step = "send", outcome, cause, "not sent, later again");
                }
            }
            AckState::Attempting { .. } | AckState::Abandoned => {}
        }
    }
}

enum DueFor {
    Nothing,
    Sending,
    LeaseRanOut,
}

/// What the record says, whatever the ring said. Nothing is sent before the write is confirmed, or given up with words for the
/// customer.
fn due_for(record: &Record, now: Moment) -> DueFor {
    let Some(ack) = record.acknowledgement.as_ref().filter(|_| record.may_be_told()) else {
        return DueFor::Nothing;
    };
    match &ack.state {
        AckState::Pending { due_at, .. } if *due_at <= now => DueFor::Sending,
        AckState::Attempting { attempt } if attempt.lease_until <= now => DueFor::LeaseRanOut,
        AckState::Pending { .. }
        | AckState::Attempting { .. }
        | AckState::Uncertain { .. }
        | AckState::Confirmed { .. }
        | AckState::Refused { .. }
        | AckState::Abandoned => DueFor::Nothing,
    }
}

fn event_of(outcome: SendOutcome) -> AckEvent {
    match outcome {
        SendOutcome::Accepted { message_id } => AckEvent::Accepted { message_id },
        SendOutcome::Refused(cause) => AckEvent::Refused { cause },
        SendOutcome::Moved { to } => AckEvent::Moved { to },
        SendOutcome::NotSent(reason) => AckEvent::NotSent(reason),
        SendOutcome::Unknown(cause) => AckEvent::Unknown { cause },
    }
}
