//! Old, doubled and reordered messages: what to do is decided from the record, so they change nothing.
//!
//! And how long a record is kept: as long as anything is open, and a set time after it is finished.

use std::sync::Arc;

use docket_domain::metric::Metric;
use docket_domain::ports::Submissions as _;
use docket_domain::reference::Reference;
use docket_domain::status::{
    AckEvent, AckOrder, AckState, Cause, Conflict, ConflictEvent, Evidence, Finding, WriteEvent, WriteOrder,
    WriteReview, WriteState,
};
use docket_domain::status::{By, ReviewReason};
use docket_domain::submission::{Fingerprint, Summary};
use docket_world::engines::Engines;
use docket_world::sheets::{Behaviour, On};
use docket_world::wire::{Fault, Plan, Side};
use docket_world::{Settings, World};

const CHAT: i64 = 7_100_000_001;
const THIRTEEN_DAYS: i64 = 13 * 86_400;

async fn world(engines: &Arc<Engines>) -> World {
    World::with(Arc::clone(engines), Settings::default()).await
}

/// Google's side of a write: none, a read, an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    Nothing,
    ReadsBack,
    Appends,
}

fn asked(world: &World) -> Asks {
    // The header is read before an append; a read-back is a read without one.
    match (world.sheets.write_requests().len(), world.sheets.read_requests().len()) {
        (0, 0) => Asks::Nothing,
        (0, _) => Asks::ReadsBack,
        (_, _) => Asks::Appends,
    }
}

fn unknown() -> WriteEvent {
    WriteEvent::Unknown { cause: Cause::new("timeout"), settle_seconds: 300 }
}

async fn uncertain(world: &World) -> Reference {
    let reference = world.record_by_hand(CHAT, "New gutters, please.").await;
    world.somebody_claims_the_write(&reference).await;
    world.write_meets(&reference, unknown()).await;
    reference
}

async fn in_review(world: &World) -> Reference {
    let reference = uncertain(world).await;
    world.turn_seconds(301);
    let looked =
        WriteEvent::LookedUp { finding: Finding::None, started_at: world.now(), settle_seconds: 300 };
    world.write_meets(&reference, looked).await;
    reference
}

async fn abandoned(world: &World) -> Reference {
    let reference = in_review(world).await;
    let order = WriteOrder::Abandon { why: "a test of theirs".into() };
    world.write_meets(&reference, WriteEvent::Ordered(order)).await;
    reference
}

/// Its row is in the sheet, its acknowledgement pending, and no message is on its way.
async fn written(world: &mut World) -> Reference {
    let reference = world.record_by_hand(CHAT, "New gutters, please.").await;
    world.ring_for_the_write(std::slice::from_ref(&reference)).await;
    world.poll_writer().await;
    world.lose_rings_for_the_acknowledgement().await;
    reference
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_message_redriven_after_13_days_does_what_the_record_says() {
    let engines = Arc::new(Engines::start().await);
    for (state, expected) in [
        ("pending", Asks::Appends),
        ("attempting, alive", Asks::Nothing),
        ("attempting, expired", Asks::ReadsBack),
        ("uncertain", Asks::ReadsBack),
        ("review", Asks::Nothing),
        ("abandoned", Asks::Nothing),
    ] {
        let mut world = world(&engines).await;
        let reference = match state {
            "attempting, expired" => {
                let reference = world.record_by_hand(CHAT, "New gutters, please.").await;
                world.somebody_claims_the_write(&reference).await;
                reference
            }
            "uncertain" => uncertain(&world).await,
            "review" => in_review(&world).await,
            "abandoned" => abandoned(&world).await,
            _ => world.record_by_hand(CHAT, "New gutters, please.").await,
        };
        world.turn_seconds(THIRTEEN_DAYS);
        if state == "attempting, alive" {
            world.somebody_claims_the_write(&reference).await;
        }
        let before = world.record(&reference).await;
        world.ring_for_the_write(std::slice::from_ref(&reference)).await;
        assert_eq!(world.poll_writer().await.done, 1, "{state}");
        assert_eq!(asked(&world), expected, "{state}");
        let after = world.record(&reference).await;
        match expected {
            Asks::Nothing => assert_eq!(after, before, "{state}"),
            // Nobody appended it, and 13 days are more than the settle time.
            Asks::ReadsBack => assert_eq!(
                after.reviews()[0].reason,
                ReviewReason::Write(WriteReview::NoMatchingRow),
                "{state}"
            ),
            Asks::Appends => assert!(matches!(after.write.state, WriteState::Confirmed { .. }), "{state}"),
        }
        world.settle().await;
        assert_eq!(world.write_source.dead_letters().await.len(), 0);
        world.check_rules().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_uncertain_write_whose_row_is_there_is_confirmed_by_it_13_days_later() {
    let engines = Arc::new(Engines::start().await);
    let mut world = world(&engines).await;
    world.sheets.next(On::Appends, Behaviour::writes_then_hangs_up());
    let reference = world.record_by_hand(CHAT, "New gutters, please.").await;
    world.ring_for_the_write(std::slice::from_ref(&reference)).await;
    world.poll_writer().await;
    world.turn_seconds(THIRTEEN_DAYS);
    world.ring_for_the_write(std::slice::from_ref(&reference)).await;
    world.work().await;
    let record = world.record(&reference).await;
    let range = "'Intake'!A2:F2".to_owned();
    assert_eq!(record.write.state, WriteState::Confirmed { evidence: Evidence::ReadBack { range } });
    assert!(record.finished());
    assert_eq!(world.sheets.write_requests().len(), 1);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmed_write_asks_nobody_anything_whatever_its_acknowledgement_is() {
    let engines = Arc::new(Engines::start().await);
    for state in ["pending", "attempting", "uncertain", "confirmed", "refused", "abandoned"] {
        let mut world = world(&engines).await;
        let reference = written(&mut world).await;
        bring_about(&mut world, &reference, state).await;
        let record = world.record(&reference).await;
        assert_eq!(record.acknowledgement.as_ref().unwrap().state.as_str(), state);
        world.turn_seconds(THIRTEEN_DAYS);
        world.wire.clear_log();
        world.ring_for_the_write(std::slice::from_ref(&reference)).await;
        assert_eq!(world.poll_writer().await.done, 1);
        for side in [Side::Sheets, Side::Token, Side::Telegram] {
            assert_eq!(world.wire.calls().iter().filter(|call| call.side == side).count(), 0, "{state}");
        }
        assert_eq!(world.record(&reference).await, record);
        assert_eq!(world.rows_of(&reference), 1);
        world.settle().await;
        world.check_rules().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acknowledge_message_redriven_after_13_days_does_what_the_record_says() {
    let engines = Arc::new(Engines::start().await);
    for (state, messages, after) in [
        ("pending", 1, "confirmed"),
        ("attempting", 0, "uncertain"),
        ("uncertain", 0, "uncertain"),
        ("confirmed", 0, "confirmed"),
        ("refused", 0, "refused"),
        ("abandoned", 0, "abandoned"),
    ] {
        let mut world = world(&engines).await;
        let reference = written(&mut world).await;
        bring_about(&mut world, &reference, state).await;
        world.turn_seconds(THIRTEEN_DAYS);
        let before = world.wire.count(Side::Telegram, "sendMessage");
        world.ring_for_the_acknowledgement(std::slice::from_ref(&reference)).await;
        assert_eq!(world.poll_acknowledger().await.done, 1);
        let calls = world.wire.count(Side::Telegram, "sendMessage") - before;
        assert_eq!(calls, messages, "{state}");
        let record = world.record(&reference).await;
        assert_eq!(record.acknowledgement.as_ref().unwrap().state.as_str(), after, "{state}");
        assert_eq!(world.acknowledge_source.dead_letters().await.len(), 0);
        world.settle().await;
        world.check_rules().await;
    }
}

/// Brings a pending acknowledgement into the state, by the real acknowledger where it can.
async fn bring_about(world: &mut World, reference: &Reference, state: &str) {
    match state {
        "pending" => {}
        "attempting" => drop(world.somebody_claims_the_acknowledgement(reference).await),
        _ => {
            match state {
                "uncertain" | "abandoned" => world.telegram.answer_next(500, ""),
                "refused" => world.telegram.block(CHAT),
                _ => {}
            }
            world.ring_for_the_acknowledgement(std::slice::from_ref(reference)).await;
            world.poll_acknowledger().await;
            if state == "abandoned" {
                let order = AckOrder::Leave { why: "they rang us up".into() };
                world.acknowledgement_meets(reference, AckEvent::Ordered(order)).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_whose_record_is_gone_is_counted_and_consumed() {
    let engines = Arc::new(Engines::start().await);
    let mut world = world(&engines).await;
    let reference = written(&mut world).await;
    world.delete_record(&reference).await;
    world.wire.clear_log();
    world.ring_for_the_write(std::slice::from_ref(&reference)).await;
    world.ring_for_the_acknowledgement(std::slice::from_ref(&reference)).await;
    assert_eq!((world.poll_writer().await.done, world.poll_acknowledger().await.done), (1, 1));
    assert_eq!(world.recorder().sum(Metric::MessageDropped), 2.0);
    assert!(world.wire.calls().iter().all(|call| call.side == Side::DynamoDb));
    assert_eq!(world.records().await.len(), 0, "nothing brings it back");
    assert!(world.is_quiet().await);
    assert_eq!(world.write_source.dead_letters().await.len(), 0);
    assert_eq!(world.acknowledge_source.dead_letters().await.len(), 0);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_died_in_an_outage_and_are_redriven_do_nothing_twice() {
    let engines = Arc::new(Engines::start().await);
    let mut world = world(&engines).await;
    let ann = world.customer(CHAT, "Ann");
    let reference = world.submit(&ann, "A quote", "New gutters, please.").await;
    world.wire.set_plan(Plan::outage(Side::DynamoDb, Fault::Answer500Before));
    while world.write_source.dead_letters().await.is_empty() {
        world.turn_seconds(600);
        world.poll_writer().await;
    }
    world.wire.heal();
    // The sweeper has made it good long before anybody redrives.
    world.settle().await;
    assert_eq!((world.rows_of(&reference), world.acknowledgements(CHAT).len()), (1, 1));
    world.turn_seconds(THIRTEEN_DAYS);
    world.wire.clear_log();
    assert_eq!(world.write_source.redrive().await, 1);
    world.work().await;
    assert!(world.wire.calls().iter().all(|call| !matches!(call.side, Side::Sheets | Side::Telegram)));
    assert_eq!((world.rows_of(&reference), world.acknowledgements(CHAT).len()), (1, 1));
    assert!(world.is_quiet().await);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn doubled_and_reordered_messages_change_nothing() {
    let engines = Arc::new(Engines::start().await);
    let mut world = world(&engines).await;
    world.write_source.duplicate_next(5);
    world.acknowledge_source.duplicate_next(5);
    let mut references = Vec::new();
    for chat_id in CHAT..CHAT + 5 {
        let ann = world.customer(chat_id, "Ann");
        references.push(world.submit(&ann, "A quote", "The same words.").await);
    }
    let mut doubled: Vec<Reference> = references.iter().rev().cloned().collect();
    doubled.push(references[2].clone());
    world.ring_for_the_write(&doubled).await;
    world.poll_writer().await;
    world.ring_for_the_acknowledgement(&doubled).await;
    world.ring_for_the_acknowledgement(&references).await;
    world.acknowledge_source.reverse_next();
    world.settle().await;
    for (reference, chat_id) in references.iter().zip(CHAT..) {
        assert_eq!((world.rows_of(reference), world.acknowledgements(chat_id).len()), (1, 1));
    }
    assert_eq!(world.wire.count(Side::Telegram, "sendMessage"), 5);
    assert!(world.records().await.iter().all(|record| record.finished()));
    world.check_rules().await;
}

/// Seconds from now to the record's expiry, where it has one.
async fn expires_in(world: &World, reference: &Reference) -> Option<i64> {
    let items = world.items().await;
    let item = items.iter().find(|item| item["reference"].as_s().is_ok_and(|r| r == reference.as_str()));
    let expires_at: i64 = item?.get("expires_at")?.as_n().unwrap().parse().unwrap();
    Some(expires_at - world.now().seconds())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finished_record_is_kept_for_the_set_days_and_an_unfinished_one_for_ever() {
    let engines = Arc::new(Engines::start().await);
    let settings = Settings { retention_days: 30, ..Settings::default() };
    let mut world = World::with(engines, settings).await;
    let ann = world.customer(CHAT, "Ann");
    let reference = world.submit(&ann, "A quote", "New gutters, please.").await;
    assert_eq!(expires_in(&world, &reference).await, None, "pending");
    world.poll_writer().await;
    assert_eq!(expires_in(&world, &reference).await, None, "not acknowledged");
    // A claim, and a refusal that says "later".
    world.telegram.answer_next_with(429, &[("retry-after", "90000")], "");
    world.poll_acknowledger().await;
    assert_eq!(expires_in(&world, &reference).await, None, "waiting");
    world.settle().await;
    let record = world.record(&reference).await;
    assert!(record.finished());
    assert_eq!(expires_in(&world, &reference).await, Some(30 * 86_400));

    // Another content under the same reference: a person must look, so it must not vanish meanwhile.
    let summary = Summary::clean("Other words.").unwrap();
    let conflict = Conflict {
        at: world.now(),
        request_type: "A quote".into(),
        fingerprint: Fingerprint::of("A quote", &summary, record.submission.chat_id),
        summary,
    };
    let next = record.conflict_after(&ConflictEvent::Arrived(conflict), world.now(), &By::Webhook).unwrap();
    world.store().apply(&record, &next, world.now()).await.unwrap();
    assert_eq!(expires_in(&world, &reference).await, None, "in review");

    world.turn_seconds(7 * 86_400);
    let why = "the first is what they meant".to_owned();
    let by = By::Operator("ann@example.org".into());
    let closed = next.conflict_after(&ConflictEvent::KeepFirst { why }, world.now(), &by).unwrap();
    world.store().apply(&next, &closed, world.now()).await.unwrap();
    assert_eq!(expires_in(&world, &reference).await, Some(30 * 86_400), "from its second end on");
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_through_the_chat_keeps_a_finished_record() {
    let engines = Arc::new(Engines::start().await);
    let mut world = world(&engines).await;
    let ann = world.customer(CHAT, "Ann");
    let summary_id = world.write_card(&ann, "A quote", "New gutters, please.").await;
    world.say(ann.press_button("Confirm")).await;
    world.settle().await;
    let reference = world.records().await[0].submission.reference.clone();
    assert_eq!(expires_in(&world, &reference).await, Some(365 * 86_400));
    // The same message again under another type: the same reference with other fields.
    world.say(ann.text("/new")).await;
    world.say(ann.press_button("A question")).await;
    let mut again = ann.text("New gutters, please.");
    again["message"]["message_id"] = summary_id.into();
    world.say(again).await;
    world.say(ann.press_button("Confirm")).await;
    let record = world.record(&reference).await;
    assert_eq!(record.reviews()[0].reason, ReviewReason::Conflict, "{:?}", record.history);
    assert!(matches!(record.acknowledgement.unwrap().state, AckState::Confirmed { .. }));
    assert_eq!(expires_in(&world, &reference).await, None);
    world.settle().await;
    assert_eq!((world.rows_of(&reference), world.acknowledgements(CHAT).len()), (1, 1));
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_in_every_unfinished_state_never_expire() {
    let engines = Arc::new(Engines::start().await);
    for state in ["pending", "attempting", "uncertain", "review"] {
        let world = world(&engines).await;
        let reference = match state {
            "uncertain" => uncertain(&world).await,
            "review" => in_review(&world).await,
            _ => world.record_by_hand(CHAT, "New gutters, please.").await,
        };
        if state == "attempting" {
            world.somebody_claims_the_write(&reference).await;
        }
        assert_eq!(expires_in(&world, &reference).await, None, "{state}");
        world.check_rules().await;
    }
    let world = world(&engines).await;
    let reference = abandoned(&world).await;
    assert_eq!(expires_in(&world, &reference).await, Some(365 * 86_400));
    world.check_rules().await;
}
