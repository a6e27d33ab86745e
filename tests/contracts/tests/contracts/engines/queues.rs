//! What Docket needs of SQS: sending, alone and in batches, deduplication, order, and URLs that can be moved.

use std::io;
use std::net::{TcpListener, TcpStream};

use aws_sdk_sqs::Client;
use aws_sdk_sqs::operation::send_message::SendMessageOutput;
use aws_sdk_sqs::types::{Message, SendMessageBatchRequestEntry};
use docket_world::engines::{Queues, clients};

use super::shared;

async fn queues(prefix: &str) -> (Client, Queues) {
    let engines = shared().await;
    (engines.sqs_client(), engines.queues(prefix).await)
}

async fn receive(client: &Client, queue_url: &str) -> Vec<Message> {
    let request = client.receive_message().queue_url(queue_url).max_number_of_messages(10);
    request.send().await.unwrap().messages.unwrap_or_default()
}

async fn receive_and_delete(client: &Client, queue_url: &str) -> Vec<String> {
    let mut bodies = Vec::new();
    loop {
        let messages = receive(client, queue_url).await;
        if messages.is_empty() {
            return bodies;
        }
        for message in messages {
            let receipt = message.receipt_handle.unwrap();
            client.delete_message().queue_url(queue_url).receipt_handle(receipt).send().await.unwrap();
            bodies.push(message.body.unwrap());
        }
    }
}

async fn ring(client: &Client, queue_url: &str, body: &str, deduplication_id: &str) -> SendMessageOutput {
    client
        .send_message()
        .queue_url(queue_url)
        .message_body(body)
        .message_group_id("sheet")
        .message_deduplication_id(deduplication_id)
        .send()
        .await
        .unwrap()
}

/// Passes every connection to a new loopback port on to `target`, and gives the new port's URL.
fn forward_to(target: &str) -> String {
    let target = target.replace("http://", "");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.unwrap();
            let server = TcpStream::connect(&target).unwrap();
            let ways = [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)];
            for (mut from, mut to) in ways {
                std::thread::spawn(move || io::copy(&mut from, &mut to));
            }
        }
    });
    format!("http://127.0.0.1:{port}")
}

#[tokio::test]
async fn a_sent_message_is_received_as_it_was_and_hidden_until_deleted() {
    let (client, queues) = queues("sent").await;
    let body = r#"{"v":1,"reference":"DK-8M4T-K2QX-7RZ9"}"#;

    let sent = client.send_message().queue_url(&queues.acknowledge).message_body(body).send().await.unwrap();

    let received = receive(&client, &queues.acknowledge).await;
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].body(), Some(body));
    assert_eq!(received[0].message_id(), sent.message_id());
    assert_eq!(received[0].md5_of_body(), sent.md5_of_message_body());
    assert_eq!(receive(&client, &queues.acknowledge).await, []);
}

#[tokio::test]
async fn each_entry_of_a_batch_has_its_own_result() {
    let (client, queues) = queues("batch").await;
    let entry = |id: &str| {
        SendMessageBatchRequestEntry::builder().id(id).message_body(format!("body of {id}")).build().unwrap()
    };

    let answer = client
        .send_message_batch()
        .queue_url(&queues.acknowledge)
        .entries(entry("one"))
        // A message without a body does not exist.
        .entries(SendMessageBatchRequestEntry::builder().id("two").message_body("").build().unwrap())
        .entries(entry("three"))
        .send()
        .await
        .unwrap();

    let sent: Vec<_> = answer.successful().iter().map(|result| result.id()).collect();
    let failed: Vec<_> = answer.failed().iter().map(|result| result.id()).collect();
    assert_eq!((sent, failed), (vec!["one", "three"], vec!["two"]));
    assert_eq!(receive_and_delete(&client, &queues.acknowledge).await, ["body of one", "body of three"]);
}

#[tokio::test]
async fn a_batch_of_rings_has_a_result_for_each_ring() {
    let (client, queues) = queues("rings").await;
    let entry = |id: &str| {
        SendMessageBatchRequestEntry::builder()
            .id(id)
            .message_body(id)
            .message_group_id("sheet")
            .message_deduplication_id(id)
            .build()
            .unwrap()
    };

    let answer = client
        .send_message_batch()
        .queue_url(&queues.write)
        .set_entries(Some((0..10).map(|position| entry(&position.to_string())).collect()))
        .send()
        .await
        .unwrap();

    assert_eq!((answer.successful().len(), answer.failed().len()), (10, 0));
    assert_eq!(receive_and_delete(&client, &queues.write).await.concat(), "0123456789");
}

#[tokio::test]
async fn a_fifo_queue_swallows_a_repeated_deduplication_id_even_after_the_first_was_deleted() {
    let (client, queues) = queues("repeated").await;

    let first = ring(&client, &queues.write, "ring", "same").await;
    let repeated = ring(&client, &queues.write, "ring", "same").await;

    assert_eq!(repeated.message_id(), first.message_id(), "the answer does not tell that it was swallowed");
    assert_eq!(receive_and_delete(&client, &queues.write).await, ["ring"]);
    ring(&client, &queues.write, "ring", "same").await;
    assert_eq!(receive_and_delete(&client, &queues.write).await, [""; 0]);
}

#[tokio::test]
async fn a_second_ring_with_its_own_id_gets_through_although_its_body_is_the_same() {
    let (client, queues) = queues("second-ring").await;

    ring(&client, &queues.write, "ring", "one").await;
    ring(&client, &queues.write, "ring", "two").await;

    assert_eq!(receive_and_delete(&client, &queues.write).await, ["ring", "ring"]);
}

#[tokio::test]
async fn a_ring_without_a_deduplication_id_is_refused() {
    let (client, queues) = queues("no-id").await;

    let request =
        client.send_message().queue_url(&queues.write).message_body("ring").message_group_id("sheet");

    assert!(request.send().await.is_err());
}

#[tokio::test]
async fn a_fifo_group_keeps_its_order() {
    let (client, queues) = queues("order").await;

    for position in 0..12 {
        ring(&client, &queues.write, &format!("{position:x}"), &position.to_string()).await;
    }

    assert_eq!(receive_and_delete(&client, &queues.write).await.concat(), "0123456789ab");
}

/// AWS would hand out both. This is one reason why the event source keeps a queue of its own; if the engine
/// learns it, draining can take fewer calls.
#[tokio::test]
async fn the_engine_hands_out_one_message_of_a_group_at_a_time() {
    let (client, queues) = queues("one-at-a-time").await;
    ring(&client, &queues.write, "first", "one").await;
    ring(&client, &queues.write, "second", "two").await;

    assert_eq!(receive(&client, &queues.write).await.len(), 1);
    assert_eq!(receive(&client, &queues.write).await.len(), 0);
}

#[tokio::test]
async fn a_queue_url_works_through_another_port() {
    let (direct, queues) = queues("moved").await;
    let moved = clients::sqs_at(&forward_to(shared().await.sqs_url()));

    assert!(queues.write.starts_with(shared().await.sqs_url()), "the URL names the engine: {}", queues.write);
    ring(&moved, &queues.write, "ring", "one").await;

    assert_eq!(receive_and_delete(&direct, &queues.write).await, ["ring"]);
}
