//! A FIFO queue: order, groups, and what blocks them.

use docket_world::event_source::{Delivery, Waiting};

use super::{Line, START_MS, VISIBILITY_SECONDS, all_done, bodies, records, returning};

#[tokio::test]
async fn up_to_ten_of_a_group_come_in_one_event_in_their_order() {
    let mut line = Line::fifo("ten").await;
    line.send_to("sheet", &["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]).await;

    assert_eq!(line.poll_done().await, "a b c d e f g h i j");
    assert_eq!(line.poll_done().await, "k l");
}

#[tokio::test]
async fn a_fifo_record_shows_its_group_its_deduplication_id_and_a_rising_sequence_number() {
    let mut line = Line::fifo("attributes").await;
    line.send_to("sheet", &["one", "two"]).await;

    let mut numbers = Vec::new();
    line.poll(|event| {
        for record in records(event) {
            assert_eq!(record["attributes"]["MessageGroupId"], "sheet");
            assert_eq!(record["attributes"]["MessageDeduplicationId"], record["body"]);
            numbers.push(record["attributes"]["SequenceNumber"].as_str().unwrap().parse::<u128>().unwrap());
        }
        all_done()
    })
    .await;

    assert!(numbers[0] < numbers[1], "{numbers:?}");
}

#[tokio::test]
async fn a_group_in_flight_gives_nothing_more_but_other_groups_do() {
    let mut line = Line::fifo("in-flight").await;
    line.send_to("sheet", &["one"]).await;
    let first = line.source.take().await.unwrap();
    line.send_to("sheet", &["two"]).await;
    line.send_to("other", &["three"]).await;

    assert_eq!(line.source.waiting().await, Waiting { visible: 1, hidden: 2 });
    assert_eq!(line.poll_done().await, "three");
    assert_eq!(line.poll_done().await, "");
    line.source.settle(first, &all_done());
    assert_eq!(line.poll_done().await, "two");
}

#[tokio::test]
async fn a_returned_message_blocks_its_group_until_it_is_visible_and_comes_first_then() {
    let mut line = Line::fifo("blocks").await;
    line.send_to("sheet", &["one", "two"]).await;
    line.poll(|event| returning(event, &["one", "two"])).await;
    line.send_to("sheet", &["three"]).await;

    assert_eq!(line.poll_done().await, "");
    assert_eq!(line.source.next_visible_at_ms().await, Some(START_MS + VISIBILITY_SECONDS * 1000));
    line.turn_seconds(VISIBILITY_SECONDS);
    assert_eq!(line.poll_done().await, "one two three");
}

/// Why a function over a FIFO queue must return the failed message and all later ones of its group.
#[tokio::test]
async fn order_is_lost_when_only_the_failed_message_is_returned() {
    let mut line = Line::fifo("order-lost").await;
    line.send_to("sheet", &["one", "two", "three"]).await;

    line.poll(|event| returning(event, &["two"])).await;

    line.turn_seconds(VISIBILITY_SECONDS);
    assert_eq!(line.poll_done().await, "two");
}

#[tokio::test]
async fn a_failed_batch_returns_in_its_order() {
    let mut line = Line::fifo("failed").await;
    line.send_to("sheet", &["one", "two", "three"]).await;

    assert_eq!(line.poll_failed().await, "one two three");
    line.turn_seconds(VISIBILITY_SECONDS);
    assert_eq!(line.poll_done().await, "one two three");
}

#[tokio::test]
async fn a_duplicated_message_blocks_its_group_and_comes_again_after_its_visibility() {
    let mut line = Line::fifo("duplicated-fifo").await;
    line.send_to("sheet", &["one", "two"]).await;
    line.source.duplicate_next(1);
    line.poll_done().await;
    line.send_to("sheet", &["three"]).await;

    assert_eq!(line.poll_done().await, "");
    line.turn_seconds(VISIBILITY_SECONDS);
    assert_eq!(line.poll_done().await, "one three");
    assert!(line.source.is_empty().await);
}

#[tokio::test]
async fn a_second_worker_gets_the_group_when_the_first_outlives_the_visibility() {
    let mut line = Line::fifo("outlived").await;
    line.send_to("sheet", &["one"]).await;
    let first = line.source.take().await.unwrap();
    line.turn_seconds(VISIBILITY_SECONDS);

    let second = line.source.take().await.unwrap();

    assert_eq!((bodies(first.event()), bodies(second.event())), ("one".to_owned(), "one".to_owned()));
    assert_eq!(line.source.settle(second, &all_done()).done, 1);
    assert_eq!(line.source.settle(first, &all_done()).done, 0);
    assert!(line.source.is_empty().await);
}

#[tokio::test]
async fn a_fifo_queue_refuses_a_deletion_after_the_visibility_ran_out() {
    let mut line = Line::fifo("too-late").await;
    line.send_to("sheet", &["one"]).await;
    let clock = line.clock.clone();

    line.poll(|_| {
        clock.turn(VISIBILITY_SECONDS * 1000);
        all_done()
    })
    .await;

    assert_eq!(line.poll_done().await, "one");
}

#[tokio::test]
#[should_panic(expected = "a FIFO queue keeps its order")]
async fn a_fifo_queue_cannot_be_told_to_reorder() {
    Line::fifo("no-reorder").await.source.reverse_next();
}

#[tokio::test]
async fn after_a_crash_the_messages_of_the_group_are_all_there() {
    let mut line = Line::fifo("crash").await;
    line.send_to("sheet", &["one", "two"]).await;
    line.poll(|_| Delivery::Failed).await;

    assert_eq!(line.source.waiting().await, Waiting { visible: 0, hidden: 2 });
}
