//! The submissions table: reading records, changing them conditionally, and finding those that must be looked at.
//!
//! A change answers one of three things: it is stored, it lost to another one, or nobody knows. It never takes "the
//! condition failed" for "somebody else was faster" before it has looked at whose change stands there.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemOutput};
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};
use docket_domain::limits::ITEM_BYTES_MAX;
use docket_domain::moment::Moment;
use docket_domain::ports::{Alerts, Applied, Removed, StoreError, Submissions};
use docket_domain::reference::Reference;
use docket_domain::status::{DueStep, OpenReview, Record, ReviewReason};
use uuid::Uuid;

use super::attributes::{Attributes, Damaged, Item, check_size, text};
use super::expression::{Change, Condition, carries};
use super::failure::{Unanswered, may_try_again};
use super::item::{to_item, to_record};
use crate::aws::{SdkError, cause};

/// Entries of an index asked for at once.
const PAGE_MAX: usize = 1_000;

/// The records, in the submissions table.
#[derive(Debug, Clone)]
pub struct DynamoSubmissions {
    client: Client,
    table: String,
    retention_days: u64,
}

/// One page of the table.
#[derive(Debug)]
pub struct Scanned {
    pub records: Vec<Result<Record, Unread>>,
    /// Where the next page begins after, as it stands there; none at the end.
    pub next: Option<String>,
}

/// An item that this release cannot read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// As it stands there.
    pub reference: String,
    pub cause: String,
}

impl DynamoSubmissions {
    /// `retention_days`: how long a finished record is kept.
    #[must_use]
    pub fn new(client: Client, table: impl Into<String>, retention_days: u64) -> Self {
        Self { client, table: table.into(), retention_days }
    }

    /// One page of the whole table, in the table's own order, beginning after `after`. For the operator's command alone: it
    /// reads everything there is.
    ///
    /// # Errors
    /// Safe to repeat: nothing is changed.
    pub async fn scan(&self, after: Option<&str>, limit: u16) -> Result<Scanned, StoreError> {
        let start = after.map(|after| HashMap::from([("reference".to_owned(), text(after))]));
        let answer = self
            .client
            .scan()
            .table_name(&self.table)
            .limit(i32::from(limit))
            // What was stored a moment ago is not passed over.
            .consistent_read(true)
            .set_exclusive_start_key(start)
            .send()
            .await
            .map_err(|error| StoreError::NotApplied(cause(&error)))?;
        let reference = |item: &Item| item.get("reference").and_then(|name| name.as_s().ok()).cloned();
        let records = answer
            .items()
            .iter()
            .map(|item| {
                to_record(item).map_err(|damaged| Unread {
                    reference: reference(item).unwrap_or_default(),
                    cause: damaged.to_string(),
                })
            })
            .collect();
        let next = answer.last_evaluated_key.as_ref().filter(|key| !key.is_empty());
        Ok(Scanned { records, next: next.and_then(reference) })
    }

    async fn update(
        &self,
        reference: &Reference,
        change: &Change,
        unanswered: &Unanswered,
    ) -> Result<UpdateItemOutput, SdkError<UpdateItemError>> {
        self.client
            .update_item()
            .table_name(&self.table)
            .key("reference", text(reference.as_str()))
            .update_expression(&change.update)
            .condition_expression(&change.condition)
            .set_expression_attribute_names(Some(change.with.names.clone()))
            .set_expression_attribute_values(change.with.values_if_any())
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .customize()
            .interceptor(unanswered.clone())
            .send()
            .await
    }

    /// The condition failed: by another one's change, or by our own, sent twice by the SDK.
    async fn condition_failed(
        &self,
        seen: &Record,
        next: &Record,
        old: Option<&Item>,
    ) -> Result<Applied, StoreError> {
        let stored = match old {
            Some(item) => Some(to_record(item)?),
            // Nothing there, or an answer that left it out.
            None => self.get(&seen.submission.reference).await.map_err(unknown)?,
        };
        Ok(whose(stored, seen, next))
    }

    /// The answer is lost for good. What stands there may tell.
    async fn answer_lost(
        &self,
        seen: &Record,
        next: &Record,
        error: StoreError,
    ) -> Result<Applied, StoreError> {
        match self.get(&seen.submission.reference).await {
            // It has not arrived, but it still may: nothing is proved.
            Ok(Some(stored)) if stored.version == seen.version => Err(error),
            Ok(stored) => Ok(whose(stored, seen, next)),
            Err(unreadable @ StoreError::Unreadable(_)) => Err(unreadable),
            Err(StoreError::NotApplied(_) | StoreError::OutcomeUnknown(_)) => Err(error),
        }
    }

    /// A removal was refused by its condition, or nobody heard of it. What stands there tells.
    async fn look_after_removal(&self, seen: &Record) -> Result<Removed, StoreError> {
        let stored = self.get(&seen.submission.reference).await.map_err(unknown)?;
        Ok(stored.map_or(Removed::Gone, |record| Removed::Kept(Box::new(record))))
    }

    /// Reads an index in its order, page by page, until `limit` entries were found.
    ///
    /// The index may hold keys only. An entry that cannot be read is left out: it must not hide those behind it.
    async fn index<T>(
        &self,
        index: &str,
        part: Condition,
        limit: usize,
        read: impl Fn(&Attributes<'_>) -> Result<T, Damaged>,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        let mut next: Option<HashMap<String, AttributeValue>> = None;
        while found.len() < limit {
            let page = i32::try_from((limit - found.len()).min(PAGE_MAX)).unwrap_or(i32::MAX);
            let answer = self
                .client
                .query()
                .table_name(&self.table)
                .index_name(index)
                .key_condition_expression(&part.expression)
                .set_expression_attribute_names(Some(part.with.names.clone()))
                .set_expression_attribute_values(part.with.values_if_any())
                .scan_index_forward(true)
                .limit(page)
                .set_exclusive_start_key(next.take())
                .send()
                .await
                .map_err(|error| StoreError::NotApplied(cause(&error)))?;
            for item in answer.items() {
                match read(&Attributes::of(item)) {
                    Ok(entry) => found.push(entry),
                    Err(damaged) => tracing::warn!(index, cause = %damaged, "an index entry cannot be read"),
                }
            }
            next = answer.last_evaluated_key.filter(|key| !key.is_empty());
            if next.is_none() {
                break;
            }
        }
        Ok(found)
    }
}

impl Submissions for DynamoSubmissions {
    async fn get(&self, reference: &Reference) -> Result<Option<Record>, StoreError> {
        read_record(&self.client, &self.table, reference).await
    }

    async fn apply(&self, seen: &Record, next: &Record, now: Moment) -> Result<Applied, StoreError> {
        let item = to_item(next, now, self.retention_days);
        check_size(&item, ITEM_BYTES_MAX)?;
        let change = Change::between(seen, next, &item);
        let mut tries = 1;
        loop {
            let unanswered = Unanswered::default();
            let Err(error) = self.update(&seen.submission.reference, &change, &unanswered).await else {
                return Ok(Applied::Ours);
            };
            let failed = error.as_service_error();
            if let Some(UpdateItemError::ConditionalCheckFailedException(failed)) = failed {
                return self.condition_failed(seen, next, failed.item.as_ref()).await;
            }
            let busy = failed.is_some_and(UpdateItemError::is_transaction_conflict_exception);
            let error = unanswered.error(cause(&error));
            if unanswered.any() {
                return self.answer_lost(seen, next, error).await;
            }
            // A customer's second Confirm touches the record in a transaction; it is over in a moment.
            if !busy || !may_try_again(tries).await {
                return Err(error);
            }
            tries += 1;
        }
    }

    async fn remove(&self, seen: &Record) -> Result<Removed, StoreError> {
        let condition = Condition::removable(seen);
        let mut tries = 1;
        loop {
            let unanswered = Unanswered::default();
            let deletion = self
                .client
                .delete_item()
                .table_name(&self.table)
                .key("reference", text(seen.submission.reference.as_str()))
                .condition_expression(&condition.expression)
                .set_expression_attribute_names(Some(condition.with.names.clone()))
                .set_expression_attribute_values(condition.with.values_if_any())
                .customize()
                .interceptor(unanswered.clone())
                .send()
                .await;
            let Err(error) = deletion else { return Ok(Removed::Gone) };
            let failed = error.as_service_error();
            if failed.is_some_and(DeleteItemError::is_conditional_check_failed_exception) {
                // Also when the SDK sent it twice and met its own success: then nothing stands there.
                return self.look_after_removal(seen).await;
            }
            let busy = failed.is_some_and(DeleteItemError::is_transaction_conflict_exception);
            let error = unanswered.error(cause(&error));
            if unanswered.any() {
                return match self.look_after_removal(seen).await {
                    // It has not arrived, but it still may: nothing is proved.
                    Ok(Removed::Kept(stored)) if stored.version == seen.version => Err(error),
                    Err(StoreError::NotApplied(_) | StoreError::OutcomeUnknown(_)) => Err(error),
                    known => known,
                };
            }
            if !busy || !may_try_again(tries).await {
                return Err(error);
            }
            tries += 1;
        }
    }

    async fn due(
        &self,
        step: DueStep,
        now: Moment,
        limit: usize,
    ) -> Result<Vec<(Reference, Moment)>, StoreError> {
        let part = Condition::due(step, now);
        self.index("due", part, limit, |entry| Ok((read_reference(entry)?, entry.seconds("due_at")?))).await
    }

    async fn reviews(
        &self,
        reason: ReviewReason,
        limit: usize,
    ) -> Result<Vec<(Reference, OpenReview)>, StoreError> {
        let part = Condition::review(reason);
        self.index("reviews", part, limit, |entry| {
            Ok((read_reference(entry)?, OpenReview { reason, since: entry.seconds("review_since")? }))
        })
        .await
    }
}

impl Alerts for DynamoSubmissions {
    async fn note(&self, reference: &Reference, owed_at: Moment, now: Moment) -> Result<bool, StoreError> {
        let token = Uuid::new_v4().to_string();
        let change = Change::told(owed_at, now, &token);
        let Err(error) = self.update(reference, &change, &Unanswered::default()).await else {
            return Ok(true);
        };
        match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
                // Our own, which the SDK sent twice?
                let by = failed.item.as_ref().and_then(|item| item.get("alerted_by"));
                Ok(by == Some(&text(token)))
            }
            Some(_) | None => Err(StoreError::NotApplied(cause(&error))),
        }
    }

    async fn take_back(&self, reference: &Reference, noted_at: Moment) -> Result<(), StoreError> {
        let change = Change::not_told(noted_at);
        let Err(error) = self.update(reference, &change, &Unanswered::default()).await else { return Ok(()) };
        match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(_)) => Ok(()),
            Some(_) | None => Err(StoreError::NotApplied(cause(&error))),
        }
    }
}

/// Reads one record, consistently.
pub(super) async fn read_record(
    client: &Client,
    table: &str,
    reference: &Reference,
) -> Result<Option<Record>, StoreError> {
    let answer = client
        .get_item()
        .table_name(table)
        .key("reference", text(reference.as_str()))
        .consistent_read(true)
        .send()
        .await
        .map_err(|error| StoreError::NotApplied(cause(&error)))?;
    Ok(answer.item.as_ref().map(to_record).transpose()?)
}

fn read_reference(entry: &Attributes<'_>) -> Result<Reference, Damaged> {
    entry.text("reference")?.parse().map_err(|_| Damaged::malformed("reference"))
}

/// Whose change stands there. Its version is past the one seen, so ours cannot be applied any more.
fn whose(stored: Option<Record>, seen: &Record, next: &Record) -> Applied {
    match stored {
        Some(stored) if carries(&stored, seen, next) => Applied::Ours,
        Some(stored) => Applied::Lost(Some(Box::new(stored))),
        None => Applied::Lost(None),
    }
}

/// A look that failed leaves it open whose change was applied.
pub(super) fn unknown(error: StoreError) -> StoreError {
    match error {
        StoreError::NotApplied(cause) | StoreError::OutcomeUnknown(cause) => {
            StoreError::OutcomeUnknown(cause)
        }
        StoreError::Unreadable(cause) => StoreError::Unreadable(cause),
    }
}
