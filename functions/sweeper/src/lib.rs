//! The sweeper: the only clock.
//!
//! Every minute it rings for whatever is due, and says how much waits for a person. It changes no record, so it may run
//! twice, late or not at all for a while without harm.

pub mod handler;

use docket_domain::limits::RINGS_PER_SWEEP_MAX;
use docket_domain::metric::Metric;
use docket_domain::moment::Moment;
use docket_domain::ports::{Clock, Doorbell, Meter, StoreError, Submissions};
use docket_domain::reference::Reference;
use docket_domain::status::{DueStep, ReviewReason};

/// Open reviews counted for each reason at most.
const REVIEWS_COUNTED_MAX: usize = 1_000;

/// The sweeper's surroundings.
#[derive(Debug)]
pub struct Sweeper<S, W, A, C, M> {
    pub submissions: S,
    pub write_queue: W,
    pub acknowledge_queue: A,
    pub clock: C,
    pub meter: M,
}

/// What one sweep did and saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    pub rung_write: usize,
    pub rung_acknowledge: usize,
    pub missed: usize,
    pub open_reviews: usize,
    pub oldest_review_seconds: u64,
    pub oldest_due_seconds: u64,
}

impl<S: Submissions, W: Doorbell, A: Doorbell, C: Clock, M: Meter> Sweeper<S, W, A, C, M> {
    /// Rings for what is due, the longest due first, and counts what waits for a person.
    ///
    /// # Errors
    /// The store could not be read to the end. What could be found has been rung for: one step's failure holds up no
    /// other.
    pub async fn sweep(&self) -> Result<Swept, StoreError> {
        let now = self.clock.now();
        let mut swept = Swept::default();
        let mut whole = Ok(());
        for step in DueStep::ALL {
            match self.submissions.due(step, now, RINGS_PER_SWEEP_MAX).await {
                Ok(due) => {
                    let oldest = due.iter().map(|(_, since)| now.seconds_since(*since)).max().unwrap_or(0);
                    swept.oldest_due_seconds = swept.oldest_due_seconds.max(oldest);
                    let references: Vec<Reference> =
                        due.into_iter().map(|(reference, _)| reference).collect();
                    self.ring(step, &references, &mut swept).await;
                }
                Err(error) => whole = Err(error),
            }
        }
        whole?;
        self.count_reviews(now, &mut swept).await?;
        self.meter.record(Metric::Sweeps, 1.0);
        Ok(swept)
    }

    async fn ring(&self, step: DueStep, references: &[Reference], swept: &mut Swept) {
        if references.is_empty() {
            return;
        }
        let (rung, counted) = match step {
            DueStep::Append | DueStep::LookUp => {
                (self.write_queue.ring(references).await, &mut swept.rung_write)
            }
            DueStep::Acknowledge => {
                (self.acknowledge_queue.ring(references).await, &mut swept.rung_acknowledge)
            }
        };
        let missed = rung.err().map_or(0, |error| {
            self.meter.record(Metric::RingFailed, 1.0);
            tracing::warn!(step = "ring", outcome = "failed", cause = %error, "the next sweep will ring");
            error.missed.len()
        });
        *counted += references.len() - missed.min(references.len());
        swept.missed += missed;
    }

    async fn count_reviews(&self, now: Moment, swept: &mut Swept) -> Result<(), StoreError> {
        for reason in ReviewReason::ALL {
            let open = self.submissions.reviews(reason, REVIEWS_COUNTED_MAX).await?;
            swept.open_reviews += open.len();
            let oldest = open.first().map_or(0, |(_, review)| now.seconds_since(review.since));
            swept.oldest_review_seconds = swept.oldest_review_seconds.max(oldest);
        }
        Ok(())
    }

    #[expect(clippy::cast_precision_loss, reason = "counts and ages are far below 2^52")]
    fn say(&self, swept: &Swept) {
        let rung = swept.rung_write + swept.rung_acknowledge;
        self.meter.record(Metric::Rung, rung as f64);
        self.meter.record(Metric::OpenReviews, swept.open_reviews as f64);
        self.meter.record(Metric::OldestReviewAge, swept.oldest_review_seconds as f64);
        self.meter.record(Metric::OldestDueAge, swept.oldest_due_seconds as f64);
        tracing::info!(step = "sweep", outcome = "done", rung, open_reviews = swept.open_reviews, "swept");
    }
}
