//! The sparse indexes: who is in them, what they show, and how they are read bit by bit.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::query::QueryOutput;
use aws_sdk_dynamodb::types::AttributeValue;
use docket_world::engines::Item;

use super::{get, number, put, tables, text};

async fn due(client: &Client, table: &str, until: i64, limit: i32, from: Option<Item>) -> QueryOutput {
    client
        .query()
        .table_name(table)
        .index_name("due")
        .key_condition_expression("due_shard = :shard AND due_at <= :until")
        .expression_attribute_values(":shard", text("0"))
        .expression_attribute_values(":until", number(until))
        .limit(limit)
        .set_exclusive_start_key(from)
        .send()
        .await
        .unwrap()
}

fn references(items: &[Item]) -> Vec<&str> {
    items.iter().map(|item| item["reference"].as_s().unwrap().as_str()).collect()
}

fn due_record(reference: &str, due_at: i64) -> Vec<(&'static str, AttributeValue)> {
    vec![
        ("reference", text(reference)),
        ("due_shard", text("0")),
        ("due_at", number(due_at)),
        ("summary", text("a customer's words")),
    ]
}

#[tokio::test]
async fn a_record_that_is_not_due_is_not_in_the_index() {
    let (client, tables) = tables("sparse").await;
    put(&client, &tables.submissions, &due_record("DK-due", 100)).await;
    put(&client, &tables.submissions, &[("reference", text("DK-finished"))]).await;
    // A moment without its shard is not enough to be found.
    put(&client, &tables.submissions, &[("reference", text("DK-half")), ("due_at", number(100))]).await;

    let found = due(&client, &tables.submissions, i64::MAX, 10, None).await;

    assert_eq!(references(found.items()), ["DK-due"]);
}

#[tokio::test]
async fn removing_the_attributes_takes_a_record_out_of_the_index() {
    let (client, tables) = tables("removed").await;
    put(&client, &tables.submissions, &due_record("DK-1", 100)).await;

    client
        .update_item()
        .table_name(&tables.submissions)
        .key("reference", text("DK-1"))
        .update_expression("REMOVE due_shard, due_at")
        .send()
        .await
        .unwrap();

    assert_eq!(due(&client, &tables.submissions, i64::MAX, 10, None).await.items(), []);
    assert!(get(&client, &tables.submissions, "DK-1").await.is_some());
}

#[tokio::test]
async fn the_index_shows_keys_only() {
    let (client, tables) = tables("keys-only").await;
    put(&client, &tables.submissions, &due_record("DK-1", 100)).await;

    let found = due(&client, &tables.submissions, 100, 10, None).await;

    let mut names: Vec<_> = found.items()[0].keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["due_at", "due_shard", "reference"]);
}

#[tokio::test]
async fn the_index_is_read_in_order_up_to_a_moment_page_by_page() {
    let (client, tables) = tables("pages").await;
    for (reference, due_at) in [("DK-c", 300), ("DK-a", 9), ("DK-b", 100), ("DK-later", 301), ("DK-b2", 100)]
    {
        put(&client, &tables.submissions, &due_record(reference, due_at)).await;
    }

    let mut pages = Vec::new();
    let mut from = None;
    loop {
        let page = due(&client, &tables.submissions, 300, 2, from).await;
        pages.push(references(page.items()).join(" "));
        from = page.last_evaluated_key;
        if from.is_none() {
            break;
        }
    }

    let mut all: Vec<_> = pages.iter().flat_map(|page| page.split_whitespace()).collect();
    assert!(pages.iter().all(|page| page.split_whitespace().count() <= 2), "{pages:?}");
    assert_eq!((all[0], all[3]), ("DK-a", "DK-c"), "by number, not by text: {pages:?}");
    // Records of the same moment come in no order that could be relied on.
    all[1..3].sort_unstable();
    assert_eq!(all, ["DK-a", "DK-b", "DK-b2", "DK-c"]);
}

#[tokio::test]
async fn the_reviews_index_finds_the_oldest_review_first() {
    let (client, tables) = tables("reviews").await;
    for (reference, since) in [("DK-new", 1_800_000_000), ("DK-old", 1_700_000_000)] {
        let review =
            [("reference", text(reference)), ("review", text("open")), ("review_since", number(since))];
        put(&client, &tables.submissions, &review).await;
    }

    let found = client
        .query()
        .table_name(&tables.submissions)
        .index_name("reviews")
        .key_condition_expression("review = :open")
        .expression_attribute_values(":open", text("open"))
        .send()
        .await
        .unwrap();

    assert_eq!(references(found.items()), ["DK-old", "DK-new"]);
}
