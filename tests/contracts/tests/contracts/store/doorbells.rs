//! The doorbells: every ring arrives as a message of its own, and those that may not have are named.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use docket_adapters::aws;
use docket_adapters::sqs::{SqsDoorbell, parse_ring};
use docket_domain::ports::{Doorbell as _, NotRung};
use docket_domain::reference::Reference;
use docket_domain::status::Cause;
use docket_world::clock::TurnedClock;
use docket_world::engines::{Queues, clients};
use docket_world::exchange::{Answer, Fake, Request};
use docket_world::wire::{Backend, Fault, Gate, Plan, Side, Wire};
use serde_json::{Value, json};

use super::{WORKER, patience, shared};

struct Bells {
    wire: Wire,
    _gate: Gate,
    queues: Queues,
    write: SqsDoorbell,
    acknowledge: SqsDoorbell,
}

async fn bells(prefix: &str, backend: Option<Backend>) -> Bells {
    let engines = shared().await;
    let queues = engines.queues(&format!("bells-{prefix}")).await;
    let wire = Wire::new(TurnedClock::at(0));
    let engine = Backend::Engine { url: engines.sqs_url().to_owned() };
    let gate = wire.gate(WORKER, Side::Sqs, backend.unwrap_or(engine)).await;
    let plain = clients::sqs_at(&gate.url());
    let config = plain
        .config()
        .to_builder()
        .retry_config(aws::retries(patience()))
        .timeout_config(aws::timeouts(patience()))
        .build();
    let client = aws_sdk_sqs::Client::from_conf(config);
    Bells {
        wire,
        _gate: gate,
        write: SqsDoorbell::write_queue(client.clone(), &queues.write),
        acknowledge: SqsDoorbell::acknowledge_queue(client, &queues.acknowledge),
        queues,
    }
}

fn references(n: i64) -> Vec<Reference> {
    (1..=n).map(|message| Reference::derive(99, 1, message)).collect()
}

/// Takes everything out of a queue.
async fn drained(url: &str) -> Vec<String> {
    let client = shared().await.sqs_client();
    let mut bodies = Vec::new();
    loop {
        let answer = client.receive_message().queue_url(url).max_number_of_messages(10).send().await.unwrap();
        let messages = answer.messages.unwrap_or_default();
        if messages.is_empty() {
            return bodies;
        }
        for message in messages {
            let receipt = message.receipt_handle.unwrap();
            client.delete_message().queue_url(url).receipt_handle(receipt).send().await.unwrap();
            bodies.push(message.body.unwrap());
        }
    }
}

async fn heard(url: &str) -> Vec<Reference> {
    let mut heard: Vec<_> = drained(url).await.iter().map(|body| parse_ring(body).unwrap()).collect();
    heard.sort();
    heard
}

fn sorted(mut references: Vec<Reference>) -> Vec<Reference> {
    references.sort();
    references
}

#[tokio::test]
async fn one_ring_is_one_message_with_nothing_but_a_reference() {
    let bells = bells("one", None).await;
    let one = references(1);
    bells.write.ring(&one).await.unwrap();
    bells.acknowledge.ring(&one).await.unwrap();
    let bodies = [format!(r#"{{"v":1,"reference":"{}"}}"#, one[0])];
    assert_eq!(drained(&bells.queues.write).await, bodies);
    assert_eq!(drained(&bells.queues.acknowledge).await, bodies);
}

#[tokio::test]
async fn the_second_ring_of_a_reference_is_heard_too() {
    let bells = bells("twice", None).await;
    let two = references(2);
    for _ in 0..2 {
        bells.write.ring(&two[..1]).await.unwrap();
        bells.write.ring(&two).await.unwrap();
    }
    assert_eq!(drained(&bells.queues.write).await.len(), 6);

    let calls = bells.wire.calls();
    let mut ids = Vec::new();
    for call in calls {
        let body = call.json();
        let entries = body["Entries"].as_array().cloned().unwrap_or_else(|| vec![body.clone()]);
        for entry in entries {
            assert_eq!(entry["MessageGroupId"], "sheet");
            ids.push(entry["MessageDeduplicationId"].as_str().unwrap().to_owned());
        }
    }
    let all = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!((all, ids.len()), (6, 6), "each ring has an id of its own");
}

#[tokio::test]
async fn many_rings_go_by_tens_and_a_doubled_reference_goes_once() {
    let bells = bells("many", None).await;
    let many = references(25);
    let doubled: Vec<_> = many.iter().chain(&many).cloned().collect();
    bells.write.ring(&doubled).await.unwrap();
    bells.acknowledge.ring(&doubled).await.unwrap();
    assert_eq!(bells.wire.count(Side::Sqs, "SendMessageBatch"), 6);
    assert_eq!(heard(&bells.queues.write).await, sorted(many.clone()));
    assert_eq!(heard(&bells.queues.acknowledge).await, sorted(many.clone()));

    bells.write.ring(&[]).await.unwrap();
    bells.write.ring(&[many[0].clone(), many[0].clone()]).await.unwrap();
    assert_eq!(bells.wire.count(Side::Sqs, "SendMessage"), 1);
}

#[tokio::test]
async fn a_queue_that_does_not_answer_is_not_asked_for_every_batch() {
    let bells = bells("outage", None).await;
    bells.wire.set_plan(Plan::outage(Side::Sqs, Fault::FailBefore));
    let many = references(95);
    let missed = bells.acknowledge.ring(&many).await.unwrap_err();
    assert_eq!((missed.missed, missed.of), (many.clone(), 95));
    let tries = usize::try_from(patience().attempts_max).unwrap();
    assert_eq!(bells.wire.count(Side::Sqs, "SendMessageBatch"), tries);

    let missed = bells.write.ring(&many[..1]).await.unwrap_err();
    assert_eq!(missed, NotRung { missed: many[..1].to_vec(), of: 1, cause: Cause::new("connection_failed") });
}

#[tokio::test]
async fn what_was_sent_before_the_queue_failed_is_not_called_missed() {
    let bells = bells("half-way", None).await;
    let fault =
        Plan::at_operation(WORKER, Side::Sqs, "SendMessageBatch", 2, Fault::Answer500Before).times(99);
    bells.wire.set_plan(fault);
    let many = references(25);
    let missed = bells.acknowledge.ring(&many).await.unwrap_err();
    assert_eq!(missed.missed, many[10..]);
    assert_eq!(heard(&bells.queues.acknowledge).await, sorted(many[..10].to_vec()));
}

/// An SQS that answers 200 and takes only the entries with an even place.
struct TakesHalf;

impl Fake for TakesHalf {
    fn answer(&self, request: Request) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>> {
        let asked: Value = serde_json::from_slice(&request.body).unwrap();
        let (mut successful, mut failed) = (Vec::new(), Vec::new());
        for (place, entry) in asked["Entries"].as_array().unwrap().iter().enumerate() {
            if place % 2 == 0 {
                successful.push(json!({"Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": "x"}));
            } else {
                failed.push(json!({"Id": entry["Id"], "SenderFault": false, "Code": "InternalFailure"}));
            }
        }
        let body = json!({"Successful": successful, "Failed": failed}).to_string().into_bytes();
        let headers = vec![("content-type".to_owned(), "application/x-amz-json-1.0".to_owned())];
        Box::pin(async move { Answer::Reply { status: 200, headers, body } })
    }
}

#[tokio::test]
async fn an_entry_that_failed_inside_of_a_200_counts_as_missed() {
    let bells = bells("half", Some(Backend::Fake(Arc::new(TakesHalf)))).await;
    let many = references(13);
    let missed = bells.write.ring(&many).await.unwrap_err();
    let odd: Vec<_> = [1, 3, 5, 7, 9, 11].map(|place: usize| many[place].clone()).to_vec();
    assert_eq!(missed, NotRung { missed: odd, of: 13, cause: Cause::new("InternalFailure") });
}
