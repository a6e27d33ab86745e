//! The sweeper: the only clock.
//!
//! Every minute it rings for whatever is due, and says how much waits for a person. It changes no record, so it may run
//! twice, late or not at all for a while without harm.

pub mod handler;

use docket_domain::alert;
use docket_domain::limits::{ALERTS_PER_SWEEP_MAX, RINGS_AT_ONCE, RINGS_PER_SWEEP_MAX, ROUND_MS};
use docket_domain::metric::Metric;
use docket_domain::moment::Moment;
use docket_domain::ports::{Clock, Doorbell, Meter, StoreError, Submissions};
use docket_domain::reference::Reference;
use docket_domain::status::{DueStep, ReviewReason, WriteReview};

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
    /// Counts what waits for a person, and rings for what is due, the longest due first.
    ///
    /// The counting comes first: it takes little, and a queue that hangs must not hide a review.
    ///
    /// # Errors
    /// The store could not be read to the end. What could be found has been rung for: one step's failure holds up no
    /// other.
    pub async fn sweep(&self, deadline: Moment) -> Result<Swept, StoreError> {
        let now = self.clock.now();
        let mut swept = Swept::default();
        let mut alerts = Vec::new();
        let mut whole = self.count_reviews(now, &mut swept, &mut alerts).await;
        for step in DueStep::ALL {
            match self.submissions.due(step, now, RINGS_PER_SWEEP_MAX).await {
                Ok(due) => {
                    let oldest = due.iter().map(|(_, since)| now.seconds_since(*since)).max().unwrap_or(0);
                    swept.oldest_due_seconds = swept.oldest_due_seconds.max(oldest);
                    let references: Vec<Reference> =
                        due.into_iter().map(|(reference, _)| reference).collect();
                    self.ring(step, &references, deadline, &mut swept).await;
                }
                Err(error) => whole = Err(error),
            }
        }
        // Last: a customer's message goes before an operator's.
        let alerts = some_of(alerts, now);
        self.ring(DueStep::Acknowledge, &alerts, deadline, &mut Swept::default()).await;
        whole?;
        self.meter.record(Metric::Sweeps, 1.0);
        Ok(swept)
    }

    async fn ring(&self, step: DueStep, references: &[Reference], deadline: Moment, swept: &mut Swept) {
        let mut missed = 0;
        for some in references.chunks(RINGS_AT_ONCE) {
            if self.clock.now().plus_millis(ROUND_MS) > deadline {
                tracing::warn!(step = "ring", outcome = "no_time", "left to the next sweep");
                missed += some.len();
                continue;
            }
            let rung = match step {
                DueStep::Append | DueStep::LookUp => self.write_queue.ring(some).await,
                DueStep::Acknowledge => self.acknowledge_queue.ring(some).await,
            };
            if let Err(error) = rung {
                self.meter.record(Metric::RingFailed, 1.0);
                tracing::warn!(step = "ring", outcome = "failed", cause = %error, "the next sweep will ring");
                missed += error.missed.len().min(some.len());
            }
        }
        let counted = match step {
            DueStep::Append | DueStep::LookUp => &mut swept.rung_write,
            DueStep::Acknowledge => &mut swept.rung_acknowledge,
        };
        *counted += references.len() - missed;
        swept.missed += missed;
    }

    /// Counts the open reviews, and collects those of which somebody is to be told.
    async fn count_reviews(
        &self,
        now: Moment,
        swept: &mut Swept,
        alerts: &mut Vec<(ReviewReason, Reference)>,
    ) -> Result<(), StoreError> {
        for reason in ReviewReason::ALL {
            let open = self.submissions.reviews(reason, REVIEWS_COUNTED_MAX).await?;
            swept.open_reviews += open.len();
            let oldest = open.first().map_or(0, |(_, review)| now.seconds_since(review.since));
            swept.oldest_review_seconds = swept.oldest_review_seconds.max(oldest);
            let owed = open.into_iter().filter(|(_, review)| alert::is_rung_for(review.since, now));
            alerts.extend(owed.map(|(reference, _)| (reason, reference)));
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

/// As many as one sweep rings for: what stops the whole sheet each time, and of the others in turn, minute by minute.
fn some_of(owed: Vec<(ReviewReason, Reference)>, now: Moment) -> Vec<Reference> {
    let stops_the_sheet = ReviewReason::Write(WriteReview::MisplacedRow);
    let (urgent, others): (Vec<_>, Vec<_>) =
        owed.into_iter().partition(|(reason, _)| *reason == stops_the_sheet);
    let minute = usize::try_from(now.seconds() / 60).unwrap_or(0);
    let turn = minute.wrapping_mul(ALERTS_PER_SWEEP_MAX) % others.len().max(1);
    let in_turn = others.iter().cycle().skip(turn).take(others.len());
    let references = urgent.iter().chain(in_turn).map(|(_, reference)| reference.clone());
    references.take(ALERTS_PER_SWEEP_MAX).collect()
}
