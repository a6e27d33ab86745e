//! What each kind of answer does to a batch.

use docket_world::event_source::{Delivery, Polled};
use serde_json::{Value, json};

use super::{Line, VISIBILITY_SECONDS, records, returning};

/// Delivers two messages, answers with `answer`, and tells what comes back once the visibility has run out.
async fn comes_back(name: &str, answer: impl FnOnce(&Value) -> Value) -> String {
    let mut line = Line::standard(name).await;
    line.send(&["one", "two"]).await;
    line.poll(|event| Delivery::Answered(answer(event))).await;
    line.turn_seconds(VISIBILITY_SECONDS);
    line.poll_done().await
}

fn first_id(event: &Value) -> Value {
    records(event)[0]["messageId"].clone()
}

#[tokio::test]
async fn only_the_named_messages_come_back() {
    let mut line = Line::standard("named").await;
    line.send(&["one", "two", "three"]).await;

    let (_, polled) = line.poll(|event| returning(event, &["two"])).await;

    assert_eq!(polled, Polled { delivered: 3, done: 2, returned: 1, dead: 0 });
    line.turn_seconds(VISIBILITY_SECONDS);
    assert_eq!(line.poll_done().await, "two");
    assert!(line.source.is_empty().await);
}

#[tokio::test]
async fn a_message_named_twice_comes_back_once() {
    let answer = |event: &Value| json!({ "batchItemFailures": [{ "itemIdentifier": first_id(event) }, { "itemIdentifier": first_id(event) }] });
    assert_eq!(comes_back("named-twice", answer).await, "one");
}

#[tokio::test]
async fn an_answer_without_failures_means_that_all_is_done() {
    assert_eq!(comes_back("empty-list", |_| json!({ "batchItemFailures": [] })).await, "");
    assert_eq!(comes_back("null-list", |_| json!({ "batchItemFailures": null })).await, "");
    assert_eq!(comes_back("empty-answer", |_| json!({})).await, "");
    assert_eq!(comes_back("null-answer", |_| Value::Null).await, "");
}

/// The trap of a misspelt field: AWS takes the answer for one without failures.
#[tokio::test]
async fn failures_under_another_name_are_lost() {
    let answer = |event: &Value| json!({ "batch_item_failures": [{ "itemIdentifier": first_id(event) }] });
    assert_eq!(comes_back("misspelt", answer).await, "");
}

#[tokio::test]
async fn an_empty_identifier_fails_the_whole_batch() {
    let answer = |_: &Value| json!({ "batchItemFailures": [{ "itemIdentifier": "" }] });
    assert_eq!(comes_back("empty-id", answer).await, "one two");
}

#[tokio::test]
async fn an_identifier_that_is_null_missing_or_no_text_fails_the_whole_batch() {
    let null = |_: &Value| json!({ "batchItemFailures": [{ "itemIdentifier": null }] });
    assert_eq!(comes_back("null-id", null).await, "one two");
    let misspelt = |event: &Value| json!({ "batchItemFailures": [{ "itemId": first_id(event) }] });
    assert_eq!(comes_back("misspelt-id", misspelt).await, "one two");
    let bare = |event: &Value| json!({ "batchItemFailures": [first_id(event)] });
    assert_eq!(comes_back("bare-id", bare).await, "one two");
}

#[tokio::test]
async fn an_unknown_identifier_fails_the_whole_batch_even_beside_a_known_one() {
    let answer = |event: &Value| json!({ "batchItemFailures": [{ "itemIdentifier": first_id(event) }, { "itemIdentifier": "unknown" }] });
    assert_eq!(comes_back("unknown-id", answer).await, "one two");
}

#[tokio::test]
async fn a_malformed_answer_fails_the_whole_batch() {
    assert_eq!(comes_back("no-list", |_| json!({ "batchItemFailures": "one" })).await, "one two");
    assert_eq!(comes_back("text", |_| json!("done")).await, "one two");
    assert_eq!(comes_back("list", |_| json!([])).await, "one two");
}

#[tokio::test]
async fn a_function_error_fails_the_whole_batch() {
    let mut line = Line::standard("error").await;
    line.send(&["one", "two"]).await;

    let (_, polled) = line.poll(|_| Delivery::Failed).await;

    assert_eq!(polled, Polled { delivered: 2, done: 0, returned: 2, dead: 0 });
    line.turn_seconds(VISIBILITY_SECONDS);
    assert_eq!(line.poll_done().await, "one two");
}
