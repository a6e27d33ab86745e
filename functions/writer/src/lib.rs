//! The writer: gets confirmed enquiries into the sheet, once, and settles what is uncertain by reading back.
//!
//! A ring only wakes it. One invocation takes what it was handed, adds what else is due, looks up all that is uncertain in
//! one read, and appends all that is pending in one request.

pub mod append;
pub mod gather;
pub mod handler;
pub mod look_up;
pub mod misplaced;
pub mod pace;

use docket_domain::limits::Timing;
use docket_domain::moment::Moment;
use docket_domain::ports::{Clock, Doorbell, Meter, Sheet, Submissions};
use docket_domain::reference::Reference;

/// The writer's surroundings.
#[derive(Debug)]
pub struct Writer<S, H, D, C, M> {
    pub submissions: S,
    pub sheet: H,
    pub acknowledge_queue: D,
    pub clock: C,
    pub meter: M,
    pub timing: Timing,
    pub pace: pace::Pace,
    pub misplaced: misplaced::Misplaced,
}

/// The references of which our own side failed to learn or to keep something: their rings come back.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Failed(pub Vec<Reference>);

impl<S: Submissions, H: Sheet, D: Doorbell, C: Clock, M: Meter> Writer<S, H, D, C, M> {
    /// Does what is due: first what is uncertain, then what is pending, then the rings for what became confirmed.
    pub async fn work(&self, rung: &[Reference], deadline: Moment) -> Failed {
        let gathered = self.gather(rung).await;
        let mut failed = gathered.failed;
        let mut confirmed = self.look_up(gathered.uncertain, deadline, &mut failed).await;
        confirmed.extend(self.append(gathered.pending, deadline, &mut failed).await);
        self.ring_for(&confirmed).await;
        failed
    }

    /// Confirmed before rung: a crash here leaves an acknowledgement that is due, which the sweeper finds.
    async fn ring_for(&self, confirmed: &[Reference]) {
        if confirmed.is_empty() {
            return;
        }
        if let Err(error) = self.acknowledge_queue.ring(confirmed).await {
            self.meter.record(docket_domain::metric::Metric::RingFailed, 1.0);
            tracing::warn!(
                step = "ring",
                outcome = "failed",
                missed = error.missed.len(),
                "the sweeper will ring"
            );
        }
    }
}
