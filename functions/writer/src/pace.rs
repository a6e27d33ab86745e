//! How fast appends may leave: one at a time, and fewer than sixty a minute (Google's quota of one user; it advises about
//! one request a second for a spreadsheet).
//!
//! One writer works at a time, so this process's pace is the sheet's. Whatever is confirmed during a pause goes with the
//! next request, so waiting costs a burst nothing.

use std::sync::atomic::{AtomicI64, Ordering};

use docket_domain::limits::APPEND_PAUSE_MS;
use docket_domain::moment::Moment;

/// When an append last left this process, in milliseconds since the epoch.
#[derive(Debug)]
pub struct Pace(AtomicI64);

impl Default for Pace {
    fn default() -> Self {
        Self(AtomicI64::new(i64::MIN))
    }
}

impl Pace {
    /// Milliseconds to wait from `now` before an append may leave. Never longer than the pause itself, whatever a clock
    /// that was set back says.
    pub fn wait_ms(&self, now: Moment) -> u64 {
        let since_ms = now.millis().saturating_sub(self.0.load(Ordering::Acquire));
        u64::try_from(since_ms).map_or(APPEND_PAUSE_MS, |since_ms| APPEND_PAUSE_MS.saturating_sub(since_ms))
    }

    /// An append leaves now.
    pub fn left(&self, now: Moment) {
        self.0.store(now.millis(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_append_waits_for_nothing_and_the_next_for_what_is_left_of_the_pause() {
        let (pace, at) = (Pace::default(), |ms: i64| Moment::from_millis(1_000_000 + ms));
        assert_eq!(pace.wait_ms(at(0)), 0);
        pace.left(at(0));
        assert_eq!(pace.wait_ms(at(0)), APPEND_PAUSE_MS);
        assert_eq!(pace.wait_ms(at(400)), APPEND_PAUSE_MS - 400);
        assert_eq!(pace.wait_ms(at(10_000)), 0);
        assert_eq!(pace.wait_ms(at(-60_000)), APPEND_PAUSE_MS, "a clock that was set back");
    }
}
