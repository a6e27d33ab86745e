//! The removal of a record: only a finished one, only the one that was seen, and never sent again blindly.

use docket_domain::ports::{Removed, StoreError, Submissions as _};
use docket_domain::status::{AckEvent, By, Conflict, ConflictEvent, Record, WriteEvent};
use docket_domain::submission::{ChatId, Fingerprint, Summary};
use docket_world::wire::{Fault, Plan, Side};

use super::{FOR_GOOD, Store, claimed, later};

/// A record whose write and acknowledgement are confirmed, and every record on the way there.
async fn finished(store: &Store) -> Vec<Record> {
    let pending = store.recorded(1).await;
    let written = store.written(&pending).await;
    let sending = store.sending(&written).await;
    let accepted = AckEvent::Accepted { message_id: Some(77) };
    let next = sending.acknowledgement_after(&accepted, later(63), &By::Acknowledger).unwrap();
    let done = store.stored(&sending, &next, later(63)).await;
    vec![pending, written, sending, done]
}

fn kept(record: &Record) -> Result<Removed, StoreError> {
    Ok(Removed::Kept(Box::new(record.clone())))
}

#[tokio::test]
async fn a_finished_record_is_removed_and_no_other() {
    let store = Store::open("removed").await;
    let other = store.recorded(2).await;
    let stages = finished(&store).await;
    let done = stages.last().unwrap();
    // Seen before its last change.
    assert_eq!(store.submissions.remove(&stages[2]).await, kept(done));
    // With another content, as if it were one of another deployment.
    let mut changed = done.clone();
    changed.submission.fingerprint = other.submission.fingerprint.clone();
    assert_eq!(store.submissions.remove(&changed).await, kept(done));
    assert_eq!(store.submissions.remove(done).await, Ok(Removed::Gone));
    assert_eq!(store.submissions.get(&done.submission.reference).await, Ok(None));
    assert_eq!(store.submissions.remove(done).await, Ok(Removed::Gone), "it stays gone");
    assert_eq!(store.get(&other.submission.reference).await, other);
}

#[tokio::test]
async fn a_record_that_is_not_finished_or_in_review_is_kept() {
    let store = Store::open("kept").await;
    let pending = store.recorded(1).await;
    assert_eq!(store.submissions.remove(&pending).await, kept(&pending));
    let attempting = store.stored(&pending, &claimed(&pending, "write", later(1)), later(1)).await;
    assert_eq!(store.submissions.remove(&attempting).await, kept(&attempting));
    let applied = WriteEvent::Applied { range: "'Intake'!A2:F2".into() };
    let next = attempting.write_after(&applied, later(2), &By::Writer).unwrap();
    let written = store.stored(&attempting, &next, later(2)).await;
    assert_eq!(store.submissions.remove(&written).await, kept(&written));

    let store = Store::open("kept-in-review").await;
    let done = finished(&store).await.pop().unwrap();
    let summary = Summary::clean("other words").unwrap();
    let conflict = Conflict {
        at: later(64),
        request_type: "Repair".into(),
        fingerprint: Fingerprint::of("Repair", &summary, ChatId(1)),
        summary,
    };
    let next = done.conflict_after(&ConflictEvent::Arrived(conflict), later(64), &By::Webhook).unwrap();
    let in_review = store.stored(&done, &next, later(64)).await;
    assert_eq!(store.submissions.remove(&in_review).await, kept(&in_review));
}

#[tokio::test]
async fn a_lost_answer_is_settled_by_looking() {
    for (prefix, fault, times, calls) in [
        ("gone-lost", Fault::LoseAnswer, 1, 2),
        ("gone-500", Fault::Answer500After, 1, 2),
        ("gone-hang", Fault::ApplyThenHang, 1, 2),
        ("gone-for-good", Fault::LoseAnswer, FOR_GOOD, 3),
    ] {
        let store = Store::open(prefix).await;
        let done = finished(&store).await.pop().unwrap();
        store.fail("DeleteItem", fault, times);
        assert_eq!(
            store.submissions.remove(&done).await,
            Ok(Removed::Gone),
            "{}",
            store.wire.plan_to_string()
        );
        assert_eq!(store.calls("DeleteItem"), calls, "{prefix}");
        assert_eq!(store.references().await, 0);
    }
}

#[tokio::test]
async fn what_may_still_arrive_is_not_known_and_what_was_turned_away_changed_nothing() {
    for (prefix, fault) in [("still-fail", Fault::FailBefore), ("still-hang-del", Fault::Hang)] {
        let store = Store::open(prefix).await;
        let done = finished(&store).await.pop().unwrap();
        store.fail("DeleteItem", fault, FOR_GOOD);
        let outcome = store.submissions.remove(&done).await;
        assert!(matches!(outcome, Err(StoreError::OutcomeUnknown(_))), "{outcome:?}");
        assert_eq!(store.get(&done.submission.reference).await, done);
    }
    let store = Store::open("del-throttled").await;
    let done = finished(&store).await.pop().unwrap();
    store.fail("DeleteItem", Fault::Throttle, FOR_GOOD);
    let outcome = store.submissions.remove(&done).await;
    assert!(matches!(outcome, Err(StoreError::NotApplied(_))), "{outcome:?}");
    // Nobody knows when the look fails too.
    store.wire.set_plan(Plan::outage(Side::DynamoDb, Fault::LoseAnswer));
    let outcome = store.submissions.remove(&done).await;
    assert!(matches!(outcome, Err(StoreError::OutcomeUnknown(_))), "{outcome:?}");
}

#[tokio::test]
async fn a_transaction_on_the_same_item_is_waited_for_before_its_removal() {
    let store = Store::open("del-conflict").await;
    let done = finished(&store).await.pop().unwrap();
    store.fail("DeleteItem", Fault::TransactionConflict, 2);
    assert_eq!(store.submissions.remove(&done).await, Ok(Removed::Gone));
}
