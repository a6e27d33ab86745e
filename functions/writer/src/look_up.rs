//! Settling the uncertain: one look at the sheet for all of them, and what it proves for each.

use docket_domain::limits::{MARKING_MS, REFERENCES_PER_LOOKUP_MAX, UPDATES_AT_ONCE};
use docket_domain::metric::Metric;
use docket_domain::moment::Moment;
use docket_domain::outcome::NotApplied;
use docket_domain::ports::{Applied, Clock, Doorbell, Meter, Sheet, Submissions};
use docket_domain::reference::Reference;
use docket_domain::row::Row;
use docket_domain::status::{By, Finding, Record, WriteEvent, WriteState};
use futures::{StreamExt as _, stream};

use crate::{Failed, Writer};

impl<S: Submissions, H: Sheet, D: Doorbell, C: Clock, M: Meter> Writer<S, H, D, C, M> {
    /// Looks the records up and keeps what was found. The references whose row is there now.
    pub(crate) async fn look_up(
        &self,
        mut uncertain: Vec<Record>,
        deadline: Moment,
        failed: &mut Failed,
    ) -> Vec<Reference> {
        // Those beyond one read stay due.
        uncertain.truncate(REFERENCES_PER_LOOKUP_MAX);
        if uncertain.is_empty() {
            return Vec::new();
        }
        let started_at = self.clock.now();
        if started_at.plus_millis(self.timing.append_timeout_ms + MARKING_MS) > deadline {
            tracing::warn!(step = "look_up", outcome = "no_time", "left to the next sweep");
            return Vec::new();
        }
        let rows: Vec<Row> = uncertain.iter().map(|record| Row::of(&record.submission)).collect();
        let findings = self.sheet.look_up(&rows).await.unwrap_or_else(|reason| {
            // Nobody may be appending meanwhile, so this is where a sheet that is gone shows.
            if let NotApplied::Halt(_) = reason {
                self.say_not_applied("look_up", &reason);
            }
            rows.iter().map(|_| Finding::Unreadable(reason.cause())).collect()
        });
        self.meter.record(Metric::Lookups, 1.0);
        let kept: Vec<(Reference, Option<bool>)> = stream::iter(uncertain.into_iter().zip(findings))
            .map(|(record, finding)| self.keep_finding(record, finding, started_at))
            .buffered(UPDATES_AT_ONCE)
            .collect()
            .await;
        let mut confirmed = Vec::new();
        for (reference, outcome) in kept {
            match outcome {
                Some(true) => confirmed.push(reference),
                Some(false) => {}
                None => failed.0.push(reference),
            }
        }
        confirmed
    }

    /// Whether the write is confirmed now; none when the store failed.
    pub(crate) async fn keep_finding(
        &self,
        record: Record,
        finding: Finding,
        started_at: Moment,
    ) -> (Reference, Option<bool>) {
        let now = self.clock.now();
        let reference = record.submission.reference.clone();
        let event = WriteEvent::LookedUp { finding, started_at, settle_seconds: self.timing.settle_seconds };
        let Ok(next) = record.write_after(&event, now, &By::Writer) else { return (reference, Some(false)) };
        match self.submissions.apply(&record, &next, now).await {
            Ok(Applied::Ours) => {
                self.say_what_was_learned(&record, &next);
                let confirmed = matches!(next.write.state, WriteState::Confirmed { .. });
                (reference, Some(confirmed))
            }
            // Somebody else has settled it meanwhile.
            Ok(Applied::Lost(_)) => (reference, Some(false)),
            Err(error) => {
                self.own_side_failed(&reference, &error);
                (reference, None)
            }
        }
    }

    fn say_what_was_learned(&self, before: &Record, after: &Record) {
        let reference = &after.submission.reference;
        let opened = before.reviews().is_empty() && !after.reviews().is_empty();
        match after.reviews().first() {
            Some(review) if opened => {
                self.meter.record(Metric::ReviewOpened, 1.0);
                let reason = review.reason.as_str();
                tracing::warn!(%reference, step = "look_up", outcome = "review", reason, "a person must look");
            }
            Some(_) | None => {
                let outcome = after.write.state.as_str();
                tracing::info!(%reference, step = "look_up", outcome, lookups = after.write.lookups, "looked up");
            }
        }
        match after.write.state {
            WriteState::Confirmed { .. } => self.meter.record(Metric::WriteConfirmed, 1.0),
            // Sent off again by a person, and not looked for yet: it is not getting through.
            WriteState::Pending { .. } => self.meter.record(Metric::WriteNotApplied, 1.0),
            WriteState::Attempting { .. } | WriteState::Uncertain { .. } | WriteState::Abandoned => {}
        }
    }
}
