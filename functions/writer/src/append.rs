//! Appending the pending: claim, send once, keep what is known. The order is the whole point:
//!
//! 1. The sheet is fit to be written to: nothing is claimed before.
//! 2. Every record is claimed, durably, with its own attempt token: a crash after this line leaves records whose lease
//!    runs out, and they are read back, never appended blindly.
//! 3. One request carries all rows.
//! 4. What the answer proves is kept for each: a crash before this line is the same as a lost answer.

use docket_domain::limits::{
    BUSY_JITTER_SECONDS, BYTES_PER_APPEND_MAX, CLAIMING_MS, MARKING_MS, REFERENCES_PER_LOOKUP_MAX,
    ROWS_PER_APPEND_MAX, UPDATES_AT_ONCE,
};
use docket_domain::metric::Metric;
use docket_domain::moment::Moment;
use docket_domain::outcome::{AppendOutcome, NotApplied};
use docket_domain::ports::{Applied, Clock, Doorbell, Meter, Sheet, StoreError, Submissions};
use docket_domain::reference::Reference;
use docket_domain::row::Row;
use docket_domain::status::{
    AttemptToken, By, Cause, Finding, Record, ReviewReason, Wait, WriteEvent, WriteReview, WriteState,
};
use futures::{StreamExt as _, stream};
use uuid::Uuid;

use crate::{Failed, Writer};

/// Requests that carry one row each, in one invocation at most: Google counts requests, and a refused cell in company
/// may send many rows off alone.
const ALONE_PER_INVOCATION_MAX: usize = 10;

/// Nobody knows yet, or nobody has kept, what became of the row: it may lie astray. One that was seen in its column since does
/// not, whatever it says.
fn is_unsettled(state: &WriteState) -> bool {
    match state {
        WriteState::Attempting { .. } | WriteState::Uncertain { wait: Wait::Due(_), .. } => true,
        WriteState::Uncertain { wait: Wait::Review { reason, .. }, .. } => match reason {
            WriteReview::MisplacedRow
            | WriteReview::NoMatchingRow
            | WriteReview::SheetUnreadable
            | WriteReview::WriteRefused => true,
            WriteReview::RowDiffers | WriteReview::SeveralRows => false,
        },
        WriteState::Pending { .. } | WriteState::Confirmed { .. } | WriteState::Abandoned => false,
    }
}

/// Whether the sheet takes more in this invocation.
#[derive(Debug)]
enum Onward {
    Yes,
    /// These records wait for the same reason as the last ones.
    PutOff(NotApplied),
    /// The rest is left as it is, due.
    Leave,
}

impl<S: Submissions, H: Sheet, D: Doorbell, C: Clock, M: Meter> Writer<S, H, D, C, M> {
    /// Appends the records. The references whose row is there now.
    pub(crate) async fn append(
        &self,
        pending: Vec<Record>,
        deadline: Moment,
        failed: &mut Failed,
    ) -> Vec<Reference> {
        let mut confirmed = Vec::new();
        if pending.is_empty() {
            return confirmed;
        }
        // Asked before the sheet is: looking whether it is fit takes time too.
        if !self.time_for_an_append(deadline) {
            tracing::warn!(step = "append", outcome = "no_time", "left to the next sweep");
            return confirmed;
        }
        let mut onward = match self.fit(pending.len()).await {
            Ok(()) => Onward::Yes,
            Err(Unfit::Sheet(reason)) => Onward::PutOff(reason),
            Err(Unfit::Store(error)) => {
                for record in &pending {
                    self.own_side_failed(&record.submission.reference, &error);
                    failed.0.push(record.submission.reference.clone());
                }
                return confirmed;
            }
        };
        // Those that a person sent off again go last: they are looked for first, and no other row waits for that.
        let (again, pending) =
            pending.into_iter().partition(|record: &Record| record.write.is_looked_for_first());
        let mut alone = 0;
        onward = self.append_all(pending, onward, &mut alone, deadline, failed, &mut confirmed).await;
        let again = match onward {
            Onward::Yes => self.without_those_that_are_there(again, deadline, failed, &mut confirmed).await,
            Onward::PutOff(_) | Onward::Leave => again,
        };
        self.append_all(again, onward, &mut alone, deadline, failed, &mut confirmed).await;
        confirmed
    }

    /// Appends these, request by request, as long as the sheet takes them. `alone` counts the invocation's rows that went alone.
    async fn append_all(
        &self,
        pending: Vec<Record>,
        mut onward: Onward,
        alone: &mut usize,
        deadline: Moment,
        failed: &mut Failed,
        confirmed: &mut Vec<Reference>,
    ) -> Onward {
        let mut left = batches(pending);
        while let Some(batch) = left.pop() {
            if let Onward::Yes = onward {
                // Before the claim: a lease is no place to wait in.
                self.clock.pause_ms(self.pace.wait_ms(self.clock.now())).await;
            }
            onward = match onward {
                Onward::Yes if !self.time_for_an_append(deadline) => {
                    tracing::warn!(step = "append", outcome = "no_time", "left to the next sweep");
                    Onward::Leave
                }
                // Left due: Google counts requests, not rows.
                Onward::Yes if goes_alone(&batch) && *alone == ALONE_PER_INVOCATION_MAX => Onward::Yes,
                Onward::Yes => {
                    *alone += usize::from(goes_alone(&batch));
                    let outcome = self.append_batch(batch, deadline, failed, confirmed).await;
                    // Rows refused in company are tried alone at once.
                    left.extend(outcome.again.into_iter().map(|record| vec![record]));
                    outcome.onward
                }
                Onward::PutOff(reason) => {
                    self.put_off(batch, &reason, failed).await;
                    Onward::PutOff(reason)
                }
                Onward::Leave => Onward::Leave,
            };
        }
        onward
    }

    /// Looks for those that a person sent off again: their first row may have come since then, and then there must be no
    /// second one. What is left may be appended.
    async fn without_those_that_are_there(
        &self,
        mut again: Vec<Record>,
        deadline: Moment,
        failed: &mut Failed,
        confirmed: &mut Vec<Reference>,
    ) -> Vec<Record> {
        // Those beyond one read stay due.
        again.truncate(REFERENCES_PER_LOOKUP_MAX);
        if again.is_empty() {
            return again;
        }
        let started_at = self.clock.now();
        // A look takes no longer than an append, and without time for the append it would be for nothing.
        if !self.time_left(2 * self.timing.append_timeout_ms, deadline) {
            tracing::warn!(step = "look_up", outcome = "no_time", "left to the next sweep");
            return Vec::new();
        }
        self.meter.record(Metric::Lookups, 1.0);
        let rows: Vec<Row> = again.iter().map(|record| Row::of(&record.submission)).collect();
        let findings = match self.sheet.look_up(&rows).await {
            Ok(findings) => findings,
            Err(reason) => {
                self.say_not_applied("look_up", &reason);
                self.put_off(again, &reason, failed).await;
                return Vec::new();
            }
        };
        let mut absent = Vec::new();
        for (record, finding) in again.into_iter().zip(findings) {
            if finding == Finding::None {
                absent.push(record);
                continue;
            }
            match self.keep_finding(record, finding, started_at).await {
                (reference, Some(true)) => confirmed.push(reference),
                (_, Some(false)) => {}
                (reference, None) => failed.0.push(reference),
            }
        }
        absent
    }

    /// A row lies in another place and nobody has looked yet. The index lags behind, and what this process did may not even
    /// be in the record, so the rows that it put there itself are asked for one by one until their writes are settled.
    async fn a_row_is_misplaced(&self) -> Result<bool, StoreError> {
        for reference in self.misplaced.all() {
            match self.submissions.get(&reference).await {
                Ok(Some(record)) if is_unsettled(&record.write.state) => return Ok(true),
                Err(StoreError::Unreadable(_)) => return Ok(true),
                Err(error) => return Err(error),
                Ok(_) => self.misplaced.forget(&reference),
            }
        }
        let reason = ReviewReason::Write(WriteReview::MisplacedRow);
        Ok(!self.submissions.reviews(reason, 1).await?.is_empty())
    }

    /// The sheet takes rows: nobody has to mend a misplaced one first, its header is ours, a token is at hand.
    async fn fit(&self, rows: usize) -> Result<(), Unfit> {
        if self.a_row_is_misplaced().await.map_err(Unfit::Store)? {
            let reason = NotApplied::Halt(Cause::new("misplaced_row_in_review"));
            self.say_not_applied("append", &reason);
            return Err(Unfit::Sheet(reason));
        }
        self.sheet.ready(rows).await.map_err(|reason| {
            self.say_not_applied("append", &reason);
            Unfit::Sheet(reason)
        })
    }

    fn time_for_an_append(&self, deadline: Moment) -> bool {
        self.time_left(self.timing.append_timeout_ms, deadline)
    }

    /// Whether calls of the sheet that take so long, and keeping what they end with, are over by the deadline.
    fn time_left(&self, calls_ms: u64, deadline: Moment) -> bool {
        self.clock.now().plus_millis(calls_ms + CLAIMING_MS + MARKING_MS) <= deadline
    }

    async fn append_batch(
        &self,
        batch: Vec<Record>,
        deadline: Moment,
        failed: &mut Failed,
        confirmed: &mut Vec<Reference>,
    ) -> BatchOutcome {
        let claimed = self.claim(batch, failed).await;
        if claimed.is_empty() {
            return BatchOutcome { onward: Onward::Yes, again: Vec::new() };
        }
        let rows: Vec<Row> = claimed.iter().map(|record| Row::of(&record.submission)).collect();
        let outcome = if self.may_still_send(&claimed, deadline) {
            self.meter.record(Metric::Appends, 1.0);
            self.pace.left(self.clock.now());
            self.sheet.append(&rows).await
        } else {
            AppendOutcome::NotApplied(NotApplied::TryAgain(Cause::new("no_time")))
        };
        let (onward, again) = self.follow(&outcome, claimed.len());
        if let AppendOutcome::Misplaced { .. } = outcome {
            self.misplaced.remember(claimed.iter().map(|record| record.submission.reference.clone()));
        }
        let jitter_seconds = jitter();
        let kept: Vec<(Reference, Option<Record>, bool)> = stream::iter(claimed.into_iter().enumerate())
            .map(|(index, record)| {
                let event = self.event_of(&outcome, index, jitter_seconds);
                self.keep(record, event)
            })
            .buffered(UPDATES_AT_ONCE)
            .collect()
            .await;
        let mut alone = Vec::new();
        for (reference, kept, store_failed) in kept {
            match kept {
                Some(record) if matches!(record.write.state, WriteState::Confirmed { .. }) => {
                    confirmed.push(reference)
                }
                Some(record) if again => alone.push(record),
                Some(_) => {}
                None if store_failed => failed.0.push(reference),
                None => {}
            }
        }
        BatchOutcome { onward, again: alone }
    }

    /// Claims each record; those that somebody else has taken, or that the store failed to claim for sure, are left out.
    async fn claim(&self, batch: Vec<Record>, failed: &mut Failed) -> Vec<Record> {
        let claims: Vec<(Reference, Result<Option<Record>, StoreError>)> = stream::iter(batch)
            .map(|record| async move {
                let now = self.clock.now();
                let event = WriteEvent::Claimed {
                    token: AttemptToken(Uuid::new_v4().to_string()),
                    lease_seconds: self.timing.lease_seconds,
                };
                let reference = record.submission.reference.clone();
                let Ok(next) = record.write_after(&event, now, &By::Writer) else {
                    return (reference, Ok(None));
                };
                let applied = self.submissions.apply(&record, &next, now).await;
                (reference, applied.map(|applied| matches!(applied, Applied::Ours).then_some(next)))
            })
            .buffered(UPDATES_AT_ONCE)
            .collect()
            .await;
        let mut claimed = Vec::new();
        for (reference, claim) in claims {
            match claim {
                Ok(Some(record)) => claimed.push(record),
                Ok(None) => {
                    tracing::info!(%reference, step = "claim", outcome = "lost", "another worker was faster");
                }
                // Perhaps claimed: nobody appends it before its lease has run out, and then it is read back.
                Err(error) => {
                    self.own_side_failed(&reference, &error);
                    failed.0.push(reference);
                }
            }
        }
        claimed
    }

    /// The request and the marking after it end before the function's time and every lease do.
    fn may_still_send(&self, claimed: &[Record], deadline: Moment) -> bool {
        let lease_end = claimed
            .iter()
            .filter_map(|record| match &record.write.state {
                WriteState::Attempting { attempt } => Some(attempt.lease_until),
                WriteState::Pending { .. }
                | WriteState::Uncertain { .. }
                | WriteState::Confirmed { .. }
                | WriteState::Abandoned => None,
            })
            .min();
        let end = lease_end.map_or(deadline, |lease_end| lease_end.min(deadline));
        self.clock.now().plus_millis(self.timing.append_timeout_ms + MARKING_MS) <= end
    }

    /// What the outcome means for the other rows of this invocation.
    fn follow(&self, outcome: &AppendOutcome, rows: usize) -> (Onward, bool) {
        match outcome {
            AppendOutcome::Applied(_) => {
                self.meter.record(Metric::SheetHalted, 0.0);
                tracing::info!(step = "append", outcome = "applied", rows, "rows appended");
                (Onward::Yes, false)
            }
            AppendOutcome::Misplaced { range } => {
                self.meter.record(Metric::SheetHalted, 1.0);
                tracing::error!(
                    step = "append",
                    outcome = "misplaced",
                    rows,
                    range,
                    "rows went to another place; the sheet stops"
                );
                (Onward::PutOff(NotApplied::Halt(Cause::new("misplaced_row_in_review"))), false)
            }
            AppendOutcome::NotApplied(reason) => {
                self.say_not_applied("append", reason);
                match reason {
                    NotApplied::CellAlone(_) => (Onward::Yes, false),
                    NotApplied::CellInCompany(_) => (Onward::Yes, true),
                    NotApplied::TryAgain(_) | NotApplied::Busy { .. } | NotApplied::Halt(_) => {
                        (Onward::PutOff(reason.clone()), false)
                    }
                }
            }
            AppendOutcome::Unknown(cause) => {
                tracing::warn!(step = "append", outcome = "unknown", rows, %cause, "the rows will be read back");
                (Onward::Leave, false)
            }
        }
    }

    pub(crate) fn say_not_applied(&self, step: &'static str, reason: &NotApplied) {
        let cause = reason.cause();
        if let NotApplied::Halt(_) = reason {
            self.meter.record(Metric::SheetHalted, 1.0);
            tracing::error!(step, outcome = "halted", %cause, "the sheet refuses every row until somebody mends it");
        } else {
            tracing::warn!(step, outcome = "not_applied", %cause, "nothing was appended");
        }
    }

    fn event_of(&self, outcome: &AppendOutcome, index: usize, jitter_seconds: u64) -> WriteEvent {
        match outcome {
            AppendOutcome::Applied(appended) => WriteEvent::Applied { range: appended.range_of(index) },
            AppendOutcome::Misplaced { range } => WriteEvent::Misplaced { range: range.clone() },
            AppendOutcome::NotApplied(reason) => {
                WriteEvent::NotApplied { reason: reason.clone(), jitter_seconds }
            }
            AppendOutcome::Unknown(cause) => {
                WriteEvent::Unknown { cause: cause.clone(), settle_seconds: self.timing.settle_seconds }
            }
        }
    }

    /// Keeps one event. The record as it stands now, and whether the store failed.
    async fn keep(&self, record: Record, event: WriteEvent) -> (Reference, Option<Record>, bool) {
        let now = self.clock.now();
        let reference = record.submission.reference.clone();
        let Ok(next) = record.write_after(&event, now, &By::Writer) else { return (reference, None, false) };
        match self.submissions.apply(&record, &next, now).await {
            Ok(Applied::Ours) => {
                self.count(&record, &next);
                (reference, Some(next), false)
            }
            // A conflict may have been added meanwhile: what the sheet said stands, for the record as it is now.
            Ok(Applied::Lost(Some(current))) if current.write == record.write && *current != record => {
                Box::pin(self.keep(*current, event)).await
            }
            Ok(Applied::Lost(_)) => (reference, None, false),
            Err(error) => {
                self.own_side_failed(&reference, &error);
                (reference, None, true)
            }
        }
    }

    fn count(&self, before: &Record, record: &Record) {
        match &record.write.state {
            WriteState::Confirmed { .. } => self.meter.record(Metric::WriteConfirmed, 1.0),
            WriteState::Uncertain { .. } => self.meter.record(Metric::WriteUncertain, 1.0),
            WriteState::Pending { .. } => self.meter.record(Metric::WriteNotApplied, 1.0),
            WriteState::Attempting { .. } | WriteState::Abandoned => {}
        }
        let opened = record.reviews().into_iter().filter(|review| !before.reviews().contains(review));
        for review in opened {
            self.meter.record(Metric::ReviewOpened, 1.0);
            let (reference, reason) = (&record.submission.reference, review.reason.as_str());
            tracing::warn!(%reference, step = "append", outcome = "review", reason, "a person must look");
        }
    }

    /// The records wait in `pending`, for a reason that concerns them all.
    async fn put_off(&self, batch: Vec<Record>, reason: &NotApplied, failed: &mut Failed) {
        let turned_away = WriteEvent::NotApplied { reason: reason.clone(), jitter_seconds: jitter() };
        let kept: Vec<_> = stream::iter(batch)
            .map(|record| {
                let event = match reason {
                    // It could not even be looked for: no try of writing was made.
                    NotApplied::TryAgain(cause) if record.write.is_looked_for_first() => {
                        WriteEvent::LookedUp {
                            finding: Finding::Unreadable(cause.clone()),
                            started_at: self.clock.now(),
                            settle_seconds: self.timing.settle_seconds,
                        }
                    }
                    NotApplied::TryAgain(_)
                    | NotApplied::Busy { .. }
                    | NotApplied::Halt(_)
                    | NotApplied::CellAlone(_)
                    | NotApplied::CellInCompany(_) => turned_away.clone(),
                };
                self.keep(record, event)
            })
            .buffered(UPDATES_AT_ONCE)
            .collect()
            .await;
        failed.0.extend(kept.into_iter().filter(|(_, _, failed)| *failed).map(|(reference, _, _)| reference));
    }
}

struct BatchOutcome {
    onward: Onward,
    /// Records whose rows were refused in company.
    again: Vec<Record>,
}

enum Unfit {
    Sheet(NotApplied),
    Store(StoreError),
}

fn goes_alone(batch: &[Record]) -> bool {
    batch.iter().any(|record| record.write.goes_alone())
}

/// Groups for one request each: bounded in rows and bytes; rows that go alone are last to be taken.
fn batches(pending: Vec<Record>) -> Vec<Vec<Record>> {
    let (alone, company): (Vec<Record>, Vec<Record>) =
        pending.into_iter().partition(|record| record.write.goes_alone());
    let mut batches: Vec<Vec<Record>> = alone.into_iter().map(|record| vec![record]).collect();
    let mut batch = Vec::new();
    let mut bytes = 0;
    for record in company {
        let size = Row::of(&record.submission).bytes();
        if batch.len() == ROWS_PER_APPEND_MAX || (!batch.is_empty() && bytes + size > BYTES_PER_APPEND_MAX) {
            batches.push(std::mem::take(&mut batch));
            bytes = 0;
        }
        bytes += size;
        batch.push(record);
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    batches
}

/// Seconds, evenly spread, so that workers turned away together do not come back together.
fn jitter() -> u64 {
    u64::from(Uuid::new_v4().as_bytes()[0]) % (BUSY_JITTER_SECONDS + 1)
}
