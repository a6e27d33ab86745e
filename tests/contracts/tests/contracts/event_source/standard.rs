//! A standard queue: events, visibility, and its right to repeat and reorder.

use docket_world::event_source::{Delivery, Polled, Waiting};
use serde_json::json;

use super::{Line, START_MS, VISIBILITY_SECONDS, all_done, bodies, records};

#[tokio::test]
async fn the_event_has_the_shape_that_lambda_sends() {
    let mut line = Line::standard("shape").await;
    line.send(&["Test message."]).await;
    line.source.waiting().await;
    line.turn_seconds(7);

    let mut seen = json!(null);
    let poll = line.source.poll(|event| {
        seen = event;
        async { all_done() }
    });
    poll.await;

    let record = &records(&seen)[0];
    assert_eq!(seen.as_object().unwrap().len(), 1);
    assert_eq!(record["body"], "Test message.");
    // From the example event in the AWS Lambda developer guide.
    assert_eq!(record["md5OfBody"], "e4e68fb7bd0e697a0ae8f1bb342846b3");
    assert_eq!(record["eventSource"], "aws:sqs");
    assert_eq!(record["eventSourceARN"], "arn:aws:sqs:us-east-1:000000000000:shape");
    assert_eq!(record["awsRegion"], "us-east-1");
    assert_eq!(record["messageAttributes"], json!({}));
    assert!(record["messageId"].is_string() && record["receiptHandle"].is_string());
    let attributes = &record["attributes"];
    assert_eq!(attributes["ApproximateReceiveCount"], "1");
    assert_eq!(attributes["SentTimestamp"], START_MS.to_string());
    assert_eq!(attributes["ApproximateFirstReceiveTimestamp"], (START_MS + 7000).to_string());
    assert!(attributes.get("MessageGroupId").is_none(), "{attributes}");
}

#[tokio::test]
async fn an_empty_queue_calls_no_function() {
    let mut line = Line::standard("nothing").await;

    let (_, polled) = line.poll(|event| panic!("called with {event}")).await;

    assert_eq!(polled, Polled::default());
    assert!(line.source.is_empty().await);
    assert_eq!(line.source.next_visible_at_ms().await, None);
}

#[tokio::test]
async fn a_batch_is_never_larger_than_the_mapping_allows() {
    let mut line = Line::standard("large").await;
    line.send(&["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]).await;

    assert_eq!(line.poll_done().await, "a b c d e f g h i j");
    assert_eq!(line.poll_done().await, "k l");
}

#[tokio::test]
async fn a_returned_message_is_hidden_until_its_visibility_runs_out_on_the_turned_clock() {
    let mut line = Line::standard("hidden").await;
    line.send(&["one"]).await;
    line.poll_failed().await;

    assert_eq!(line.source.waiting().await, Waiting { visible: 0, hidden: 1 });
    assert_eq!(line.source.next_visible_at_ms().await, Some(START_MS + VISIBILITY_SECONDS * 1000));
    line.clock.turn(VISIBILITY_SECONDS * 1000 - 1);
    assert_eq!(line.poll_done().await, "");
    line.clock.turn(1);
    assert_eq!(line.source.waiting().await, Waiting { visible: 1, hidden: 0 });
    assert_eq!(line.poll_done().await, "one");
}

#[tokio::test]
async fn visibility_runs_from_the_receive_not_from_the_answer() {
    let mut line = Line::standard("from-receive").await;
    line.send(&["one"]).await;
    let clock = line.clock.clone();

    line.poll(|_| {
        clock.turn(VISIBILITY_SECONDS * 1000);
        Delivery::Failed
    })
    .await;

    assert_eq!(line.poll_done().await, "one");
}

#[tokio::test]
async fn each_receive_is_counted_and_has_its_own_receipt() {
    let mut line = Line::standard("counted").await;
    line.send(&["one"]).await;

    let mut receipts = Vec::new();
    for count in 1..=3 {
        line.poll(|event| {
            let record = &records(event)[0];
            assert_eq!(record["attributes"]["ApproximateReceiveCount"], count.to_string());
            receipts.push(record["receiptHandle"].clone());
            Delivery::Failed
        })
        .await;
        line.turn_seconds(VISIBILITY_SECONDS);
    }

    receipts.dedup();
    assert_eq!(receipts.len(), 3);
}

#[tokio::test]
async fn messages_sent_while_a_batch_is_in_flight_go_to_the_next_invocation() {
    let mut line = Line::standard("beside").await;
    line.send(&["one"]).await;
    let first = line.source.take().await.unwrap();
    line.send(&["two"]).await;

    let second = line.source.take().await.unwrap();

    assert_eq!((bodies(first.event()), bodies(second.event())), ("one".to_owned(), "two".to_owned()));
    line.source.settle(second, &all_done());
    line.source.settle(first, &all_done());
    assert!(line.source.is_empty().await);
}

#[tokio::test]
async fn a_batch_whose_invocation_is_never_settled_comes_back() {
    let mut line = Line::standard("abandoned").await;
    line.send(&["one"]).await;
    drop(line.source.take().await);

    line.turn_seconds(VISIBILITY_SECONDS);

    assert_eq!(line.poll_done().await, "one");
}

#[tokio::test]
async fn a_late_answer_cannot_delete_what_somebody_else_has_received() {
    let mut line = Line::standard("late").await;
    line.send(&["one"]).await;
    let late = line.source.take().await.unwrap();
    line.turn_seconds(VISIBILITY_SECONDS);
    let second = line.source.take().await.unwrap();

    let polled = line.source.settle(late, &all_done());

    assert_eq!(polled, Polled { delivered: 1, done: 0, returned: 1, dead: 0 });
    assert_eq!(line.source.settle(second, &all_done()).done, 1);
}

#[tokio::test]
async fn a_duplicated_message_is_delivered_again_although_it_was_done() {
    let mut line = Line::standard("duplicated").await;
    line.send(&["one", "two"]).await;
    line.source.duplicate_next(1);

    let (seen, polled) = line.poll(|_| all_done()).await;

    assert_eq!((seen.as_str(), polled.done, polled.returned), ("one two", 1, 1));
    assert_eq!(line.poll_done().await, "one");
    assert!(line.source.is_empty().await, "only once more");
}

#[tokio::test]
async fn a_reversed_batch_comes_last_message_first_and_only_that_one() {
    let mut line = Line::standard("reversed").await;
    line.send(&["one", "two", "three"]).await;
    line.source.reverse_next();

    assert_eq!(line.poll_done().await, "three two one");
    line.send(&["four", "five"]).await;
    assert_eq!(line.poll_done().await, "four five");
}

#[tokio::test]
async fn two_workers_may_be_given_the_same_messages_at_once() {
    let mut line = Line::standard("at-once").await;
    line.send(&["one", "two"]).await;

    let (first, second) = line.source.deliver_twice_at_once().await.unwrap();

    let pair = |position: usize| [&records(first.event())[position], &records(second.event())[position]];
    for [one, other] in [pair(0), pair(1)] {
        assert_eq!(one["messageId"], other["messageId"]);
        assert_eq!(one["body"], other["body"]);
        assert_ne!(one["receiptHandle"], other["receiptHandle"]);
    }
    assert_eq!(line.source.settle(first, &all_done()).done, 2);
    assert_eq!(line.source.settle(second, &Delivery::Failed).returned, 2);
    line.turn_seconds(VISIBILITY_SECONDS);
    assert_eq!(line.poll_done().await, "one two");
    assert!(line.source.is_empty().await);
}
