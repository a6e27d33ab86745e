//! The checker can find fault: each rule is broken here on purpose, past everything that keeps it, and must be named. What a
//! rule lets pass in an honest world every scenario shows.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::future::Future;
use std::pin::Pin;

use aws_sdk_dynamodb::types::AttributeValue;
use docket_domain::ports::{Applied, Submissions as _};
use docket_domain::reference::Reference;
use docket_domain::status::{AckEvent, AttemptToken, By, Cause, Finding, Record, WriteEvent};
use docket_world::engines::Item;
use docket_world::exchange::{Answer, Fake, Request};
use docket_world::sheets::{Behaviour, On};
use docket_world::telegram::WebhookAnswer;
use docket_world::wire::{Fault, Plan, Side};
use docket_world::witness::Witnessed;
use docket_world::workers::BOT_TOKEN;
use docket_world::{Tampering, World};
use serde_json::{Value, json};

const CHAT: i64 = 7_100_000_001;

/// The rules that the world breaks, as `rule 4`, `rule 9` and so on, each once.
async fn broken(world: &World) -> Vec<String> {
    let broken = world.broken_rules(&Tampering::default()).await;
    let mut rules: Vec<String> =
        broken.iter().map(|words| words.split(':').next().unwrap_or_default().to_owned()).collect();
    rules.sort();
    rules.dedup();
    rules
}

/// An enquiry whose row and message are there.
async fn told() -> (World, Reference) {
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    let reference = world.submit(&ann, "A quote", "New gutters, please.").await;
    world.settle().await;
    assert_eq!(broken(&world).await, Vec::<String>::new());
    (world, reference)
}

/// An enquiry whose append was never answered and never arrived.
async fn uncertain() -> (World, Reference) {
    let mut world = World::start().await;
    let reference = world.record_enquiries(1).await.remove(0);
    world.sheets.next(On::Appends, Behaviour::hangs_up());
    world.work().await;
    (world, reference)
}

// ---- Rule 4 ------------------------------------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn a_row_called_absent_without_a_look_or_after_an_early_one_breaks_rule_4() {
    for minutes in [0, 1, 3] {
        let (mut world, reference) = uncertain().await;
        world.run_minutes(minutes).await;
        // A worker that takes for late what it saw early, or never saw.
        let seen = world.record(&reference).await;
        let event = WriteEvent::LookedUp {
            finding: Finding::None,
            started_at: world.now().plus_seconds(301),
            settle_seconds: 300,
        };
        let next = seen.write_after(&event, world.now(), &By::Writer).unwrap();
        assert_eq!(world.store().apply(&seen, &next, world.now()).await, Ok(Applied::Ours));
        assert_eq!(world.record(&reference).await.reviews()[0].reason.as_str(), "no_matching_row");
        assert_eq!(broken(&world).await, ["rule 4"], "after {minutes} minutes");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_look_at_another_tab_or_one_without_an_answer_proves_no_absence() {
    // The look that settled it is taken away from the checker's eyes in turn.
    let (mut world, reference) = uncertain().await;
    world.settle().await;
    assert_eq!(world.record(&reference).await.reviews()[0].reason.as_str(), "no_matching_row");
    assert_eq!(broken(&world).await, Vec::<String>::new());
    world.sheets.rename_tab("Intake", "Elsewhere");
    world.deploy(|settings| settings.tab = "Elsewhere".into());
    assert_eq!(broken(&world).await, ["rule 4"]);

    let (mut world, reference) = uncertain().await;
    world.run_minutes(3).await;
    world.wire.set_plan(Plan::outage(Side::Sheets, Fault::LoseAnswer));
    world.run_minutes(5).await;
    let seen = world.record(&reference).await;
    let started_at = world.now();
    let event = WriteEvent::LookedUp { finding: Finding::None, started_at, settle_seconds: 300 };
    let next = seen.write_after(&event, world.now(), &By::Writer).unwrap();
    assert_eq!(world.store().apply(&seen, &next, world.now()).await, Ok(Applied::Ours));
    assert_eq!(broken(&world).await, ["rule 4"]);
}

// ---- Rules 7 and 8, and what is said -----------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn two_cards_received_under_one_reference_break_rule_7() {
    let (mut world, _) = told().await;
    let (mut press, answer) = world.heard.last().unwrap().clone();
    press["callback_query"]["id"] = json!("another press");
    world.heard.push((press, answer));
    assert_eq!(broken(&world).await, ["rule 7"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_records_of_one_message_break_rule_7() {
    let (world, _) = told().await;
    let mut item = world.items().await.remove(0);
    item.insert("reference".into(), AttributeValue::S("DK-8M4T-K2QX-7RZ9".into()));
    put(&world, item).await;
    assert!(broken(&world).await.contains(&"rule 7".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_recorded_otherwise_than_its_card_showed_breaks_rule_8() {
    for (from, to) in [("New gutters", "Old gutters"), ("A quote", "A question")] {
        let (mut world, _) = told().await;
        let (press, _) = world.heard.last_mut().unwrap();
        let shown = &mut press["callback_query"]["message"]["text"];
        assert!(shown.as_str().unwrap().contains(from));
        *shown = shown.as_str().unwrap().replace(from, to).into();
        assert_eq!(broken(&world).await, ["rule 8"], "{from} shown as {to}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn saying_more_than_is_stored_is_an_offence() {
    let says = |text: String| WebhookAnswer {
        status: 200,
        retry_after_seconds: None,
        body: json!({"method": "sendMessage", "chat_id": CHAT, "text": text}).to_string().into_bytes(),
    };
    let mut claims = 0;
    for (sentence, stored) in [
        ("{reference} is recorded.", "pending"),
        ("Your enquiry {reference} is recorded.", "uncertain"),
        ("{reference} was closed without being recorded.", "pending"),
        ("{reference} is received and not yet recorded.", "absent"),
        (
            "Already recorded: this enquiry is kept under the reference {reference}. Nothing was added.",
            "absent",
        ),
    ] {
        let (world, reference) = match stored {
            "uncertain" => uncertain().await,
            _ => {
                let world = World::start().await;
                let reference = world.record_by_hand(CHAT, "New gutters, please.").await;
                (world, reference)
            }
        };
        if stored == "absent" {
            world.delete_record(&reference).await;
        }
        // True of every record that is not absent.
        if stored != "absent" {
            world.weigh(&says(format!("{reference} is received and not yet recorded."))).await;
            assert_eq!(broken(&world).await, Vec::<String>::new());
        }
        world.weigh(&says(sentence.replace("{reference}", reference.as_str()))).await;
        let words = world.broken_rules(&Tampering::default()).await;
        assert!(
            matches!(&words[..], [only] if only.starts_with("the webhook said more than is stored")),
            "{sentence} of a record that is {stored}: {words:?}"
        );
        claims += 1;
    }
    assert_eq!(claims, 5);
}

// ---- Rule 9 ------------------------------------------------------------------------------------------------------------

/// Another side that does whatever it is asked.
struct Obliging;

impl Fake for Obliging {
    fn answer(&self, _: Request) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>> {
        Box::pin(async { Answer::Reply { status: 200, headers: Vec::new(), body: b"{}".to_vec() } })
    }
}

/// A request with an effect, straight to the other side.
async fn effect(world: &World, path: &str, body: Value) {
    let witnessed = Witnessed {
        inner: Obliging,
        testimony: world.testimony.clone(),
        table: world.engines.dynamodb_client(),
        table_name: world.tables.submissions.clone(),
    };
    let request = Request {
        method: "POST".into(),
        path: path.into(),
        query: String::new(),
        headers: Vec::new(),
        body: body.to_string().into_bytes(),
    };
    witnessed.answer(request).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_effect_of_one_claim_breaks_rule_9() {
    let world = World::start().await;
    let reference = world.record_by_hand(CHAT, "New gutters, please.").await;
    world.somebody_claims_the_write(&reference).await;
    let append = || effect(&world, "/v4/spreadsheets/S/values/A1:append", json!({"values": [[reference]]}));
    append().await;
    assert_eq!(broken(&world).await, Vec::<String>::new());
    append().await;
    assert_eq!(broken(&world).await, ["rule 2", "rule 9"]);

    let (world, reference) = {
        let world = World::start().await;
        let reference = world.record_by_hand(CHAT, "New gutters, please.").await;
        world.somebody_claims_the_write(&reference).await;
        world.write_meets(&reference, WriteEvent::Applied { range: "'Intake'!A2:F2".into() }).await;
        world.sheets.put_row("Intake", 2, &row(&world.record(&reference).await));
        world.somebody_claims_the_acknowledgement(&reference).await;
        (world, reference)
    };
    let send = || {
        effect(&world, "/bot/sendMessage", json!({"text": format!("Your enquiry {reference} is recorded.")}))
    };
    send().await;
    assert_eq!(broken(&world).await, Vec::<String>::new());
    send().await;
    assert_eq!(broken(&world).await, ["rule 2", "rule 9"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_a_claim_breaks_rule_9_even_when_nothing_came_of_it() {
    for of_the_writer in [true, false] {
        let (world, reference) = told().await;
        let (worker, side, operation, path, body) = if of_the_writer {
            (
                "writer",
                Side::Sheets,
                "append",
                "/v4/spreadsheets/S/values/A1:append".to_owned(),
                json!({"values": [[reference]]}),
            )
        } else {
            (
                "acknowledger",
                Side::Telegram,
                "sendMessage",
                format!("/bot{BOT_TOKEN}/sendMessage"),
                json!({"chat_id": CHAT, "text": format!("Your enquiry {reference} is recorded.")}),
            )
        };
        world.wire.set_plan(Plan::at_operation(worker, side, operation, 1, Fault::Answer500Before));
        let url = format!("{}{path}", world.url(worker, side));
        reqwest::Client::new().post(url).json(&body).send().await.unwrap();
        assert!(broken(&world).await.contains(&"rule 9".to_owned()), "{side:?}");
    }
}

// ---- Rule 12 -----------------------------------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn a_history_that_does_not_tell_what_the_states_say_breaks_rule_12() {
    let cuts: [(&str, Cut); 5] = [
        ("its beginning is gone", |entries| drop(entries.remove(0))),
        ("a step in the middle is gone", |entries| drop(entries.remove(1))),
        ("the message is gone", |entries| entries.truncate(entries.len() - 1)),
        ("the acknowledgement is gone", |entries| entries.truncate(2)),
        ("the evidence is gone", |entries| {
            for entry in entries {
                if let AttributeValue::M(fields) = entry {
                    fields.remove("evidence");
                }
            }
        }),
    ];
    for (what, cut) in cuts {
        let (world, _) = told().await;
        change_history(&world, cut).await;
        // A claim that is not told is missed by rule 9 too.
        assert!(broken(&world).await.contains(&"rule 12".to_owned()), "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_of_which_nobody_says_why_breaks_rule_12() {
    let without_reasons = |entries: &mut Vec<AttributeValue>| {
        for entry in entries {
            if let AttributeValue::M(fields) = entry {
                fields.remove("why");
            }
        }
    };
    let (mut world, _) = uncertain().await;
    world.settle().await;
    assert_eq!(broken(&world).await, Vec::<String>::new());
    change_history(&world, without_reasons).await;
    assert_eq!(broken(&world).await, ["rule 12"]);

    let world = World::start().await;
    let reference = world.record_by_hand(CHAT, "New gutters, please.").await;
    world.somebody_claims_the_write(&reference).await;
    world.write_meets(&reference, WriteEvent::Applied { range: "'Intake'!A2:F2".into() }).await;
    world.sheets.put_row("Intake", 2, &row(&world.record(&reference).await));
    let claim = AckEvent::Claimed { token: AttemptToken("by-hand".into()), lease_seconds: 120 };
    world.acknowledgement_meets(&reference, claim).await;
    world.acknowledgement_meets(&reference, AckEvent::Unknown { cause: Cause::new("timeout") }).await;
    assert_eq!(broken(&world).await, Vec::<String>::new());
    change_history(&world, without_reasons).await;
    assert_eq!(broken(&world).await, ["rule 12"]);
}

/// What somebody does to the entries of a history.
type Cut = fn(&mut Vec<AttributeValue>);

/// The cells of the record's row.
fn row(record: &Record) -> Vec<Value> {
    docket_domain::row::Row::of(&record.submission).cells().iter().map(|cell| json!(cell)).collect()
}

async fn put(world: &World, item: Item) {
    let client = world.engines.dynamodb_client();
    let put = client.put_item().table_name(&world.tables.submissions).set_item(Some(item));
    put.send().await.unwrap();
}

/// Changes what the only record's history tells, past everything.
async fn change_history(world: &World, change: impl Fn(&mut Vec<AttributeValue>)) {
    let mut item = world.items().await.remove(0);
    let Some(AttributeValue::L(entries)) = item.get_mut("history") else { panic!("no history: {item:?}") };
    change(entries);
    put(world, item).await;
}
