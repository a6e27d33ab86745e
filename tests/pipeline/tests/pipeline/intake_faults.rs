//! When our own side fails while an enquiry is taken: Telegram is told so and delivers again, nothing is half done, and what
//! was recorded finds its way to the sheet with or without another delivery.

use std::sync::Arc;

use docket_domain::metric::Metric;
use docket_domain::status::WriteState;
use docket_world::engines::{Engines, Item};
use docket_world::telegram::{Customer, Ended};
use docket_world::wire::{Fault, Plan, Side};
use docket_world::{Settings, World};
use serde_json::Value;

use super::intake::reference_of;

const CHAT: i64 = 7_100_000_001;
const FOR_EVER: usize = 1_000;

/// A call that the webhook makes for an update: what the customer did, which call, and the how many-th of its kind.
#[derive(Debug, Clone, Copy)]
struct Place {
    doing: &'static str,
    operation: &'static str,
    nth: usize,
}

const fn place(doing: &'static str, operation: &'static str, nth: usize) -> Place {
    Place { doing, operation, nth }
}

const PLACES: [Place; 24] = [
    place("/new", "GetItem", 1),
    place("/new", "PutItem", 1),
    place("type", "GetItem", 1),
    place("type", "PutItem", 1),
    place("summary", "GetItem", 1),
    place("summary", "PutItem", 1),
    place("confirm", "GetItem", 1),
    place("confirm", "TransactWriteItems", 1),
    place("edit", "GetItem", 1),
    place("edit", "PutItem", 1),
    place("edited message", "GetItem", 1),
    place("edited message", "PutItem", 1),
    place("an old card", "GetItem", 1),
    place("cancel", "GetItem", 1),
    place("cancel", "PutItem", 1),
    place("/cancel", "GetItem", 1),
    place("/cancel", "PutItem", 1),
    place("/status", "GetItem", 1),
    place("confirm again", "GetItem", 1),
    place("confirm again", "GetItem", 2),
    place("conflict", "GetItem", 1),
    place("conflict", "TransactWriteItems", 1),
    place("conflict", "UpdateItem", 1),
    place("conflict", "PutItem", 1),
];

/// Brings the chat to the moment before the update, and makes it.
async fn just_before(world: &mut World, ann: &Customer, doing: &str) -> Value {
    if doing == "/new" {
        return ann.text("/new");
    }
    world.say(ann.text("/new")).await;
    if doing == "type" {
        return ann.press_button("A quote");
    }
    world.say(ann.press_button("A quote")).await;
    let summary = ann.text("Ten gutters.");
    if doing == "summary" {
        return summary;
    }
    world.say(summary.clone()).await;
    let confirm = ann.press_button("Confirm");
    match doing {
        "edit" => return ann.press_button("Edit"),
        "edited message" => {
            let written = summary["message"]["message_id"].as_i64().unwrap();
            return ann.edit(written, "Eleven gutters.");
        }
        "cancel" => return ann.press_button("Cancel"),
        "/cancel" => return ann.text("/cancel"),
        "confirm" => return confirm,
        "an old card" => {
            let written = summary["message"]["message_id"].as_i64().unwrap();
            world.say(ann.edit(written, "Eleven gutters.")).await;
            return confirm;
        }
        _ => {}
    }
    world.say(confirm.clone()).await;
    if doing == "/status" {
        return ann.text(&format!("/status {}", reference_of(&summary)));
    }
    if doing == "confirm again" {
        return confirm;
    }
    world.say(ann.text("/new")).await;
    world.say(ann.press_button("A question")).await;
    world.deliver_again(&summary).await;
    ann.press_button("Confirm")
}

/// From the update on, as the customer would.
async fn go_on(world: &mut World, ann: &Customer, doing: &str) {
    let rest: &[&str] = match doing {
        "/new" => &["type", "summary", "confirm"],
        "type" => &["summary", "confirm"],
        "summary" | "edited message" | "an old card" => &["confirm"],
        "edit" => &["summary", "confirm"],
        "cancel" | "/cancel" => &["/new", "type", "summary", "confirm"],
        _ => &[],
    };
    for step in rest {
        let update = match *step {
            "/new" => ann.text("/new"),
            "type" => ann.press_button("A quote"),
            "summary" => ann.text("Ten gutters."),
            _ => ann.press_button("Confirm"),
        };
        world.say(update).await;
    }
}

async fn stored(world: &World) -> (Option<Item>, Vec<Item>) {
    (world.conversation(CHAT).await, world.items().await)
}

fn faults_of(operation: &str) -> Vec<Fault> {
    let mut faults = vec![
        Fault::FailBefore,
        Fault::Answer500Before,
        Fault::Throttle,
        Fault::LoseAnswer,
        Fault::Answer500After,
        Fault::CrashBefore,
        Fault::CrashAfter,
    ];
    if operation != "GetItem" {
        faults.push(Fault::TransactionConflict);
    }
    faults
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_fails_at_any_call_is_told_to_telegram_and_its_redelivery_completes_the_update() {
    let engines = Arc::new(Engines::start().await);
    let (mut told, mut completed_nevertheless) = (0, 0);
    for place in PLACES {
        for fault in faults_of(place.operation) {
            let what = format!("{fault} at {place:?}");
            let mut world = World::with(Arc::clone(&engines), Settings::default()).await;
            let ann = world.customer(CHAT, "Ann");
            let update = just_before(&mut world, &ann, place.doing).await;
            let before = stored(&world).await;
            let Place { operation, nth, .. } = place;
            let plan = Plan::at_operation("webhook", Side::DynamoDb, operation, nth, fault).times(FOR_EVER);
            world.wire.set_plan(plan);
            let answer = world.deliver(&update).await;
            assert!(!world.wire.faults_that_hit().is_empty(), "{what}");
            match answer {
                // Whatever was lost, the store itself said that it is done; and what stands there already is a conflict,
                // whether or not the question arrived.
                Some(answer) if answer.status == 200 => {
                    assert!(fault.applies() || place.doing == "conflict", "{what}");
                    completed_nevertheless += 1;
                }
                Some(answer) => {
                    assert_eq!((answer.status, answer.body.len()), (503, 0), "{what}");
                    told += 1;
                }
                None => assert!(matches!(fault, Fault::CrashBefore | Fault::CrashAfter), "{what}"),
            }
            // The conflict is the one step of two changes: what is kept of it waits for the redelivery, see below.
            if !fault.applies() && place.doing != "conflict" {
                assert_eq!(stored(&world).await, before, "half done: {what}");
            }
            world.wire.heal();
            assert_eq!(world.say(update).await.ended, Ended::Accepted, "{what}");
            go_on(&mut world, &ann, place.doing).await;
            world.settle().await;
            let records = world.records().await;
            assert_eq!((records.len(), world.rows().len()), (1, 1), "{what}");
            assert_eq!(world.acknowledgements(CHAT).len(), 1, "{what}");
            assert_eq!(records[0].conflicts.len(), usize::from(place.doing == "conflict"), "{what}");
            world.check_rules().await;
        }
    }
    assert!(told > 40 && completed_nevertheless > 3, "{told} told, {completed_nevertheless} completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_away_for_a_minute_costs_the_customer_a_minute() {
    for fault in [Fault::FailBefore, Fault::Answer500Before, Fault::Throttle] {
        let mut world = World::start().await;
        let ann = world.customer(CHAT, "Ann");
        world.write_card(&ann, "A quote", "Ten gutters.").await;
        let confirm = ann.press_button("Confirm");
        // Two tries each, five deliveries.
        let plan = Plan::at_operation("webhook", Side::DynamoDb, "GetItem", 1, fault).times(10);
        world.wire.set_plan(plan);
        let delivery = world.say(confirm).await;
        assert_eq!((delivery.ended, delivery.attempts_ms.len()), (Ended::Accepted, 6), "{fault}");
        assert!(ann.chat().last_words().unwrap().contains("is received under the reference"), "{fault}");
        world.settle().await;
        assert_eq!(world.rows().len(), 1);
        world.check_rules().await;
    }
}

/// A Confirm whose submission is stored and whose ring fails.
async fn confirmed_without_a_ring(world: &mut World, fault: Fault) -> (Customer, Value) {
    let ann = world.customer(CHAT, "Ann");
    world.say(ann.text("/new")).await;
    world.say(ann.press_button("A quote")).await;
    let summary = ann.text("Ten gutters.");
    world.say(summary.clone()).await;
    let confirm = ann.press_button("Confirm");
    world.wire.set_plan(Plan::at_operation("webhook", Side::Sqs, "SendMessage", 1, fault).times(FOR_EVER));
    let answer = world.deliver(&confirm).await;
    assert!(answer.is_none_or(|answer| answer.status == 503 && answer.body.is_empty()), "{fault}");
    let record = world.record(&reference_of(&summary)).await;
    assert!(matches!(record.write.state, WriteState::Pending { .. }), "{fault}");
    world.wire.heal();
    (ann, confirm)
}

const RING_FAULTS: [Fault; 7] = [
    Fault::FailBefore,
    Fault::Answer500Before,
    Fault::Throttle,
    Fault::LoseAnswer,
    Fault::Answer500After,
    Fault::CrashBefore,
    Fault::CrashAfter,
];

#[tokio::test(flavor = "multi_thread")]
async fn a_ring_that_failed_is_rung_again_by_the_redelivered_confirm() {
    let engines = Arc::new(Engines::start().await);
    for fault in RING_FAULTS {
        let mut world = World::with(Arc::clone(&engines), Settings::default()).await;
        let (ann, confirm) = confirmed_without_a_ring(&mut world, fault).await;
        let rings = world.rings_of_the_webhook();
        assert_eq!(world.say(confirm).await.ended, Ended::Accepted, "{fault}");
        assert_eq!(world.rings_of_the_webhook(), rings + 1, "{fault}");
        assert!(ann.chat().last_words().unwrap().contains("Already recorded"), "{fault}");
        // Without any sweep.
        world.work().await;
        assert_eq!((world.rows().len(), world.acknowledgements(CHAT).len()), (1, 1), "{fault}");
        world.check_rules().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ring_that_failed_and_a_redelivery_that_never_came_are_made_good_by_the_sweeper() {
    let engines = Arc::new(Engines::start().await);
    for fault in RING_FAULTS {
        let mut world = World::with(Arc::clone(&engines), Settings::default()).await;
        confirmed_without_a_ring(&mut world, fault).await;
        world.turn_seconds(60);
        world.sweep().await.unwrap();
        world.work().await;
        assert_eq!((world.rows().len(), world.acknowledgements(CHAT).len()), (1, 1), "{fault}");
        world.settle().await;
        world.check_rules().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_sqs_took_in_part_is_counted_and_rung_for_again() {
    let mut world = World::start().await;
    // Five enquiries that nobody rang for, and that Telegram gave up.
    world.wire.set_plan(Plan::outage(Side::Sqs, Fault::Answer500Before));
    for number in 0..5 {
        let ann = world.customer(CHAT + number, "Ann");
        world.write_card(&ann, "A quote", "Ten gutters.").await;
        let confirm = ann.press_button("Confirm");
        assert_eq!(world.deliver(&confirm).await.unwrap().status, 503);
    }
    assert_eq!(world.recorder().sum(Metric::RingFailed), 5.0);

    let half =
        || Plan::at_operation("sweeper", Side::Sqs, "SendMessageBatch", 1, Fault::TakeHalf).times(FOR_EVER);
    world.wire.set_plan(half());
    world.turn_seconds(60);
    let swept = world.sweep().await.unwrap();
    assert_eq!((&swept["rung"]["write"], &swept["rung"]["missed"]), (&Value::from(3), &Value::from(2)));
    assert_eq!(world.recorder().sum(Metric::RingFailed), 6.0);
    // The writer takes the two that were not rung for along; its own rings are lost.
    let lost =
        Plan::at_operation("writer", Side::Sqs, "SendMessageBatch", 1, Fault::FailBefore).times(FOR_EVER);
    world.wire.set_plan(lost);
    world.work().await;
    assert_eq!(world.rows().len(), 5);
    let told =
        |world: &World| (0..5).filter(|number| !world.acknowledgements(CHAT + number).is_empty()).count();
    assert_eq!(told(&world), 0);

    world.wire.set_plan(half());
    world.turn_seconds(60);
    let swept = world.sweep().await.unwrap();
    assert_eq!((&swept["rung"]["acknowledge"], &swept["rung"]["missed"]), (&Value::from(3), &Value::from(2)));
    world.work().await;
    assert_eq!(told(&world), 3);
    world.wire.heal();
    world.settle().await;
    assert_eq!(told(&world), 5);
    world.check_rules().await;
}
