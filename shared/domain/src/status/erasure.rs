//! A person's request to be forgotten: what is left of a record afterwards.
//!
//! Reference, moments and states stay, so that the four questions keep their answers; every word of the customer's, their name
//! and their chat go. It is the one change that touches a submission.

use super::{AckState, Acknowledgement, By, Entry, Evidence, Record, Wait, WriteState};
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
    #[error("an append or a message of it may be under way until {until}")]
    UnderWay { until: Moment },
    #[error("its write is not settled")]
    Unsettled,
    #[error("no append of it is known to have arrived: it can only be given up")]
    NotAppended,
}

impl Record {
    /// The record without its customer. Nothing is due and nothing in review afterwards: what was open is left as it is.
    ///
    /// # Errors
    /// A machine may still be at work on it, or nobody has said how the write is to be settled.
    pub fn erased(
        &self,
        settle: Option<Settle>,
        why: &str,
        now: Moment,
        by: &By,
    ) -> Result<Self, NotErasable> {
        let mut next = self.clone();
        next.write.state = self.settled(settle, why)?;
        next.acknowledgement = self.left(&next.write.state)?;
        next.words = self.words.as_ref().map(|_| ERASED.to_owned());
        next.conflicts.clear();
        next.conflict_review = None;
        next.submission = tombstone(&self.submission);
        next.erased_at = Some(self.erased_at.unwrap_or(now));
        next.history.forget_what_operators_said(ERASED);
        if let WriteState::Confirmed { evidence: Evidence::Operator { why } } = &mut next.write.state {
            ERASED.clone_into(why);
        }
        let evidence = match &next.write.state {
            WriteState::Confirmed { evidence } => Some(evidence.to_string()),
            WriteState::Pending { .. }
            | WriteState::Attempting { .. }
            | WriteState::Uncertain { .. }
            | WriteState::Abandoned => None,
        };
        let step = Entry::step(now, by, "erased")
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
        Ok(next.changed(step))
    }

    fn settled(&self, settle: Option<Settle>, why: &str) -> Result<WriteState, NotErasable> {
        match (&self.write.state, settle) {
            (over @ (WriteState::Confirmed { .. } | WriteState::Abandoned), _) => Ok(over.clone()),
            (WriteState::Attempting { attempt }, _) => {
                Err(NotErasable::UnderWay { until: attempt.lease_until })
            }
            // A row that is late would come after its customer had been forgotten.
            (WriteState::Uncertain { wait: Wait::Due(until), .. }, _) => {
                Err(NotErasable::UnderWay { until: *until })
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
