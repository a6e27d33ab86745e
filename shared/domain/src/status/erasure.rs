//! A person's request to be forgotten: what is left of a record afterwards.
//!
//! Reference, moments and states stay, so that the four questions keep their answers; every word of the customer's, their name
//! and their chat go. It is the one change that touches a submission.

use super::{AckState, Acknowledgement, Attempt, By, Entry, Evidence, Record, Wait, WriteReview, WriteState};
use crate::limits::GOOGLE_PROCESSING_SECONDS_MAX;
use crate::moment::Moment;
use crate::submission::{ChatId, Contact, ERASED, Fingerprint, Submission, Summary};

/// How a write that evidence has not settled is to be left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settle {
    /// By the operator's word.
    Recorded,
    Abandoned,
}

/// Why a record cannot be erased now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotErasable {
    #[error("an append or a message of it may be under way")]
    UnderWay { until: Moment },
    #[error("another command may be deleting its rows")]
    BeingErased { until: Moment },
    #[error("its write is not settled")]
    Unsettled,
    #[error("no append of it is known to have arrived: it can only be given up")]
    NotAppended,
}

impl Record {
    /// Whether it may be erased now, settled like this.
    ///
    /// # Errors
    /// Machines or another command may still be at work on it, or nobody has said how the write is to be settled.
    pub fn erasable(&self, settle: Option<Settle>, now: Moment) -> Result<(), NotErasable> {
        match self.erasing_until {
            Some(until) if now < until => Err(NotErasable::BeingErased { until }),
            Some(_) | None => self.left_alone(settle, "erased", now).map(|_| ()),
        }
    }

    /// The record before its rows are deleted: nothing is due any more, nobody is told any more, and no other command deletes
    /// the same rows before `until`. Who began it, and why, is known even if they come no further.
    ///
    /// # Errors
    /// As [`Self::erasable`].
    pub fn erasure_begun(
        &self,
        settle: Option<Settle>,
        why: &str,
        until: Moment,
        now: Moment,
        by: &By,
    ) -> Result<Self, NotErasable> {
        self.erasable(settle, now)?;
        let mut next = self.left_alone(settle, why, now)?;
        next.erasing_until = Some(until);
        Ok(self.entered(next, "erasure_begun", why, now, by))
    }

    /// The same, and its deletions need more time than whoever began it had asked for.
    #[must_use]
    pub fn erasure_goes_on(&self, why: &str, until: Moment, now: Moment, by: &By) -> Self {
        let next = Self { erasing_until: Some(until), ..self.clone() };
        self.entered(next, "erasure_begun", why, now, by)
    }

    /// The record without its customer. Nothing is due and nothing in review afterwards: what was open is left as it is. `rows`
    /// of it were deleted.
    ///
    /// # Errors
    /// A machine may still be at work on it, or nobody has said how the write is to be settled.
    pub fn erased(
        &self,
        settle: Option<Settle>,
        why: &str,
        rows: u64,
        now: Moment,
        by: &By,
    ) -> Result<Self, NotErasable> {
        let mut next = self.left_alone(settle, why, now)?;
        next.words = self.words.as_ref().map(|_| ERASED.to_owned());
        next.conflicts.clear();
        next.conflict_review = None;
        next.submission = tombstone(&self.submission);
        next.erased_at = Some(self.erased_at.unwrap_or(now));
        next.erased_rows = Some(self.erased_rows.unwrap_or(0) + rows);
        next.erasing_until = None;
        next.history.forget_what_operators_said(ERASED);
        if let WriteState::Confirmed { evidence: Evidence::Operator { why } } = &mut next.write.state {
            ERASED.clone_into(why);
        }
        Ok(self.entered(next, "erased", why, now, by))
    }

    /// No machine does anything about it any more.
    fn left_alone(&self, settle: Option<Settle>, why: &str, now: Moment) -> Result<Self, NotErasable> {
        let mut next = self.clone();
        next.write.state = self.settled(settle, why, now)?;
        next.acknowledgement = self.left(&next.write.state)?;
        Ok(next)
    }

    /// `next`, with what became of both states in its history.
    fn entered(&self, mut next: Self, step: &'static str, why: &str, now: Moment, by: &By) -> Self {
        let evidence = match &next.write.state {
            WriteState::Confirmed { evidence } => Some(evidence.to_string()),
            WriteState::Pending { .. }
            | WriteState::Attempting { .. }
            | WriteState::Uncertain { .. }
            | WriteState::Abandoned => None,
        };
        let entry = Entry::step(now, by, step)
            .from(self.write.state.as_str())
            .to(next.write.state.as_str())
            .because(Some(why.to_owned()))
            .proved_by(evidence);
        // Both in one change: the message is left like one that an operator leaves.
        let before = self.acknowledgement.as_ref().map_or("none", |ack| ack.state.as_str());
        let after = next.acknowledgement.as_ref().map_or("none", |ack| ack.state.as_str());
        if before != after {
            next.history.push(Entry::step(now, by, "ordered_leave").from(before).to(after));
        }
        next.changed(entry)
    }

    fn settled(&self, settle: Option<Settle>, why: &str, now: Moment) -> Result<WriteState, NotErasable> {
        match (&self.write.state, settle) {
            (over @ (WriteState::Confirmed { .. } | WriteState::Abandoned), _) => Ok(over.clone()),
            (WriteState::Attempting { attempt }, _) => {
                Err(NotErasable::UnderWay { until: attempt.lease_until })
            }
            // A row that is late would come after its customer had been forgotten.
            (WriteState::Uncertain { wait: Wait::Due(until), .. }, _) => {
                Err(NotErasable::UnderWay { until: *until })
            }
            (WriteState::Uncertain { attempt, wait: Wait::Review { reason, .. }, .. }, _)
                if *reason != WriteReview::MisplacedRow && now < late_until(attempt) =>
            {
                Err(NotErasable::UnderWay { until: late_until(attempt) })
            }
            (WriteState::Pending { .. } | WriteState::Uncertain { .. }, None) => Err(NotErasable::Unsettled),
            (WriteState::Pending { .. }, Some(Settle::Recorded)) => Err(NotErasable::NotAppended),
            (WriteState::Pending { .. } | WriteState::Uncertain { .. }, Some(Settle::Abandoned)) => {
                Ok(WriteState::Abandoned)
            }
            (WriteState::Uncertain { .. }, Some(Settle::Recorded)) => {
                Ok(WriteState::Confirmed { evidence: Evidence::Operator { why: why.to_owned() } })
            }
        }
    }

    /// Nobody is told any more. What was told stays told.
    fn left(&self, write: &WriteState) -> Result<Option<Acknowledgement>, NotErasable> {
        let abandoned =
            |attempts, moved_to| Acknowledgement { state: AckState::Abandoned, attempts, moved_to };
        match &self.acknowledgement {
            None => Ok(matches!(write, WriteState::Confirmed { .. }).then(|| abandoned(0, None))),
            Some(ack) => match &ack.state {
                AckState::Attempting { attempt } => Err(NotErasable::UnderWay { until: attempt.lease_until }),
                AckState::Pending { .. } | AckState::Uncertain { .. } => {
                    Ok(Some(abandoned(ack.attempts, None)))
                }
                AckState::Confirmed { .. } | AckState::Refused { .. } | AckState::Abandoned => {
                    Ok(Some(Acknowledgement { moved_to: None, ..ack.clone() }))
                }
            },
        }
    }
}

/// How long Google may still carry out what this attempt asked for.
fn late_until(attempt: &Attempt) -> Moment {
    attempt.at.plus_seconds(GOOGLE_PROCESSING_SECONDS_MAX).up_to_second()
}

fn tombstone(submission: &Submission) -> Submission {
    let request_type = ERASED.to_owned();
    let (summary, contact) = (Summary::of_erased(), Contact::clean(""));
    let chat_id = ChatId(0);
    Submission {
        reference: submission.reference.clone(),
        fingerprint: Fingerprint::of(&request_type, &summary, chat_id),
        request_type,
        summary,
        chat_id,
        contact,
        confirmed_at: submission.confirmed_at,
        origin: ERASED.to_owned(),
    }
}
