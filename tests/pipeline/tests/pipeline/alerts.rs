//! The operator's own messages: which review opened, once, and each day while it is open.

use std::sync::Arc;

use docket_domain::alert;
use docket_domain::limits::ALERTS_PER_SWEEP_MAX;
use docket_domain::ports::{Applied, Submissions as _};
use docket_domain::reference::Reference;
use docket_domain::status::{AckEvent, AckOrder, By};
use docket_domain::submission::ChatId;
use docket_world::World;
use docket_world::engines::Engines;
use docket_world::wire::{Fault, Plan, Side};
use docket_world::workers::Settings;

const OPERATOR: i64 = 7_200_000_009;

async fn world() -> World {
    let settings = Settings { operator_chat: Some(ChatId(OPERATOR)), ..Settings::default() };
    let world = World::with(Arc::new(Engines::start().await), settings).await;
    let _started_the_bot = world.telegram.customer(OPERATOR, "Olga", None);
    world
}

/// Enquiries whose message was perhaps sent.
async fn in_review(world: &mut World, count: usize) -> Vec<Reference> {
    let references = world.record_enquiries(count).await;
    for _ in &references {
        world.telegram.answer_next(500, "");
    }
    world.work().await;
    for reference in &references {
        assert_eq!(world.record(reference).await.reviews().len(), 1);
    }
    references
}

/// The schedule's minutes, whether anything is due or not.
async fn minutes(world: &mut World, count: i64) {
    for _ in 0..count {
        world.turn_seconds(60);
        world.sweep().await;
        world.work().await;
    }
}

/// A time without anything to do, in one turn.
fn hours(world: &mut World, count: i64) {
    world.turn_seconds(count * 3_600);
}

fn told(world: &World) -> Vec<String> {
    world.acknowledgements(OPERATOR)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_is_told_of_a_review_when_it_opens_and_once_a_day_until_it_is_closed() {
    let mut world = world().await;
    let reference = in_review(&mut world, 1).await.remove(0);
    minutes(&mut world, 30).await;
    let since = world.record(&reference).await.reviews()[0].since.whole_second();
    let wanted =
        format!("A person is needed: {reference}, ack_uncertain since {since}. Run: docket show {reference}");
    assert_eq!(told(&world), std::slice::from_ref(&wanted));
    for day in 2..=3 {
        // The minutes from here on are those around the next day's moment.
        hours(&mut world, 23);
        minutes(&mut world, 25).await;
        assert_eq!(told(&world).len(), day - 1, "day {day}, {}", world.now());
        minutes(&mut world, 35).await;
        assert_eq!(told(&world).len(), day, "day {day}, {}", world.now());
    }
    assert!(told(&world).iter().all(|text| *text == wanted));

    let seen = world.record(&reference).await;
    let leave = AckEvent::Ordered(AckOrder::Leave { why: "They rang us up.".into() });
    let next = seen.acknowledgement_after(&leave, world.now(), &By::Operator("ann".into())).unwrap();
    assert_eq!(world.store().apply(&seen, &next, world.now()).await, Ok(Applied::Ours));
    hours(&mut world, 23);
    minutes(&mut world, 60).await;
    assert_eq!(told(&world).len(), 3);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_was_decided_before_an_alert_is_not_too_late_after_it() {
    let mut world = world().await;
    let reference = in_review(&mut world, 1).await.remove(0);
    let before = world.record(&reference).await;
    minutes(&mut world, 2).await;
    assert_eq!(told(&world).len(), 1);
    assert_eq!(world.record(&reference).await, before);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alert_that_telegram_turned_away_is_sent_later_and_one_that_was_perhaps_sent_is_not() {
    for (status, tries) in [(429, 2), (500, 1), (403, 1)] {
        let mut world = world().await;
        in_review(&mut world, 1).await;
        let body = if status == 500 {
            String::new()
        } else {
            format!(
                r#"{{"ok":false,"error_code":{status},"description":"no","parameters":{{"retry_after":1}}}}"#
            )
        };
        let before = world.telegram.calls().len();
        world.telegram.answer_next(status, &body);
        minutes(&mut world, 20).await;
        assert_eq!(world.telegram.calls().len() - before, tries, "{status}");
        assert_eq!(told(&world).len(), tries - 1, "{status}");
        world.check_rules().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_or_a_failing_table_costs_an_alert_at_most_and_never_makes_two() {
    for fault in Fault::ALL {
        for (side, operation, nth) in [
            (Side::DynamoDb, "GetItem", 1),
            (Side::DynamoDb, "UpdateItem", 1),
            (Side::DynamoDb, "UpdateItem", 2),
            (Side::Telegram, "sendMessage", 1),
        ] {
            let call = format!("{operation} {nth}");
            let mut world = world().await;
            let reference = in_review(&mut world, 1).await.remove(0);
            let seen = world.record(&reference).await;
            world.wire.set_plan(Plan::at_operation("acknowledger", side, operation, nth, fault));
            minutes(&mut world, 20).await;
            world.wire.heal();
            assert!(told(&world).len() <= 1, "{fault:?} {side:?} {call}: {:?}", told(&world));
            assert_eq!(world.record(&reference).await, seen);
            world.check_rules().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_reviews_floods_no_chat_and_customers_go_first() {
    let mut world = world().await;
    in_review(&mut world, ALERTS_PER_SWEEP_MAX + 15).await;
    minutes(&mut world, 1).await;
    assert_eq!(told(&world).len(), ALERTS_PER_SWEEP_MAX);
    minutes(&mut world, 14).await;
    assert_eq!(told(&world).len(), ALERTS_PER_SWEEP_MAX + 15);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_chat_of_the_operators_one_line_is_logged_and_nobody_is_written_to() {
    let mut world = World::start().await;
    let reference = in_review(&mut world, 1).await.remove(0);
    let before = world.telegram.calls().len();
    minutes(&mut world, 20).await;
    assert_eq!(world.telegram.calls().len(), before);
    assert!(!alert::text(&world.record(&reference).await).contains("Enquiry 1."));
    world.check_rules().await;
}
