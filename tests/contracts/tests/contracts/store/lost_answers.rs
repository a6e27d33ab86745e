//! A change whose answer is lost, late or wrong: it is never taken for another's, and never claimed without proof.

use std::time::Duration;

use docket_domain::ports::{Applied, StoreError, Submissions as _};
use docket_domain::status::{AckEvent, AttemptToken, By, Cause, Record, WriteEvent};
use docket_world::wire::{Fault, Plan, Side};

use super::{FOR_GOOD, Store, WORKER, claimed, later, now, submission};

/// A fresh record, its claim, and what became of storing it.
async fn claim(store: &Store) -> (Record, Record, Result<Applied, StoreError>) {
    let seen = store.recorded(1).await;
    let next = claimed(&seen, "ours", later(60));
    let outcome = store.submissions.apply(&seen, &next, later(60)).await;
    (seen, next, outcome)
}

#[tokio::test]
async fn our_own_success_reported_as_a_failed_condition_is_ours() {
    for (prefix, fault) in [
        ("own-lost", Fault::LoseAnswer),
        ("own-500", Fault::Answer500After),
        ("own-hang", Fault::ApplyThenHang),
    ] {
        let store = Store::open(prefix).await;
        store.fail("UpdateItem", fault, 1);
        let (seen, next, outcome) = claim(&store).await;
        assert_eq!(outcome, Ok(Applied::Ours), "{}", store.wire.plan_to_string());
        assert_eq!(store.calls("UpdateItem"), 2, "the SDK sent it again");
        assert_eq!(store.get(&seen.submission.reference).await, next);
    }
}

#[tokio::test]
async fn every_kind_of_change_recognises_itself() {
    let store = Store::open("own-each").await;
    let pending = store.recorded(1).await;
    store.fail("UpdateItem", Fault::LoseAnswer, 1);
    let attempting = store.stored(&pending, &claimed(&pending, "ours", later(60)), later(60)).await;

    store.fail("UpdateItem", Fault::LoseAnswer, 1);
    let applied = WriteEvent::Applied { range: "'Intake'!A2:F2".into() };
    let next = attempting.write_after(&applied, later(61), &By::Writer).unwrap();
    let confirmed = store.stored(&attempting, &next, later(61)).await;

    store.fail("UpdateItem", Fault::LoseAnswer, 1);
    let token = AttemptToken("ack".into());
    let claim = AckEvent::Claimed { token, lease_seconds: 120 };
    let next = confirmed.acknowledgement_after(&claim, later(120), &By::Acknowledger).unwrap();
    let sending = store.stored(&confirmed, &next, later(120)).await;

    store.fail("UpdateItem", Fault::LoseAnswer, 1);
    let accepted = AckEvent::Accepted { message_id: Some(77) };
    let next = sending.acknowledgement_after(&accepted, later(121), &By::Acknowledger).unwrap();
    let done = store.stored(&sending, &next, later(121)).await;

    assert!(done.finished());
    assert_eq!(store.wire.faults_that_hit().len(), 4);
}

#[tokio::test]
async fn an_answer_lost_for_good_is_looked_up() {
    for (prefix, fault) in [
        ("good-lost", Fault::LoseAnswer),
        ("good-500", Fault::Answer500After),
        ("good-hang", Fault::ApplyThenHang),
    ] {
        let store = Store::open(prefix).await;
        store.fail("UpdateItem", fault, FOR_GOOD);
        let (seen, next, outcome) = claim(&store).await;
        assert_eq!(outcome, Ok(Applied::Ours), "{}", store.wire.plan_to_string());
        assert_eq!(store.get(&seen.submission.reference).await, next);
    }
}

#[tokio::test]
async fn a_throttled_try_after_a_lost_answer_does_not_hide_our_success() {
    let store = Store::open("hidden").await;
    let lost = Plan::at_operation(WORKER, Side::DynamoDb, "UpdateItem", 1, Fault::LoseAnswer);
    let throttled =
        Plan::at_operation(WORKER, Side::DynamoDb, "UpdateItem", 2, Fault::Throttle).times(FOR_GOOD);
    store.wire.set_plan(lost.and(throttled));
    let (_, _, outcome) = claim(&store).await;
    assert_eq!(outcome, Ok(Applied::Ours), "{}", store.wire.plan_to_string());
}

#[tokio::test]
async fn a_record_that_still_is_what_was_seen_proves_nothing() {
    for (prefix, fault) in [
        ("still-failed", Fault::FailBefore),
        ("still-500", Fault::Answer500Before),
        ("still-hang", Fault::Hang),
    ] {
        let store = Store::open(prefix).await;
        store.fail("UpdateItem", fault, FOR_GOOD);
        let (seen, _, outcome) = claim(&store).await;
        assert!(matches!(outcome, Err(StoreError::OutcomeUnknown(_))), "{outcome:?}");
        assert_eq!(store.get(&seen.submission.reference).await, seen);
    }
}

#[tokio::test]
async fn nobody_knows_when_the_look_fails_too() {
    let store = Store::open("outage").await;
    let seen = store.recorded(1).await;
    store.wire.set_plan(Plan::outage(Side::DynamoDb, Fault::LoseAnswer));
    let outcome = store.submissions.apply(&seen, &claimed(&seen, "ours", later(60)), later(60)).await;
    assert!(matches!(outcome, Err(StoreError::OutcomeUnknown(_))), "{outcome:?}");
    let unread = store.submissions.get(&seen.submission.reference).await;
    assert!(matches!(unread, Err(StoreError::NotApplied(_))), "{unread:?}");
}

#[tokio::test]
async fn a_lost_answer_about_a_lost_race_is_a_lost_race() {
    let store = Store::open("lost-race").await;
    let seen = store.recorded(1).await;
    let first = store.stored(&seen, &claimed(&seen, "first", later(60)), later(60)).await;
    store.fail("UpdateItem", Fault::LoseAnswer, FOR_GOOD);
    let outcome = store.submissions.apply(&seen, &claimed(&seen, "second", later(60)), later(60)).await;
    assert_eq!(outcome, Ok(Applied::Lost(Some(Box::new(first)))));
}

#[tokio::test]
async fn too_many_requests_change_nothing_and_are_nobody_elses_success() {
    let store = Store::open("throttled").await;
    store.fail("UpdateItem", Fault::Throttle, FOR_GOOD);
    let (seen, _, outcome) = claim(&store).await;
    let Err(StoreError::NotApplied(Cause(cause))) = outcome else { panic!("{outcome:?}") };
    assert!(["ThrottlingException", "ProvisionedThroughputExceededException"].contains(&&*cause), "{cause}");
    assert_eq!(store.get(&seen.submission.reference).await, seen);
}

#[tokio::test]
async fn a_transaction_on_the_same_item_is_waited_for() {
    let store = Store::open("conflict").await;
    store.fail("UpdateItem", Fault::TransactionConflict, 2);
    let (seen, next, outcome) = claim(&store).await;
    assert_eq!(outcome, Ok(Applied::Ours));
    assert_eq!(store.get(&seen.submission.reference).await, next);

    let store = Store::open("conflict-for-good").await;
    store.fail("UpdateItem", Fault::TransactionConflict, FOR_GOOD);
    let (_, _, outcome) = claim(&store).await;
    assert_eq!(outcome, Err(StoreError::NotApplied(Cause::new("TransactionConflictException"))));
}

#[tokio::test]
async fn a_refused_connection_changed_nothing() {
    // Nothing was said before: a connection that was open and is closed now could have carried a request.
    let Store { submissions, gate, .. } = Store::open("refused").await;
    let address = gate.url().replace("http://", "");
    drop(gate);
    // The listener goes in the background.
    while std::net::TcpStream::connect(&address).is_ok() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let seen = Record::recorded(submission(1, "words"), now());
    let outcome = submissions.apply(&seen, &claimed(&seen, "ours", later(60)), later(60)).await;
    assert_eq!(outcome, Err(StoreError::NotApplied(Cause::new("connection_failed"))));
}
