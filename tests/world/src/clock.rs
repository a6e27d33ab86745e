//! The clock that tests turn by hand.
//!
//! Every part of the world reads time here, so an hour of waiting costs nothing and is the same on every
//! machine. It never moves by itself: only `turn`, and a worker that sleeps on it, move it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::task::JoinHandle;

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

    /// From now on shows the machine's time, as executables read it, until the task is aborted.
    ///
    /// # Panics
    /// When the machine's clock stands before 1970.
    #[must_use]
    pub fn follow_real_time(&self) -> JoinHandle<()> {
        let clock = self.clone();
        let catch_up = move || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970").as_millis();
            clock.turn(i64::try_from(now).unwrap_or(i64::MAX) - clock.now_ms());
        };
        catch_up();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(10)).await;
                catch_up();
            }
        })
    }
}
