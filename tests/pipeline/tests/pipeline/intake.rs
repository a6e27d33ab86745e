//! Taking an enquiry when updates come twice, come together, or come too late.
//!
//! Telegram delivers an update again until it hears a 2xx, a thumb taps twice, an old phone still shows an old card. Whatever
//! comes, one enquiry is one reference and one record, and the customer is told what became of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use docket_domain::limits::DRAFT_SECONDS;
use docket_domain::reference::Reference;
use docket_world::engines::Engines;
use docket_world::telegram::{Customer, WebhookAnswer};
use docket_world::workers::BOT_ID;
use docket_world::{Settings, World};
use serde_json::Value;

const CHAT: i64 = 7_100_000_001;
const HOUR: i64 = 3_600;
pub(crate) const EXPIRED: &str = "This button has expired and recorded nothing.";
pub(crate) const CANCELLED: &str = "Cancelled. Nothing was recorded. Send /new to start again.";

async fn world_in(engines: &Arc<Engines>) -> World {
    World::with(Arc::clone(engines), Settings::default()).await
}

/// One step of the conversation, as an update that has just happened.
fn step(ann: &Customer, step: usize) -> Value {
    match step {
        0 => ann.text("/new"),
        1 => ann.press_button("A quote"),
        2 => ann.text("New gutters, please."),
        _ => ann.press_button("Confirm"),
    }
}

/// The reference that the enquiry in this update's message has.
pub(crate) fn reference_of(summary: &Value) -> Reference {
    let message = &summary["message"];
    let id = |value: &Value| value.as_i64().expect("a number");
    Reference::derive(BOT_ID, id(&message["chat"]["id"]), id(&message["message_id"]))
}

fn statuses(answers: &[WebhookAnswer]) -> BTreeSet<u16> {
    answers.iter().map(|answer| answer.status).collect()
}

fn with_words(answers: &[WebhookAnswer], words: &str) -> usize {
    answers.iter().filter(|answer| answer.words().contains(words)).count()
}

/// Exactly this enquiry is recorded, in the table, the sheet and the customer's ears.
async fn one_record(world: &mut World, reference: &Reference, what: &str) {
    world.settle().await;
    let records = world.records().await;
    assert_eq!(records.len(), 1, "{what}");
    assert_eq!(records[0].submission.reference, *reference, "{what}");
    assert_eq!((world.rows_of(reference), world.rows().len()), (1, 1), "{what}");
    assert_eq!(world.acknowledgements(CHAT), [format!("Your enquiry {reference} is recorded.")], "{what}");
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_delivered_again_at_any_step_while_the_draft_lives_changes_nothing() {
    let engines = Arc::new(Engines::start().await);
    for again_at in 0..4 {
        for wait_seconds in [0, 60, 23 * HOUR] {
            let what = format!("step {again_at} again after {wait_seconds} s");
            let mut world = world_in(&engines).await;
            let ann = world.customer(CHAT, "Ann");
            let mut reference = None;
            for at in 0..4 {
                let update = step(&ann, at);
                if at == 2 {
                    reference = Some(reference_of(&update));
                }
                world.say(update.clone()).await;
                if at == again_at {
                    world.turn_seconds(wait_seconds);
                    assert_eq!(world.deliver_again(&update).await.status, 200, "{what}");
                }
            }
            one_record(&mut world, &reference.unwrap(), &what).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_delivered_again_after_its_draft_expired_records_nothing_and_hinders_nobody() {
    let engines = Arc::new(Engines::start().await);
    let draft_seconds = i64::try_from(DRAFT_SECONDS).unwrap();
    for again_at in 0..4 {
        let what = format!("step {again_at}");
        let mut world = world_in(&engines).await;
        let ann = world.customer(CHAT, "Ann");
        let mut updates = Vec::new();
        for at in 0..=again_at.min(2) {
            let update = step(&ann, at);
            world.say(update.clone()).await;
            updates.push(update);
        }
        let last = match again_at {
            // Pressed while the card still hung there, and delivered only when it was dead.
            3 => ann.press_button("Confirm"),
            at => updates[at].clone(),
        };
        world.turn_seconds(draft_seconds);
        let answer = world.deliver_again(&last).await;
        assert_eq!(answer.status, 200, "{what}");
        if again_at == 3 {
            assert_eq!(answer.words(), EXPIRED);
        }
        assert!(world.records().await.is_empty(), "{what}");

        // The enquiry is written anew.
        let reference = world.submit(&ann, "A quote", "New gutters, please.").await;
        one_record(&mut world, &reference, &what).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_update_delivered_again_after_the_confirm_leaves_the_one_record_as_it_is() {
    let engines = Arc::new(Engines::start().await);
    for wait_seconds in [0, 60, 23 * HOUR, 25 * HOUR] {
        let mut world = world_in(&engines).await;
        let ann = world.customer(CHAT, "Ann");
        let mut updates = Vec::new();
        for at in 0..4 {
            let update = step(&ann, at);
            world.say(update.clone()).await;
            updates.push(update);
        }
        world.turn_seconds(wait_seconds);
        let mut told = Vec::new();
        // Twice in a row, the second time in an order that Telegram would never choose.
        for at in [0, 1, 2, 3, 3, 2, 1, 0] {
            let answer = world.deliver_again(&updates[at]).await;
            assert_eq!(answer.status, 200);
            told.push(answer.words());
        }
        let reference = reference_of(&updates[2]);
        let already = format!(
            "Already recorded: this enquiry is kept under the reference {reference}. Nothing was added."
        );
        assert_eq!((&told[3], &told[4]), (&already, &already), "after {wait_seconds} s");
        // Its beginning does not begin another one.
        assert_eq!((told[0].as_str(), told[7].as_str()), ("", ""), "after {wait_seconds} s");
        one_record(&mut world, &reference, &format!("after {wait_seconds} s")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn five_copies_of_an_update_at_the_same_moment_have_one_effect_and_are_all_accepted() {
    let engines = Arc::new(Engines::start().await);
    for copied in 0..4 {
        let what = format!("five copies of step {copied}");
        let mut world = world_in(&engines).await;
        let ann = world.customer(CHAT, "Ann");
        let mut reference = None;
        for at in 0..4 {
            let update = step(&ann, at);
            if at == 2 {
                reference = Some(reference_of(&update));
            }
            if at == copied {
                let answers = world.say_at_once(&vec![update.clone(); 5]).await;
                assert_eq!(statuses(&answers), BTreeSet::from([200]), "{what}");
                world.turn_seconds(23 * HOUR);
                assert_eq!(world.deliver_again(&update).await.status, 200, "{what}");
            } else {
                world.say(update).await;
            }
        }
        one_record(&mut world, &reference.unwrap(), &what).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_double_tap_is_one_record_and_one_ring_and_the_loser_hears_already() {
    let mut world = World::start().await;
    for number in 0..20 {
        let ann = world.customer(CHAT + number, "Ann");
        world.write_card(&ann, "A quote", "New gutters, please.").await;
        let (rings, records) = (world.rings_of_the_webhook(), world.records().await.len());
        let taps = [ann.press_button("Confirm"), ann.press_button("Confirm")];
        assert_ne!(taps[0]["update_id"], taps[1]["update_id"]);
        // At the same moment, and one a moment after the other.
        let answers = if number % 4 == 3 {
            vec![world.deliver_again(&taps[0]).await, world.deliver_again(&taps[1]).await]
        } else {
            world.say_at_once(&taps).await
        };
        assert_eq!(statuses(&answers), BTreeSet::from([200]));
        assert_eq!(with_words(&answers, "is received under the reference"), 1, "{answers:?}");
        assert_eq!(with_words(&answers, "Already recorded"), 1, "{answers:?}");
        assert_eq!(world.records().await.len(), records + 1);
        assert_eq!(world.rings_of_the_webhook(), rings + 1, "tap {number}");
    }
    world.settle().await;
    assert_eq!(world.rows().len(), 20);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_confirm_and_cancel_at_the_same_moment_exactly_one_wins_and_both_answers_say_which() {
    let mut world = World::start().await;
    let (mut confirmed, mut cancelled) = (0, 0);
    for number in 0..30 {
        let ann = world.customer(CHAT + number, "Ann");
        world.write_card(&ann, "A quote", "New gutters, please.").await;
        let before = world.records().await.len();
        let mut presses = [ann.press_button("Confirm"), ann.press_button("Cancel")];
        if number % 2 == 1 {
            presses.reverse();
        }
        let answers = world.say_at_once(&presses).await;
        assert_eq!(statuses(&answers), BTreeSet::from([200]));
        let recorded = world.records().await.len() - before;
        if recorded == 1 {
            confirmed += 1;
            assert_eq!(with_words(&answers, "is received under the reference"), 1, "{answers:?}");
            assert_eq!(with_words(&answers, "Already recorded"), 1, "{answers:?}");
        } else {
            cancelled += 1;
            assert_eq!(recorded, 0);
            assert_eq!(with_words(&answers, CANCELLED), 1, "{answers:?}");
            assert_eq!(with_words(&answers, EXPIRED), 1, "{answers:?}");
        }
    }
    assert!(confirmed > 0 && cancelled > 0, "{confirmed} confirmed, {cancelled} cancelled");
    world.settle().await;
    assert_eq!(world.rows().len(), confirmed);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_confirm_and_edit_at_the_same_moment_exactly_one_wins() {
    let mut world = World::start().await;
    let (mut confirmed, mut edited) = (0, 0);
    for number in 0..16 {
        let ann = world.customer(CHAT + number, "Ann");
        let message_id = world.write_card(&ann, "A quote", "Ten gutters.").await;
        let before = world.records().await.len();
        let by_button = number % 4 < 2;
        let change =
            if by_button { ann.press_button("Edit") } else { ann.edit(message_id, "Twelve gutters.") };
        let mut updates = [ann.press_button("Confirm"), change];
        if number % 2 == 1 {
            updates.reverse();
        }
        let answers = world.say_at_once(&updates).await;
        assert_eq!(statuses(&answers), BTreeSet::from([200]));
        let records = world.records().await;
        let of_chat = records.iter().find(|record| record.submission.chat_id.0 == CHAT + number);
        if let Some(record) = of_chat {
            confirmed += 1;
            assert_eq!(records.len(), before + 1);
            assert_eq!(record.submission.summary.as_str(), "Ten gutters.");
            assert_eq!(with_words(&answers, "is received under the reference"), 1, "{answers:?}");
            let told = if by_button { "Already recorded" } else { "this edit changes nothing" };
            assert_eq!(with_words(&answers, told), 1, "{answers:?}");
        } else {
            edited += 1;
            assert_eq!(with_words(&answers, EXPIRED), 1, "{answers:?}");
            let told = if by_button { "please write your enquiry again" } else { "Twelve gutters." };
            assert_eq!(with_words(&answers, told), 1, "{answers:?}");
        }
    }
    assert!(confirmed > 0 && edited > 0, "{confirmed} confirmed, {edited} edited");
    world.settle().await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_summaries_at_the_same_moment_never_store_one_under_the_card_of_the_other() {
    let mut world = World::start().await;
    let mut kept = BTreeSet::new();
    for number in 0..12 {
        let ann = world.customer(CHAT + number, "Ann");
        world.say(ann.text("/new")).await;
        world.say(ann.press_button("A quote")).await;
        let mut texts = [ann.text("summary A"), ann.text("summary B")];
        if number % 2 == 1 {
            texts.reverse();
        }
        let answers = world.say_at_once(&texts).await;
        assert_eq!(statuses(&answers), BTreeSet::from([200]));
        // Both answers are a card, of the same text, and one of them says that the other text is no part of it.
        assert_eq!(with_words(&answers, "Nothing is recorded until you press Confirm."), 2, "{answers:?}");
        assert_eq!(with_words(&answers, "is not part of the enquiry below"), 1, "{answers:?}");
        let shown = if with_words(&answers, "summary A") == 2 { "summary A" } else { "summary B" };
        assert_eq!(with_words(&answers, shown), 2, "{answers:?}");
        world.say(ann.press_button("Confirm")).await;
        let records = world.records().await;
        let record = records.iter().find(|record| record.submission.chat_id.0 == CHAT + number).unwrap();
        assert_eq!(record.submission.summary.as_str(), shown);
        kept.insert(shown);
    }
    assert_eq!(kept.len(), 2, "both orders were met");
    world.settle().await;
    assert_eq!((world.records().await.len(), world.rows().len()), (12, 12));
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_summary_and_a_cancel_at_the_same_moment_end_as_one_after_the_other() {
    let mut world = World::start().await;
    for number in 0..8 {
        let ann = world.customer(CHAT + number, "Ann");
        world.say(ann.text("/new")).await;
        world.say(ann.press_button("A quote")).await;
        let mut texts = [ann.text("New gutters, please."), ann.text("/cancel")];
        if number % 2 == 1 {
            texts.reverse();
        }
        let answers = world.say_at_once(&texts).await;
        assert_eq!(statuses(&answers), BTreeSet::from([200]));
        assert_eq!(with_words(&answers, CANCELLED), 1, "{answers:?}");
        // A card that was shown a moment before the cancel is dead.
        if let Some(card) = ann.chat().last_card() {
            let confirm = ann.press(card.data_of("Confirm").unwrap_or("confirm:x:y"), card.message_id);
            assert_eq!(world.deliver_again(&confirm).await.words(), EXPIRED);
        }
    }
    assert!(world.records().await.is_empty());
    world.check_rules().await;
}
