//! The event in which Lambda hands over messages, and the answer that says which ones come back.
//!
//! Read with tolerance: only a message's id must be there, since without it the message could not be given back. The
//! answer is written with care: an unknown or empty id fails the whole batch, and a wrong field name loses messages.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One message as delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ring {
    /// Names the message in the answer.
    pub message_id: String,
    /// Of a FIFO queue: after a failure, the later messages of its group must be returned too.
    pub group_id: Option<String>,
    /// See [`super::parse_ring`]. Empty when there was none.
    pub body: String,
}

/// What was delivered is no batch of messages. It does not repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAQueueEvent {
    #[error("the event has no list of records")]
    NoRecords,
    #[error("a record of the event has no messageId")]
    NoMessageId,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "Records")]
    records: Vec<Message>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    #[serde(default)]
    message_id: Option<String>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    attributes: Option<Attributes>,
}

#[derive(Deserialize)]
struct Attributes {
    #[serde(default, rename = "MessageGroupId")]
    group_id: Option<String>,
}

/// The messages of a queue event, in the order of delivery.
///
/// # Errors
/// When it is no such event, or when a message could not be given back.
pub fn parse_event(event: Value) -> Result<Vec<Ring>, NotAQueueEvent> {
    let event: Event = serde_json::from_value(event).map_err(|_| NotAQueueEvent::NoRecords)?;
    event
        .records
        .into_iter()
        .map(|message| {
            let message_id =
                message.message_id.filter(|id| !id.is_empty()).ok_or(NotAQueueEvent::NoMessageId)?;
            Ok(Ring {
                message_id,
                group_id: message.attributes.and_then(|attributes| attributes.group_id),
                body: message.body.unwrap_or_default(),
            })
        })
        .collect()
}

/// What a function answers to a queue event: `{"batchItemFailures":[{"itemIdentifier":"…"}]}`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct BatchAnswer {
    #[serde(rename = "batchItemFailures")]
    pub failures: Vec<ItemFailure>,
}

/// One message that must be delivered again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ItemFailure {
    #[serde(rename = "itemIdentifier")]
    pub message_id: String,
}

impl BatchAnswer {
    /// Every message is done with.
    #[must_use]
    pub fn all_done() -> Self {
        Self::default()
    }

    /// These messages come back.
    #[must_use]
    pub fn returning(message_ids: impl IntoIterator<Item = String>) -> Self {
        Self { failures: message_ids.into_iter().map(|message_id| ItemFailure { message_id }).collect() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_batch_is_read_as_lambda_delivers_it() {
        let event = json!({"Records": [{
            "messageId": "059f36b4-87a3-44ab-83d2-661975830a7d",
            "receiptHandle": "AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a",
            "body": "{\"v\":1}",
            "attributes": {
                "ApproximateReceiveCount": "1", "SentTimestamp": "1545082649183", "MessageGroupId": "sheet",
                "SequenceNumber": "18849496460467696128", "MessageDeduplicationId": "x",
            },
            "messageAttributes": {}, "md5OfBody": "e4e6", "eventSource": "aws:sqs",
            "eventSourceARN": "arn:aws:sqs:us-east-2:123456789012:my-queue.fifo", "awsRegion": "us-east-2",
        }]});
        let ring = Ring {
            message_id: "059f36b4-87a3-44ab-83d2-661975830a7d".into(),
            group_id: Some("sheet".into()),
            body: "{\"v\":1}".into(),
        };
        assert_eq!(parse_event(event), Ok(vec![ring]));
    }

    #[test]
    fn a_message_needs_nothing_but_its_id() {
        let event =
            json!({"Records": [{"messageId": "1"}, {"messageId": "2", "body": null, "attributes": null}]});
        let bare = |id: &str| Ring { message_id: id.into(), group_id: None, body: String::new() };
        assert_eq!(parse_event(event), Ok(vec![bare("1"), bare("2")]));
        assert_eq!(parse_event(json!({"Records": []})), Ok(vec![]));
    }

    #[test]
    fn a_message_that_could_not_be_given_back_fails_the_event() {
        for record in
            [json!({"body": "x"}), json!({"messageId": "", "body": "x"}), json!({"messageId": null})]
        {
            let event = json!({"Records": [{"messageId": "1"}, record]});
            assert_eq!(parse_event(event), Err(NotAQueueEvent::NoMessageId));
        }
        for event in
            [json!({}), json!(null), json!([]), json!({"Records": null}), json!({"source": "aws.events"})]
        {
            assert_eq!(parse_event(event), Err(NotAQueueEvent::NoRecords));
        }
    }

    #[test]
    fn the_answer_is_written_as_lambda_reads_it() {
        let answer = |answer: &BatchAnswer| serde_json::to_string(answer).expect("plain data");
        assert_eq!(answer(&BatchAnswer::all_done()), r#"{"batchItemFailures":[]}"#);
        assert_eq!(
            answer(&BatchAnswer::returning(["a".to_owned()])),
            r#"{"batchItemFailures":[{"itemIdentifier":"a"}]}"#
        );
    }
}
