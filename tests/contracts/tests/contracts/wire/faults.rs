//! What each fault does: whether the other side sees the request, and what the worker hears.

use std::sync::Arc;
use std::time::Duration;

use docket_world::clock::TurnedClock;
use docket_world::wire::{Backend, Fault, LATE_MS, Plan, Side, Wire};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::plain_client::{End, Heard, exchange, post};
use super::{Recorder, new_wire};

/// One call of `worker` to `side`, hit by `fault`, and how many requests the other side saw.
async fn hit(fault: Fault, side: Side) -> (Heard, usize) {
    let (wire, fake) = (new_wire(), Recorder::saying("fine"));
    wire.set_plan(Plan::at(0, fault));
    let heard = call(&wire, side, &fake, "").await;
    assert_eq!(wire.faults_that_hit().len(), 1, "{}", wire.plan_to_string());
    (heard, fake.seen().len())
}

async fn call(wire: &Wire, side: Side, fake: &Arc<Recorder>, body: &str) -> Heard {
    let gate = wire.gate("worker", side, Backend::Fake(fake.clone())).await;
    exchange(&gate.url(), &post("/", "X-Amz-Target: Any.TransactWriteItems\r\n", body)).await
}

#[tokio::test]
async fn fail_before_is_not_applied_and_closes_without_an_answer() {
    let (heard, applied) = hit(Fault::FailBefore, Side::Sheets).await;
    assert_eq!((heard.end, heard.head.as_str(), applied), (End::Closed, "", 0));
}

#[tokio::test]
async fn lose_answer_is_applied_and_closes_without_an_answer() {
    let (heard, applied) = hit(Fault::LoseAnswer, Side::Sheets).await;
    assert_eq!((heard.end, heard.head.as_str(), applied), (End::Closed, "", 1));
}

#[tokio::test]
async fn apply_late_closes_without_an_answer_and_is_applied_once_at_the_first_call_after_its_time() {
    let (clock, fake) = (TurnedClock::at(0), Recorder::saying("fine"));
    let wire = Wire::new(clock.clone());
    wire.set_plan(Plan::at(0, Fault::ApplyLate));
    let heard = call(&wire, Side::Sqs, &fake, "late").await;
    assert_eq!((heard.end, heard.head.as_str(), fake.seen().len()), (End::Closed, "", 0));
    for (turned_ms, seen) in [(LATE_MS - 1, 1), (1, 3), (1, 4)] {
        clock.turn(turned_ms);
        call(&wire, Side::DynamoDb, &fake, "another").await;
        assert_eq!(fake.seen().len(), seen, "after {turned_ms} ms more");
    }
}

#[tokio::test]
async fn hang_is_not_applied_and_never_answers() {
    let (heard, applied) = hit(Fault::Hang, Side::Sheets).await;
    assert_eq!((heard.end, heard.head.as_str(), applied), (End::Silent, "", 0));
}

#[tokio::test]
async fn apply_then_hang_is_applied_and_never_answers() {
    let (heard, applied) = hit(Fault::ApplyThenHang, Side::Sheets).await;
    assert_eq!((heard.end, heard.head.as_str(), applied), (End::Silent, "", 1));
}

#[tokio::test]
async fn a_500_before_and_a_500_after_differ_only_in_what_was_applied() {
    let bodies = [
        (Side::DynamoDb, "/__type", json!("com.amazonaws.dynamodb.v20120810#InternalServerError")),
        (Side::Sqs, "/__type", json!("com.amazonaws.sqs#InternalError")),
        (Side::Sheets, "/error/status", json!("INTERNAL")),
        (Side::Token, "/error", json!("internal_failure")),
        (Side::Telegram, "/error_code", json!(500)),
    ];
    for (side, pointer, expected) in bodies {
        let (before, applied_before) = hit(Fault::Answer500Before, side).await;
        let (after, applied_after) = hit(Fault::Answer500After, side).await;
        assert_eq!((before.status, applied_before), (Some(500), 0), "{side:?}");
        assert_eq!((after.status, applied_after), (Some(500), 1), "{side:?}");
        assert_eq!(before.body, after.body);
        let body: Value = serde_json::from_str(&before.body).unwrap();
        assert_eq!(body.pointer(pointer), Some(&expected), "{side:?}");
    }
}

#[tokio::test]
async fn a_throttled_call_is_refused_in_the_words_of_its_side() {
    let bodies = [
        (
            Side::DynamoDb,
            400,
            "/__type",
            json!("com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"),
        ),
        (Side::Sqs, 400, "/__type", json!("com.amazonaws.sqs#RequestThrottled")),
        (Side::Sheets, 429, "/error/status", json!("RESOURCE_EXHAUSTED")),
        (Side::Token, 429, "/error", json!("rate_limit_exceeded")),
        (Side::Telegram, 429, "/parameters/retry_after", json!(3)),
    ];
    for (side, status, pointer, expected) in bodies {
        let (heard, applied) = hit(Fault::Throttle, side).await;
        assert_eq!((heard.status, applied), (Some(status), 0), "{side:?}");
        let body: Value = serde_json::from_str(&heard.body).unwrap();
        assert_eq!(body.pointer(pointer), Some(&expected), "{side:?}");
        assert_eq!(heard.head.contains("retry-after"), side == Side::Telegram, "{side:?}");
    }
}

#[tokio::test]
async fn dynamodb_throttles_by_both_of_its_names() {
    let (wire, fake) = (new_wire(), Recorder::saying("fine"));
    wire.set_plan(Plan::outage(Side::DynamoDb, Fault::Throttle));
    call(&wire, Side::DynamoDb, &fake, "").await;
    let heard = call(&wire, Side::DynamoDb, &fake, "").await;
    assert!(heard.body.contains("#ThrottlingException"), "{}", heard.body);
}

#[tokio::test]
async fn a_transaction_conflict_is_told_item_by_item_and_only_by_dynamodb() {
    let (wire, fake) = (new_wire(), Recorder::saying("fine"));
    wire.set_plan(Plan::at_operation(
        "worker",
        Side::DynamoDb,
        "TransactWriteItems",
        1,
        Fault::TransactionConflict,
    ));
    let heard = call(&wire, Side::DynamoDb, &fake, r#"{"TransactItems":[{},{}]}"#).await;
    let body: Value = serde_json::from_str(&heard.body).unwrap();
    assert_eq!(heard.status, Some(400));
    assert_eq!(body["__type"], "com.amazonaws.dynamodb.v20120810#TransactionCanceledException");
    assert_eq!(body["CancellationReasons"][0]["Code"], "TransactionConflict");
    assert_eq!(body["CancellationReasons"][1]["Code"], "None");
    assert_eq!(fake.seen().len(), 0);

    wire.set_plan(Plan::at(1, Fault::TransactionConflict));
    assert_eq!(call(&wire, Side::Sqs, &fake, "").await.body, "fine");
    assert_eq!(wire.faults_that_hit().len(), 1);
}

#[tokio::test]
async fn a_single_item_hears_of_a_conflict_by_another_name() {
    let (wire, fake) = (new_wire(), Recorder::saying("fine"));
    wire.set_plan(Plan::at(0, Fault::TransactionConflict));
    let gate = wire.gate("worker", Side::DynamoDb, Backend::Fake(fake.clone())).await;
    let request = post("/", "X-Amz-Target: DynamoDB_20120810.UpdateItem\r\n", "{}");
    let heard = exchange(&gate.url(), &request).await;
    assert!(heard.body.contains("#TransactionConflictException"), "{}", heard.body);
}

#[tokio::test]
async fn a_crash_tells_the_runner_and_is_never_answered() {
    for (fault, applied) in [(Fault::CrashBefore, 0), (Fault::CrashAfter, 1)] {
        let (wire, fake) = (new_wire(), Recorder::saying("fine"));
        wire.set_plan(Plan::at(0, fault));
        let (mine, others) = (wire.crashes("worker"), wire.crashes("another worker"));
        let gate = wire.gate("worker", Side::Sheets, Backend::Fake(fake.clone())).await;
        let (url, request) = (gate.url(), post("/", "", "{}"));
        tokio::select! {
            () = mine => {}
            heard = exchange(&url, &request) => panic!("the crashed call heard {heard:?}"),
        }
        assert_eq!(fake.seen().len(), applied);
        assert!(timeout(Duration::from_millis(30), others).await.is_err());
    }
}

#[tokio::test]
async fn the_next_run_does_not_die_of_an_earlier_crash() {
    let (wire, fake) = (new_wire(), Recorder::saying("fine"));
    wire.set_plan(Plan::at(0, Fault::CrashAfter));
    let first_run = wire.crashes("worker");
    call(&wire, Side::Sheets, &fake, "").await;
    first_run.await;
    let next_run = wire.crashes("worker");
    assert_eq!(call(&wire, Side::Sheets, &fake, "").await.body, "fine");
    assert!(timeout(Duration::from_millis(30), next_run).await.is_err());
}

#[tokio::test]
async fn every_fault_knows_whether_it_applies() {
    for fault in Fault::ALL {
        let (_, seen) = hit(fault, Side::DynamoDb).await;
        assert_eq!(seen == 1, fault.applies(), "{fault}");
    }
}
