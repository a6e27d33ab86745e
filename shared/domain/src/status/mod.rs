//! The record of one submission: what is known about its write and about its acknowledgement.
//!
//! Everything a machine or a person must still look at follows from the states, so no stored flag can disagree with
//! them: [`Record::due`], [`Record::reviews`] and [`Record::finished`] are computed. Changes happen only through
//! [`Record::write_after`], [`Record::acknowledgement_after`] and [`Record::conflict_after`]; storage applies the
//! result on condition that nothing changed meanwhile and never chooses one.

pub mod acknowledgement;
pub mod erasure;
pub mod history;
pub mod write;

pub use crate::cause::Cause;
use crate::limits::{CONFLICTS_MAX, RETRY_PAUSE_SECONDS, RETRY_PAUSE_SECONDS_MAX};
use crate::moment::Moment;
use crate::submission::{Fingerprint, Submission};
pub use acknowledgement::{AckEvent, AckOrder, AckState, Acknowledgement};
pub use erasure::{NotErasable, Settle};
pub use history::{By, Entry, History};
pub use write::{Evidence, Finding, Write, WriteEvent, WriteOrder, WriteReview, WriteState};

/// Names one attempt: whoever holds it took the step, and nobody else did.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct AttemptToken(pub String);

/// One claim: which attempt, when, and until when its worker may act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub token: AttemptToken,
    pub at: Moment,
    pub lease_until: Moment,
}

/// What an unfinished state waits for. There is no third kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait<R> {
    /// A machine looks at this moment, or soon after.
    Due(Moment),
    /// A person looks.
    Review { reason: R, since: Moment },
}

/// An event that the state it met does not allow; nothing changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{event} is not possible while the state is {state}")]
pub struct NotPossible {
    pub state: &'static str,
    pub event: &'static str,
}

/// Which queue a due record's ring goes to, and what its worker does first. Also the partition of the index `due`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DueStep {
    /// A pending write may be appended.
    Append,
    /// An uncertain write may be looked up, or a lease has run out.
    LookUp,
    /// An acknowledgement may be sent, or its lease has run out.
    Acknowledge,
}

impl DueStep {
    pub const ALL: [Self; 3] = [Self::Append, Self::LookUp, Self::Acknowledge];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Append => "append",
            Self::LookUp => "lookup",
            Self::Acknowledge => "acknowledge",
        }
    }
}

/// Why a person must look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReviewReason {
    Write(WriteReview),
    AckUncertain,
    Conflict,
}

impl ReviewReason {
    /// All of them; those of the write first, since they decide which one a record is listed under.
    pub const ALL: [Self; 8] = [
        Self::Write(WriteReview::NoMatchingRow),
        Self::Write(WriteReview::SeveralRows),
        Self::Write(WriteReview::RowDiffers),
        Self::Write(WriteReview::MisplacedRow),
        Self::Write(WriteReview::WriteRefused),
        Self::Write(WriteReview::SheetUnreadable),
        Self::AckUncertain,
        Self::Conflict,
    ];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Write(reason) => reason.as_str(),
            Self::AckUncertain => "ack_uncertain",
            Self::Conflict => "conflict",
        }
    }
}

/// An open task for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenReview {
    pub reason: ReviewReason,
    pub since: Moment,
}

/// Other material fields that arrived under this reference. The first content stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    pub at: Moment,
    pub request_type: String,
    pub summary: crate::submission::Summary,
    pub fingerprint: Fingerprint,
}

/// What happens to the conflicts of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConflictEvent {
    Arrived(Conflict),
    KeepFirst { why: String },
}

/// One submission and all that is known about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub submission: Submission,
    pub write: Write,
    /// There from the moment the write is confirmed, or given up with [`Record::words`] for the customer.
    pub acknowledgement: Option<Acknowledgement>,
    /// What an operator who gave the write up has the customer told. The message is acknowledged like any other.
    pub words: Option<String>,
    pub conflicts: Vec<Conflict>,
    pub conflict_review: Option<Moment>,
    /// When its customer was forgotten: the submission holds no words of theirs since then.
    pub erased_at: Option<Moment>,
    /// How many of its rows were deleted with it; none where nobody counted.
    pub erased_rows: Option<u64>,
    /// Until then somebody who erases it may be deleting rows: a second deletion of the same would take the row below.
    pub erasing_until: Option<Moment>,
    pub history: History,
    /// Counts stored changes; a change is applied only to the version it was decided from.
    pub version: u64,
}

impl Record {
    /// A submission just confirmed by its customer: due at once.
    #[must_use]
    pub fn recorded(submission: Submission, now: Moment) -> Self {
        let write = Write::pending(now);
        let mut history = History::default();
        history.push(Entry::step(now, &By::Webhook, "recorded").to(write.state.as_str()));
        Self {
            submission,
            write,
            acknowledgement: None,
            words: None,
            conflicts: Vec::new(),
            conflict_review: None,
            erased_at: None,
            erased_rows: None,
            erasing_until: None,
            history,
            version: 1,
        }
    }

    /// The record after `event` met its write. A write that becomes confirmed starts the acknowledgement.
    pub fn write_after(&self, event: &WriteEvent, now: Moment, by: &By) -> Result<Self, NotPossible> {
        let write = self.write.after(event, now)?;
        let mut next = self.clone();
        let entry = Entry::step(now, by, event.as_str())
            .from(self.write.state.as_str())
            .to(write.state.as_str())
            .because(event.why())
            .proved_by(match &write.state {
                WriteState::Confirmed { evidence } => Some(evidence.to_string()),
                WriteState::Pending { .. }
                | WriteState::Attempting { .. }
                | WriteState::Uncertain { .. }
                | WriteState::Abandoned => None,
            });
        if let WriteState::Confirmed { .. } = write.state {
            // Only from none to pending: one that stands already is never set back to the start.
            next.acknowledgement.get_or_insert_with(|| Acknowledgement::pending(now));
        }
        next.write = write;
        Ok(next.changed(entry))
    }

    /// A write that was just given up, and its customer is to be told so in these words: once, as of a row.
    ///
    /// # Errors
    /// It is not given up, or has been told already.
    pub fn with_words(mut self, words: String, now: Moment) -> Result<Self, NotPossible> {
        match (&self.write.state, &self.acknowledgement) {
            (WriteState::Abandoned, None) => {
                self.words = Some(words);
                self.acknowledgement = Some(Acknowledgement::pending(now));
                Ok(self)
            }
            (state, _) => Err(NotPossible { state: state.as_str(), event: "tell" }),
        }
    }

    /// Whether its customer may be told something: that the row is there, or what an operator said in place of it.
    #[must_use]
    pub fn may_be_told(&self) -> bool {
        match self.write.state {
            WriteState::Confirmed { .. } => self.words.is_none(),
            WriteState::Abandoned => self.words.is_some(),
            WriteState::Pending { .. } | WriteState::Attempting { .. } | WriteState::Uncertain { .. } => {
                false
            }
        }
    }

    /// Adds what was seen before it to the step that was taken last.
    pub fn add_to_last_step(&mut self, seen: &str) {
        self.history.add_to_last(seen);
    }

    /// The record after `event` met its acknowledgement. The write stays as it is.
    pub fn acknowledgement_after(&self, event: &AckEvent, now: Moment, by: &By) -> Result<Self, NotPossible> {
        let Some(before) = &self.acknowledgement else {
            return Err(NotPossible { state: "none", event: event.as_str() });
        };
        let after = before.after(event, now)?;
        let mut next = self.clone();
        let entry = Entry::step(now, by, event.as_str())
            .from(before.state.as_str())
            .to(after.state.as_str())
            .because(event.why());
        next.acknowledgement = Some(after);
        Ok(next.changed(entry))
    }

    /// The record after a conflict arrived or was closed. The first content is never overwritten.
    pub fn conflict_after(&self, event: &ConflictEvent, now: Moment, by: &By) -> Result<Self, NotPossible> {
        let mut next = self.clone();
        let entry = match event {
            // Nothing is kept any more of whoever asked to be forgotten.
            ConflictEvent::Arrived(_) if self.erased_at.is_some() => {
                return Err(NotPossible { state: "erased", event: "conflict_arrived" });
            }
            ConflictEvent::Arrived(conflict) => {
                // A redelivery brings nothing new: what a person closed stays closed.
                if self.conflicts.iter().any(|seen| seen.fingerprint == conflict.fingerprint) {
                    return Err(NotPossible { state: "known", event: "conflict_arrived" });
                }
                if self.conflicts.len() < CONFLICTS_MAX {
                    next.conflicts.push(conflict.clone());
                }
                next.conflict_review = Some(self.conflict_review.unwrap_or(now));
                Entry::step(now, by, "conflict_arrived")
            }
            ConflictEvent::KeepFirst { why } => {
                if self.conflict_review.is_none() {
                    return Err(NotPossible { state: "none", event: "keep_first" });
                }
                next.conflict_review = None;
                Entry::step(now, by, "kept_first").because(Some(why.clone()))
            }
        };
        Ok(next.changed(entry))
    }

    /// When a machine must look at this record, and for what. At most one step is due: the acknowledgement starts
    /// only when the write is over.
    #[must_use]
    pub fn due(&self) -> Option<(DueStep, Moment)> {
        self.write.due().or_else(|| self.acknowledgement.as_ref().and_then(Acknowledgement::due))
    }

    /// All open tasks for a person, the write's first.
    #[must_use]
    pub fn reviews(&self) -> Vec<OpenReview> {
        let write = self.write.review();
        let conflict = self.conflict_review.map(|since| OpenReview { reason: ReviewReason::Conflict, since });
        let ack = self.acknowledgement.as_ref().and_then(Acknowledgement::review);
        [write, ack, conflict].into_iter().flatten().collect()
    }

    /// Whether a person must look for this reason.
    #[must_use]
    pub fn is_in_review(&self, reason: ReviewReason) -> bool {
        self.reviews().iter().any(|review| review.reason == reason)
    }

    /// Nothing left to do for machine or person.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.due().is_none() && self.reviews().is_empty()
    }

    fn changed(mut self, entry: Entry) -> Self {
        self.history.push(entry);
        self.version += 1;
        self
    }
}

/// The pause after the given number of tries: doubles from try to try, bounded.
fn retry_pause_seconds(tries: u32) -> u64 {
    let doublings = tries.saturating_sub(1).min(16);
    (RETRY_PAUSE_SECONDS << doublings).min(RETRY_PAUSE_SECONDS_MAX)
}
