//! The event that Lambda calls a function with for a batch of SQS messages.
//!
//! Owns its JSON shape, after the examples in "Using Lambda with Amazon SQS" in the AWS Lambda developer guide.
//! All attribute values are strings there, numbers too.

use serde_json::{Value, json};

use super::queue::Stored;
use crate::engines::{ACCOUNT, REGION};

/// The event for these messages of the queue `name`, in this order.
pub(super) fn build(name: &str, messages: &[&Stored]) -> Value {
    let records: Vec<Value> = messages.iter().map(|stored| record(name, stored)).collect();
    json!({ "Records": records })
}

fn record(name: &str, stored: &Stored) -> Value {
    let message = &stored.message;
    let mut attributes = json!({
        "ApproximateReceiveCount": stored.receive_count.to_string(),
        "SentTimestamp": stored.sent_ms.to_string(),
        "SenderId": ACCOUNT,
        "ApproximateFirstReceiveTimestamp": stored.first_received_ms.to_string(),
    });
    if let Some(fifo) = &message.fifo {
        attributes["SequenceNumber"] = json!(fifo.sequence_number);
        attributes["MessageGroupId"] = json!(fifo.group);
        attributes["MessageDeduplicationId"] = json!(fifo.deduplication_id);
    }
    json!({
        "messageId": message.message_id,
        "receiptHandle": format!("receive-{}", stored.last_receive),
        "body": message.body,
        "attributes": attributes,
        "messageAttributes": {},
        "md5OfBody": message.md5_of_body,
        "eventSource": "aws:sqs",
        "eventSourceARN": format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"),
        "awsRegion": REGION,
    })
}
