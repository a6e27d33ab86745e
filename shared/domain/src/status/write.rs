//! The write: getting a submission's row into the sheet, and knowing whether it is there.
//!
//! One function, [`Write::after`], decides every change, for every pair of state and event. It keeps rule 2: an
//! append can start only from `pending`, a record is `pending` only while no append of it could have arrived, and
//! only an operator's order leads back there from the unknown.

use std::fmt;

use super::{
    Attempt, AttemptToken, Cause, DueStep, NotPossible, OpenReview, ReviewReason, Wait, retry_pause_seconds,
};
use crate::limits::{
    BUSY_JITTER_SECONDS, BUSY_PAUSE_SECONDS, BUSY_PAUSE_SECONDS_MAX, HALT_PAUSE_SECONDS, LOOKUP_PERCENTS,
    UNREADABLE_PAUSE_SECONDS, UNREADABLE_SECONDS_MAX, WRITE_TRIES_MAX,
};
use crate::moment::Moment;
use crate::outcome::NotApplied;

/// The write of one submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    pub state: WriteState,
    /// Tries that counted: those that a busy or halted sheet turned away do not.
    pub attempts: u32,
    /// Times the sheet was read back for it.
    pub lookups: u32,
}

/// What is known about the row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteState {
    /// No append of it could have arrived.
    Pending { wait: Wait<WriteReview>, cause: Option<Cause> },
    /// One worker may be appending it now, until its lease ends.
    Attempting { attempt: Attempt },
    /// An append of it may have arrived.
    Uncertain { attempt: Attempt, wait: Wait<WriteReview>, cause: Cause },
    /// Its row is there, or was there: proved.
    Confirmed { evidence: Evidence },
    /// An operator gave it up.
    Abandoned,
}

/// What proves that the row was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    /// The append's own answer named the row, in A1 notation.
    AppendAnswer { range: String },
    /// Exactly one row was read back and equals the submission.
    ReadBack { range: String },
    /// An operator's word, with the reason given.
    Operator { why: String },
}

impl Evidence {
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::AppendAnswer { .. } => "append_answer",
            Self::ReadBack { .. } => "read_back",
            Self::Operator { .. } => "operator",
        }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AppendAnswer { range } | Self::ReadBack { range } => write!(f, "{} {range}", self.kind()),
            Self::Operator { why } => write!(f, "operator: {why}"),
        }
    }
}

/// Why a person must look at a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WriteReview {
    NoMatchingRow,
    SeveralRows,
    RowDiffers,
    MisplacedRow,
    WriteRefused,
    SheetUnreadable,
}

impl WriteReview {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoMatchingRow => "no_matching_row",
            Self::SeveralRows => "several_rows",
            Self::RowDiffers => "row_differs",
            Self::MisplacedRow => "misplaced_row",
            Self::WriteRefused => "write_refused",
            Self::SheetUnreadable => "sheet_unreadable",
        }
    }

    /// Whether an operator may order this. Not another append where a row of this reference was seen in its place, nor
    /// "recorded" where the row is known not to be there.
    #[must_use]
    pub fn allows(self, order: &WriteOrder) -> bool {
        match order {
            WriteOrder::Abandon { .. } => true,
            WriteOrder::Recorded { .. } => self != Self::WriteRefused,
            WriteOrder::AppendAgain { .. } => match self {
                Self::NoMatchingRow | Self::MisplacedRow | Self::WriteRefused | Self::SheetUnreadable => true,
                Self::SeveralRows | Self::RowDiffers => false,
            },
        }
    }
}

/// What a look at the sheet showed for one reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// Exactly one row, all six fields equal.
    OneEqual {
        range: String,
    },
    /// Exactly one row, another content.
    OneDiffers {
        range: String,
    },
    Several {
        rows: usize,
    },
    None,
    /// The read failed, was cut off or saw another table: nothing was learned.
    Unreadable(Cause),
}

impl Finding {
    /// Some row carries the reference.
    #[must_use]
    pub fn is_a_row(&self) -> bool {
        match self {
            Self::OneEqual { .. } | Self::OneDiffers { .. } | Self::Several { .. } => true,
            Self::None | Self::Unreadable(_) => false,
        }
    }
}

/// What an operator may order about a write in review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteOrder {
    Recorded { why: String },
    AppendAgain { why: String },
    Abandon { why: String },
}

/// What may happen to a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteEvent {
    /// A worker takes it, to append.
    Claimed {
        token: AttemptToken,
        lease_seconds: u64,
    },
    /// A worker found its lease over.
    LeaseRanOut,
    /// The append's answer names exactly our row.
    Applied {
        range: String,
    },
    /// The append's answer names another place.
    Misplaced {
        range: String,
    },
    /// Nothing reached the sheet. The jitter is added to the pause of a busy sheet.
    NotApplied {
        reason: NotApplied,
        jitter_seconds: u64,
    },
    /// It may have reached the sheet.
    Unknown {
        cause: Cause,
        settle_seconds: u64,
    },
    /// The sheet was read, starting at `started_at`.
    LookedUp {
        finding: Finding,
        started_at: Moment,
        settle_seconds: u64,
    },
    Ordered(WriteOrder),
}

impl WriteEvent {
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Claimed { .. } => "claimed",
            Self::LeaseRanOut => "lease_ran_out",
            Self::Applied { .. } => "append_applied",
            Self::Misplaced { .. } => "append_misplaced",
            Self::NotApplied { .. } => "append_not_applied",
            Self::Unknown { .. } => "append_unknown",
            Self::LookedUp { .. } => "looked_up",
            Self::Ordered(WriteOrder::Recorded { .. }) => "ordered_recorded",
            Self::Ordered(WriteOrder::AppendAgain { .. }) => "ordered_append_again",
            Self::Ordered(WriteOrder::Abandon { .. }) => "ordered_abandon",
        }
    }

    pub(super) fn why(&self) -> Option<String> {
        match self {
            Self::Claimed { .. } | Self::LeaseRanOut | Self::Applied { .. } => None,
            Self::Misplaced { range } => Some(format!("the answer named {range}")),
            Self::NotApplied { reason, .. } => Some(reason.cause().0),
            Self::Unknown { cause, .. } => Some(cause.0.clone()),
            Self::LookedUp { finding, .. } => Some(match finding {
                Finding::OneEqual { .. } => "one equal row".into(),
                Finding::OneDiffers { range } => format!("the row at {range} differs"),
                Finding::Several { rows } => format!("{rows} rows"),
                Finding::None => "no row".into(),
                Finding::Unreadable(cause) => format!("unreadable: {cause}"),
            }),
            Self::Ordered(
                WriteOrder::Recorded { why } | WriteOrder::AppendAgain { why } | WriteOrder::Abandon { why },
            ) => Some(why.clone()),
        }
    }
}

impl WriteState {
    /// The stored word.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Pending { .. } => "pending",
            Self::Attempting { .. } => "attempting",
            Self::Uncertain { .. } => "uncertain",
            Self::Confirmed { .. } => "confirmed",
            Self::Abandoned => "abandoned",
        }
    }
}

impl Write {
    pub(super) fn pending(now: Moment) -> Self {
        Self { state: WriteState::Pending { wait: at_once(now), cause: None }, attempts: 0, lookups: 0 }
    }

    pub(super) fn due(&self) -> Option<(DueStep, Moment)> {
        match &self.state {
            WriteState::Pending { wait: Wait::Due(at), .. } => Some((DueStep::Append, *at)),
            WriteState::Attempting { attempt } => Some((DueStep::LookUp, attempt.lease_until)),
            WriteState::Uncertain { wait: Wait::Due(at), .. } => Some((DueStep::LookUp, *at)),
            WriteState::Pending { wait: Wait::Review { .. }, .. }
            | WriteState::Uncertain { wait: Wait::Review { .. }, .. }
            | WriteState::Confirmed { .. }
            | WriteState::Abandoned => None,
        }
    }

    pub(super) fn review(&self) -> Option<OpenReview> {
        match &self.state {
            WriteState::Pending { wait: Wait::Review { reason, since }, .. }
            | WriteState::Uncertain { wait: Wait::Review { reason, since }, .. } => {
                Some(OpenReview { reason: ReviewReason::Write(*reason), since: *since })
            }
            WriteState::Pending { wait: Wait::Due(_), .. }
            | WriteState::Uncertain { wait: Wait::Due(_), .. }
            | WriteState::Attempting { .. }
            | WriteState::Confirmed { .. }
            | WriteState::Abandoned => None,
        }
    }

    /// The only place where a write changes.
    pub fn after(&self, event: &WriteEvent, now: Moment) -> Result<Self, NotPossible> {
        use WriteEvent as E;
        use WriteState as S;
        let not_possible = Err(NotPossible { state: self.state.as_str(), event: event.as_str() });
        match (&self.state, event) {
            // A claim starts from a record that is due, and only then: before, it waits for a reason.
            (S::Pending { wait: Wait::Due(at), .. }, E::Claimed { token, lease_seconds }) if *at <= now => {
                let lease_until = now.plus_seconds(*lease_seconds).up_to_second();
                let attempt = Attempt { token: token.clone(), at: now, lease_until };
                Ok(Self { state: S::Attempting { attempt }, attempts: self.attempts + 1, ..*self })
            }
            // A sheet that is not ready puts off what is due; a doubled ring does not put it off, nor count it, twice.
            (S::Pending { wait: Wait::Due(at), .. }, E::NotApplied { reason, jitter_seconds })
                if *at <= now =>
            {
                Ok(self.turned_away(reason, *jitter_seconds, now, self.attempts))
            }
            (S::Pending { wait: Wait::Review { reason, .. }, .. }, E::Ordered(order))
                if reason.allows(order) =>
            {
                Ok(self.ordered(order, now))
            }
            // A row that a person put there themselves after Google had refused ours: it is proved like any other.
            (
                S::Pending { wait: Wait::Review { .. }, .. },
                E::LookedUp { finding: Finding::OneEqual { range }, .. },
            ) => {
                let next = self.confirmed(Evidence::ReadBack { range: range.clone() });
                Ok(Self { lookups: self.lookups + 1, ..next })
            }
            // The look before a second append taught nothing: the append waits for one that does. No try of writing.
            (
                S::Pending { wait: Wait::Due(at), .. },
                E::LookedUp { finding: Finding::Unreadable(cause), .. },
            ) if *at <= now && self.is_looked_for_first() => {
                let wait = Wait::Due(now.plus_seconds(UNREADABLE_PAUSE_SECONDS).up_to_second());
                let state = S::Pending { wait, cause: Some(cause.clone()) };
                Ok(Self { state, lookups: self.lookups + 1, ..*self })
            }
            // Looked for before a second append, and there after all: then there is none. Any other finding is a person's.
            (S::Pending { wait: Wait::Due(at), .. }, E::LookedUp { finding, started_at, settle_seconds })
                if *at <= now && self.is_looked_for_first() && finding.is_a_row() =>
            {
                let attempt = Attempt {
                    token: AttemptToken("none".into()),
                    at: *started_at,
                    lease_until: started_at.up_to_second(),
                };
                let (wait, cause) = (Wait::Due(*at), Cause::found_before_append());
                Ok(self.looked_up(&attempt, &wait, &cause, finding, *started_at, *settle_seconds, now))
            }
            (S::Pending { .. }, E::Claimed { .. } | E::NotApplied { .. } | E::Ordered(_))
            | (
                S::Pending { .. },
                E::LeaseRanOut
                | E::Applied { .. }
                | E::Misplaced { .. }
                | E::Unknown { .. }
                | E::LookedUp { .. },
            ) => not_possible,

            (S::Attempting { attempt }, E::LeaseRanOut) if attempt.lease_until <= now => {
                Ok(self.uncertain(attempt.clone(), Cause::new("lease_ran_out"), at_once(now)))
            }
            (S::Attempting { .. }, E::Applied { range }) => {
                Ok(self.confirmed(Evidence::AppendAnswer { range: range.clone() }))
            }
            (S::Attempting { attempt }, E::Misplaced { .. }) => Ok(self.uncertain(
                attempt.clone(),
                Cause::new("misplaced"),
                Wait::Review { reason: WriteReview::MisplacedRow, since: now },
            )),
            (S::Attempting { .. }, E::NotApplied { reason, jitter_seconds }) => {
                Ok(self.turned_away(reason, *jitter_seconds, now, self.attempts.saturating_sub(1)))
            }
            (S::Attempting { attempt }, E::Unknown { cause, settle_seconds }) => {
                let first = next_lookup(attempt.at, *settle_seconds, now).unwrap_or(now);
                Ok(self.uncertain(attempt.clone(), cause.clone(), Wait::Due(first.up_to_second())))
            }
            (
                S::Attempting { .. },
                E::LeaseRanOut | E::Claimed { .. } | E::LookedUp { .. } | E::Ordered(_),
            ) => not_possible,

            (S::Uncertain { attempt, wait, cause }, E::LookedUp { finding, started_at, settle_seconds }) => {
                Ok(self.looked_up(attempt, wait, cause, finding, *started_at, *settle_seconds, now))
            }
            (S::Uncertain { wait: Wait::Review { reason, .. }, .. }, E::Ordered(order))
                if reason.allows(order) =>
            {
                Ok(self.ordered(order, now))
            }
            (
                S::Uncertain { .. },
                E::Claimed { .. }
                | E::LeaseRanOut
                | E::Applied { .. }
                | E::Misplaced { .. }
                | E::NotApplied { .. }
                | E::Unknown { .. }
                | E::Ordered(_),
            ) => not_possible,

            (
                S::Confirmed { .. } | S::Abandoned,
                E::Claimed { .. }
                | E::LeaseRanOut
                | E::Applied { .. }
                | E::Misplaced { .. }
                | E::NotApplied { .. }
                | E::Unknown { .. }
                | E::LookedUp { .. }
                | E::Ordered(_),
            ) => not_possible,
        }
    }

    /// Definitely not written. `tries` is the count before this try.
    fn turned_away(&self, reason: &NotApplied, jitter_seconds: u64, now: Moment, tries: u32) -> Self {
        let in_seconds = |pause: u64| Wait::Due(now.plus_seconds(pause).up_to_second());
        // This append is not there for sure, and one before an operator's order still may be.
        let known = if self.lookups > 0 { WriteReview::NoMatchingRow } else { WriteReview::WriteRefused };
        let review = Wait::Review { reason: known, since: now };
        let (attempts, wait) = match reason {
            NotApplied::TryAgain(_) | NotApplied::CellInCompany(_) if tries + 1 >= WRITE_TRIES_MAX => {
                (tries + 1, review)
            }
            NotApplied::TryAgain(_) => (tries + 1, in_seconds(retry_pause_seconds(tries + 1))),
            // The pause is the sheet's fault, not the record's: it costs no try.
            NotApplied::Busy { retry_after_seconds, .. } => {
                let asked = retry_after_seconds.unwrap_or(0).min(BUSY_PAUSE_SECONDS_MAX);
                let pause = BUSY_PAUSE_SECONDS.max(asked) + jitter_seconds.min(BUSY_JITTER_SECONDS);
                (tries, in_seconds(pause))
            }
            NotApplied::Halt(_) => (tries, in_seconds(HALT_PAUSE_SECONDS)),
            NotApplied::CellAlone(_) => (tries + 1, review),
            // One of several rows is bad and Google does not say which: each goes alone, at once.
            NotApplied::CellInCompany(_) => (tries + 1, at_once(now)),
        };
        Self {
            state: WriteState::Pending { wait, cause: Some(reason.cause()) },
            attempts,
            lookups: self.lookups,
        }
    }

    /// Whether the sheet must be looked at right before its append: an earlier one was lost sight of, a person sent it off
    /// again, and a row that was late may have come since they looked.
    #[must_use]
    pub fn is_looked_for_first(&self) -> bool {
        match &self.state {
            WriteState::Pending { .. } => self.lookups > 0,
            WriteState::Attempting { .. }
            | WriteState::Uncertain { .. }
            | WriteState::Confirmed { .. }
            | WriteState::Abandoned => false,
        }
    }

    /// Whether its row must travel in a request of its own: its last one was refused for a cell.
    #[must_use]
    pub fn goes_alone(&self) -> bool {
        match &self.state {
            WriteState::Pending { cause: Some(cause), .. } => *cause == NotApplied::cell_in_company(),
            WriteState::Pending { cause: None, .. }
            | WriteState::Attempting { .. }
            | WriteState::Uncertain { .. }
            | WriteState::Confirmed { .. }
            | WriteState::Abandoned => false,
        }
    }

    fn uncertain(&self, attempt: Attempt, cause: Cause, wait: Wait<WriteReview>) -> Self {
        Self { state: WriteState::Uncertain { attempt, wait, cause }, ..*self }
    }

    fn confirmed(&self, evidence: Evidence) -> Self {
        Self { state: WriteState::Confirmed { evidence }, ..*self }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one state and one event, taken apart by the caller"
    )]
    fn looked_up(
        &self,
        attempt: &Attempt,
        wait: &Wait<WriteReview>,
        cause: &Cause,
        finding: &Finding,
        started_at: Moment,
        settle_seconds: u64,
        now: Moment,
    ) -> Self {
        // A matter that is a person's already stays theirs until the row itself settles it.
        let review = |reason| match wait {
            Wait::Review { since, .. } => Wait::Review { reason, since: *since },
            Wait::Due(_) => Wait::Review { reason, since: now },
        };
        let settled_at = attempt.at.plus_seconds(settle_seconds);
        let wait = match (finding, wait) {
            (Finding::OneEqual { range }, _) => {
                let mut next = self.confirmed(Evidence::ReadBack { range: range.clone() });
                next.lookups += 1;
                return next;
            }
            (Finding::OneDiffers { .. }, _) => review(WriteReview::RowDiffers),
            (Finding::Several { .. }, _) => review(WriteReview::SeveralRows),
            // The server may still be at work: absence says nothing yet, not even to a person who looks again.
            (Finding::None, Wait::Review { .. }) if started_at < settled_at => wait.clone(),
            (Finding::None, Wait::Due(_)) if started_at < settled_at => {
                let next = next_lookup(attempt.at, settle_seconds, now).unwrap_or(settled_at.max(now));
                Wait::Due(next.up_to_second())
            }
            (Finding::None, Wait::Review { reason: WriteReview::MisplacedRow, .. }) => wait.clone(),
            (Finding::None, _) => review(WriteReview::NoMatchingRow),
            (Finding::Unreadable(_), Wait::Review { .. }) => wait.clone(),
            (Finding::Unreadable(_), Wait::Due(_))
                if now.seconds_since(attempt.at) >= UNREADABLE_SECONDS_MAX =>
            {
                review(WriteReview::SheetUnreadable)
            }
            (Finding::Unreadable(_), Wait::Due(_)) => {
                Wait::Due(now.plus_seconds(UNREADABLE_PAUSE_SECONDS).up_to_second())
            }
        };
        let mut next = self.uncertain(attempt.clone(), cause.clone(), wait);
        next.lookups += 1;
        next
    }

    fn ordered(&self, order: &WriteOrder, now: Moment) -> Self {
        match order {
            WriteOrder::Recorded { why } => self.confirmed(Evidence::Operator { why: why.clone() }),
            // The tries start anew: an operator has taken the responsibility for another append. Their own look at the sheet
            // counts, so that such a write is known by its looks: whatever a person had in hand is looked for before it.
            WriteOrder::AppendAgain { .. } => Self { lookups: self.lookups + 1, ..Self::pending(now) },
            WriteOrder::Abandon { .. } => Self { state: WriteState::Abandoned, ..*self },
        }
    }
}

/// Due moments are stored in whole seconds. Rounded down, so that the worker who hears the ring a millisecond later
/// finds the record due already, and not only the next sweep.
fn at_once<R>(now: Moment) -> Wait<R> {
    Wait::Due(now.whole_second())
}

/// The first of the scheduled lookups after `now`; none when all have passed.
fn next_lookup(attempted_at: Moment, settle_seconds: u64, now: Moment) -> Option<Moment> {
    LOOKUP_PERCENTS
        .into_iter()
        .map(|percent| attempted_at.plus_millis(settle_seconds * percent * 10))
        .find(|moment| *moment > now)
}
