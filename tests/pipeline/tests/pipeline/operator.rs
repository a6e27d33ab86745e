//! The operator's command against a living table: through its library, and as the executable that a person runs.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use docket::page::Room;
use docket_domain::ports::Submissions as _;
use docket_domain::reference::Reference;
use docket_domain::status::{
    AckEvent, AckOrder, By, Cause, Conflict, ConflictEvent, Finding, WriteEvent, WriteOrder,
};
use docket_domain::submission::{Fingerprint, Summary};
use docket_world::executable::{Ended, Executable};
use docket_world::workers::{NOBODY, WEBHOOK_SECRET};
use docket_world::{Tampering, World};
use serde_json::{Value, json};

use crate::executables::{Environment, built};

const CHAT: i64 = 7_100_000_001;

/// What a run of `docket` left behind.
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        assert_eq!((self.status, self.stderr.as_str()), (0, ""));
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }

    /// One sentence on standard error, nothing on standard output.
    pub(crate) fn refused(&self, status: i32) -> &str {
        assert_eq!((self.status, self.stdout.as_str()), (status, ""), "{}", self.stderr);
        assert!(!self.stderr.contains("hidden") && !self.stderr.contains("panicked"), "{}", self.stderr);
        &self.stderr
    }
}

/// None of what the worlds' settings hold in secret, whatever was asked.
pub(crate) fn shows_no_secret(ran: &Ran) {
    for secret in [WEBHOOK_SECRET, "world-bot-token", "PRIVATE KEY", "MII", "ya29", "hidden"] {
        assert!(!ran.stdout.contains(secret), "{secret} is shown: {}", ran.stdout);
        assert!(!ran.stderr.contains(secret), "{secret} is shown: {}", ran.stderr);
    }
}

pub(crate) fn environment(world: &World) -> Environment {
    Environment::of_aws(world.engines.dynamodb_url()).with("SUBMISSIONS_TABLE", &world.tables.submissions)
}

/// Runs the command, in UTC where no time zone is given: the machine's own is nobody's matter.
pub(crate) fn docket(environment: &Environment, arguments: &[&str]) -> Ran {
    left_by(started(environment, arguments).ended(Duration::from_secs(60)))
}

pub(crate) fn started(environment: &Environment, arguments: &[&str]) -> Executable {
    let environment = Environment::default().with("TZ", "UTC").and(environment);
    Executable::start(&built("docket"), arguments, environment.pairs())
}

pub(crate) fn left_by(ended: Ended) -> Ran {
    Ran {
        status: ended.status.code().unwrap_or(-1),
        stdout: ended.stdout.join("\n"),
        stderr: ended.stderr.join("\n"),
    }
}

pub(crate) fn unknown() -> WriteEvent {
    WriteEvent::Unknown { cause: Cause::new("timeout"), settle_seconds: 300 }
}

pub(crate) async fn conflict(world: &World, reference: &Reference, words: &str) {
    let seen = world.record(reference).await;
    let summary = Summary::clean(words).unwrap();
    let conflict = Conflict {
        at: world.now(),
        request_type: "A question".into(),
        fingerprint: Fingerprint::of("A question", &summary, seen.submission.chat_id),
        summary,
    };
    let next = seen.conflict_after(&ConflictEvent::Arrived(conflict), world.now(), &By::Webhook).unwrap();
    world.store().apply(&seen, &next, world.now()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finished_enquiry_is_shown_as_the_contract_says() {
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    let reference = world.submit(&ann, "A quote", "New gutters, please.").await;
    world.settle().await;
    let message_id = world.telegram.messages(CHAT)[0].message_id;
    let moment = "2026-03-01T09:15:00Z";
    let step = |by: &str, step: &str, from: &str, to: &str| json!({"at": moment, "by": by, "step": step, "from": from, "to": to});
    let mut applied = step("writer", "append_applied", "attempting", "confirmed");
    applied["evidence"] = json!("append_answer 'Intake'!A2:F2");
    let expected = json!({
        "reference": reference,
        "submission": {
            "request_type": "A quote", "summary": "New gutters, please.", "chat_id": CHAT, "contact": "Ann",
            "confirmed_at": moment,
        },
        "write": {
            "state": "confirmed", "attempts": 1, "lookups": 0,
            "evidence": {"kind": "append_answer", "range": "'Intake'!A2:F2"}, "review": null,
        },
        "acknowledgement": {"state": "confirmed", "attempts": 1, "message_id": message_id, "review": null},
        "conflicts": [],
        "due_at": null,
        "history": [
            {"at": moment, "by": "webhook", "step": "recorded", "to": "pending"},
            step("writer", "claimed", "pending", "attempting"),
            applied,
            step("acknowledger", "ack_claimed", "pending", "attempting"),
            step("acknowledger", "ack_accepted", "attempting", "confirmed"),
        ],
    });
    let from_library = docket::json::record(&docket::show(world.store(), &reference).await.unwrap());
    assert_eq!(from_library, expected);
    assert_eq!(docket(&environment(&world), &["show", reference.as_str(), "--json"]).json(), expected);
    // As somebody reads it out over the telephone.
    let spoken = reference.as_str().to_lowercase().replace('-', " ").replace('0', "o");
    assert_eq!(docket(&environment(&world), &["show", &spoken, "--json"]).json(), expected);
    assert_eq!(docket(&environment(&world), &["reviews", "--json"]).json(), json!([]));
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_state_has_its_shape() {
    let mut world = World::start().await;
    let lookup = |world: &World| WriteEvent::LookedUp {
        finding: Finding::None,
        started_at: world.now(),
        settle_seconds: 300,
    };
    let reference = world.record_by_hand(CHAT, "New gutters, please.").await;
    let show = |record| docket::json::record(&record);

    let shown = show(world.record(&reference).await);
    let write = json!({"state": "pending", "attempts": 0, "lookups": 0, "evidence": null, "review": null});
    assert_eq!((&shown["write"], &shown["due_at"]), (&write, &json!("2026-03-01T09:15:00Z")));
    let ack = json!({"state": null, "attempts": 0, "message_id": null, "review": null});
    assert_eq!(shown["acknowledgement"], ack);

    let shown = show(world.somebody_claims_the_write(&reference).await);
    assert_eq!(
        (&shown["write"]["state"], &shown["due_at"]),
        (&json!("attempting"), &json!("2026-03-01T09:17:00Z"))
    );
    let shown = show(world.write_meets(&reference, unknown()).await);
    assert_eq!(
        (&shown["write"]["state"], &shown["due_at"]),
        (&json!("uncertain"), &json!("2026-03-01T09:16:00Z"))
    );
    world.turn_seconds(301);
    let shown = show(world.write_meets(&reference, lookup(&world)).await);
    let review = json!({"reason": "no_matching_row", "since": "2026-03-01T09:20:01Z"});
    assert_eq!((&shown["write"]["review"], &shown["due_at"]), (&review, &Value::Null));
    assert_eq!(shown["write"]["lookups"], 1);
    let order = WriteOrder::Recorded { why: "typed in by hand".into() };
    let shown = show(world.write_meets(&reference, WriteEvent::Ordered(order)).await);
    assert_eq!(shown["write"]["evidence"], json!({"kind": "operator", "why": "typed in by hand"}));
    let ack = json!({"state": "pending", "attempts": 0, "message_id": null, "review": null});
    assert_eq!(shown["acknowledgement"], ack);
    let shown = show(world.somebody_claims_the_acknowledgement(&reference).await);
    assert_eq!(
        (&shown["acknowledgement"]["state"], &shown["acknowledgement"]["attempts"]),
        (&json!("attempting"), &json!(1))
    );
    let cause = Cause::new("timeout");
    let shown = show(world.acknowledgement_meets(&reference, AckEvent::Unknown { cause }).await);
    let review = json!({"reason": "ack_uncertain", "since": "2026-03-01T09:20:01Z"});
    assert_eq!(
        (&shown["acknowledgement"]["state"], &shown["acknowledgement"]["review"]),
        (&json!("uncertain"), &review)
    );
    let order = AckOrder::Leave { why: "they rang us up".into() };
    let shown = show(world.acknowledgement_meets(&reference, AckEvent::Ordered(order)).await);
    assert_eq!((&shown["acknowledgement"]["state"], &shown["due_at"]), (&json!("abandoned"), &Value::Null));

    conflict(&world, &reference, "Other words.").await;
    let shown = docket(&environment(&world), &["show", reference.as_str(), "--json"]).json();
    let conflicts = shown["conflicts"].as_array().unwrap();
    assert_eq!((conflicts.len(), &conflicts[0]["summary"]), (1, &json!("Other words.")));
    assert_eq!(conflicts[0]["at"], "2026-03-01T09:20:01Z");

    // A read-back, and a refusal.
    let other = world.record_by_hand(CHAT + 1, "Slate, please.").await;
    world.somebody_claims_the_write(&other).await;
    world.write_meets(&other, unknown()).await;
    let finding = Finding::OneEqual { range: "'Intake'!A7:F7".into() };
    let found = WriteEvent::LookedUp { finding, started_at: world.now(), settle_seconds: 300 };
    let shown = show(world.write_meets(&other, found).await);
    assert_eq!(shown["write"]["evidence"], json!({"kind": "read_back", "range": "'Intake'!A7:F7"}));
    world.telegram.block(CHAT + 1);
    world.ring_for_the_acknowledgement(std::slice::from_ref(&other)).await;
    world.poll_acknowledger().await;
    let shown = show(world.record(&other).await);
    assert_eq!(shown["acknowledgement"]["state"], "refused");

    // An order to abandon.
    let third = world.record_by_hand(CHAT + 2, "Tiles, please.").await;
    world.somebody_claims_the_write(&third).await;
    world.write_meets(&third, unknown()).await;
    world.turn_seconds(301);
    world.write_meets(&third, lookup(&world)).await;
    let order = WriteOrder::Abandon { why: "a test of theirs".into() };
    let shown = show(world.write_meets(&third, WriteEvent::Ordered(order)).await);
    assert_eq!((&shown["write"]["state"], &shown["write"]["review"]), (&json!("abandoned"), &Value::Null));
    assert_eq!(shown["acknowledgement"]["state"], Value::Null);
    // No writer wrote these rows, so none is there.
    world.check_rules_but_for(&Tampering { rows_of: vec![reference, other], ..Tampering::default() }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_of_any_size_is_the_same_in_table_sheet_message_and_command() {
    let mut world = World::start().await;
    for chat_id in [7_100_000_001, 4_503_599_627_370_495, 9_007_199_254_740_993, -5, -1_002_000_000_001] {
        let reference = world.record_by_hand(chat_id, "New gutters, please.").await;
        world.ring_for_the_write(std::slice::from_ref(&reference)).await;
        world.settle().await;
        let shown = docket(&environment(&world), &["show", reference.as_str(), "--json"]);
        assert!(shown.stdout.contains(&format!("\"chat_id\": {chat_id}")), "{}", shown.stdout);
        assert_eq!(shown.json()["write"]["state"], "confirmed");
        assert_eq!(world.rows().last().unwrap()[5], chat_id.to_string());
        assert_eq!(world.acknowledgements(chat_id), [format!("Your enquiry {reference} is recorded.")]);
    }
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_for_a_person_answers_the_four_questions() {
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    let reference = world.submit(&ann, "A quote", "New gutters, please.\nAnd a slate roof.").await;
    world.telegram.deliver_then(500, "");
    world.settle().await;
    let page = docket(&environment(&world), &["show", reference.as_str()]);
    assert_eq!((page.status, page.stderr.as_str()), (0, ""));
    insta::assert_snapshot!(page.stdout, @r#"
    DK-SEP8-6SAR-9NF8

    Was it confirmed and recorded?      Yes: confirmed by the customer at 2026-03-01 09:15:00 UTC, and kept.
    Is its row known to exist?          Yes: Google's own answer names it at 'Intake'!A2:F2.
    Did its acknowledgement complete?   Not known: the message of 2026-03-01 09:15:00 UTC may have been sent: the other side was in trouble: HTTP status 500 (http_500).
    What still needs attention?         A person: ack_uncertain since 2026-03-01 09:15:00 UTC: the message was perhaps sent
    What may be ordered about ack_uncertain:
      docket resolve DK-SEP8-6SAR-9NF8 --if-version 5 --seen --because "…"
      docket resolve DK-SEP8-6SAR-9NF8 --if-version 5 --send-again --because "…"
      docket resolve DK-SEP8-6SAR-9NF8 --if-version 5 --leave --because "…"

    request type  A quote
    contact       Ann
    chat          7100000001
    version       5
    summary
      New gutters, please.
      And a slate roof.

    history, in the time of UTC
      2026-03-01 09:15:00 UTC  webhook       recorded
      2026-03-01 09:15:00 UTC  writer        claimed  pending → attempting
      2026-03-01 09:15:00 UTC  writer        append_applied  attempting → confirmed  (Google's own answer names it at 'Intake'!A2:F2)
      2026-03-01 09:15:00 UTC  acknowledger  ack_claimed  pending → attempting
      2026-03-01 09:15:00 UTC  acknowledger  ack_unknown  attempting → uncertain  (http_500: the other side was in trouble: HTTP status 500)
    "#);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reviews_are_listed_oldest_first_and_a_record_with_two_twice() {
    let mut world = World::start().await;
    let mut references = Vec::new();
    // The newest reference is the oldest review.
    for chat_id in [CHAT + 2, CHAT + 1] {
        let reference = world.record_by_hand(chat_id, "Never seen.").await;
        world.somebody_claims_the_write(&reference).await;
        world.write_meets(&reference, unknown()).await;
        references.push(reference);
        world.turn_seconds(60);
    }
    world.settle().await;
    world.turn_seconds(60);
    let both = world.record_by_hand(CHAT, "Perhaps told.").await;
    world.ring_for_the_write(std::slice::from_ref(&both)).await;
    world.telegram.answer_next(500, "");
    world.work().await;
    world.turn_seconds(60);
    conflict(&world, &both, "Other words.").await;

    let listed = docket(&environment(&world), &["reviews", "--json"]).json();
    assert_eq!(listed, docket::json::reviews(&docket::reviews(world.store()).await.unwrap()));
    let short: Vec<(&str, &str)> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|line| (line["reference"].as_str().unwrap(), line["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(
        short,
        [
            (references[0].as_str(), "no_matching_row"),
            (references[1].as_str(), "no_matching_row"),
            (both.as_str(), "ack_uncertain"),
            (both.as_str(), "conflict"),
        ]
    );
    let since: Vec<&str> =
        listed.as_array().unwrap().iter().map(|line| line["since"].as_str().unwrap()).collect();
    assert!(since.is_sorted(), "{since:?}");

    let page = docket(&environment(&world), &["reviews"]);
    assert_eq!((page.status, page.stdout.lines().count()), (0, 6));
    let in_world =
        docket::page::reviews(&docket::reviews(world.store()).await.unwrap(), world.now(), Room::Unknown);
    insta::assert_snapshot!(plain(&in_world), @r"
    reference          reason                 age  request type          what may be ordered
    DK-X950-2ENM-HNDZ  no_matching_row      3 min  A quote               docket recheck, --recorded, --append-again, --abandon
    DK-B9RB-N1R5-A185  no_matching_row      2 min  A quote               docket recheck, --recorded, --append-again, --abandon
    DK-9ZBH-5C4N-1N9Q  ack_uncertain        1 min  A quote               --seen, --send-again, --leave
    DK-9ZBH-5C4N-1N9Q  conflict               0 s  A quote               --keep-first
    --recorded wants the row in its place; recorded elsewhere: add --without-row.
    ");
    world.check_rules().await;
}

/// Without the styles, as a pipe gets it.
pub(crate) fn plain(text: &str) -> String {
    let mut kept = String::new();
    let mut parts = text.split("\u{1b}[");
    kept.push_str(parts.next().unwrap_or_default());
    for part in parts {
        kept.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    kept
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_customer_wrote_cannot_play_tricks_on_the_operators_terminal() {
    let mut world = World::start().await;
    let trickster = world.customer(CHAT, "Ann\u{202e}nnA");
    let words = "before \u{202e}rtl\u{202c} \u{200b}zero \u{2066}iso\u{2069} \u{1b}[31mred\u{7} \u{85}after";
    let reference = world.submit(&trickster, "A quote", words).await;
    conflict(&world, &reference, "other \u{202e}words").await;
    let page = docket(&environment(&world), &["show", reference.as_str()]);
    let dangerous = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let found: Vec<char> = page.stdout.chars().filter(|c| dangerous(*c)).collect();
    assert!(found.is_empty(), "{found:?} in {}", page.stdout);
    assert!(page.stdout.contains("\\u{202e}rtl"), "{}", page.stdout);
    // JSON escapes nothing that JSON need not escape, and is the text itself.
    let shown = docket(&environment(&world), &["show", reference.as_str(), "--json"]).json();
    assert!(shown["submission"]["summary"].as_str().unwrap().contains("\u{202e}rtl"));
    world.settle().await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_exit_status_says_what_became_of_it() {
    let world = World::start().await;
    let known = world.record_by_hand(CHAT, "New gutters, please.").await;
    let good = environment(&world);
    let nowhere = Reference::derive(1, 2, 3);

    assert_eq!(docket(&good, &["show", known.as_str()]).status, 0);
    for json in [&[][..], &["--json"]] {
        let mut arguments = vec!["show", nowhere.as_str()];
        arguments.extend(json);
        let said = docket(&good, &arguments);
        let said = said.refused(1);
        assert!(said.starts_with(&format!("docket: no submission has the reference {nowhere}: ")), "{said}");
        assert!(said.contains("docket find"), "{said}");
    }
    let said = docket(&good, &["show", "DK-1234"]);
    assert_eq!(said.refused(2).lines().count(), 1, "{}", said.stderr);
    for arguments in [&[][..], &["shew"], &["show"], &["reviews", "--jsn"], &["show", known.as_str(), "more"]]
    {
        let said = docket(&good, arguments);
        assert_eq!((said.status, said.stdout.as_str()), (2, ""), "{arguments:?}");
    }
    for missing in [good.clone().without("SUBMISSIONS_TABLE"), good.clone().with("SUBMISSIONS_TABLE", " \n")]
    {
        let said = docket(&missing, &["reviews"]);
        assert!(said.refused(2).starts_with("docket: SUBMISSIONS_TABLE is "), "{}", said.stderr);
    }
    for missing in ["AWS_REGION", "AWS_SECRET_ACCESS_KEY"] {
        let said = docket(&good.clone().without(missing), &["reviews"]);
        assert!(said.refused(2).contains(missing), "{}", said.stderr);
        assert_eq!(said.stderr.lines().count(), 1);
    }
    let stopped = good.clone().with("AWS_ENDPOINT_URL", NOBODY);
    for arguments in [&["reviews"][..], &["reviews", "--json"], &["show", known.as_str()]] {
        let said = docket(&stopped, arguments);
        let expected = "docket: the table could not be read: connection_failed; nobody answers there: look at the network, \
                        AWS_REGION and AWS_ENDPOINT_URL";
        assert_eq!(said.refused(3), expected);
    }
    let help = docket(&good, &["--help"]);
    assert_eq!((help.status, help.stderr.as_str()), (0, ""));
    assert!(help.stdout.contains("Exit status"));
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_of_another_name_and_a_record_of_another_release_are_said_so() {
    let world = World::start().await;
    let reference = world.record_by_hand(CHAT, "New gutters, please.").await;
    let elsewhere = environment(&world).with("SUBMISSIONS_TABLE", "another-table");
    let said = docket(&elsewhere, &["reviews"]);
    // The other side was reached, and has no such thing.
    let words = "ResourceNotFoundException; there is no such table here";
    assert!(said.refused(1).contains(words), "{}", said.stderr);

    let old = world.damage_record(&reference, "write_state").await;
    world.repair_record(&reference, "write_state", AttributeValue::S("dreaming".into())).await;
    let said = docket(&environment(&world), &["show", reference.as_str()]);
    assert!(said.refused(1).contains("the record cannot be read"), "{}", said.stderr);
    world.repair_record(&reference, "write_state", old).await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_cannot_be_read_hides_no_review_not_even_its_own() {
    let mut world = World::start().await;
    let mut references = Vec::new();
    for chat_id in [CHAT, CHAT + 1] {
        let reference = world.record_by_hand(chat_id, "Never seen.").await;
        world.somebody_claims_the_write(&reference).await;
        world.write_meets(&reference, unknown()).await;
        references.push(reference);
        world.turn_seconds(1);
    }
    world.settle().await;
    let summary = world.damage_record(&references[0], "summary").await;
    let listed = docket(&environment(&world), &["reviews", "--json"]).json();
    for (line, reference) in listed.as_array().unwrap().iter().zip(&references) {
        assert_eq!(
            (&line["reference"], &line["reason"]),
            (&json!(reference), &json!("no_matching_row")),
            "{listed}"
        );
    }
    assert_eq!((&listed[0]["write"], &listed[1]["write"]), (&Value::Null, &json!("uncertain")));
    let page = docket(&environment(&world), &["reviews"]);
    assert_eq!(
        page.stdout.lines().filter(|line| line.contains("cannot be read")).count(),
        1,
        "{}",
        page.stdout
    );
    world.repair_record(&references[0], "summary", summary).await;
    world.check_rules().await;
}
