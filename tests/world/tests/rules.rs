//! The checker can find fault: each of the twelve rules is broken here on purpose, past everything that keeps it, and must be
//! named; so must a message with markup, a preview or a dead button, and a method that Telegram does not take. What a rule lets
//! pass in an honest world every scenario shows.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;

use aws_sdk_dynamodb::types::AttributeValue;
use docket_domain::ports::{Applied, Submissions as _};
use docket_domain::reference::Reference;
use docket_domain::status::{AckEvent, By, Cause, Finding, Record, WriteEvent};
use docket_world::engines::Item;
use docket_world::exchange::{Answer, Fake, Request};
use docket_world::sheets::{Behaviour, On};
use docket_world::telegram::WebhookAnswer;
use docket_world::wire::{Fault, Plan, Side};
use docket_world::witness::Witnessed;
use docket_world::workers::BOT_TOKEN;
use docket_world::{Tampering, World};
use futures::FutureExt as _;
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

/// An enquiry that was confirmed by its customer and that no writer has seen.
async fn waiting() -> (World, Reference) {
    let world = World::start().await;
    let reference = world.record_by_hand(CHAT, "New gutters, please.").await;
    assert_eq!(broken(&world).await, Vec::<String>::new());
    (world, reference)
}

/// An enquiry whose row is there, and of which its customer has not heard.
async fn untold() -> (World, Reference) {
    let (world, reference) = waiting().await;
    world.somebody_claims_the_write(&reference).await;
    world.write_meets(&reference, WriteEvent::Applied { range: "'Intake'!A2:F2".into() }).await;
    world.sheets.put_row("Intake", 2, &row(&world.record(&reference).await));
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

// ---- Rules 1, 3, 5 and 6 -----------------------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn an_effect_before_its_intent_is_stored_breaks_rule_1() {
    let (world, reference) = waiting().await;
    append(&world, &reference).await;
    assert_eq!(broken(&world).await, ["rule 1"]);

    let (world, reference) = untold().await;
    announce(&world, &reference).await;
    assert_eq!(broken(&world).await, ["rule 1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmation_without_its_row_or_its_message_breaks_rule_3() {
    let (world, reference) = told().await;
    world.sheets.delete_row("Intake", 2);
    assert_eq!(broken(&world).await, ["rule 3"]);
    // A person who did it and says so has broken nothing of Docket's.
    let said = Tampering { rows_of: vec![reference], ..Tampering::default() };
    assert_eq!(world.broken_rules(&said).await, Vec::<String>::new());

    // The row is there, and one of its words is another.
    let (world, reference) = told().await;
    let mut cells = row(&world.record(&reference).await);
    cells[3] = json!("Old gutters, please.");
    world.sheets.put_row("Intake", 2, &cells);
    assert_eq!(broken(&world).await, ["rule 3"]);

    let (world, reference) = untold().await;
    world.somebody_claims_the_acknowledgement(&reference).await;
    world.acknowledgement_meets(&reference, AckEvent::Accepted { message_id: Some(7) }).await;
    assert_eq!(broken(&world).await, ["rule 3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_while_nobody_knows_of_the_row_breaks_rule_5() {
    let (world, reference) = uncertain().await;
    assert_eq!(broken(&world).await, Vec::<String>::new());
    announce(&world, &reference).await;
    assert_eq!(broken(&world).await, ["rule 5"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acknowledgement_stored_beside_an_uncertain_write_breaks_rule_5() {
    for (attribute, value) in [
        ("ack_state", AttributeValue::S("pending".into())),
        ("ack_attempts", AttributeValue::N("0".into())),
        ("ack_message_id", AttributeValue::N("7".into())),
    ] {
        let (world, reference) = uncertain().await;
        world.repair_record(&reference, attribute, value).await;
        // Docket itself refuses to read such a record.
        assert_eq!(broken(&world).await, ["rule 12", "rule 5"], "{attribute}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unfinished_record_that_no_sweep_would_find_breaks_rule_6() {
    let mut stages = 0;
    for attribute in ["due_at", "due_shard"] {
        let (world, reference) = waiting().await;
        let (claimed, of_it) = waiting().await;
        claimed.somebody_claims_the_write(&of_it).await;
        let unsettled = uncertain().await;
        let (telling, of_this) = untold().await;
        telling.somebody_claims_the_acknowledgement(&of_this).await;
        for (world, reference) in
            [(world, reference), (claimed, of_it), unsettled, untold().await, (telling, of_this)]
        {
            let state = world.record(&reference).await.write.state.as_str();
            assert_eq!(broken(&world).await, Vec::<String>::new(), "{state}");
            world.damage_record(&reference, attribute).await;
            assert!(broken(&world).await.contains(&"rule 6".to_owned()), "{state} without {attribute}");
            stages += 1;
        }
    }
    assert_eq!(stages, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_that_no_person_would_find_or_another_one_breaks_rule_6() {
    for (attribute, instead) in [
        ("review", Some(AttributeValue::S("several_rows".into()))),
        ("review", None),
        ("review_since", None),
        ("expires_at", Some(AttributeValue::N("1772356500".into()))),
    ] {
        let (mut world, reference) = uncertain().await;
        world.settle().await;
        assert_eq!(world.record(&reference).await.reviews()[0].reason.as_str(), "no_matching_row");
        assert_eq!(broken(&world).await, Vec::<String>::new());
        match instead {
            Some(value) => world.repair_record(&reference, attribute, value).await,
            None => drop(world.damage_record(&reference, attribute).await),
        }
        assert!(broken(&world).await.contains(&"rule 6".to_owned()), "{attribute}");
    }
    // What is finished is listed nowhere, and is forgotten some day.
    for (attribute, value) in [
        ("review", Some(AttributeValue::S("several_rows".into()))),
        ("due_at", Some(AttributeValue::N("1772356500".into()))),
        ("expires_at", None),
    ] {
        let (world, reference) = told().await;
        match value {
            Some(value) => world.repair_record(&reference, attribute, value).await,
            None => drop(world.damage_record(&reference, attribute).await),
        }
        assert!(broken(&world).await.contains(&"rule 6".to_owned()), "{attribute} of a finished record");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_nothing_will_announce_breaks_rule_6() {
    let (world, reference) = untold().await;
    for attribute in ["ack_state", "ack_attempts", "due_at", "due_shard"] {
        world.damage_record(&reference, attribute).await;
    }
    assert_eq!(broken(&world).await, ["rule 12", "rule 6"]);
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
        ("{reference} was closed by one of us; nothing more is recorded for it.", "pending"),
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

async fn append(world: &World, reference: &Reference) {
    effect(world, "/v4/spreadsheets/S/values/A1:append", json!({"values": [[reference]]})).await;
}

async fn announce(world: &World, reference: &Reference) {
    let text = format!("Your enquiry {reference} is recorded.");
    effect(world, "/bot/sendMessage", json!({"text": text})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_effect_of_one_claim_breaks_rule_9() {
    let (world, reference) = waiting().await;
    world.somebody_claims_the_write(&reference).await;
    append(&world, &reference).await;
    assert_eq!(broken(&world).await, Vec::<String>::new());
    append(&world, &reference).await;
    assert_eq!(broken(&world).await, ["rule 2", "rule 9"]);

    let (world, reference) = untold().await;
    world.somebody_claims_the_acknowledgement(&reference).await;
    announce(&world, &reference).await;
    assert_eq!(broken(&world).await, Vec::<String>::new());
    announce(&world, &reference).await;
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

// ---- Rules 10 and 11 ---------------------------------------------------------------------------------------------------

/// A call that `worker` makes past its own code. What comes of it is nobody's matter: that it was made is the offence.
async fn calls(world: &World, worker: &str, side: Side, target: &str, body: &Value) {
    let request = reqwest::Client::new().post(world.url(worker, side)).header("x-amz-target", target);
    let request = request.header("content-type", "application/x-amz-json-1.0");
    request.body(body.to_string()).send().await.unwrap();
}

/// An update that the condition keeps from changing anything.
async fn updates(world: &World, worker: &str, reference: &Reference, expression: &str, values: Value) {
    let body = json!({
        "TableName": world.tables.submissions,
        "Key": {"reference": {"S": reference}},
        "UpdateExpression": expression,
        "ConditionExpression": "attribute_not_exists(#reference)",
        "ExpressionAttributeNames": {
            "#reference": "reference", "#write": "write_state", "#ack": "ack_state", "#tries": "ack_attempts",
            "#id": "ack_message_id",
        },
        "ExpressionAttributeValues": values,
    });
    calls(world, worker, Side::DynamoDb, "DynamoDB_20120810.UpdateItem", &body).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_touches_the_others_attributes_breaks_rule_10() {
    let text = |value: &str| json!({"S": value});
    let confirmed = || json!({":w": text("confirmed"), ":a": text("pending"), ":n": {"N": "0"}});
    // What the writer may do: confirm, and so make the acknowledgement begin.
    let (world, reference) = told().await;
    let expression = "SET #write = :w, #ack = :a, #tries = :n REMOVE #id";
    updates(&world, "writer", &reference, expression, confirmed()).await;
    assert_eq!(broken(&world).await, Vec::<String>::new());

    let with = |label: &str, value: Value| {
        let mut values = confirmed();
        values[label] = value;
        values
    };
    for (worker, expression, values) in [
        ("acknowledger", "SET #write = :w", confirmed()),
        ("acknowledger", "SET write_state = :w", confirmed()),
        ("acknowledger", "SET #ack = :a REMOVE #write", confirmed()),
        ("writer", "SET #ack = :a", confirmed()),
        ("writer", "SET #write = :w, #ack = :a", with(":w", text("uncertain"))),
        ("writer", "SET #write = :w, #ack = :a", with(":a", text("confirmed"))),
        ("writer", "SET #write = :w, ack_state = :a", with(":a", text("attempting"))),
        ("writer", "SET #write = :w, #ack = :a, #tries = :n", with(":n", json!({"N": "1"}))),
        ("writer", "SET #write = :w, #ack = :a, #id = :n", confirmed()),
    ] {
        let (world, reference) = told().await;
        updates(&world, worker, &reference, expression, values.clone()).await;
        assert_eq!(broken(&world).await, ["rule 10"], "{worker}: {expression} with {values}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ring_that_carries_more_than_a_reference_breaks_rule_11() {
    let words = "New gutters, please.";
    let (world, reference) = told().await;
    for (what, body, attributes) in [
        ("a third field", json!({"v": 1, "reference": reference, "summary": words}), json!({})),
        ("words for a reference", json!({"v": 1, "reference": words}), json!({})),
        ("no reference", json!({"v": 1}), json!({})),
        ("another version", json!({"v": 2, "reference": reference}), json!({})),
        (
            "words beside the body",
            json!({"v": 1, "reference": reference}),
            json!({"summary": {"DataType": "String", "StringValue": words}}),
        ),
    ] {
        for batch in [false, true] {
            let (world, _) = told().await;
            let message =
                json!({"Id": "0", "MessageBody": body.to_string(), "MessageAttributes": attributes});
            let (target, mut request) = match batch {
                true => ("AmazonSQS.SendMessageBatch", json!({"Entries": [message]})),
                false => ("AmazonSQS.SendMessage", message),
            };
            request["QueueUrl"] = json!(world.queues.acknowledge);
            calls(&world, "writer", Side::Sqs, target, &request).await;
            assert_eq!(broken(&world).await, ["rule 11"], "{what}, in a batch: {batch}");
        }
    }
    assert_eq!(broken(&world).await, Vec::<String>::new());
}

// ---- What a customer is shown ------------------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn markup_a_preview_or_a_dead_button_is_found_in_an_answer_and_in_a_call() {
    let button = |data: &str| json!({"inline_keyboard": [[{"text": "Confirm", "callback_data": data}]]});
    for (name, value, begins) in [
        ("parse_mode", json!("HTML"), "markup in "),
        ("link_preview_options", json!({"is_disabled": false}), "a preview in "),
        ("link_preview_options", Value::Null, "a preview in "),
        ("reply_markup", button(&"x".repeat(65)), "a button of 65 bytes"),
        ("reply_markup", button(""), "a button of 0 bytes"),
    ] {
        for answered in [true, false] {
            let (mut world, _) = told().await;
            let mut message = json!({
                "method": "sendMessage",
                "chat_id": CHAT,
                "text": "Good morning.",
                "link_preview_options": {"is_disabled": true},
            });
            message[name] = value.clone();
            if answered {
                let body = message.to_string().into_bytes();
                world.webhook_answers.push(WebhookAnswer { status: 200, retry_after_seconds: None, body });
            } else {
                let endpoint = world.url("acknowledger", Side::Telegram);
                let url = format!("{endpoint}/bot{BOT_TOKEN}/sendMessage");
                reqwest::Client::new().post(url).json(&message).send().await.unwrap();
            }
            let words = world.broken_rules(&Tampering::default()).await;
            assert!(
                matches!(&words[..], [only] if only.starts_with(begins)),
                "{name} {value}, answered: {answered}: {words:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_method_that_telegram_refuses_in_silence_is_found() {
    let (world, _) = told().await;
    let empty = json!({"method": "sendMessage", "chat_id": CHAT, "text": ""});
    world.telegram.take_webhook_answer(empty.to_string().as_bytes());
    let words = world.broken_rules(&Tampering::default()).await;
    assert!(
        matches!(&words[..], [only] if only.starts_with("Telegram refused what the webhook answered")),
        "{words:?}"
    );

    // That a customer has left is no fault of the webhook's.
    let (world, _) = told().await;
    world.telegram.block(CHAT);
    let message = json!({"method": "sendMessage", "chat_id": CHAT, "text": "Good morning."});
    world.telegram.take_webhook_answer(message.to_string().as_bytes());
    assert_eq!(world.telegram.silent_refusals().len(), 1);
    assert_eq!(broken(&world).await, Vec::<String>::new());
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

    let (world, reference) = untold().await;
    world.somebody_claims_the_acknowledgement(&reference).await;
    world.acknowledgement_meets(&reference, AckEvent::Unknown { cause: Cause::new("timeout") }).await;
    assert_eq!(broken(&world).await, Vec::<String>::new());
    change_history(&world, without_reasons).await;
    assert_eq!(broken(&world).await, ["rule 12"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_cannot_be_read_breaks_rule_12_and_hides_no_other_fault() {
    let (world, reference) = told().await;
    world.damage_record(&reference, "summary").await;
    assert_eq!(broken(&world).await, ["rule 12"]);
    world.testimony.object("rule 1: something else".into());
    assert_eq!(broken(&world).await, ["rule 1", "rule 12"]);
}

// ---- Forgetting --------------------------------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn a_scenario_that_forgets_the_rules_fails_when_its_world_ends() {
    let forgotten = AssertUnwindSafe(async {
        let mut world = World::start().await;
        world.record_enquiries(1).await;
        world.settle().await;
    });
    assert!(forgotten.catch_unwind().await.is_err());

    let checked = AssertUnwindSafe(async { World::start().await.check_rules().await });
    assert!(checked.catch_unwind().await.is_ok());
    let excused = AssertUnwindSafe(async { World::start().await.is_not_checked("nothing happens in it") });
    assert!(excused.catch_unwind().await.is_ok());
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
