//! The only clock: what is due is rung for, what waits for a person is counted, and nothing is ever changed by it.

use docket_domain::limits::{RINGS_PER_SWEEP_MAX, ROUND_MS};
use docket_domain::metric::Metric;
use docket_domain::reference::Reference;
use docket_domain::status::{
    AckEvent, AckOrder, AckState, Cause, DueStep, ReviewReason, WriteEvent, WriteOrder,
};
use docket_world::World;
use docket_world::wire::{Fault, Plan, Side};
use futures::StreamExt as _;
use serde_json::json;

/// A sweep asks for each kind of review first.
const REVIEW_QUERIES: usize = ReviewReason::ALL.len();
const CHAT: i64 = 7_100_000_001;
const FOR_GOOD: usize = 99;

fn unknown() -> WriteEvent {
    WriteEvent::Unknown { cause: Cause::new("timeout"), settle_seconds: 300 }
}

/// Three records, each due for another step, and no ring on its way.
async fn one_due_for_each_step(world: &mut World) -> [Reference; 3] {
    let lookup = world.record_by_hand(CHAT, "To be looked up.").await;
    world.somebody_claims_the_write(&lookup).await;
    world.write_meets(&lookup, unknown()).await;
    let told = world.record_by_hand(CHAT + 1, "To be acknowledged.").await;
    world.ring_for_the_write(std::slice::from_ref(&told)).await;
    world.poll_writer().await;
    world.lose_rings_for_the_acknowledgement().await;
    world.turn_seconds(60);
    let append = world.record_by_hand(CHAT + 2, "To be appended.").await;
    let steps: Vec<_> = [&append, &lookup, &told].map(|r| r.clone()).to_vec();
    for (reference, step) in steps.iter().zip(DueStep::ALL) {
        let due = world.record(reference).await.due();
        assert!(due.is_some_and(|(due, at)| due == step && at <= world.now()), "{due:?}");
    }
    [append, lookup, told]
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_due_is_rung_for_on_its_queue_and_no_record_is_changed() {
    let mut world = World::start().await;
    one_due_for_each_step(&mut world).await;
    let before = world.records().await;
    let summary = world.sweep().await.unwrap();
    assert_eq!(summary["rung"], json!({"write": 2, "acknowledge": 1, "missed": 0}));
    assert_eq!(summary["oldest_due_seconds"], 60);
    assert_eq!(world.records().await, before);
    let calls = world.wire.calls_of("sweeper", Side::DynamoDb);
    assert!(!calls.is_empty() && calls.iter().all(|call| call.operation == "Query"), "{calls:?}");
    assert_eq!(world.write_source.waiting().await.visible, 2);
    assert_eq!(world.acknowledge_source.waiting().await.visible, 1);
    world.settle().await;
    // The one whose append nobody heard of has no row: a person's.
    assert_eq!(world.records().await.iter().filter(|record| record.finished()).count(), 2);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_sweep_at_once_rings_again_and_nothing_happens_twice() {
    let mut world = World::start().await;
    one_due_for_each_step(&mut world).await;
    for _ in 0..3 {
        world.sweep().await.unwrap();
    }
    world.settle().await;
    assert_eq!(world.rows().len(), 2);
    assert_eq!(world.telegram.calls().len(), 2);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_due_is_a_sweep_with_a_heartbeat() {
    let mut world = World::start().await;
    let summary = world.sweep().await.unwrap();
    assert_eq!(
        summary,
        json!({
            "rung": {"write": 0, "acknowledge": 0, "missed": 0},
            "open_reviews": 0, "oldest_review_seconds": 0, "oldest_due_seconds": 0,
        })
    );
    assert_eq!(world.recorder().sum(Metric::Sweeps), 1.0);
    assert_eq!(world.recorder().last(Metric::OpenReviews), Some(0.0));
    assert_eq!(world.wire.calls_of("sweeper", Side::Sqs).len(), 0);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn open_reviews_and_their_age_become_metrics_and_close_again() {
    let mut world = World::start().await;
    // Two kinds of review, an hour apart.
    let first = world.record_by_hand(CHAT, "Never seen.").await;
    world.somebody_claims_the_write(&first).await;
    world.write_meets(&first, unknown()).await;
    world.settle().await;
    world.turn_seconds(3_600);
    let second = world.record_by_hand(CHAT + 1, "Perhaps told.").await;
    world.ring_for_the_write(std::slice::from_ref(&second)).await;
    world.telegram.answer_next(500, "");
    world.work().await;

    let since = world.record(&first).await.reviews()[0].since;
    let age = world.now().seconds_since(since);
    let summary = world.sweep().await.unwrap();
    assert_eq!((&summary["open_reviews"], &summary["oldest_review_seconds"]), (&json!(2), &json!(age)));
    assert!(age >= 3_600);
    assert_eq!(world.recorder().last(Metric::OpenReviews), Some(2.0));
    assert_eq!(world.recorder().last(Metric::OldestReviewAge), Some(f64::from(u32::try_from(age).unwrap())));
    world.turn_seconds(60);
    let summary = world.sweep().await.unwrap();
    assert_eq!(summary["oldest_review_seconds"], json!(age + 60));

    // A person closes one after the other, and the figures follow.
    world.order(&first, WriteOrder::Abandon { why: "Nobody's enquiry.".into() }).await;
    let since = world.record(&second).await.reviews()[0].since;
    let age = world.now().seconds_since(since);
    let summary = world.sweep().await.unwrap();
    assert_eq!((&summary["open_reviews"], &summary["oldest_review_seconds"]), (&json!(1), &json!(age)));
    let leave = AckOrder::Leave { why: "They rang us up.".into() };
    world.acknowledgement_meets(&second, AckEvent::Ordered(leave)).await;
    let summary = world.sweep().await.unwrap();
    assert_eq!((&summary["open_reviews"], &summary["oldest_review_seconds"]), (&json!(0), &json!(0)));
    assert_eq!(world.recorder().last(Metric::OpenReviews), Some(0.0));
    assert_eq!(world.recorder().last(Metric::OldestReviewAge), Some(0.0));
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_fails_costs_a_minute_and_is_counted() {
    for fault in [Fault::FailBefore, Fault::Answer500Before, Fault::Throttle, Fault::LoseAnswer] {
        let mut world = World::start().await;
        one_due_for_each_step(&mut world).await;
        world.wire.set_plan(Plan::outage(Side::Sqs, fault));
        let summary = world.sweep().await.unwrap();
        assert_eq!(summary["rung"], json!({"write": 0, "acknowledge": 0, "missed": 3}), "{fault}");
        assert_eq!(world.recorder().sum(Metric::RingFailed), 3.0);
        // The sweep itself ran: the heartbeat is about the clock, not about the queue.
        assert_eq!(world.recorder().sum(Metric::Sweeps), 1.0);
        world.wire.heal();
        world.settle().await;
        assert_eq!((world.rows().len(), world.telegram.calls().len()), (2, 2), "{fault}");
        world.check_rules().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_that_runs_out_of_time_still_says_what_waits_and_leaves_the_rest_to_the_next() {
    let mut world = World::start().await;
    let chats = CHAT..CHAT + 30;
    futures::stream::iter(chats)
        .for_each_concurrent(16, |chat_id| {
            let world = &world;
            async move { drop(world.record_by_hand(chat_id, "One of many.").await) }
        })
        .await;
    let mut summaries = Vec::new();
    for left_ms in [0, ROUND_MS - 1, ROUND_MS] {
        world.shorten_invocations(left_ms);
        let summary = world.sweep().await.unwrap();
        summaries
            .push((summary["rung"]["write"].as_u64().unwrap(), summary["rung"]["missed"].as_u64().unwrap()));
    }
    assert_eq!(summaries, [(0, 30), (0, 30), (30, 0)]);
    assert_eq!(world.recorder().sum(Metric::Sweeps), 3.0, "a heartbeat each time");
    assert_eq!(world.wire.calls_of("sweeper", Side::Sqs).len(), 3);
    world.lengthen_invocations();
    world.settle().await;
    assert_eq!(world.rows().len(), 30);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_fails_in_the_middle_fails_the_sweep_after_what_it_had_found() {
    let mut world = World::start().await;
    one_due_for_each_step(&mut world).await;
    let second = REVIEW_QUERIES + 2;
    let second_query = Plan::at_operation("sweeper", Side::DynamoDb, "Query", second, Fault::Answer500Before);
    world.wire.set_plan(second_query.times(FOR_GOOD));
    assert_eq!(world.sweep().await, None);
    assert_eq!(world.recorder().sum(Metric::Sweeps), 0.0, "no heartbeat: the alarm sees it");
    assert_eq!(world.write_source.waiting().await.visible, 1);
    world.wire.heal();
    world.settle().await;
    assert_eq!((world.rows().len(), world.telegram.calls().len()), (2, 2));
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_kind_of_work_that_cannot_be_found_holds_up_no_other() {
    // Both tries of the SDK, for the first query after reviews, for the last, and for each step's query: what is found is
    // rung for.
    for (nth, found) in
        [(1, 3), (REVIEW_QUERIES, 3)].into_iter().chain((1..=3).map(|n| (REVIEW_QUERIES + n, 2)))
    {
        let mut world = World::start().await;
        one_due_for_each_step(&mut world).await;
        let query = Plan::at_operation("sweeper", Side::DynamoDb, "Query", nth, Fault::Answer500Before);
        world.wire.set_plan(query.times(2));
        assert_eq!(world.sweep().await, None, "the sweep was not whole");
        assert_eq!(world.recorder().sum(Metric::Sweeps), 0.0);
        let rung =
            world.write_source.waiting().await.visible + world.acknowledge_source.waiting().await.visible;
        assert_eq!(rung, found, "query {nth}");
        world.wire.heal();
        world.settle().await;
        assert_eq!((world.rows().len(), world.telegram.calls().len()), (2, 2));
        world.check_rules().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_in_the_middle_of_a_sweep_is_made_good_by_the_next() {
    for nth in 1..=2 {
        let mut world = World::start().await;
        one_due_for_each_step(&mut world).await;
        let crash = Plan::at_operation("sweeper", Side::Sqs, "SendMessage", nth, Fault::CrashAfter);
        world.wire.set_plan(crash);
        assert_eq!(world.sweep().await, None);
        world.settle().await;
        assert_eq!((world.rows().len(), world.telegram.calls().len()), (2, 2));
        world.check_rules().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_one_sweep_can_ring_for_is_settled_over_some_minutes() {
    const ALL: usize = RINGS_PER_SWEEP_MAX + 20;
    let mut world = World::start().await;
    let chats = CHAT..CHAT + i64::try_from(ALL).unwrap();
    futures::stream::iter(chats)
        .for_each_concurrent(16, |chat_id| {
            let world = &world;
            async move { drop(world.record_by_hand(chat_id, "One of many.").await) }
        })
        .await;
    let summary = world.sweep().await.unwrap();
    assert_eq!(summary["rung"]["write"], RINGS_PER_SWEEP_MAX, "one sweep is bounded");
    let minutes = world.run_minutes(30).await;
    assert!(minutes < 30, "not settled after half an hour");
    assert_eq!((world.rows().len(), world.telegram.calls().len()), (ALL, ALL));
    let writes = world.sheets.write_requests().len();
    assert!(writes <= 5, "{writes} requests for {ALL} rows");
    assert!(world.records().await.iter().all(|record| record.finished()));
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_doorbell_of_either_kind_is_made_good_within_a_minute() {
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    let reference = world.submit(&ann, "A quote", "New gutters, please.").await;
    assert_eq!(world.lose_rings_for_the_write().await, 1);
    world.work().await;
    assert_eq!(world.rows().len(), 0);
    world.turn_seconds(60);
    world.sweep().await;
    world.poll_writer().await;
    assert_eq!(world.rows_of(&reference), 1);

    assert_eq!(world.lose_rings_for_the_acknowledgement().await, 1);
    world.work().await;
    assert_eq!(world.acknowledgements(CHAT).len(), 0);
    world.turn_seconds(60);
    world.sweep().await;
    world.work().await;
    let state = world.record(&reference).await.acknowledgement.unwrap().state;
    assert!(matches!(state, AckState::Confirmed { .. }), "{state:?}");
    assert!(world.is_quiet().await);
    world.check_rules().await;
}
