//! The dead-letter queue: when a message gets there, and how it gets back.

use docket_world::event_source::{Polled, Waiting};

use super::{Line, VISIBILITY_SECONDS, all_done, records};

const MAX_RECEIVES: usize = 5;

/// Fails every delivery until the queue would bury what is in it.
async fn fail_to_death(line: &mut Line, bodies: &str) {
    for _ in 0..MAX_RECEIVES {
        assert_eq!(line.poll_failed().await, bodies);
        line.turn_seconds(VISIBILITY_SECONDS);
    }
}

#[tokio::test]
async fn a_message_dies_after_the_last_allowed_receive_and_not_before() {
    let mut line = Line::standard("dies").await;
    line.send(&["one"]).await;
    for _ in 1..MAX_RECEIVES {
        line.poll_failed().await;
        line.turn_seconds(VISIBILITY_SECONDS);
    }
    assert_eq!(line.source.dead_letters().await, [""; 0]);
    assert_eq!(line.poll_failed().await, "one");
    line.turn_seconds(VISIBILITY_SECONDS);
    assert_eq!(line.source.waiting().await, Waiting { visible: 1, hidden: 0 });

    let (seen, polled) = line.poll(|event| panic!("a dead message was delivered: {event}")).await;

    assert_eq!((seen.as_str(), polled), ("", Polled { dead: 1, ..Polled::default() }));
    assert_eq!(line.source.dead_letters().await, ["one"]);
    assert!(line.source.is_empty().await);
}

#[tokio::test]
async fn a_message_that_is_done_in_its_last_receive_does_not_die() {
    let mut line = Line::standard("last-chance").await;
    line.send(&["one"]).await;
    for _ in 1..MAX_RECEIVES {
        line.poll_failed().await;
        line.turn_seconds(VISIBILITY_SECONDS);
    }

    assert_eq!(line.poll_done().await, "one");

    assert!(line.source.is_empty().await);
    assert_eq!(line.source.dead_letters().await, [""; 0]);
}

#[tokio::test]
async fn a_dead_letter_is_really_in_the_dead_letter_queue() {
    let mut line = Line::standard("really").await;
    line.send(&["one"]).await;
    fail_to_death(&mut line, "one").await;
    line.poll_done().await;
    let url = format!("{}-dead-letters", line.queue_url);

    let received = line.client.receive_message().queue_url(url).send().await.unwrap();

    assert_eq!(received.messages()[0].body(), Some("one"));
}

#[tokio::test]
async fn a_dead_message_no_longer_blocks_its_group() {
    let mut line = Line::fifo("unblocks").await;
    line.send_to("sheet", &["one"]).await;
    fail_to_death(&mut line, "one").await;
    line.send_to("sheet", &["two"]).await;

    let (seen, polled) = line.poll(|_| all_done()).await;

    assert_eq!((seen.as_str(), polled.dead), ("two", 1));
    assert_eq!(line.source.dead_letters().await, ["one"]);
}

#[tokio::test]
async fn looking_at_dead_letters_does_not_lose_them() {
    let mut line = Line::fifo("looking").await;
    line.send_to("sheet", &["one", "two"]).await;
    fail_to_death(&mut line, "one two").await;
    line.poll_done().await;

    assert_eq!(line.source.dead_letters().await, ["one", "two"]);
    assert_eq!(line.source.dead_letters().await, ["one", "two"]);
    assert_eq!(line.source.redrive().await, 2);
    assert_eq!(line.source.dead_letters().await, [""; 0]);
}

#[tokio::test]
async fn a_redriven_message_starts_anew_in_its_group() {
    let mut line = Line::fifo("redriven").await;
    line.send_to("sheet", &["one"]).await;
    fail_to_death(&mut line, "one").await;
    line.poll_done().await;

    line.source.redrive().await;

    let (seen, _) = line
        .poll(|event| {
            assert_eq!(records(event)[0]["attributes"]["ApproximateReceiveCount"], "1");
            assert_eq!(records(event)[0]["attributes"]["MessageGroupId"], "sheet");
            all_done()
        })
        .await;
    assert_eq!(seen, "one");
}

#[tokio::test]
async fn a_redriven_message_may_die_again() {
    let mut line = Line::fifo("again").await;
    line.send_to("sheet", &["one"]).await;

    for _ in 0..2 {
        fail_to_death(&mut line, "one").await;
        line.poll_done().await;
        assert_eq!(line.source.dead_letters().await, ["one"]);
        line.source.redrive().await;
    }

    assert_eq!(line.poll_done().await, "one");
}
