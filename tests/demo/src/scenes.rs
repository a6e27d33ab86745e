//! The scenes: the main story first, then the boundary, one way after the other in which an answer can be missing.

use docket_domain::reference::Reference;
use docket_domain::status::{AckState, Record, ReviewReason, WriteReview, WriteState};
use docket_world::World;
use docket_world::telegram::Customer;
use docket_world::wire::{Fault, Plan, Side};

use crate::story::Story;

/// The first customer's chat.
pub(crate) const ANN: i64 = 7_100_000_001;

/// Plays every scene. The references in the order in which customers were told them.
pub(crate) async fn play(world: &mut World, story: &mut Story) -> Vec<Reference> {
    let ann = world.customer(ANN, "Ann");
    let mut told = vec![one_enquiry(world, story, &ann).await];
    told.push(the_same_words_again(world, story, &ann, &told[0]).await);
    told.push(answer_lost(world, story).await);
    told.push(worker_killed(world, story).await);
    told.push(row_differs(world, story).await);
    told.push(several_rows(world, story).await);
    told.push(no_row(world, story).await);
    told.push(acknowledgement_lost(world, story).await);
    told.push(conflict(world, story).await);
    told
}

async fn one_enquiry(world: &mut World, story: &mut Story, ann: &Customer) -> Reference {
    story.scene("One enquiry, through the real conversation");
    world.say(ann.text("/new")).await;
    story.quote("Ann", "/new");
    story.quote("Docket", &ann.chat().last_words().unwrap_or_default());
    world.say(ann.press_button("A quote")).await;
    story.quote("Ann", "[A quote]");
    story.quote("Docket", &ann.chat().last_words().unwrap_or_default());
    let words = "New gutters for 12 Mill Lane, please. =SUM(1,1) is not a formula here.";
    world.say(ann.text(words)).await;
    story.quote("Ann", words);
    let card = ann.chat().last_card().map(|card| card.text).unwrap_or_default();
    story.quote("Docket", &card);
    story.check("the card shows what Confirm will record", card.contains(words));
    story.check("nothing is recorded before Confirm", world.records().await.is_empty());
    let confirm = ann.press_button("Confirm");
    world.say(confirm.clone()).await;
    let answer = ann.chat().last_words().unwrap_or_default();
    story.quote("Ann", "[Confirm]");
    story.quote("Docket", &answer);
    let reference = newest(world, &[]).await;
    story.check("the customer was told the reference", answer.contains(reference.as_str()));
    let before = world.record(&reference).await;
    world.work().await;
    let record = world.record(&reference).await;
    became(story, &before, &record, "write: pending → confirmed, acknowledgement: none → confirmed");
    story.check("the row is in the sheet, once", world.rows_of(&reference) == 1);
    story.check("the append's own answer proves it", is_confirmed(&record));
    story.quote("Docket", world.acknowledgements(ANN).last().map_or("", String::as_str));
    story.check("and only then the customer heard of it", world.acknowledgements(ANN).len() == 1);

    story.scene("The same Confirm again");
    world.say(confirm).await;
    story.quote("Docket", &ann.chat().last_words().unwrap_or_default());
    world.work().await;
    story.check("still one record, one row, one acknowledgement", {
        world.records().await.len() == 1 && world.rows().len() == 1 && world.acknowledgements(ANN).len() == 1
    });
    reference
}

async fn the_same_words_again(
    world: &mut World,
    story: &mut Story,
    ann: &Customer,
    first: &Reference,
) -> Reference {
    story.scene("A second enquiry from the same chat, with the same words");
    // Telegram takes one message a second to a chat.
    world.turn_seconds(1);
    let reference = world
        .submit(ann, "A quote", "New gutters for 12 Mill Lane, please. =SUM(1,1) is not a formula here.")
        .await;
    let before = world.record(&reference).await;
    world.work().await;
    let after = world.record(&reference).await;
    became(story, &before, &after, "write: pending → confirmed, acknowledgement: none → confirmed");
    story.check("a chat is not an enquiry: another reference", reference != *first);
    story.check("two rows", world.rows().len() == 2);
    story.check("two acknowledgements", world.acknowledgements(ANN).len() == 2);
    reference
}

async fn answer_lost(world: &mut World, story: &mut Story) -> Reference {
    story.scene("The boundary: the sheet takes the row, and its answer is lost");
    let bob = world.customer(7_100_000_002, "Bob");
    world.wire.set_plan(at_append(Fault::LoseAnswer));
    let reference = world.submit(&bob, "A question", "Do you repair slate roofs?").await;
    let before = world.record(&reference).await;
    world.work().await;
    world.wire.heal();
    let uncertain = world.record(&reference).await;
    story.tell("The writer sees a broken connection. Was the row written? Neither answer follows.");
    became(story, &before, &uncertain, "write: pending → uncertain");
    story.check("the write is uncertain, not failed and not confirmed", is_uncertain(&uncertain));
    story.check("the customer has heard nothing", world.acknowledgements(7_100_000_002).is_empty());
    world.settle().await;
    let record = world.record(&reference).await;
    story.tell("A minute later the sheet is read back: exactly one equal row.");
    became(story, &uncertain, &record, "write: uncertain → confirmed, acknowledgement: none → confirmed");
    story.check("confirmed by the row itself", is_confirmed(&record) && record.write.lookups == 1);
    story.check("one row, one append, one acknowledgement", {
        world.rows_of(&reference) == 1
            && world.testimony.appends(reference.as_str()) == 1
            && world.acknowledgements(7_100_000_002).len() == 1
    });
    reference
}

async fn worker_killed(world: &mut World, story: &mut Story) -> Reference {
    story.scene("A worker is killed in mid-append, and started again");
    let cara = world.customer(7_100_000_003, "Cara");
    world.wire.set_plan(at_append(Fault::CrashAfter));
    let reference = world.submit(&cara, "An appointment", "Thursday morning?").await;
    world.work().await;
    world.wire.heal();
    let before = world.record(&reference).await;
    story.check("its intention was stored before the attempt: attempting", {
        matches!(before.write.state, WriteState::Attempting { .. })
    });
    world.settle().await;
    let record = world.record(&reference).await;
    story.tell("The lease runs out; the next worker reads back before anything else.");
    became(story, &before, &record, "write: attempting → confirmed, acknowledgement: none → confirmed");
    story.check("confirmed, one row, one append", {
        is_confirmed(&record)
            && world.rows_of(&reference) == 1
            && world.testimony.appends(reference.as_str()) == 1
    });
    reference
}

async fn row_differs(world: &mut World, story: &mut Story) -> Reference {
    story.scene("The answer is lost, and somebody has changed the row");
    let dan = world.customer(7_100_000_004, "Dan");
    let reference = uncertain(world, &dan, "Two windows.").await;
    let row = row_number(world, &reference);
    let mut cells = world.sheets.rows("Intake")[row - 1].clone();
    cells[3] = "Three windows.".into();
    world.sheets.put_row("Intake", row, &cells);
    let before = world.record(&reference).await;
    world.settle().await;
    review(world, story, &before, WriteReview::RowDiffers).await;
    reference
}

async fn several_rows(world: &mut World, story: &mut Story) -> Reference {
    story.scene("The answer is lost, and somebody has copied the row");
    let eve = world.customer(7_100_000_005, "Eve");
    let reference = uncertain(world, &eve, "A new door.").await;
    let row = row_number(world, &reference);
    let cells = world.sheets.rows("Intake")[row - 1].clone();
    world.sheets.put_row("Intake", row + 1, &cells);
    let before = world.record(&reference).await;
    world.settle().await;
    review(world, story, &before, WriteReview::SeveralRows).await;
    reference
}

async fn no_row(world: &mut World, story: &mut Story) -> Reference {
    story.scene("The answer is lost, and no row appears");
    let fay = world.customer(7_100_000_006, "Fay");
    world.wire.set_plan(at_append(Fault::FailBefore));
    let reference = world.submit(&fay, "A question", "Are you open on Sunday?").await;
    world.work().await;
    world.wire.heal();
    let before = world.record(&reference).await;
    world.settle().await;
    story
        .check("the sheet was read at 1, 3 and 6 minutes", world.record(&reference).await.write.lookups == 3);
    review(world, story, &before, WriteReview::NoMatchingRow).await;
    story.check("and nothing was appended again", world.rows_of(&reference) == 0);
    reference
}

async fn acknowledgement_lost(world: &mut World, story: &mut Story) -> Reference {
    story.scene("Telegram delivers the acknowledgement, and its answer is lost");
    let gus = world.customer(7_100_000_007, "Gus");
    let plan = Plan::at_operation("acknowledger", Side::Telegram, "sendMessage", 1, Fault::LoseAnswer);
    world.wire.set_plan(plan);
    let reference = world.submit(&gus, "A quote", "A fence, forty metres.").await;
    let before = world.record(&reference).await;
    world.work().await;
    world.wire.heal();
    world.settle().await;
    let record = world.record(&reference).await;
    let expected = "write: pending → confirmed, acknowledgement: none → uncertain, in review: ack_uncertain";
    became(story, &before, &record, expected);
    story.check("the write is confirmed all the same", is_confirmed(&record));
    let state = record.acknowledgement.as_ref().map(|ack| &ack.state);
    story.check("the acknowledgement is uncertain, and a person's matter", {
        matches!(state, Some(AckState::Uncertain { .. })) && reviews(&record) == [ReviewReason::AckUncertain]
    });
    story.check("no machine sent it again", world.acknowledgements(7_100_000_007).len() == 1);
    reference
}

async fn conflict(world: &mut World, story: &mut Story) -> Reference {
    story.scene("The same reference arrives with other fields");
    let hal = world.customer(7_100_000_008, "Hal");
    world.say(hal.text("/new")).await;
    world.say(hal.press_button("A quote")).await;
    let summary = hal.text("Repair the chimney.");
    world.say(summary.clone()).await;
    world.say(hal.press_button("Confirm")).await;
    let reference = newest_of(world, 7_100_000_008).await;
    world.settle().await;
    let before = world.record(&reference).await;
    story
        .tell("Hal starts another enquiry of another type, and Telegram delivers his old message once more.");
    world.say(hal.text("/new")).await;
    world.say(hal.press_button("A question")).await;
    world.say(summary).await;
    world.say(hal.press_button("Confirm")).await;
    world.settle().await;
    story.quote("Docket", &hal.chat().last_words().unwrap_or_default());
    let record = world.record(&reference).await;
    became(story, &before, &record, "write: confirmed → confirmed, conflicts: 0 → 1, in review: conflict");
    story.check("the first content stays", record.submission.request_type == "A quote");
    story.check("the other one is kept beside it, for a person", {
        record.conflicts.len() == 1 && reviews(&record) == [ReviewReason::Conflict]
    });
    story.check("one row", world.rows_of(&reference) == 1);
    reference
}

fn at_append(fault: Fault) -> Plan {
    Plan::at_operation("writer", Side::Sheets, "append", 1, fault)
}

/// A submission whose append arrived and whose answer did not.
async fn uncertain(world: &mut World, customer: &Customer, words: &str) -> Reference {
    world.wire.set_plan(at_append(Fault::LoseAnswer));
    let reference = world.submit(customer, "A quote", words).await;
    world.work().await;
    world.wire.heal();
    reference
}

/// The review that is open now, of a write that was uncertain.
async fn review(world: &World, story: &mut Story, before: &Record, reason: WriteReview) {
    let after = world.record(&before.submission.reference).await;
    let expected = format!("write: uncertain → uncertain, in review: {}", reason.as_str());
    became(story, before, &after, &expected);
    let chat = after.submission.chat_id.0;
    story.check(
        "the customer was told nothing that nobody can vouch for",
        world.acknowledgements(chat).is_empty(),
    );
}

/// Says of a record how it stood before and how it stands now, as it should.
fn became(story: &mut Story, before: &Record, after: &Record, expected: &str) {
    let passage = passage(before, after);
    story.check(&format!("{}  {passage}", after.submission.reference), passage == expected);
}

/// The write always, the rest where it changed, and what is open.
fn passage(before: &Record, after: &Record) -> String {
    let acknowledgement = |record: &Record| match &record.acknowledgement {
        Some(ack) => ack.state.as_str().to_owned(),
        None => "none".to_owned(),
    };
    let states = |record: &Record| {
        [
            ("write", record.write.state.as_str().to_owned()),
            ("acknowledgement", acknowledgement(record)),
            ("conflicts", record.conflicts.len().to_string()),
        ]
    };
    let mut said: Vec<String> = states(before)
        .into_iter()
        .zip(states(after))
        .filter(|(from, to)| from.0 == "write" || from != to)
        .map(|((name, from), (_, to))| format!("{name}: {from} → {to}"))
        .collect();
    said.extend(reviews(after).into_iter().map(|reason| format!("in review: {}", reason.as_str())));
    said.join(", ")
}

fn row_number(world: &World, reference: &Reference) -> usize {
    let rows = world.sheets.rows("Intake");
    rows.iter()
        .position(|row| row.first().and_then(|cell| cell.as_str()) == Some(reference.as_str()))
        .map_or(1, |i| i + 1)
}

fn is_confirmed(record: &Record) -> bool {
    matches!(record.write.state, WriteState::Confirmed { .. })
}

fn is_uncertain(record: &Record) -> bool {
    matches!(record.write.state, WriteState::Uncertain { .. })
}

fn reviews(record: &Record) -> Vec<ReviewReason> {
    record.reviews().iter().map(|review| review.reason).collect()
}

async fn newest(world: &World, known: &[Reference]) -> Reference {
    let records = world.records().await;
    let new = records.iter().map(|r| r.submission.reference.clone()).find(|r| !known.contains(r));
    new.unwrap_or_else(|| Reference::derive(0, 0, 0))
}

async fn newest_of(world: &World, chat_id: i64) -> Reference {
    let records = world.records().await;
    let new = records.iter().find(|record| record.submission.chat_id.0 == chat_id);
    new.map_or_else(|| Reference::derive(0, 0, 0), |record| record.submission.reference.clone())
}
