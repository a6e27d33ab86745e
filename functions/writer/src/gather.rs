//! What one invocation works on: what it was handed, and what else is due.
//!
//! The record decides, never the message: a ring for a record that waits, is held by another worker, is finished or is a
//! person's matter leads to nothing.

use std::collections::HashSet;

use docket_domain::limits::{REFERENCES_PER_LOOKUP_MAX, ROWS_PER_APPEND_MAX, UPDATES_AT_ONCE};
use docket_domain::metric::Metric;
use docket_domain::moment::Moment;
use docket_domain::ports::{Applied, Clock, Doorbell, Meter, Sheet, StoreError, Submissions};
use docket_domain::reference::Reference;
use docket_domain::status::{By, DueStep, Record, Wait, WriteEvent, WriteState};
use futures::{StreamExt as _, stream};

use crate::{Failed, Writer};

/// Records to work on, each once.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// Due for an append.
    pub(crate) pending: Vec<Record>,
    /// Due for a look at the sheet.
    pub(crate) uncertain: Vec<Record>,
    pub(crate) failed: Failed,
}

impl<S: Submissions, H: Sheet, D: Doorbell, C: Clock, M: Meter> Writer<S, H, D, C, M> {
    pub(crate) async fn gather(&self, rung: &[Reference]) -> Gathered {
        let mut gathered = Gathered::default();
        let mut seen = HashSet::new();
        let handed: Vec<Reference> = rung.iter().filter(|r| seen.insert((*r).clone())).cloned().collect();
        for (reference, read) in self.read(handed).await {
            match read {
                Ok(Some(record)) => {
                    if let Err(error) = self.sort(record, &mut gathered).await {
                        self.own_side_failed(&reference, &error);
                        gathered.failed.0.push(reference);
                    }
                }
                Ok(None) => {
                    self.meter.record(Metric::MessageDropped, 1.0);
                    tracing::warn!(%reference, step = "read", outcome = "dropped", "a ring for no record");
                }
                // No later release can read it sooner for being rung again: it stays due, and is counted each time.
                Err(StoreError::Unreadable(cause)) => self.unreadable(&reference, &cause.to_string()),
                Err(error) => {
                    self.own_side_failed(&reference, &error);
                    gathered.failed.0.push(reference);
                }
            }
        }
        for (step, limit) in
            [(DueStep::LookUp, REFERENCES_PER_LOOKUP_MAX), (DueStep::Append, ROWS_PER_APPEND_MAX)]
        {
            self.drain(step, limit, &mut seen, &mut gathered).await;
        }
        gathered
    }

    /// More of what is due, so that one request carries many rows. Nobody handed these to us: what fails here is left to
    /// its own ring.
    async fn drain(
        &self,
        step: DueStep,
        limit: usize,
        seen: &mut HashSet<Reference>,
        gathered: &mut Gathered,
    ) {
        let taken = match step {
            DueStep::Append => gathered.pending.len(),
            DueStep::LookUp => gathered.uncertain.len(),
            DueStep::Acknowledge => return,
        };
        let room = limit.saturating_sub(taken);
        if room == 0 {
            return;
        }
        // The index lags behind: what was just handed to us may still stand in it.
        let due = match self.submissions.due(step, self.clock.now(), limit).await {
            Ok(due) => due,
            Err(error) => {
                tracing::warn!(step = "drain", outcome = "failed", cause = %error, "only what was handed is done");
                return;
            }
        };
        let more: Vec<Reference> = due
            .into_iter()
            .map(|(reference, _)| reference)
            .filter(|r| seen.insert(r.clone()))
            .take(room)
            .collect();
        for (reference, read) in self.read(more).await {
            match read {
                Ok(Some(record)) => {
                    if let Err(error) = self.sort(record, gathered).await {
                        self.own_side_failed(&reference, &error);
                    }
                }
                Ok(None) => {}
                Err(StoreError::Unreadable(cause)) => self.unreadable(&reference, &cause.to_string()),
                Err(error) => self.own_side_failed(&reference, &error),
            }
        }
    }

    async fn read(&self, references: Vec<Reference>) -> Vec<(Reference, Result<Option<Record>, StoreError>)> {
        stream::iter(references)
            .map(|reference| async move {
                let read = self.submissions.get(&reference).await;
                (reference, read)
            })
            .buffered(UPDATES_AT_ONCE)
            .collect()
            .await
    }

    async fn sort(&self, record: Record, gathered: &mut Gathered) -> Result<(), StoreError> {
        let now = self.clock.now();
        match &record.write.state {
            WriteState::Pending { wait: Wait::Due(at), .. } if *at <= now => gathered.pending.push(record),
            WriteState::Uncertain { wait: Wait::Due(at), .. } if *at <= now => {
                gathered.uncertain.push(record)
            }
            WriteState::Attempting { attempt } if attempt.lease_until <= now => {
                // Its worker is gone, and may have sent the row: the sheet is read, nothing is appended.
                if let Some(record) = self.lease_ran_out(record, now).await? {
                    gathered.uncertain.push(record);
                }
            }
            WriteState::Pending { .. }
            | WriteState::Attempting { .. }
            | WriteState::Uncertain { .. }
            | WriteState::Confirmed { .. }
            | WriteState::Abandoned => {
                tracing::debug!(
                    reference = %record.submission.reference,
                    step = "gather",
                    outcome = "nothing_to_do",
                    state = record.write.state.as_str(),
                    "a ring that leads to nothing"
                );
            }
        }
        Ok(())
    }

    async fn lease_ran_out(&self, record: Record, now: Moment) -> Result<Option<Record>, StoreError> {
        let Ok(next) = record.write_after(&WriteEvent::LeaseRanOut, now, &By::Writer) else {
            return Ok(None);
        };
        match self.submissions.apply(&record, &next, now).await? {
            Applied::Ours => {
                self.meter.record(Metric::WriteUncertain, 1.0);
                tracing::warn!(
                    reference = %record.submission.reference,
                    step = "lease",
                    outcome = "uncertain",
                    "a worker never said what became of its append"
                );
                Ok(Some(next))
            }
            Applied::Lost(_) => Ok(None),
        }
    }

    pub(crate) fn own_side_failed(&self, reference: &Reference, error: &StoreError) {
        tracing::error!(%reference, step = "store", outcome = "failed", cause = %error, "the store failed");
    }

    fn unreadable(&self, reference: &Reference, cause: &str) {
        self.meter.record(Metric::RecordUnreadable, 1.0);
        tracing::error!(%reference, step = "read", outcome = "unreadable", cause, "a record cannot be read");
    }
}
