//! Conditional puts and updates: what a claim and every transition are made of.

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};
use docket_world::engines::Item;
use futures::future::join_all;

use super::{get, number, put, tables, text};

/// The old item that a refused put carries.
fn refused_put<R: std::fmt::Debug>(result: Result<R, SdkError<PutItemError>>) -> Option<Item> {
    let error = result.unwrap_err().into_service_error();
    let PutItemError::ConditionalCheckFailedException(refusal) = error else {
        panic!("refused for another reason: {error:?}");
    };
    refusal.item
}

/// The old item that a refused update carries.
fn refused_update<R: std::fmt::Debug>(result: Result<R, SdkError<UpdateItemError>>) -> Option<Item> {
    let error = result.unwrap_err().into_service_error();
    let UpdateItemError::ConditionalCheckFailedException(refusal) = error else {
        panic!("refused for another reason: {error:?}");
    };
    refusal.item
}

#[tokio::test]
async fn a_second_put_is_refused_and_shows_the_typed_item_that_stands() {
    let (client, tables) = tables("second-put").await;
    let record = |summary: &str| {
        client
            .put_item()
            .table_name(&tables.submissions)
            .item("reference", text("DK-1"))
            .item("summary", text(summary))
            .item("chat_id", number(-1002000000001))
            .item("write_evidence", AttributeValue::M([("row".to_owned(), number(7))].into()))
            .condition_expression("attribute_not_exists(#reference)")
            .expression_attribute_names("#reference", "reference")
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
    };
    record("first").await.unwrap();

    let standing = refused_put(record("second").await).unwrap();

    assert_eq!(standing["summary"], text("first"));
    assert_eq!(standing["chat_id"], number(-1002000000001));
    assert_eq!(standing["write_evidence"].as_m().unwrap()["row"], number(7));
    assert_eq!(get(&client, &tables.submissions, "DK-1").await.unwrap()["summary"], text("first"));
}

#[tokio::test]
async fn a_refusal_shows_no_item_unless_asked_for_it() {
    let (client, tables) = tables("unasked").await;
    let record = || {
        client
            .put_item()
            .table_name(&tables.submissions)
            .item("reference", text("DK-1"))
            .condition_expression("attribute_not_exists(#reference)")
            .expression_attribute_names("#reference", "reference")
            .send()
    };
    record().await.unwrap();

    assert_eq!(refused_put(record().await), None);
}

#[tokio::test]
async fn an_update_holds_only_in_the_state_it_was_decided_from() {
    let (client, tables) = tables("top-level").await;
    let pending =
        [("reference", text("DK-1")), ("write_state", text("pending")), ("write_attempts", number(0))];
    put(&client, &tables.submissions, &pending).await;
    let claim = |token: &str| {
        client
            .update_item()
            .table_name(&tables.submissions)
            .key("reference", text("DK-1"))
            .update_expression(
                "SET write_state = :attempting, write_attempt = :token ADD write_attempts :one",
            )
            .condition_expression("write_state = :pending AND attribute_not_exists(write_attempt)")
            .expression_attribute_values(":attempting", text("attempting"))
            .expression_attribute_values(":pending", text("pending"))
            .expression_attribute_values(":token", text(token))
            .expression_attribute_values(":one", number(1))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
    };
    claim("ours").await.unwrap();

    let standing = refused_update(claim("theirs").await).unwrap();

    assert_eq!(standing["write_attempt"], text("ours"));
    assert_eq!(standing["write_state"], text("attempting"));
    assert_eq!(standing["write_attempts"], number(1));
}

#[tokio::test]
async fn a_condition_may_look_inside_a_map() {
    let (client, tables) = tables("nested").await;
    let review = AttributeValue::M(
        [("reason".to_owned(), text("several_rows")), ("since".to_owned(), number(1_800_000_000))].into(),
    );
    put(&client, &tables.submissions, &[("reference", text("DK-1")), ("write_review", review)]).await;
    let close = |since: i64| {
        client
            .update_item()
            .table_name(&tables.submissions)
            .key("reference", text("DK-1"))
            .update_expression("REMOVE write_review")
            .condition_expression("write_review.reason = :reason AND write_review.since = :since")
            .expression_attribute_values(":reason", text("several_rows"))
            .expression_attribute_values(":since", number(since))
            .send()
    };

    refused_update(close(1_700_000_000).await);
    close(1_800_000_000).await.unwrap();

    assert!(!get(&client, &tables.submissions, "DK-1").await.unwrap().contains_key("write_review"));
}

#[tokio::test]
async fn an_update_may_append_to_a_list_and_count_it_in_the_condition() {
    let (client, tables) = tables("history").await;
    let empty = AttributeValue::L(Vec::new());
    put(&client, &tables.submissions, &[("reference", text("DK-1")), ("history", empty)]).await;
    let append = || {
        client
            .update_item()
            .table_name(&tables.submissions)
            .key("reference", text("DK-1"))
            .update_expression("SET history = list_append(history, :step)")
            .condition_expression("size(history) < :bound")
            .expression_attribute_values(":step", AttributeValue::L(vec![text("claimed")]))
            .expression_attribute_values(":bound", number(2))
            .send()
    };

    append().await.unwrap();
    append().await.unwrap();

    refused_update(append().await);
}

#[tokio::test]
async fn a_refused_update_of_a_missing_record_creates_nothing() {
    let (client, tables) = tables("missing").await;

    let refused = client
        .update_item()
        .table_name(&tables.submissions)
        .key("reference", text("DK-1"))
        .update_expression("SET write_state = :state")
        .condition_expression("attribute_exists(#reference)")
        .expression_attribute_names("#reference", "reference")
        .expression_attribute_values(":state", text("attempting"))
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .send()
        .await;

    assert_eq!(refused_update(refused), None);
    assert_eq!(get(&client, &tables.submissions, "DK-1").await, None);
}

#[tokio::test]
async fn of_64_racing_claims_exactly_one_wins() {
    let (client, tables) = tables("racers").await;
    put(&client, &tables.submissions, &[("reference", text("DK-1")), ("write_state", text("pending"))]).await;

    let claims = (0..64).map(|racer: i64| {
        client
            .update_item()
            .table_name(&tables.submissions)
            .key("reference", text("DK-1"))
            .update_expression("SET write_state = :attempting, write_attempt = :token")
            .condition_expression("write_state = :pending")
            .expression_attribute_values(":attempting", text("attempting"))
            .expression_attribute_values(":pending", text("pending"))
            .expression_attribute_values(":token", number(racer))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
    });
    let (won, lost): (Vec<_>, Vec<_>) = join_all(claims).await.into_iter().partition(Result::is_ok);

    assert_eq!(won.len(), 1);
    let token = &get(&client, &tables.submissions, "DK-1").await.unwrap()["write_attempt"];
    for loser in lost {
        assert_eq!(
            &refused_update(loser).unwrap()["write_attempt"],
            token,
            "every loser is shown the winner"
        );
    }
}
