//! The clock that tests turn by hand.
//!
//! Every part of the world reads time here, so an hour of waiting costs nothing and is the same on every
//! machine. It never moves by itself: only `turn`, and a worker that sleeps on it, move it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Milliseconds since the Unix epoch, shared by everything in one world. Clones show the same time.
#[derive(Debug, Clone)]
pub struct TurnedClock(Arc<AtomicI64>);

impl TurnedClock {
    /// A clock that shows `milliseconds` since the Unix epoch.
    #[must_use]
    pub fn at(milliseconds: i64) -> Self {
        Self(Arc::new(AtomicI64::new(milliseconds)))
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    /// Moves the clock forward.
    pub fn turn(&self, milliseconds: i64) {
        self.0.fetch_add(milliseconds, Ordering::SeqCst);
    }
}
