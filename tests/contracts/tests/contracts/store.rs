//! The store and the doorbells, over the real SDK and the embedded engines: what the ports promise, also when an answer
//! is lost between the two.

mod alerts;
mod confirm;
mod conversations;
mod doorbells;
mod indexes;
mod lost_answers;
mod races;
mod removal;
mod unreadable;

use aws_sdk_dynamodb::types::AttributeValue;
use docket_adapters::aws::{self, Patience};
use docket_adapters::dynamodb::{DynamoConversations, DynamoSubmissions};
use docket_domain::intake::{Conversation, Stored};
use docket_domain::moment::Moment;
use docket_domain::ports::{Applied, Confirmed, Conversations as _, Submissions as _};
use docket_domain::reference::Reference;
use docket_domain::status::{AckEvent, AttemptToken, By, Record, WriteEvent};
use docket_domain::submission::{ChatId, Contact, Fingerprint, Submission, Summary};
use docket_world::clock::TurnedClock;
use docket_world::engines::{Item, Tables, clients};
use docket_world::wire::{Backend, Fault, Gate, Plan, Side, Wire};

use crate::engines::shared;

/// The only worker of these tests.
const WORKER: &str = "worker";
/// More than the SDK's own tries: the answer is lost for good.
const FOR_GOOD: usize = 99;

/// One store behind a wire on which things go wrong.
struct Store {
    wire: Wire,
    gate: Gate,
    tables: Tables,
    submissions: DynamoSubmissions,
    conversations: DynamoConversations,
}

impl Store {
    async fn open(prefix: &str) -> Self {
        let engines = shared().await;
        let tables = engines.tables(&format!("store-{prefix}")).await;
        let wire = Wire::new(TurnedClock::at(now().millis()));
        let backend = Backend::Engine { url: engines.dynamodb_url().to_owned() };
        let gate = wire.gate(WORKER, Side::DynamoDb, backend).await;
        let plain = clients::dynamodb_at(&gate.url());
        let config = plain
            .config()
            .to_builder()
            .retry_config(aws::retries(patience()))
            .timeout_config(aws::timeouts(patience()))
            .build();
        let client = aws_sdk_dynamodb::Client::from_conf(config);
        Self {
            wire,
            gate,
            submissions: DynamoSubmissions::new(client.clone(), &tables.submissions, 365),
            conversations: DynamoConversations::new(client, &tables.conversations, &tables.submissions),
            tables,
        }
    }

    /// The first `times` calls of `operation` meet `fault`.
    fn fail(&self, operation: &str, fault: Fault, times: usize) {
        self.wire.set_plan(Plan::at_operation(WORKER, Side::DynamoDb, operation, 1, fault).times(times));
    }

    fn calls(&self, operation: &str) -> usize {
        self.wire.count(Side::DynamoDb, operation)
    }

    /// From a record that is pending: claimed, and its row written.
    async fn written(&self, pending: &Record) -> Record {
        let attempting = self.stored(pending, &claimed(pending, "write", later(60)), later(60)).await;
        let applied = WriteEvent::Applied { range: "'Intake'!A2:F2".into() };
        let next = attempting.write_after(&applied, later(61), &By::Writer).unwrap();
        self.stored(&attempting, &next, later(61)).await
    }

    /// From a record whose row is written: its message is under way.
    async fn sending(&self, written: &Record) -> Record {
        let claim = AckEvent::Claimed { token: AttemptToken("ack".into()), lease_seconds: 120 };
        let next = written.acknowledgement_after(&claim, later(62), &By::Acknowledger).unwrap();
        self.stored(written, &next, later(62)).await
    }

    /// Confirms a new submission of its own chat, and gives its record.
    async fn recorded(&self, chat_id: i64) -> Record {
        let submission = submission(chat_id, "words");
        let (absent, next) = (Stored::Absent, Conversation::default());
        let confirmed = self.conversations.confirm(&absent, &next, &submission, now()).await.unwrap();
        assert_eq!(confirmed, Confirmed::Stored);
        self.get(&submission.reference).await
    }

    async fn get(&self, reference: &Reference) -> Record {
        self.submissions.get(reference).await.unwrap().unwrap()
    }

    /// Stores the change, which nothing disturbs, and gives the record as it is read back.
    async fn stored(&self, seen: &Record, next: &Record, at: Moment) -> Record {
        assert_eq!(self.submissions.apply(seen, next, at).await.unwrap(), Applied::Ours);
        let stored = self.get(&seen.submission.reference).await;
        assert_eq!(&stored, next);
        stored
    }

    async fn item(&self, reference: &Reference) -> Item {
        let client = shared().await.dynamodb_client();
        let request = client.get_item().table_name(&self.tables.submissions);
        let answer = request.key("reference", text(reference.as_str())).consistent_read(true).send().await;
        answer.unwrap().item.unwrap()
    }

    async fn put(&self, table: &str, item: Item) {
        let client = shared().await.dynamodb_client();
        client.put_item().table_name(table).set_item(Some(item)).send().await.unwrap();
    }

    async fn references(&self) -> usize {
        shared().await.all_items(&self.tables.submissions).await.len()
    }
}

fn patience() -> Patience {
    Patience { attempts_max: 3, first_backoff_ms: 1, attempt_timeout_ms: 500, operation_timeout_ms: 3_000 }
}

fn now() -> Moment {
    Moment::from_millis(1_772_356_500_123)
}

fn later(seconds: u64) -> Moment {
    now().plus_seconds(seconds)
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

fn number(value: i64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn submission(chat_id: i64, words: &str) -> Submission {
    let summary = Summary::clean(words).unwrap();
    Submission {
        reference: Reference::derive(99, chat_id, 7),
        request_type: "Repair".into(),
        fingerprint: Fingerprint::of("Repair", &summary, ChatId(chat_id)),
        summary,
        chat_id: ChatId(chat_id),
        contact: Contact::of_user("Ann", None, None),
        confirmed_at: now().whole_second(),
        origin: format!("telegram/99/{chat_id}/7"),
    }
}

fn claimed(seen: &Record, token: &str, at: Moment) -> Record {
    let claim = WriteEvent::Claimed { token: AttemptToken(token.into()), lease_seconds: 120 };
    seen.write_after(&claim, at, &By::Writer).unwrap()
}
