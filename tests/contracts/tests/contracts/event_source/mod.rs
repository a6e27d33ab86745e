//! Each thing that the event source imitates of Lambda and SQS.
//!
//! The scenarios prove Docket against this imitation, so what it claims about AWS is written down here, sentence
//! by sentence. Sources: "Using Lambda with Amazon SQS" and "Implementing partial batch responses" in the AWS
//! Lambda developer guide, and the Amazon SQS developer guide.

mod answers;
mod dead_letters;
mod fifo;
mod standard;

use docket_world::clock::TurnedClock;
use docket_world::event_source::{Delivery, EventSource, Mapping, Polled};
use serde_json::{Value, json};

use crate::engines::shared;

const START_MS: i64 = 1_800_000_000_000;
const VISIBILITY_SECONDS: i64 = 180;

/// A queue, its event source, and what the function was called with.
struct Line {
    client: aws_sdk_sqs::Client,
    queue_url: String,
    clock: TurnedClock,
    source: EventSource,
}

impl Line {
    async fn standard(name: &str) -> Self {
        Self::start(name, false).await
    }

    async fn fifo(name: &str) -> Self {
        Self::start(name, true).await
    }

    async fn start(name: &str, fifo: bool) -> Self {
        let queues = shared().await.queues(&format!("source-{name}")).await;
        let (queue_url, dead_letter_queue_url) = if fifo {
            (queues.write, queues.write_dead_letters)
        } else {
            (queues.acknowledge, queues.acknowledge_dead_letters)
        };
        let client = shared().await.sqs_client();
        let clock = TurnedClock::at(START_MS);
        let mapping = Mapping {
            name: name.to_owned(),
            fifo,
            batch_size: 10,
            visibility_seconds: VISIBILITY_SECONDS,
            max_receive_count: 5,
        };
        let source =
            EventSource::new(client.clone(), &queue_url, dead_letter_queue_url, mapping, clock.clone());
        Self { client, queue_url, clock, source }
    }

    /// Sends bodies to a standard queue.
    async fn send(&self, bodies: &[&str]) {
        for body in bodies {
            let request = self.client.send_message().queue_url(&self.queue_url).message_body(*body);
            request.send().await.unwrap();
        }
    }

    /// Sends bodies to one group of a FIFO queue; each body is its own deduplication id.
    async fn send_to(&self, group: &str, bodies: &[&str]) {
        for body in bodies {
            let request = self
                .client
                .send_message()
                .queue_url(&self.queue_url)
                .message_body(*body)
                .message_group_id(group)
                .message_deduplication_id(*body);
            request.send().await.unwrap();
        }
    }

    /// One poll; gives the bodies that were delivered, in their order, and what became of them.
    async fn poll(&mut self, answer: impl FnOnce(&Value) -> Delivery) -> (String, Polled) {
        let mut seen = String::new();
        let polled = self
            .source
            .poll(|event| {
                seen = bodies(&event);
                let delivery = answer(&event);
                async move { delivery }
            })
            .await;
        (seen, polled)
    }

    /// Polls a function that does everything right.
    async fn poll_done(&mut self) -> String {
        self.poll(|_| all_done()).await.0
    }

    /// Polls a function that fails.
    async fn poll_failed(&mut self) -> String {
        self.poll(|_| Delivery::Failed).await.0
    }

    fn turn_seconds(&self, seconds: i64) {
        self.clock.turn(seconds * 1000);
    }
}

fn records(event: &Value) -> &[Value] {
    event["Records"].as_array().unwrap()
}

/// The bodies of an event, with a blank between two.
fn bodies(event: &Value) -> String {
    let bodies: Vec<_> = records(event).iter().map(|record| record["body"].as_str().unwrap()).collect();
    bodies.join(" ")
}

fn all_done() -> Delivery {
    Delivery::Answered(json!({ "batchItemFailures": [] }))
}

/// An answer that returns the messages with these bodies.
fn returning(event: &Value, returned: &[&str]) -> Delivery {
    let failures: Vec<_> = records(event)
        .iter()
        .filter(|record| returned.contains(&record["body"].as_str().unwrap()))
        .map(|record| json!({ "itemIdentifier": record["messageId"] }))
        .collect();
    assert_eq!(failures.len(), returned.len(), "all of them are in the event");
    Delivery::Answered(json!({ "batchItemFailures": failures }))
}
