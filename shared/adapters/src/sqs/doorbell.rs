//! Ringing: one message a reference, whole batches where there are several.
//!
//! A ring is a convenience: the sweeper rings again for whatever is due. So a ring is not repeated here beyond the SDK's
//! own tries, but it is told which ones may not have been heard.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use docket_domain::ports::{Doorbell, NotRung};
use docket_domain::reference::Reference;
use docket_domain::status::Cause;
use uuid::Uuid;

use super::ring_body;
use crate::aws::cause;

/// SQS takes so many messages in one request.
const BATCH_MAX: usize = 10;
/// One sheet, one group: SQS itself lets only one writer at a time see it.
const GROUP: &str = "sheet";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Fifo,
    Standard,
}

/// One queue of Docket's.
#[derive(Debug, Clone)]
pub struct SqsDoorbell {
    client: Client,
    url: String,
    kind: Kind,
}

impl SqsDoorbell {
    /// The write queue: FIFO, one message group.
    #[must_use]
    pub fn write_queue(client: Client, url: impl Into<String>) -> Self {
        Self { client, url: url.into(), kind: Kind::Fifo }
    }

    /// The acknowledge queue: standard.
    #[must_use]
    pub fn acknowledge_queue(client: Client, url: impl Into<String>) -> Self {
        Self { client, url: url.into(), kind: Kind::Standard }
    }

    fn group(&self) -> Option<String> {
        (self.kind == Kind::Fifo).then(|| GROUP.to_owned())
    }

    /// New for every ring: FIFO swallows for five minutes what repeats an id, and the second ring of a reference may
    /// be the one that matters.
    fn deduplication_id(&self) -> Option<String> {
        (self.kind == Kind::Fifo).then(|| Uuid::new_v4().to_string())
    }

    async fn ring_one(&self, reference: &Reference) -> Result<(), Cause> {
        self.client
            .send_message()
            .queue_url(&self.url)
            .message_body(ring_body(reference))
            .set_message_group_id(self.group())
            .set_message_deduplication_id(self.deduplication_id())
            .send()
            .await
            .map(|_| ())
            .map_err(|error| cause(&error))
    }

    fn entry(&self, place: usize, reference: &Reference) -> Result<SendMessageBatchRequestEntry, BuildError> {
        SendMessageBatchRequestEntry::builder()
            .id(place.to_string())
            .message_body(ring_body(reference))
            .set_message_group_id(self.group())
            .set_message_deduplication_id(self.deduplication_id())
            .build()
    }

    /// Those of a batch that SQS did not take. A batch may be answered 200 and yet have failed in part: only what is
    /// named as taken counts.
    async fn ring_batch(&self, batch: &[Reference]) -> Result<Option<Partly>, Cause> {
        let entries = batch
            .iter()
            .enumerate()
            .map(|(place, reference)| self.entry(place, reference))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| Cause::new("request_not_built"))?;
        let answer = self
            .client
            .send_message_batch()
            .queue_url(&self.url)
            .set_entries(Some(entries))
            .send()
            .await
            .map_err(|error| cause(&error))?;
        let taken = |place: &usize| answer.successful().iter().any(|entry| entry.id() == place.to_string());
        let missed: Vec<Reference> = batch
            .iter()
            .enumerate()
            .filter(|(place, _)| !taken(place))
            .map(|(_, reference)| reference.clone())
            .collect();
        if missed.is_empty() {
            return Ok(None);
        }
        let code = answer.failed().first().map_or("entry_not_answered", |entry| entry.code());
        Ok(Some(Partly { missed, cause: Cause::new(code) }))
    }
}

/// A batch of which a part was not taken.
struct Partly {
    missed: Vec<Reference>,
    cause: Cause,
}

impl Doorbell for SqsDoorbell {
    async fn ring(&self, references: &[Reference]) -> Result<(), NotRung> {
        let mut once: Vec<Reference> = Vec::with_capacity(references.len());
        for reference in references {
            if !once.contains(reference) {
                once.push(reference.clone());
            }
        }
        if let [only] = once.as_slice() {
            let rung = self.ring_one(only).await;
            return rung.map_err(|cause| NotRung { missed: once, of: 1, cause });
        }
        let mut missed = Vec::new();
        let mut why = None;
        for (before, batch) in once.chunks(BATCH_MAX).enumerate() {
            match self.ring_batch(batch).await {
                Ok(None) => {}
                Ok(Some(partly)) => {
                    missed.extend(partly.missed);
                    why.get_or_insert(partly.cause);
                }
                Err(cause) => {
                    // A queue that does not answer is not asked fifty times: the function would be killed waiting.
                    missed.extend_from_slice(&once[before * BATCH_MAX..]);
                    why.get_or_insert(cause);
                    break;
                }
            }
        }
        match why {
            Some(cause) => Err(NotRung { missed, of: once.len(), cause }),
            None => Ok(()),
        }
    }
}
