//! A card confirms the text that stands on it, or nothing: old cards, edited texts, and two contents of one reference.

use docket_domain::catalog::Catalog;
use docket_domain::limits::DRAFT_SECONDS;
use docket_domain::metric::Metric;
use docket_domain::status::{ReviewReason, WriteOrder};
use docket_world::World;
use docket_world::sheets::{Behaviour, On};
use docket_world::telegram::{Card, Customer};
use serde_json::Value;

use super::intake::{CANCELLED, EXPIRED, reference_of};

const CHAT: i64 = 7_100_000_001;

/// A card with the text "Ten gutters.", the message that holds the text, and its Confirm, Edit and Cancel.
async fn card_of_ten(world: &mut World, ann: &Customer) -> (i64, Card) {
    let message_id = world.write_card(ann, "A quote", "Ten gutters.").await;
    (message_id, ann.chat().last_card().unwrap())
}

fn presses(ann: &Customer, card: &Card) -> Vec<Value> {
    card.buttons.iter().map(|button| ann.press(&button.callback_data, card.message_id)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_buttons_of_an_old_card_do_nothing_and_say_so() {
    let ends = [
        "an edit",
        "/cancel",
        "Cancel",
        "Edit",
        "a newer draft",
        "its expiry",
        "another catalogue",
        "an edit into too much",
    ];
    let mut world = World::start().await;
    for (number, end) in ends.into_iter().enumerate() {
        let ann = world.customer(CHAT + i64::try_from(number).unwrap(), "Ann");
        let (message_id, old) = card_of_ten(&mut world, &ann).await;
        match end {
            "an edit" => drop(world.say(ann.edit(message_id, "Twelve gutters.")).await),
            "an edit into too much" => drop(world.say(ann.edit(message_id, &"x".repeat(3_001))).await),
            "/cancel" => drop(world.say(ann.text("/cancel")).await),
            "a newer draft" => drop(world.write_card(&ann, "A question", "Twelve gutters.").await),
            "its expiry" => world.turn_seconds(i64::try_from(DRAFT_SECONDS).unwrap()),
            "another catalogue" => {
                let other = r#"{"request_types":[{"id":"other","label":"Something else"}]}"#;
                world.deploy(|settings| settings.catalog = Catalog::parse(other).unwrap());
                world.write_card(&ann, "Something else", "Twelve gutters.").await;
                world.deploy(|settings| settings.catalog = Catalog::default());
            }
            button => drop(world.say(ann.press_button(button)).await),
        }
        let before = world.conversation(ann.chat_id()).await;
        for press in presses(&ann, &old) {
            assert_eq!(world.deliver_again(&press).await.words(), EXPIRED, "after {end}");
        }
        assert!(world.records().await.is_empty(), "after {end}");
        assert_eq!(world.conversation(ann.chat_id()).await, before, "after {end}");
    }
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_card_is_confirmed_although_the_old_one_was_pressed_first() {
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    let (_, old) = card_of_ten(&mut world, &ann).await;
    world.say(ann.text("/cancel")).await;
    assert_eq!(ann.chat().last_words().as_deref(), Some(CANCELLED));
    world.write_card(&ann, "A question", "Twelve gutters.").await;
    world.restart();
    world.say(ann.press(old.data_of("Confirm").unwrap(), old.message_id)).await;
    assert_eq!(ann.chat().last_words().as_deref(), Some(EXPIRED));
    world.say(ann.press_button("Confirm")).await;
    world.settle().await;
    let records = world.records().await;
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].submission.summary.as_str(), "Twelve gutters.");
    assert_eq!(world.rows()[0][2..4], ["A question", "Twelve gutters."]);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_is_recorded_as_it_was_shown_although_the_catalogue_changed_meanwhile() {
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    card_of_ten(&mut world, &ann).await;
    let bea = world.customer(CHAT + 1, "Bea");
    world.say(bea.text("/new")).await;
    let other = r#"{"request_types":[{"id":"quote","label":"Something else"}]}"#;
    world.deploy(|settings| settings.catalog = Catalog::parse(other).unwrap());
    world.say(ann.press_button("Confirm")).await;
    // A type that is called otherwise now is taken by its new name, which is what the next card shows.
    world.say(bea.press_button("A quote")).await;
    world.say(bea.text("Twelve gutters.")).await;
    assert!(bea.chat().last_card().unwrap().text.contains("About: Something else"));
    world.say(bea.press_button("Confirm")).await;
    world.settle().await;
    assert_eq!(world.rows().len(), 2);
    let records = world.records().await;
    let type_of = |chat: i64| {
        let record = records.iter().find(|record| record.submission.chat_id.0 == chat).unwrap();
        record.submission.request_type.clone()
    };
    assert_eq!((type_of(CHAT), type_of(CHAT + 1)), ("A quote".into(), "Something else".into()));
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_summary_is_confirmed_as_its_new_card_shows_it() {
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    let (message_id, _) = card_of_ten(&mut world, &ann).await;
    world.say(ann.edit(message_id, "Twelve gutters.")).await;
    assert!(ann.chat().last_card().unwrap().text.contains("Twelve gutters."));
    // Into too much: refused with both numbers, and nothing can be confirmed until it is mended.
    world.say(ann.edit(message_id, &"x".repeat(3_001))).await;
    let told = ann.chat().last_words().unwrap();
    assert!(told.contains("3001") && told.contains("3000"), "{told}");
    world.say(ann.edit(message_id, "Thirteen gutters.")).await;
    world.say(ann.press_button("Confirm")).await;
    world.settle().await;
    let records = world.records().await;
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].submission.summary.as_str(), "Thirteen gutters.");
    assert_eq!(world.rows()[0][3], "Thirteen gutters.");
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_after_the_confirm_changes_nothing_and_says_so() {
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    let (message_id, _) = card_of_ten(&mut world, &ann).await;
    world.say(ann.press_button("Confirm")).await;
    let reference = world.records().await[0].submission.reference.clone();
    let told = format!(
        "Your enquiry {reference} was confirmed before; this edit changes nothing. Send /new for another enquiry."
    );
    for when in ["before it is written", "after it"] {
        world.say(ann.edit(message_id, "Twelve gutters.")).await;
        assert_eq!(ann.chat().last_words(), Some(told.clone()), "{when}");
        world.settle().await;
    }
    assert_eq!(world.records().await.len(), 1);
    assert_eq!(world.rows().len(), 1);
    assert_eq!(world.rows()[0][3], "Ten gutters.");
    assert!(world.record(&reference).await.conflicts.is_empty());
    world.check_rules().await;
}

/// The message of a confirmed enquiry, taken once more for a new draft of another type.
pub(crate) async fn conflicting_card(world: &mut World, ann: &Customer) -> Value {
    world.say(ann.text("/new")).await;
    world.say(ann.press_button("A quote")).await;
    let summary = ann.text("Ten gutters.");
    world.say(summary.clone()).await;
    world.say(ann.press_button("Confirm")).await;
    world.say(ann.text("/new")).await;
    world.say(ann.press_button("A question")).await;
    world.deliver_again(&summary).await;
    summary
}

#[tokio::test(flavor = "multi_thread")]
async fn another_content_under_one_reference_opens_a_conflict_and_keeps_the_first() {
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    let summary = conflicting_card(&mut world, &ann).await;
    let reference = reference_of(&summary);
    let first = world.record(&reference).await;
    let confirm = ann.press_button("Confirm");
    world.say(confirm.clone()).await;
    assert_eq!(
        ann.chat().last_words(),
        Some(format!(
            "Under the reference {reference} another text is kept already; it was not changed. A person will look at \
             it. Please start a new enquiry with /new."
        ))
    );
    let record = world.record(&reference).await;
    assert_eq!(record.submission, first.submission);
    assert_eq!(record.conflicts.len(), 1);
    assert_eq!(record.conflicts[0].request_type, "A question");
    assert!(record.reviews().iter().any(|review| review.reason == ReviewReason::Conflict));

    // Delivered again, at once, at the same moment and later: one conflict, no other record.
    assert_eq!(world.deliver_again(&confirm).await.status, 200);
    for answer in world.say_at_once(&vec![confirm.clone(); 5]).await {
        assert_eq!(answer.status, 200);
    }
    world.settle().await;
    assert_eq!(world.deliver_again(&confirm).await.status, 200);
    let record = world.record(&reference).await;
    assert_eq!(record.conflicts.len(), 1);
    assert_eq!(world.records().await.len(), 1);
    assert_eq!(world.rows().len(), 1);
    assert_eq!(world.rows()[0][2..4], ["A quote", "Ten gutters."]);
    assert_eq!(world.acknowledgements(CHAT).len(), 1);

    // The customer does as told, and is not in the way of the review.
    let second = world.submit(&ann, "A question", "Twelve gutters.").await;
    world.settle().await;
    assert_eq!(world.rows_of(&second), 1);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_says_recorded_of_an_enquiry_that_a_person_closed_without_a_row() {
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    world.write_card(&ann, "A quote", "Ten gutters.").await;
    let confirm = ann.press_button("Confirm");
    world.sheets.next(On::Appends, Behaviour::hangs_up());
    world.say(confirm.clone()).await;
    world.settle().await;
    let reference = world.records().await[0].submission.reference.clone();
    let why = "The customer withdrew it.".to_owned();
    world.order(&reference, WriteOrder::Abandon { why }).await;
    world.deliver_again(&confirm).await;
    let told = ann.chat().last_words().unwrap();
    assert!(told.contains("closed by one of us"), "{told}");
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_cannot_be_read_locks_no_chat() {
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    world.write_card(&ann, "A quote", "Ten gutters.").await;
    let confirm = ann.press_button("Confirm");
    world.say(confirm.clone()).await;
    world.settle().await;
    let reference = world.records().await[0].submission.reference.clone();
    let summary = world.damage_record(&reference, "summary").await;
    for update in [ann.text(&format!("/status {reference}")), confirm] {
        let answer = world.deliver_again(&update).await;
        assert_eq!(answer.status, 200);
        let said = String::from_utf8(answer.body).unwrap();
        assert!(said.contains("whether it is recorded is being checked"), "{said}");
    }
    assert_eq!(world.recorder().sum(Metric::RecordUnreadable), 2.0);
    // The next enquiry goes its way.
    let next = world.submit(&ann, "A quote", "Twelve gutters.").await;
    world.poll_writer().await;
    assert_eq!(world.rows_of(&next), 1);
    world.repair_record(&reference, "summary", summary).await;
    world.settle().await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_conflict_of_one_confirm_in_five_copies_is_one_conflict() {
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    let reference = reference_of(&conflicting_card(&mut world, &ann).await);
    let confirm = ann.press_button("Confirm");
    for answer in world.say_at_once(&vec![confirm; 5]).await {
        assert_eq!(answer.status, 200);
    }
    assert_eq!(world.record(&reference).await.conflicts.len(), 1);
    world.settle().await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_content_under_one_reference_is_a_replay_and_no_conflict() {
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    world.say(ann.text("/new")).await;
    world.say(ann.press_button("A quote")).await;
    let summary = ann.text("Ten gutters.");
    world.say(summary.clone()).await;
    world.say(ann.press_button("Confirm")).await;
    let reference = reference_of(&summary);
    world.say(ann.text("/new")).await;
    world.say(ann.press_button("A quote")).await;
    world.deliver_again(&summary).await;
    world.say(ann.press_button("Confirm")).await;
    assert_eq!(
        ann.chat().last_words(),
        Some(format!(
            "Already recorded: this enquiry is kept under the reference {reference}. Nothing was added."
        ))
    );
    world.settle().await;
    let record = world.record(&reference).await;
    assert!(record.conflicts.is_empty() && record.finished());
    assert_eq!((world.records().await.len(), world.rows().len()), (1, 1));
    world.check_rules().await;
}
