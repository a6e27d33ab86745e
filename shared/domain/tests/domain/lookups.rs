//! When an uncertain write is looked up, and what it becomes: played on the schedule, with a sheet that answers as the
//! case demands.

use docket_domain::limits::UNREADABLE_SECONDS_MAX;
use docket_domain::moment::Moment;
use docket_domain::status::{
    By, DueStep, Finding, Record, ReviewReason, WriteEvent, WriteOrder, WriteReview,
};

use super::samples::{LEASE_SECONDS, at, cause, range, recorded, token, why};

fn claimed() -> Record {
    let claim = WriteEvent::Claimed { token: token("ours"), lease_seconds: LEASE_SECONDS };
    recorded().write_after(&claim, at(0), &By::Writer).expect("a fresh record is due")
}

/// Attempted at 0, and the answer did not come.
fn lost_at(seconds: i64, settle_seconds: u64) -> Record {
    let unknown = WriteEvent::Unknown { cause: cause("timeout"), settle_seconds };
    claimed().write_after(&unknown, at(seconds), &By::Writer).expect("it was attempting")
}

fn look(record: &Record, now: Moment, finding: Finding, settle_seconds: u64) -> Record {
    let event = WriteEvent::LookedUp { finding, started_at: now, settle_seconds };
    record.write_after(&event, now, &By::Writer).expect("an uncertain write can be looked up")
}

fn due_in_seconds(record: &Record) -> Option<u64> {
    record.due().map(|(step, due_at)| {
        assert_eq!(step, DueStep::LookUp);
        due_at.whole_second().seconds_since(at(0).whole_second())
    })
}

fn review(record: &Record) -> Option<ReviewReason> {
    record.reviews().first().map(|review| review.reason)
}

/// Looks whenever it is due and finds no row, until a person must look.
fn misses(mut record: Record, settle_seconds: u64) -> (Vec<u64>, Record) {
    let mut looked = Vec::new();
    while let Some((_, due_at)) = record.due() {
        looked.push(due_in_seconds(&record).expect("due"));
        assert!(looked.len() < 20, "for ever: {looked:?}");
        record = look(&record, due_at, Finding::None, settle_seconds);
    }
    (looked, record)
}

#[test]
fn a_lost_answer_is_looked_up_at_one_three_and_six_minutes_and_then_a_person_looks() {
    let (looked, record) = misses(lost_at(25, 300), 300);
    // A whole second is the unit of the index, so each comes within the second after.
    assert_eq!(looked, [61, 181, 361]);
    assert_eq!(review(&record), Some(ReviewReason::Write(WriteReview::NoMatchingRow)));
    assert_eq!((record.write.lookups, record.write.attempts), (3, 1));
}

#[test]
fn a_short_settle_time_keeps_the_same_shares() {
    let (looked, record) = misses(lost_at(1, 10), 10);
    assert_eq!(looked, [3, 7, 13]);
    assert_eq!(review(&record), Some(ReviewReason::Write(WriteReview::NoMatchingRow)));
}

#[test]
fn an_answer_lost_after_the_last_lookup_would_have_been_is_looked_up_at_once() {
    let record = lost_at(25, 10);
    assert_eq!(due_in_seconds(&record), Some(26));
    let (looked, record) = misses(record, 10);
    assert_eq!(looked.len(), 1);
    assert_eq!(review(&record), Some(ReviewReason::Write(WriteReview::NoMatchingRow)));
}

#[test]
fn a_worker_that_died_is_looked_up_when_its_lease_ends_and_never_appended_again() {
    let record = claimed();
    let (step, lease_until) = record.due().expect("the lease is watched");
    assert_eq!(step, DueStep::LookUp);
    let uncertain =
        record.write_after(&WriteEvent::LeaseRanOut, lease_until, &By::Writer).expect("it is over");
    assert_eq!(uncertain.due(), Some((DueStep::LookUp, lease_until)));
    let (looked, record) = misses(uncertain, 300);
    assert_eq!(looked, [121, 181, 361]);
    assert_eq!(review(&record), Some(ReviewReason::Write(WriteReview::NoMatchingRow)));
}

#[test]
fn a_look_that_began_before_the_settle_time_says_nothing_even_when_it_ends_after_it() {
    let event = WriteEvent::LookedUp { finding: Finding::None, started_at: at(299), settle_seconds: 300 };
    let record = lost_at(25, 300).write_after(&event, at(420), &By::Writer).expect("uncertain");
    assert_eq!(review(&record), None);
    let (looked, record) = misses(record, 300);
    assert_eq!(looked, [421]);
    assert_eq!(review(&record), Some(ReviewReason::Write(WriteReview::NoMatchingRow)));
}

#[test]
fn a_row_that_appears_at_any_lookup_confirms() {
    for shown_at in [61, 181, 361] {
        let mut record = lost_at(25, 300);
        while let Some((DueStep::LookUp, due_at)) = record.due() {
            let appeared = due_in_seconds(&record).expect("due") >= shown_at;
            let finding = if appeared { Finding::OneEqual { range: range() } } else { Finding::None };
            record = look(&record, due_at, finding, 300);
        }
        assert_eq!(record.write.state.as_str(), "confirmed", "shown at {shown_at} s");
        assert!(record.reviews().is_empty());
        assert!(matches!(record.due(), Some((DueStep::Acknowledge, _))));
    }
}

#[test]
fn a_row_that_appears_while_a_person_looks_confirms_and_closes_the_review() {
    let (_, record) = misses(lost_at(25, 300), 300);
    let found = look(&record, at(4_000), Finding::OneEqual { range: range() }, 300);
    assert_eq!(found.write.state.as_str(), "confirmed");
    assert!(found.reviews().is_empty());
}

#[test]
fn a_differing_or_double_row_is_a_persons_at_once_and_confirms_when_it_was_mended() {
    for (finding, reason) in [
        (Finding::OneDiffers { range: range() }, WriteReview::RowDiffers),
        (Finding::Several { rows: 2 }, WriteReview::SeveralRows),
    ] {
        let record = look(&lost_at(25, 300), at(61), finding, 300);
        assert_eq!(review(&record), Some(ReviewReason::Write(reason)));
        assert!(record.due().is_none());
        let mended = look(&record, at(90), Finding::OneEqual { range: range() }, 300);
        assert_eq!(mended.write.state.as_str(), "confirmed");
        // Deleted instead: absence means something only after the settle time.
        let gone = look(&record, at(90), Finding::None, 300);
        assert_eq!(review(&gone), Some(ReviewReason::Write(reason)));
        let append_again = WriteEvent::Ordered(WriteOrder::AppendAgain { why: why() });
        let operator = By::Operator("ann".to_owned());
        assert!(gone.write_after(&append_again, at(91), &operator).is_err());
        let gone = look(&gone, at(301), Finding::None, 300);
        assert_eq!(review(&gone), Some(ReviewReason::Write(WriteReview::NoMatchingRow)));
        assert!(gone.write_after(&append_again, at(302), &operator).is_ok());
    }
}

#[test]
fn a_misplaced_row_stays_misplaced_when_a_recheck_finds_none_in_its_place() {
    let misplaced = WriteEvent::Misplaced { range: "'Intake'!D3:I3".to_owned() };
    let record = claimed().write_after(&misplaced, at(2), &By::Writer).expect("attempting");
    assert_eq!(review(&record), Some(ReviewReason::Write(WriteReview::MisplacedRow)));
    for seconds in [10, 400, 100_000] {
        let again = look(&record, at(seconds), Finding::None, 300);
        assert_eq!(again.reviews(), record.reviews(), "after {seconds} s");
    }
    // Moved to its place by hand.
    let moved = look(&record, at(500), Finding::OneEqual { range: range() }, 300);
    assert_eq!(moved.write.state.as_str(), "confirmed");
}

#[test]
fn a_sheet_that_cannot_be_read_for_a_day_is_a_persons() {
    let mut record = lost_at(25, 300);
    let mut last = at(25);
    let mut looks = 0;
    while let Some((DueStep::LookUp, due_at)) = record.due() {
        let pause = due_at.seconds_since(last);
        assert!(looks == 0 || (60..=61).contains(&pause), "{pause} s");
        last = due_at;
        record = look(&record, due_at, Finding::Unreadable(cause("http_503")), 300);
        looks += 1;
        assert!(looks < 2_000, "for ever");
    }
    assert_eq!(review(&record), Some(ReviewReason::Write(WriteReview::SheetUnreadable)));
    let after = last.seconds_since(at(0));
    assert!((UNREADABLE_SECONDS_MAX..UNREADABLE_SECONDS_MAX + 120).contains(&after), "after {after} s");
    // And the first look that succeeds says what is there.
    let none = look(&record, last.plus_seconds(60), Finding::None, 300);
    assert_eq!(review(&none), Some(ReviewReason::Write(WriteReview::NoMatchingRow)));
    let found = look(&record, last.plus_seconds(60), Finding::OneEqual { range: range() }, 300);
    assert_eq!(found.write.state.as_str(), "confirmed");
}

#[test]
fn an_unreadable_sheet_delays_the_schedule_and_opens_no_review_of_a_missing_row() {
    let mut record = lost_at(25, 300);
    for seconds in [61, 121, 181, 241, 301, 361, 421] {
        record = look(&record, at(seconds), Finding::Unreadable(cause("http_403")), 300);
        assert_eq!(review(&record), None, "at {seconds} s");
    }
    let (looked, record) = misses(record, 300);
    assert_eq!(looked.len(), 1);
    assert_eq!(review(&record), Some(ReviewReason::Write(WriteReview::NoMatchingRow)));
}

#[test]
fn another_append_by_order_starts_its_own_schedule() {
    let (_, record) = misses(lost_at(25, 300), 300);
    let operator = By::Operator("ann".to_owned());
    let order = WriteEvent::Ordered(WriteOrder::AppendAgain { why: why() });
    let again = record.write_after(&order, at(5_000), &operator).expect("offered");
    let claim = WriteEvent::Claimed { token: token("second"), lease_seconds: LEASE_SECONDS };
    let claimed = again.write_after(&claim, at(5_000), &By::Writer).expect("due at once");
    let unknown = WriteEvent::Unknown { cause: cause("timeout"), settle_seconds: 300 };
    let lost = claimed.write_after(&unknown, at(5_025), &By::Writer).expect("attempting");
    let (looked, _) = misses(lost, 300);
    assert_eq!(looked, [5_061, 5_181, 5_361]);
}
