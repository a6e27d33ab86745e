//! How messages leave the SQS engine and get back into it.
//!
//! Owns the SDK calls of the event source. A message that was read here is deleted from the engine at once: from
//! then on only the queue model knows it, so the engine's real-time visibility can never interfere.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{DeleteMessageBatchRequestEntry, Message, MessageSystemAttributeName};

/// A message as the engine handed it out.
#[derive(Debug, Clone)]
pub(super) struct Arrived {
    pub(super) message_id: String,
    pub(super) body: String,
    pub(super) md5_of_body: String,
    pub(super) fifo: Option<Fifo>,
}

/// What only a message of a FIFO queue has.
#[derive(Debug, Clone)]
pub(super) struct Fifo {
    pub(super) group: String,
    pub(super) deduplication_id: String,
    pub(super) sequence_number: String,
}

/// Takes everything out of a queue, in order.
pub(super) async fn drain(client: &Client, queue_url: &str) -> Vec<Arrived> {
    let mut arrived = Vec::new();
    // Until nothing comes: of a FIFO group only one message comes at a time, the next after its deletion.
    loop {
        let received = client
            .receive_message()
            .queue_url(queue_url)
            .max_number_of_messages(10)
            .message_system_attribute_names(MessageSystemAttributeName::All)
            .send()
            .await
            .expect("the engine hands out messages");
        let messages = received.messages.unwrap_or_default();
        if messages.is_empty() {
            return arrived;
        }
        delete(client, queue_url, &messages).await;
        arrived.extend(messages.into_iter().map(read));
    }
}

/// Sends a message to another queue; `number` is different for every move.
pub(super) async fn send(client: &Client, queue_url: &str, message: &Arrived, number: u64) {
    let mut request = client.send_message().queue_url(queue_url).message_body(&message.body);
    if let Some(fifo) = &message.fifo {
        request = request
            .message_group_id(&fifo.group)
            .message_deduplication_id(format!("moved-{number}-{}", message.message_id));
    }
    request.send().await.expect("the engine takes a moved message");
}

async fn delete(client: &Client, queue_url: &str, messages: &[Message]) {
    let entries = messages.iter().enumerate().map(|(position, message)| {
        DeleteMessageBatchRequestEntry::builder()
            .id(position.to_string())
            .receipt_handle(message.receipt_handle.clone().expect("a received message has a receipt"))
            .build()
            .expect("both fields are set")
    });
    let deleted = client
        .delete_message_batch()
        .queue_url(queue_url)
        .set_entries(Some(entries.collect()))
        .send()
        .await
        .expect("the engine deletes messages");
    assert!(deleted.failed().is_empty(), "a message that was just received can be deleted: {deleted:?}");
}

fn read(message: Message) -> Arrived {
    let mut attributes = message.attributes.unwrap_or_default();
    let fifo = attributes.remove(&MessageSystemAttributeName::MessageGroupId).map(|group| Fifo {
        group,
        deduplication_id: attributes
            .remove(&MessageSystemAttributeName::MessageDeduplicationId)
            .expect("a FIFO message has a deduplication id"),
        sequence_number: attributes
            .remove(&MessageSystemAttributeName::SequenceNumber)
            .expect("a FIFO message has a sequence number"),
    });
    Arrived {
        message_id: message.message_id.expect("a received message has an id"),
        body: message.body.expect("a received message has a body"),
        md5_of_body: message.md5_of_body.expect("a received message has a digest"),
        fifo,
    }
}
