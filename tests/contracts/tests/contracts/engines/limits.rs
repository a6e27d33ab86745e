//! What DynamoDB refuses, and what it must not bend: big numbers, reserved words, sizes, expiry.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use docket_world::engines::Item;

use super::{get, number, put, shared, tables, text};

fn assert_refused<R: std::fmt::Debug, E: ProvideErrorMetadata + std::fmt::Debug>(
    result: Result<R, SdkError<E>>,
    because: &str,
) {
    let error = result.unwrap_err();
    assert_eq!(error.code(), Some("ValidationException"), "{error:?}");
    assert!(error.message().unwrap().contains(because), "{error:?}");
}

#[tokio::test]
async fn numbers_beyond_53_bits_survive() {
    let (client, tables) = tables("big-numbers").await;

    for chat_id in [9_007_199_254_740_993, -1_002_000_000_001, i64::MAX, i64::MIN] {
        put(&client, &tables.conversations, &[("chat_id", number(chat_id)), ("copy", number(chat_id))]).await;
        let request = client.get_item().table_name(&tables.conversations).key("chat_id", number(chat_id));
        let found: Item = request.send().await.unwrap().item.unwrap();
        assert_eq!(found["copy"], number(chat_id));
        assert_eq!(found["chat_id"], number(chat_id));
    }
    assert_eq!(shared().await.all_items(&tables.conversations).await.len(), 4);
}

#[tokio::test]
async fn an_empty_key_is_refused() {
    let (client, tables) = tables("empty-key").await;

    let refused = client.put_item().table_name(&tables.submissions).item("reference", text("")).send().await;

    assert_refused(refused, "empty string value");
}

#[tokio::test]
async fn an_empty_index_key_is_refused() {
    let (client, tables) = tables("empty-index-key").await;

    let refused = client
        .put_item()
        .table_name(&tables.submissions)
        .item("reference", text("DK-1"))
        .item("due_shard", text(""))
        .item("due_at", number(1))
        .send()
        .await;

    assert_refused(refused, "empty string value");
}

/// The record's own key is such a word.
#[tokio::test]
async fn a_reserved_word_needs_a_placeholder() {
    let (client, tables) = tables("reserved").await;
    let record = |condition: &str| {
        client
            .put_item()
            .table_name(&tables.submissions)
            .item("reference", text("DK-1"))
            .condition_expression(condition)
    };

    assert_refused(record("attribute_not_exists(reference)").send().await, "reserved keyword");
    let accepted = record("attribute_not_exists(#reference)");
    accepted.expression_attribute_names("#reference", "reference").send().await.unwrap();
    assert!(get(&client, &tables.submissions, "DK-1").await.is_some());
}

#[tokio::test]
async fn an_item_over_400_kilobytes_is_refused_and_one_just_below_is_not() {
    let (client, tables) = tables("size").await;
    let summary = |length: usize| {
        client
            .put_item()
            .table_name(&tables.submissions)
            .item("reference", text("DK-1"))
            .item("summary", text(&"x".repeat(length)))
            .send()
    };

    assert_refused(summary(400 * 1024).await, "Item size");
    summary(400 * 1024 - 100).await.unwrap();
}

#[tokio::test]
async fn a_whole_table_is_seen_even_if_it_needs_several_pages() {
    let (client, tables) = tables("several-pages").await;
    for position in 0..8 {
        let reference = text(&format!("DK-{position}"));
        let summary = text(&"x".repeat(300 * 1024));
        put(&client, &tables.submissions, &[("reference", reference), ("summary", summary)]).await;
    }
    let first_page = client.scan().table_name(&tables.submissions).send().await.unwrap();
    assert!(first_page.last_evaluated_key.is_some(), "two megabytes do not fit in one page");

    assert_eq!(shared().await.all_items(&tables.submissions).await.len(), 8);
}

#[tokio::test]
async fn both_tables_expire_by_the_same_attribute() {
    let (client, tables) = tables("ttl").await;

    for table in [&tables.submissions, &tables.conversations] {
        let described = client.describe_time_to_live().table_name(table).send().await.unwrap();
        let setting = described.time_to_live_description.unwrap();
        assert_eq!(setting.attribute_name(), Some("expires_at"));
        assert_eq!(setting.time_to_live_status().unwrap().as_str(), "ENABLED");
    }
}

#[tokio::test]
async fn an_expired_item_is_still_there_because_deletion_may_come_days_late() {
    let (client, tables) = tables("expired").await;

    put(&client, &tables.submissions, &[("reference", text("DK-1")), ("expires_at", number(1))]).await;

    assert!(get(&client, &tables.submissions, "DK-1").await.is_some());
}
