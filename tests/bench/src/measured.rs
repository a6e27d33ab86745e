//! Time that passes while something is done, of which the middle one counts: the first runs warm up, and another one may
//! meet a machine that does something else.

use std::time::{Duration, Instant};

/// How long `what` takes.
pub(crate) async fn measure<T>(what: impl Future<Output = T>) -> Duration {
    let begun = Instant::now();
    // Kept until the time is taken: dropping it is not part of what is measured.
    let _done = what.await;
    begun.elapsed()
}

/// Several runs of the same.
#[derive(Debug, Default)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) fn add(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// Zero when nothing was measured.
    pub(crate) fn median_ms(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1_000.0)
    }
}
