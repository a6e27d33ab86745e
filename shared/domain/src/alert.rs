//! When a person is told that something waits for them: when a review opens, and each day while it is open.
//!
//! An alarm's mail says that there are reviews; this says which. It is decided from the moments at which reviews opened, so a
//! sweep that was missed or doubled changes nothing.

use crate::limits::{ALERT_EVERY_SECONDS, ALERT_WITHIN_SECONDS};
use crate::moment::Moment;
use crate::status::{OpenReview, Record};

/// How every alert begins.
pub const BEGINNING: &str = "A person is needed:";

/// The newest moment at which somebody is to be told of a review that is open since then.
#[must_use]
pub fn owed_at(since: Moment, now: Moment) -> Moment {
    let days = now.seconds_since(since) / ALERT_EVERY_SECONDS;
    since.plus_seconds(days * ALERT_EVERY_SECONDS)
}

/// Whether a sweep rings for it: soon after that moment, and often enough that one ring may be lost.
#[must_use]
pub fn is_rung_for(since: Moment, now: Moment) -> bool {
    now.seconds_since(owed_at(since, now)) < ALERT_WITHIN_SECONDS
}

/// The newest moment owed for any of these; none when nothing is open.
#[must_use]
pub fn newest_owed(reviews: &[OpenReview], now: Moment) -> Option<Moment> {
    reviews.iter().map(|review| owed_at(review.since, now)).max()
}

/// What the operator reads: reference and reasons, and no word of the customer's.
#[must_use]
pub fn text(record: &Record) -> String {
    let reference = &record.submission.reference;
    let open: Vec<String> = record
        .reviews()
        .iter()
        .map(|review| format!("{} since {}", review.reason.as_str(), review.since.whole_second()))
        .collect();
    format!("{BEGINNING} {reference}, {}. Run: docket show {reference}", open.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_is_told_of_when_it_opens_and_once_a_day() {
        let since = Moment::from_seconds(1_000_000);
        let after = |seconds| since.plus_seconds(seconds);
        for (now, owed, rung) in [
            (0, 0, true),
            (899, 0, true),
            (900, 0, false),
            (86_399, 0, false),
            (86_400, 86_400, true),
            (86_400 + 900, 86_400, false),
            (3 * 86_400 + 5, 3 * 86_400, true),
        ] {
            assert_eq!(
                (owed_at(since, after(now)), is_rung_for(since, after(now))),
                (after(owed), rung),
                "{now} s"
            );
        }
        // A clock that is behind.
        assert_eq!(owed_at(since, Moment::from_seconds(999_990)), since);
    }
}
