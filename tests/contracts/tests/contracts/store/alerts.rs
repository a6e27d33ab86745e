//! The note that says when a person was told of a review: once for each moment owed, and no change of the record.

use docket_domain::ports::{Alerts as _, StoreError};
use docket_domain::reference::Reference;
use docket_domain::status::{By, Cause, Record, WriteEvent};
use docket_world::wire::{Fault, Plan, Side};

use super::{FOR_GOOD, Store, claimed, later};

/// A record in review.
async fn in_review(store: &Store) -> Record {
    let pending = store.recorded(1).await;
    let attempting = store.stored(&pending, &claimed(&pending, "write", later(1)), later(1)).await;
    let misplaced = WriteEvent::Misplaced { range: "'Intake'!D3:I3".into() };
    let next = attempting.write_after(&misplaced, later(2), &By::Writer).unwrap();
    store.stored(&attempting, &next, later(2)).await
}

#[tokio::test]
async fn each_moment_owed_is_noted_once_and_the_record_stays_as_it_is() {
    let store = Store::open("alerts").await;
    let record = in_review(&store).await;
    let reference = &record.submission.reference;
    let note = async |owed, at| store.submissions.note(reference, later(owed), later(at)).await;
    assert_eq!(note(2, 10).await, Ok(true));
    assert_eq!(note(2, 70).await, Ok(false));
    assert_eq!(note(86_402, 86_410).await, Ok(true));
    assert_eq!(note(86_402, 86_470).await, Ok(false));
    // Nobody was told after all.
    store.submissions.take_back(reference, later(86_410)).await.unwrap();
    assert_eq!(note(86_402, 86_530).await, Ok(true));
    // What somebody else noted is not taken back.
    store.submissions.take_back(reference, later(86_410)).await.unwrap();
    assert_eq!(note(86_402, 86_590).await, Ok(false));
    assert_eq!(store.get(reference).await, record);
}

#[tokio::test]
async fn of_two_who_note_in_the_same_millisecond_one_tells() {
    let store = Store::open("alert-at-once").await;
    let record = in_review(&store).await;
    let reference = &record.submission.reference;
    let (one, other) = tokio::join!(
        store.submissions.note(reference, later(2), later(10)),
        store.submissions.note(reference, later(2), later(10)),
    );
    assert_ne!(one.unwrap(), other.unwrap());
}

#[tokio::test]
async fn nothing_is_noted_where_nothing_is_open_and_no_record_comes_about() {
    let store = Store::open("no-alerts").await;
    let pending = store.recorded(1).await;
    let unknown: Reference = "DK-8M4T-K2QX-7RZ9".parse().unwrap();
    for reference in [&pending.submission.reference, &unknown] {
        assert_eq!(store.submissions.note(reference, later(0), later(1)).await, Ok(false));
        store.submissions.take_back(reference, later(1)).await.unwrap();
    }
    assert_eq!(store.get(&pending.submission.reference).await, pending);
}

#[tokio::test]
async fn our_own_note_that_was_sent_twice_is_ours() {
    let store = Store::open("alert-twice").await;
    let record = in_review(&store).await;
    let reference = &record.submission.reference;
    store.wire.set_plan(Plan::at_operation(
        super::WORKER,
        Side::DynamoDb,
        "UpdateItem",
        1,
        Fault::LoseAnswer,
    ));
    assert_eq!(store.submissions.note(reference, later(2), later(10)).await, Ok(true));
    store.wire.set_plan(
        Plan::at_operation(super::WORKER, Side::DynamoDb, "UpdateItem", 1, Fault::FailBefore).times(FOR_GOOD),
    );
    let failed = store.submissions.note(reference, later(86_402), later(86_410)).await;
    assert!(matches!(failed, Err(StoreError::NotApplied(Cause(_)))), "{failed:?}");
}
