//! The conversations table: one item a chat, versioned, and forgotten after a while.
//!
//! The conversation is one JSON text beside the number of its schema: this release reads its own schema or nothing. An
//! item that it cannot read is told apart from none, and is replaced like any other, on condition that it is still the
//! one that was read: it must never lock a chat, and resetting it must not drop what another update just stored.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::put_item::{PutItemError, PutItemOutput};
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;
use docket_domain::intake::{Conversation, Stored};
use docket_domain::limits::CONVERSATION_BYTES_MAX;
use docket_domain::moment::Moment;
use docket_domain::ports::{Confirmed, Conversations, Saved, StoreError};
use docket_domain::status::Cause;
use docket_domain::submission::{ChatId, Submission};
use uuid::Uuid;

use super::attributes::{Attributes, Item, check_size, integer, number, put, seconds_up, text};
use super::confirm::confirm;
use super::expression::Condition;
use super::failure::{Unanswered, may_try_again};
use crate::aws::{SdkError, cause};

/// The shape of `conversation`. A release that changes it counts this up; the others then reset instead of misreading.
const SCHEMA: u32 = 1;

/// The conversations, in their table; a Confirm writes to the submissions table too.
#[derive(Debug, Clone)]
pub struct DynamoConversations {
    pub(super) client: Client,
    pub(super) conversations_table: String,
    pub(super) submissions_table: String,
}

impl DynamoConversations {
    #[must_use]
    pub fn new(
        client: Client,
        conversations_table: impl Into<String>,
        submissions_table: impl Into<String>,
    ) -> Self {
        Self {
            client,
            conversations_table: conversations_table.into(),
            submissions_table: submissions_table.into(),
        }
    }

    /// Forgets a chat's conversation, whatever it holds. Safe to repeat.
    ///
    /// # Errors
    /// It may be there still.
    pub async fn erase(&self, chat_id: ChatId) -> Result<(), StoreError> {
        let deletion = self
            .client
            .delete_item()
            .table_name(&self.conversations_table)
            .key("chat_id", number(chat_id.0))
            .send()
            .await;
        deletion.map(drop).map_err(|error| StoreError::OutcomeUnknown(cause(&error)))
    }

    pub(super) async fn read(&self, chat_id: ChatId) -> Result<Option<Item>, StoreError> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.conversations_table)
            .key("chat_id", number(chat_id.0))
            .consistent_read(true)
            .send()
            .await
            .map_err(|error| StoreError::NotApplied(cause(&error)))?;
        Ok(answer.item)
    }

    /// The condition that the conversation is still `seen`; none when it is already known that it is not.
    pub(super) async fn still(
        &self,
        chat_id: ChatId,
        seen: &Stored,
    ) -> Result<Option<Condition>, StoreError> {
        match seen {
            Stored::Absent => Ok(Some(Condition::absent("chat_id"))),
            Stored::Present { version, .. } | Stored::Unreadable { version: Some(version) } => {
                Ok(Some(Condition::version(number(*version))))
            }
            // Whatever stands in place of a version is compared as it is, so that no damage can lock the chat.
            Stored::Unreadable { version: None } => {
                Ok(self.read(chat_id).await?.and_then(|item| match item.get("version") {
                    None => Some(Condition::without_version("chat_id")),
                    Some(version) if integer::<u64>(version).is_some() => None,
                    Some(version) => Some(Condition::version(version.clone())),
                }))
            }
        }
    }

    async fn put(
        &self,
        item: &Item,
        still: &Condition,
        unanswered: &Unanswered,
    ) -> Result<PutItemOutput, SdkError<PutItemError>> {
        self.client
            .put_item()
            .table_name(&self.conversations_table)
            .set_item(Some(item.clone()))
            .condition_expression(&still.expression)
            .set_expression_attribute_names(Some(still.with.names.clone()))
            .set_expression_attribute_values(still.with.values_if_any())
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .customize()
            .interceptor(unanswered.clone())
            .send()
            .await
    }

    /// The answer is lost for good. What stands there may tell.
    async fn answer_lost(
        &self,
        chat_id: ChatId,
        seen: &Stored,
        change: &str,
        error: StoreError,
    ) -> Result<Saved, StoreError> {
        match self.read(chat_id).await {
            Ok(stored) if holds(stored.as_ref(), change) => Ok(Saved::Ours),
            // It has not arrived, but it still may.
            Ok(stored) if is_still(stored.as_ref(), seen) => Err(error),
            Ok(_) => Ok(Saved::Lost),
            Err(_) => Err(error),
        }
    }
}

impl Conversations for DynamoConversations {
    async fn load(&self, chat_id: ChatId) -> Result<Stored, StoreError> {
        Ok(self.read(chat_id).await?.as_ref().map_or(Stored::Absent, to_stored))
    }

    async fn save(
        &self,
        chat_id: ChatId,
        seen: &Stored,
        next: &Conversation,
        now: Moment,
    ) -> Result<Saved, StoreError> {
        let change = Uuid::new_v4().to_string();
        let item = to_item(chat_id, seen, next, now, &change)?;
        let Some(still) = self.still(chat_id, seen).await? else { return Ok(Saved::Lost) };
        let mut tries = 1;
        loop {
            let unanswered = Unanswered::default();
            let Err(error) = self.put(&item, &still, &unanswered).await else { return Ok(Saved::Ours) };
            let failed = error.as_service_error();
            if let Some(PutItemError::ConditionalCheckFailedException(failed)) = failed {
                // The SDK may have sent it twice and met its own success.
                return Ok(if holds(failed.item.as_ref(), &change) { Saved::Ours } else { Saved::Lost });
            }
            let busy = failed.is_some_and(PutItemError::is_transaction_conflict_exception);
            let error = unanswered.error(cause(&error));
            if unanswered.any() {
                return self.answer_lost(chat_id, seen, &change, error).await;
            }
            // A Confirm of this chat is under way: its outcome decides, not the meeting.
            if !busy || !may_try_again(tries).await {
                return Err(error);
            }
            tries += 1;
        }
    }

    async fn confirm(
        &self,
        seen: &Stored,
        next: &Conversation,
        submission: &Submission,
        now: Moment,
    ) -> Result<Confirmed, StoreError> {
        confirm(self, seen, next, submission, now).await
    }
}

/// The item of `next`, stored after `seen` by the change that `change` names.
pub(super) fn to_item(
    chat_id: ChatId,
    seen: &Stored,
    next: &Conversation,
    now: Moment,
    change: &str,
) -> Result<Item, StoreError> {
    let json = serde_json::to_string(next)
        .map_err(|_| StoreError::NotApplied(Cause::new("conversation_not_serialisable")))?;
    let mut item = Item::new();
    put(&mut item, "chat_id", number(chat_id.0));
    put(&mut item, "version", number(version_after(seen)));
    put(&mut item, "schema", number(SCHEMA));
    put(&mut item, "conversation", text(json));
    put(&mut item, "expires_at", seconds_up(next.expires_at(now)));
    put(&mut item, "change", text(change));
    check_size(&item, CONVERSATION_BYTES_MAX)?;
    Ok(item)
}

fn version_after(seen: &Stored) -> u64 {
    match seen {
        Stored::Present { version, .. } | Stored::Unreadable { version: Some(version) } => {
            version.checked_add(1).unwrap_or(1)
        }
        Stored::Absent | Stored::Unreadable { version: None } => 1,
    }
}

fn to_stored(item: &Item) -> Stored {
    let attributes = Attributes::of(item);
    let version = attributes.integer("version").ok();
    let conversation = match attributes.integer::<u32>("schema") {
        Ok(SCHEMA) => attributes.text("conversation").ok().and_then(|json| serde_json::from_str(json).ok()),
        Ok(_) | Err(_) => None,
    };
    match (version, conversation) {
        (Some(version), Some(conversation)) => Stored::Present { version, conversation },
        (version, _) => Stored::Unreadable { version },
    }
}

/// Whether the change named `change` is the last one.
pub(super) fn holds(item: Option<&Item>, change: &str) -> bool {
    item.is_some_and(|item| Attributes::of(item).text("change") == Ok(change))
}

/// Whether the conversation may still be what was seen.
pub(super) fn is_still(item: Option<&Item>, seen: &Stored) -> bool {
    let version = item.and_then(|item| Attributes::of(item).integer::<u64>("version").ok());
    match seen {
        Stored::Absent => item.is_none(),
        Stored::Present { version: seen, .. } => version == Some(*seen),
        Stored::Unreadable { version: seen } => item.is_some() && version == *seen,
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;
    use docket_domain::intake::{Card, ConfirmedMessage, Draft, DraftStep};
    use docket_domain::reference::Reference;
    use docket_domain::submission::Summary;

    use super::*;

    fn now() -> Moment {
        Moment::from_millis(1_772_356_500_123)
    }

    fn conversation(step: DraftStep) -> Conversation {
        let draft = Draft { id: i64::MAX, sender_id: 9_007_199_254_740_993, expires_at: now(), step };
        let confirmed = ConfirmedMessage { message_id: 7, reference: Reference::derive(1, 2, 7) };
        Conversation { draft: Some(draft), confirmed: vec![confirmed] }
    }

    fn card(summary: &str) -> Conversation {
        let summary = Summary::clean(summary).expect("has words");
        conversation(DraftStep::Card(Card { request_type: "Repair".into(), message_id: 8, summary }))
    }

    fn item(next: &Conversation) -> Item {
        to_item(ChatId(-1_002_000_000_001), &Stored::Absent, next, now(), "change").expect("fits")
    }

    #[test]
    fn a_conversation_is_read_as_it_was_stored() {
        for conversation in [
            Conversation::default(),
            conversation(DraftStep::ChoosingType {}),
            conversation(DraftStep::WritingSummary { request_type: "Réparation 🛠".into() }),
            card("l1\nl2\t\"q\" 😀"),
        ] {
            let item = item(&conversation);
            assert_eq!(item["chat_id"], AttributeValue::N("-1002000000001".into()));
            assert_eq!(to_stored(&item), Stored::Present { version: 1, conversation });
        }
    }

    #[test]
    fn an_item_of_another_release_is_unreadable_and_keeps_its_version_where_it_has_one() {
        let whole = item(&card("words"));
        let with = |name: &str, value| {
            let mut item = whole.clone();
            put(&mut item, name, value);
            to_stored(&item)
        };
        let without = |name: &str| {
            let mut item = whole.clone();
            item.remove(name);
            to_stored(&item)
        };
        let numbered = Stored::Unreadable { version: Some(1) };
        assert_eq!(with("schema", number(2)), numbered);
        assert_eq!(without("schema"), numbered);
        assert_eq!(without("conversation"), numbered);
        for json in ["", "{}", "not JSON", "{\"draft\":null,\"confirmed\":[],\"later\":1}"] {
            assert_eq!(with("conversation", text(json)), numbered, "{json}");
        }
        let bare = Stored::Unreadable { version: None };
        assert_eq!(without("version"), bare);
        assert_eq!(with("version", text("1")), bare);
        assert_eq!(with("version", AttributeValue::N("1.5".into())), bare);
    }

    #[test]
    fn the_longest_conversation_fits_and_a_larger_one_is_refused_before_it_is_sent() {
        let mut longest = card(&format!("x{}y", "\n€".repeat(1_499)));
        longest.confirmed = vec![longest.confirmed[0].clone(); 5];
        item(&longest);

        longest.confirmed = vec![longest.confirmed[0].clone(); 5_000];
        let refused = to_item(ChatId(1), &Stored::Absent, &longest, now(), "change");
        assert_eq!(refused, Err(StoreError::NotApplied(Cause::new("item_too_large"))));
    }

    #[test]
    fn a_conversation_is_stored_under_the_version_after_the_one_seen() {
        let present = |version| Stored::Present { version, conversation: Conversation::default() };
        assert_eq!(version_after(&present(41)), 42);
        assert_eq!(version_after(&Stored::Unreadable { version: Some(41) }), 42);
        assert_eq!(version_after(&Stored::Unreadable { version: None }), 1);
        assert_eq!(version_after(&present(u64::MAX)), 1);
    }
}
