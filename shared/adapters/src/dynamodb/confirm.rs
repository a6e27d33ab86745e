//! The Confirm: the submission appears and its draft goes, both or neither.
//!
//! One transaction over both tables, so that of a Confirm and a Cancel pressed together exactly one wins, and a crash
//! leaves neither a submission whose draft can be confirmed again in other words nor a draft that is lost.

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::transact_write_items::{TransactWriteItemsError, TransactWriteItemsOutput};
use aws_sdk_dynamodb::types::{
    CancellationReason, Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem,
};
use docket_domain::intake::{Conversation, Stored};
use docket_domain::limits::{ITEM_BYTES_MAX, RETENTION_DAYS};
use docket_domain::moment::Moment;
use docket_domain::ports::{Confirmed, StoreError};
use docket_domain::status::{Cause, Record};
use docket_domain::submission::Submission;
use uuid::Uuid;

use super::attributes::{Item, check_size};
use super::conversations::{self, DynamoConversations, holds, is_still};
use super::expression::Condition;
use super::failure::{Unanswered, may_try_again};
use super::item;
use super::submissions::{read_record, unknown};
use crate::aws::{SdkError, cause};

/// The code of a part whose condition failed.
const CONDITION_FAILED: &str = "ConditionalCheckFailed";
/// Codes of parts that may succeed in a moment: another transaction, or too many requests.
const BUSY: [&str; 3] = ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"];

pub(super) async fn confirm(
    store: &DynamoConversations,
    seen: &Stored,
    next: &Conversation,
    submission: &Submission,
    now: Moment,
) -> Result<Confirmed, StoreError> {
    let chat_id = submission.chat_id;
    let change = Uuid::new_v4().to_string();
    let conversation = conversations::to_item(chat_id, seen, next, now, &change)?;
    // Never finished yet, so the retention is not written.
    let record = item::to_item(&Record::recorded(submission.clone(), now), now, RETENTION_DAYS);
    check_size(&record, ITEM_BYTES_MAX)?;
    let Some(still) = store.still(chat_id, seen).await? else { return Ok(Confirmed::Lost) };
    let parts = [
        part(&store.submissions_table, &record, &Condition::absent("reference")),
        part(&store.conversations_table, &conversation, &still),
    ];
    let parts = parts
        .into_iter()
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| StoreError::NotApplied(Cause::new("transaction_not_built")))?;

    let attempt = Attempt { store, seen, submission, change: &change };
    let mut tries = 1;
    loop {
        let unanswered = Unanswered::default();
        let Err(error) = send(store, &parts, &unanswered).await else { return Ok(Confirmed::Stored) };
        let (mut why, mut busy) = (cause(&error), false);
        if let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) =
            error.as_service_error()
        {
            let reasons = cancelled.cancellation_reasons();
            if let Some(outcome) = attempt.cancelled(reasons).await? {
                return Ok(outcome);
            }
            let codes = || reasons.iter().filter_map(CancellationReason::code).filter(|code| *code != "None");
            why = codes().next().map_or(why, Cause::new);
            busy = codes().all(|code| BUSY.contains(&code));
        }
        let error = unanswered.error(why);
        if unanswered.any() {
            return attempt.answer_lost(error).await;
        }
        if !busy || !may_try_again(tries).await {
            return Err(error);
        }
        tries += 1;
    }
}

fn part(table: &str, item: &Item, condition: &Condition) -> Result<TransactWriteItem, BuildError> {
    let put = Put::builder()
        .table_name(table)
        .set_item(Some(item.clone()))
        .condition_expression(&condition.expression)
        .set_expression_attribute_names(Some(condition.with.names.clone()))
        .set_expression_attribute_values(condition.with.values_if_any())
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .build()?;
    Ok(TransactWriteItem::builder().put(put).build())
}

async fn send(
    store: &DynamoConversations,
    parts: &[TransactWriteItem],
    unanswered: &Unanswered,
) -> Result<TransactWriteItemsOutput, SdkError<TransactWriteItemsError>> {
    store
        .client
        .transact_write_items()
        .set_transact_items(Some(parts.to_vec()))
        // What the SDK sends again under one token DynamoDB does once, and answers twice.
        .client_request_token(Uuid::new_v4().to_string())
        .customize()
        .interceptor(unanswered.clone())
        .send()
        .await
}

/// What one Confirm needs to recognise itself.
struct Attempt<'a> {
    store: &'a DynamoConversations,
    seen: &'a Stored,
    submission: &'a Submission,
    change: &'a str,
}

impl Attempt<'_> {
    /// What the conditions say, if one of them failed. The submission's speaks first: a reference that exists is a
    /// replay or a conflict, whatever has become of the draft.
    async fn cancelled(&self, reasons: &[CancellationReason]) -> Result<Option<Confirmed>, StoreError> {
        let failed = |part: usize| reasons.get(part).filter(|reason| reason.code() == Some(CONDITION_FAILED));
        let (submission, conversation) = (failed(0), failed(1));
        if conversation.is_some_and(|reason| holds(reason.item.as_ref(), self.change)) {
            return Ok(Some(Confirmed::Stored));
        }
        match (submission, conversation) {
            (Some(reason), _) => {
                let stored = match &reason.item {
                    Some(item) => Some(item::to_record(item)?),
                    None => self.record().await.map_err(unknown)?,
                };
                // Deleted in between: nothing was stored, and the next try finds it new.
                Ok(Some(stored.map_or(Confirmed::Lost, |record| Confirmed::Exists(Box::new(record)))))
            }
            (None, Some(_)) => Ok(Some(Confirmed::Lost)),
            (None, None) => Ok(None),
        }
    }

    /// The answer is lost for good. The conversation is read first: once it has moved on without us, our transaction
    /// was either applied before that look, and then the submission is there now, or it never will be.
    async fn answer_lost(&self, error: StoreError) -> Result<Confirmed, StoreError> {
        let Ok(conversation) = self.store.read(self.submission.chat_id).await else { return Err(error) };
        if holds(conversation.as_ref(), self.change) {
            return Ok(Confirmed::Stored);
        }
        match self.record().await {
            Ok(Some(record)) => Ok(Confirmed::Exists(Box::new(record))),
            Ok(None) if is_still(conversation.as_ref(), self.seen) => Err(error),
            Ok(None) => Ok(Confirmed::Lost),
            Err(unreadable @ StoreError::Unreadable(_)) => Err(unreadable),
            Err(StoreError::NotApplied(_) | StoreError::OutcomeUnknown(_)) => Err(error),
        }
    }

    async fn record(&self) -> Result<Option<Record>, StoreError> {
        read_record(&self.store.client, &self.store.submissions_table, &self.submission.reference).await
    }
}
