//! What a test does by hand in a world: rings that no function sent, rings that are lost, records put into a state.
//!
//! Records move only through the domain's own transitions, so nothing stands in the table that Docket could not have
//! stored. What was appended or sent by nobody has no row and no message: the rules know that too.

use aws_sdk_dynamodb::types::AttributeValue;
use docket_adapters::dynamodb::DynamoConversations;
use docket_adapters::sqs::SqsDoorbell;
use docket_domain::intake::{Conversation, Stored};
use docket_domain::ports::{Applied, Confirmed, Conversations as _, Doorbell as _, Submissions as _};
use docket_domain::reference::Reference;
use docket_domain::status::{AckEvent, AttemptToken, By, Record, WriteEvent};
use docket_domain::submission::{ChatId, Contact, Fingerprint, Submission, Summary};
use serde_json::json;

use crate::event_source::{Delivery, EventSource};
use crate::workers::BOT_ID;
use crate::world::{World, next_number};

impl World {
    /// Stores a submission as a Confirm does, without the conversation and without the ring.
    ///
    /// # Panics
    /// When it cannot be stored.
    pub async fn record_by_hand(&self, chat_id: i64, words: &str) -> Reference {
        let summary = Summary::clean(words).expect("words that can be recorded");
        let submission = Submission {
            reference: Reference::derive(BOT_ID, chat_id, 1),
            request_type: "A quote".into(),
            fingerprint: Fingerprint::of("A quote", &summary, ChatId(chat_id)),
            summary,
            chat_id: ChatId(chat_id),
            contact: Contact::of_user("Ann", None, None),
            confirmed_at: self.now().whole_second(),
            origin: format!("telegram/{BOT_ID}/{chat_id}/1"),
        };
        let conversations = DynamoConversations::new(
            self.engines.dynamodb_client(),
            self.tables.conversations.clone(),
            self.tables.submissions.clone(),
        );
        let (absent, next) = (Stored::Absent, Conversation::default());
        let stored = conversations.confirm(&absent, &next, &submission, self.now()).await;
        assert_eq!(stored, Ok(Confirmed::Stored));
        submission.reference
    }

    /// The write meets an event that no writer brought about.
    ///
    /// # Panics
    /// When the state it is in does not allow it.
    pub async fn write_meets(&self, reference: &Reference, event: WriteEvent) -> Record {
        self.said_by_hand(reference, &event);
        let seen = self.record(reference).await;
        let next = seen.write_after(&event, self.now(), &By::Writer).expect("an event for this state");
        self.keep(&seen, next).await
    }

    /// The acknowledgement meets an event that no acknowledger brought about.
    ///
    /// # Panics
    /// When the state it is in does not allow it.
    pub async fn acknowledgement_meets(&self, reference: &Reference, event: AckEvent) -> Record {
        let seen = self.record(reference).await;
        let by = By::Acknowledger;
        let next = seen.acknowledgement_after(&event, self.now(), &by).expect("an event for this state");
        self.keep(&seen, next).await
    }

    /// A writer of whom nobody hears again claims the write.
    pub async fn somebody_claims_the_write(&self, reference: &Reference) -> Record {
        let token = AttemptToken("by-hand".into());
        let lease_seconds = self.settings().timing.lease_seconds;
        self.write_meets(reference, WriteEvent::Claimed { token, lease_seconds }).await
    }

    /// An acknowledger of whom nobody hears again claims the acknowledgement.
    pub async fn somebody_claims_the_acknowledgement(&self, reference: &Reference) -> Record {
        let token = AttemptToken("by-hand".into());
        let lease_seconds = self.settings().timing.lease_seconds;
        self.acknowledgement_meets(reference, AckEvent::Claimed { token, lease_seconds }).await
    }

    /// A look that nobody took proves nothing about looks.
    pub(crate) fn said_by_hand(&self, reference: &Reference, event: &WriteEvent) {
        if matches!(event, WriteEvent::LookedUp { .. }) {
            self.testimony.looked_up_by_hand(reference.as_str());
        }
    }

    async fn keep(&self, seen: &Record, next: Record) -> Record {
        assert_eq!(self.store().apply(seen, &next, self.now()).await, Ok(Applied::Ours));
        next
    }

    /// Takes a record out of the table, as TTL does in the end.
    ///
    /// # Panics
    /// When the table cannot be reached.
    pub async fn delete_record(&self, reference: &Reference) {
        let client = self.engines.dynamodb_client();
        let request = client.delete_item().table_name(&self.tables.submissions);
        let key = AttributeValue::S(reference.as_str().to_owned());
        request.key("reference", key).send().await.expect("the item is deleted");
    }

    /// Takes an attribute out of a record, as a release that knows it otherwise would find it. What stood there.
    ///
    /// # Panics
    /// When the table cannot be reached, or nothing stood there.
    pub async fn damage_record(&self, reference: &Reference, attribute: &str) -> AttributeValue {
        let client = self.engines.dynamodb_client();
        let request = client.update_item().table_name(&self.tables.submissions);
        let key = AttributeValue::S(reference.as_str().to_owned());
        let request = request.key("reference", key).update_expression("REMOVE #gone");
        let request = request.return_values(aws_sdk_dynamodb::types::ReturnValue::AllOld);
        let old =
            request.expression_attribute_names("#gone", attribute).send().await.expect("the item is changed");
        old.attributes.and_then(|mut item| item.remove(attribute)).expect("the attribute was there")
    }

    /// Puts it back.
    ///
    /// # Panics
    /// When the table cannot be reached.
    pub async fn repair_record(&self, reference: &Reference, attribute: &str, value: AttributeValue) {
        let client = self.engines.dynamodb_client();
        let request = client.update_item().table_name(&self.tables.submissions);
        let key = AttributeValue::S(reference.as_str().to_owned());
        let request = request.key("reference", key).update_expression("SET #back = :value");
        let request = request.expression_attribute_names("#back", attribute);
        request.expression_attribute_values(":value", value).send().await.expect("the item is changed");
    }

    /// A ring for the writer from nobody: an old one, a doubled one, one redriven.
    ///
    /// # Panics
    /// When the queue does not take it.
    pub async fn ring_for_the_write(&self, references: &[Reference]) {
        let bell = SqsDoorbell::write_queue(self.engines.sqs_client(), self.queues.write.clone());
        bell.ring(references).await.expect("the queue takes rings");
    }

    /// A ring for the acknowledger from nobody.
    ///
    /// # Panics
    /// When the queue does not take it.
    pub async fn ring_for_the_acknowledgement(&self, references: &[Reference]) {
        let client = self.engines.sqs_client();
        let bell = SqsDoorbell::acknowledge_queue(client, self.queues.acknowledge.clone());
        bell.ring(references).await.expect("the queue takes rings");
    }

    /// Whatever anybody with access to the queues might put into both of them.
    ///
    /// # Panics
    /// When a queue does not take it.
    pub async fn put_into_both_queues(&self, body: &str) {
        let client = self.engines.sqs_client();
        let message = || client.send_message().message_body(body);
        // FIFO swallows for five minutes what repeats an id.
        let id = format!("by-hand-{}", next_number());
        let write = message().queue_url(&self.queues.write).message_group_id("sheet");
        let write = write.message_deduplication_id(id);
        write.send().await.expect("the queue takes a message");
        let acknowledge = message().queue_url(&self.queues.acknowledge);
        acknowledge.send().await.expect("the queue takes a message");
    }

    /// Every ring on its way to the writer vanishes. How many did.
    pub async fn lose_rings_for_the_write(&mut self) -> usize {
        lose(&mut self.write_source).await
    }

    /// Every ring on its way to the acknowledger vanishes. How many did.
    pub async fn lose_rings_for_the_acknowledgement(&mut self) -> usize {
        lose(&mut self.acknowledge_source).await
    }
}

async fn lose(source: &mut EventSource) -> usize {
    let mut lost = 0;
    while let Some(taken) = source.take().await {
        lost += source.settle(taken, &Delivery::Answered(json!({"batchItemFailures": []}))).done;
    }
    lost
}
