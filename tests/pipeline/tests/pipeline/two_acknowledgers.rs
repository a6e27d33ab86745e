//! Two acknowledgers at once, and one that was given up and is still at work. The queue promises nothing about order or about
//! once; the records do. The calls are held, so that both have decided before either has heard anything.

use docket_domain::metric::Metric;
use docket_domain::reference::Reference;
use docket_domain::status::{AckState, ReviewReason};
use docket_world::World;
use docket_world::wire::Side;
use docket_world::world::write_event;

use crate::stage::until;
use crate::write_side::world_with;

const CHAT: i64 = 7_100_000_001;

/// A world in which the row is there, and nobody has been told.
async fn written() -> (World, Reference) {
    let mut world = world_with(|settings| settings.timing.send_timeout_ms = 15_000).await;
    let reference = world.record_by_hand(CHAT, "New gutters, please.").await;
    world.ring_for_the_write(std::slice::from_ref(&reference)).await;
    world.poll_writer().await;
    world.lose_rings_for_the_acknowledgement().await;
    (world, reference)
}

async fn state(world: &World, reference: &Reference) -> AckState {
    world.record(reference).await.acknowledgement.unwrap().state
}

/// Two acknowledgers have read the same record and decided; the second one so many milliseconds after the first.
async fn two_decide_at_once(world: &World, reference: &Reference, apart_ms: i64) {
    // The bodies of the two queues are the same.
    let event = write_event(std::slice::from_ref(reference));
    for _ in 0..2 {
        world.wire.hold_next("acknowledger", Side::DynamoDb, "UpdateItem");
    }
    let first = world.invoke_another_acknowledger(event.clone());
    let second = async {
        world.wire.until_held(1).await;
        world.clock.turn(apart_ms);
        world.invoke_another_acknowledger(event).await
    };
    let both = async {
        world.wire.until_held(2).await;
        world.wire.let_go();
    };
    let (one, other, ()) = tokio::join!(first, second, both);
    assert!(one.is_some() && other.is_some());
}

/// A person must look, and this many messages arrived.
async fn a_person_weighs(world: &mut World, reference: &Reference, messages: usize) {
    world.settle().await;
    let record = world.record(reference).await;
    assert!(matches!(state(world, reference).await, AckState::Uncertain { .. }), "{record:?}");
    let reviews: Vec<ReviewReason> = record.reviews().iter().map(|review| review.reason).collect();
    assert_eq!(reviews, [ReviewReason::AckUncertain]);
    assert_eq!(world.acknowledgements(CHAT).len(), messages);
    assert!(world.wire.count(Side::Telegram, "sendMessage") <= 1);
    assert_eq!(world.dead_letters().await, Vec::<String>::new());
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_acknowledgers_that_claim_the_same_record_one_tells_the_customer() {
    for apart_ms in [0, 1_000] {
        let (mut world, reference) = written().await;
        two_decide_at_once(&world, &reference, apart_ms).await;
        world.settle().await;
        assert!(matches!(state(&world, &reference).await, AckState::Confirmed { message_id: Some(_) }));
        assert!(world.record(&reference).await.finished());
        assert_eq!(world.acknowledgements(CHAT).len(), 1);
        assert_eq!(world.wire.count(Side::Telegram, "sendMessage"), 1, "the loser sent nothing");
        assert_eq!(world.recorder().sum(Metric::AckConfirmed), 1.0);
        world.check_rules().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_acknowledgers_that_find_the_same_lease_over_call_a_person_and_send_nothing() {
    for apart_ms in [0, 1_000] {
        let (mut world, reference) = written().await;
        world.somebody_claims_the_acknowledgement(&reference).await;
        world.turn_seconds(121);
        two_decide_at_once(&world, &reference, apart_ms).await;
        assert_eq!(world.wire.count(Side::Telegram, "sendMessage"), 0);
        a_person_weighs(&mut world, &reference, 0).await;
    }
}

/// An acknowledger whose message is on its way, and what happens before it arrives.
async fn while_a_message_is_on_its_way(world: &World, reference: &Reference, meanwhile: impl AsyncFnOnce()) {
    world.telegram.hold_next();
    let slow = world.invoke_another_acknowledger(write_event(std::slice::from_ref(reference)));
    let others = async {
        until("a message on its way", || world.telegram.held() == 1).await;
        // While its lease runs nobody else touches the record.
        let event = write_event(std::slice::from_ref(reference));
        world.invoke_another_acknowledger(event).await.unwrap();
        assert!(matches!(state(world, reference).await, AckState::Attempting { .. }));
        world.turn_seconds(121);
        meanwhile().await;
        world.telegram.let_go();
    };
    let (answer, ()) = tokio::join!(slow, others);
    assert!(answer.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acknowledger_that_was_given_up_and_sends_at_last_is_followed_by_no_second_message() {
    let (mut world, reference) = written().await;
    let event = write_event(std::slice::from_ref(&reference));
    while_a_message_is_on_its_way(&world, &reference, async || {
        for _ in 0..3 {
            world.invoke_another_acknowledger(event.clone()).await.unwrap();
            assert!(matches!(state(&world, &reference).await, AckState::Uncertain { .. }));
        }
        assert_eq!(world.acknowledgements(CHAT).len(), 0, "its message is still on its way");
    })
    .await;
    // What it learned comes too late to be believed over what the record says.
    a_person_weighs(&mut world, &reference, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acknowledger_that_keeps_its_answer_before_it_is_given_up_is_believed() {
    let (mut world, reference) = written().await;
    let event = write_event(std::slice::from_ref(&reference));
    while_a_message_is_on_its_way(&world, &reference, async || {
        // The next one has seen the lease over, and has not said so yet.
        world.wire.hold_next("acknowledger", Side::DynamoDb, "UpdateItem");
        let release = async {
            world.wire.until_held(1).await;
            world.telegram.let_go();
            while !world.record(&reference).await.finished() {
                tokio::task::yield_now().await;
            }
            world.wire.let_go();
        };
        let (answer, ()) = tokio::join!(world.invoke_another_acknowledger(event), release);
        answer.unwrap();
    })
    .await;
    world.settle().await;
    assert!(matches!(state(&world, &reference).await, AckState::Confirmed { message_id: Some(_) }));
    assert!(world.record(&reference).await.finished());
    assert_eq!(world.acknowledgements(CHAT).len(), 1);
    assert_eq!(world.wire.count(Side::Telegram, "sendMessage"), 1);
    world.check_rules().await;
}
