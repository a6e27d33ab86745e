//! Several writes at once, or none: reasons for a refusal, and repetition under one token.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::{TransactWriteItemsError, TransactWriteItemsOutput};
use aws_sdk_dynamodb::types::{Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update};
use docket_world::engines::Tables;

use super::{get, number, put, shared, tables, text};

fn first_put(table: &str, reference: &str) -> TransactWriteItem {
    let put = Put::builder()
        .table_name(table)
        .item("reference", text(reference))
        .condition_expression("attribute_not_exists(#reference)")
        .expression_attribute_names("#reference", "reference")
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .build()
        .unwrap();
    TransactWriteItem::builder().put(put).build()
}

fn count_up(table: &str, reference: &str, by: i64) -> TransactWriteItem {
    let update = Update::builder()
        .table_name(table)
        .key("reference", text(reference))
        .update_expression("ADD write_attempts :by")
        .expression_attribute_values(":by", number(by))
        .build()
        .unwrap();
    TransactWriteItem::builder().update(update).build()
}

async fn count_under(
    client: &Client,
    tables: &Tables,
    token: &str,
    by: i64,
) -> Result<TransactWriteItemsOutput, SdkError<TransactWriteItemsError>> {
    client
        .transact_write_items()
        .client_request_token(token)
        .transact_items(count_up(&tables.submissions, "DK-1", by))
        .send()
        .await
}

#[tokio::test]
async fn a_cancelled_transaction_names_the_reason_and_the_old_item_of_each_part() {
    let (client, tables) = tables("cancelled").await;
    put(
        &client,
        &tables.submissions,
        &[("reference", text("DK-1")), ("chat_id", number(9_007_199_254_740_993))],
    )
    .await;

    let cancelled = client
        .transact_write_items()
        .transact_items(first_put(&tables.submissions, "DK-2"))
        .transact_items(first_put(&tables.submissions, "DK-1"))
        .send()
        .await;

    let error = cancelled.unwrap_err().into_service_error();
    let TransactWriteItemsError::TransactionCanceledException(cancelled) = error else {
        panic!("cancelled for another reason: {error:?}");
    };
    let reasons = cancelled.cancellation_reasons();
    let codes: Vec<_> = reasons.iter().map(|reason| reason.code().unwrap()).collect();
    assert_eq!(codes, ["None", "ConditionalCheckFailed"]);
    assert_eq!(reasons[1].item().unwrap()["chat_id"], number(9_007_199_254_740_993));
    assert_eq!(get(&client, &tables.submissions, "DK-2").await, None, "nothing of it was applied");
}

#[tokio::test]
async fn a_transaction_writes_to_both_tables_at_once() {
    let (client, tables) = tables("both-tables").await;
    let draft = Put::builder().table_name(&tables.conversations).item("chat_id", number(1)).build().unwrap();

    client
        .transact_write_items()
        .transact_items(first_put(&tables.submissions, "DK-1"))
        .transact_items(TransactWriteItem::builder().put(draft).build())
        .send()
        .await
        .unwrap();

    assert_eq!(shared().await.all_items(&tables.submissions).await.len(), 1);
    assert_eq!(shared().await.all_items(&tables.conversations).await.len(), 1);
}

#[tokio::test]
async fn a_transaction_repeated_under_its_token_happens_once() {
    let (client, tables) = tables("token").await;

    count_under(&client, &tables, "same", 1).await.unwrap();
    count_under(&client, &tables, "same", 1).await.unwrap();
    count_under(&client, &tables, "another", 1).await.unwrap();

    assert_eq!(get(&client, &tables.submissions, "DK-1").await.unwrap()["write_attempts"], number(2));
}

#[tokio::test]
async fn a_token_does_not_cover_another_transaction() {
    let (client, tables) = tables("token-reused").await;
    count_under(&client, &tables, "reused", 1).await.unwrap();

    let error = count_under(&client, &tables, "reused", 2).await.unwrap_err().into_service_error();

    assert!(error.is_idempotent_parameter_mismatch_exception(), "{error:?}");
}
