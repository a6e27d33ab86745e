//! A change whose answer is lost, late or wrong: it is never taken for another's, and never claimed without proof.

use std::time::Duration;

use docket_domain::moment::Moment;
use docket_domain::outcome::{NotApplied, NotSent};
use docket_domain::ports::{Applied, StoreError, Submissions as _};
use docket_domain::status::{AckEvent, AttemptToken, By, Cause, Finding, Record, WriteEvent};
use docket_domain::submission::ChatId;
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

/// Of a record whose append is under way at the 60th second, or whose append is unknown since then.
fn writes_that_may_follow_a_claim() -> Vec<(&'static str, bool, WriteEvent)> {
    let not_applied = |reason| WriteEvent::NotApplied { reason, jitter_seconds: 7 };
    let looked_up = |finding| WriteEvent::LookedUp { finding, started_at: later(400), settle_seconds: 300 };
    let range = || "'Intake'!A2:F2".to_owned();
    let cause = || Cause::new("timeout");
    vec![
        ("lease", false, WriteEvent::LeaseRanOut),
        ("unknown", false, WriteEvent::Unknown { cause: cause(), settle_seconds: 300 }),
        ("misplaced", false, WriteEvent::Misplaced { range: "'Intake'!D3:I3".into() }),
        ("try-again", false, not_applied(NotApplied::TryAgain(Cause::new("connection_failed")))),
        (
            "busy",
            false,
            not_applied(NotApplied::Busy { cause: Cause::new("http_429"), retry_after_seconds: None }),
        ),
        ("halt", false, not_applied(NotApplied::Halt(Cause::new("http_403")))),
        ("cell-alone", false, not_applied(NotApplied::CellAlone(Cause::new("cell_refused")))),
        ("in-company", false, not_applied(NotApplied::CellInCompany(Cause::new("cell_refused_in_company")))),
        ("one-equal", true, looked_up(Finding::OneEqual { range: range() })),
        ("differs", true, looked_up(Finding::OneDiffers { range: range() })),
        ("several", true, looked_up(Finding::Several { rows: 2 })),
        ("none", true, looked_up(Finding::None)),
        ("unreadable", true, looked_up(Finding::Unreadable(Cause::new("http_500")))),
    ]
}

#[tokio::test]
async fn whatever_became_of_a_write_recognises_itself() {
    for (name, of_the_unknown, event) in writes_that_may_follow_a_claim() {
        for (answers, times) in [("one", 1), ("all", FOR_GOOD)] {
            let store = Store::open(&format!("write-{name}-{answers}")).await;
            let pending = store.recorded(1).await;
            let mut seen = store.stored(&pending, &claimed(&pending, "ours", later(60)), later(60)).await;
            if of_the_unknown {
                let unknown = WriteEvent::Unknown { cause: Cause::new("timeout"), settle_seconds: 300 };
                let next = seen.write_after(&unknown, later(61), &By::Writer).unwrap();
                seen = store.stored(&seen, &next, later(61)).await;
            }
            recognises_itself(&store, &seen, times, |record, at| {
                record.write_after(&event, at, &By::Writer).unwrap()
            })
            .await;
        }
    }
}

#[tokio::test]
async fn whatever_became_of_an_acknowledgement_recognises_itself() {
    let not_sent = AckEvent::NotSent;
    for (name, event) in [
        ("lease", AckEvent::LeaseRanOut),
        ("refused", AckEvent::Refused { cause: Cause::new("http_403") }),
        ("unknown", AckEvent::Unknown { cause: Cause::new("timeout") }),
        ("nameless", AckEvent::Accepted { message_id: None }),
        ("moved", AckEvent::Moved { to: ChatId(-1_002_000_000_009) }),
        ("try-again", not_sent(NotSent::TryAgain(Cause::new("connection_failed")))),
        ("busy", not_sent(NotSent::Busy { retry_after_seconds: 7 })),
        ("halt", not_sent(NotSent::Halt(Cause::new("http_401")))),
    ] {
        for (answers, times) in [("one", 1), ("all", FOR_GOOD)] {
            let store = Store::open(&format!("ack-{name}-{answers}")).await;
            let pending = store.recorded(1).await;
            let sending = store.sending(&store.written(&pending).await).await;
            recognises_itself(&store, &sending, times, |record, at| {
                record.acknowledgement_after(&event, at, &By::Acknowledger).unwrap()
            })
            .await;
        }
    }
}

/// The change is applied and its answer is lost, so many times: it is known for ours, and stands as it was decided. The same
/// change by somebody else is not.
async fn recognises_itself(
    store: &Store,
    seen: &Record,
    times: usize,
    change: impl Fn(&Record, Moment) -> Record,
) {
    let next = change(seen, later(400));
    store.fail("UpdateItem", Fault::LoseAnswer, times);
    let outcome = store.submissions.apply(seen, &next, later(400)).await;
    assert_eq!(outcome, Ok(Applied::Ours), "{}", store.wire.plan_to_string());
    assert!(!store.wire.faults_that_hit().is_empty(), "no answer was lost");
    assert_eq!(store.get(&seen.submission.reference).await, next);

    // Another worker decided the same a second later, and came too late.
    store.wire.heal();
    let outcome = store.submissions.apply(seen, &change(seen, later(401)), later(401)).await;
    assert_eq!(outcome, Ok(Applied::Lost(Some(Box::new(next)))), "another's change was taken for ours");
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
