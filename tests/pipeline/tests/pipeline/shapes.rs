//! What `--json` prints is what the schemas in `infra/operator/schema` say, of every command that takes it.
//!
//! The schemas use few words of JSON Schema, and those few are understood here; any other word is an error, so that no
//! schema promises what nobody checks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clap::CommandFactory as _;
use docket_domain::moment::Moment;
use docket_domain::reference::Reference;
use docket_domain::status::{AckEvent, Cause, Finding, WriteEvent, WriteOrder};
use docket_world::World;
use docket_world::sheets::{Behaviour, On};
use docket_world::workers::NOBODY;
use serde_json::{Value, json};

use crate::executables::{Environment, environment_of_operator};
use crate::operator::{conflict, docket, unknown};

/// All schemas, by their file's name.
struct Schemas(BTreeMap<String, Value>);

impl Schemas {
    fn read() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../infra/operator/schema");
        let file = |entry: std::fs::DirEntry| {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, serde_json::from_str(&text).unwrap_or_else(|error| panic!("{:?}: {error}", entry.path())))
        };
        Self(std::fs::read_dir(folder).unwrap().map(|entry| file(entry.unwrap())).collect())
    }

    /// All that does not fit; nothing when the value is as the schema of this name says.
    fn misfits(&self, name: &str, value: &Value) -> Vec<String> {
        let file = format!("{name}.json");
        let schema = self.0.get(&file).unwrap_or_else(|| panic!("there is no schema {file}"));
        let mut misfits = Vec::new();
        self.check(&file, schema, value, name, &mut misfits);
        misfits
    }

    fn check(&self, file: &str, schema: &Value, value: &Value, at: &str, misfits: &mut Vec<String>) {
        let Value::Object(words) = schema else { panic!("{file}: {schema} is no schema") };
        for (word, says) in words {
            let fits = match word.as_str() {
                "$schema" | "$defs" | "description" | "required" | "properties" => true,
                "$ref" => {
                    let (other, place) =
                        says.as_str().unwrap().split_once('#').unwrap_or((says.as_str().unwrap(), ""));
                    let other = if other.is_empty() { file } else { other };
                    let found = self.0.get(other).and_then(|schema| schema.pointer(place));
                    let found = found.unwrap_or_else(|| panic!("{file}: {says} is nowhere"));
                    self.check(other, found, value, at, misfits);
                    true
                }
                "type" => match says.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "boolean" => value.is_boolean(),
                    "null" => value.is_null(),
                    other => panic!("{file}: the type {other} is not understood"),
                },
                "const" => value == says,
                "enum" => says.as_array().unwrap().contains(value),
                "minimum" => value.as_i64() >= says.as_i64(),
                // The two texts that have a form.
                "pattern" => value.as_str().is_some_and(|text| text.parse::<Reference>().is_ok()),
                "format" => {
                    value.as_str().is_some_and(|text| text.ends_with('Z') && Moment::parse(text).is_some())
                }
                "anyOf" => says.as_array().unwrap().iter().any(|one| {
                    let mut misfits = Vec::new();
                    self.check(file, one, value, at, &mut misfits);
                    misfits.is_empty()
                }),
                "items" => {
                    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(file, says, item, &format!("{at}[{number}]"), misfits);
                    }
                    true
                }
                "additionalProperties" => {
                    let named = |name: &String| schema["properties"].get(name).is_some();
                    for (name, member) in
                        value.as_object().into_iter().flatten().filter(|(name, _)| !named(name))
                    {
                        match says {
                            Value::Bool(false) => misfits.push(format!("{at}.{name} has no place")),
                            says => self.check(file, says, member, &format!("{at}.{name}"), misfits),
                        }
                    }
                    true
                }
                other => panic!("{file}: {other} is not understood"),
            };
            if !fits {
                misfits.push(format!("{at}: {value} is not {word} {says}"));
            }
        }
        let Value::Object(members) = value else { return };
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !members.contains_key(name) {
                misfits.push(format!("{at}.{name} is missing"));
            }
        }
        for (name, says) in schema["properties"].as_object().into_iter().flatten() {
            if let Some(member) = members.get(name) {
                self.check(file, says, member, &format!("{at}.{name}"), misfits);
            }
        }
    }
}

/// That a value is as the schema of this name says.
pub(crate) fn fits(name: &str, value: &Value) {
    assert_eq!(Schemas::read().misfits(name, value), Vec::<String>::new(), "{value:#}");
}

/// Every command that takes `--json`, and the two whose output has another shape still.
fn printed_shapes() -> BTreeSet<String> {
    let mut found: BTreeSet<String> = ["resolve-reason".to_owned(), "export".to_owned()].into();
    let mut open = vec![(String::new(), docket::cli::Cli::command())];
    while let Some((name, command)) = open.pop() {
        if command.get_arguments().any(|argument| argument.get_long() == Some("json")) {
            found.insert(name.clone());
        }
        for below in command.get_subcommands() {
            let dash = if name.is_empty() { "" } else { "-" };
            open.push((format!("{name}{dash}{}", below.get_name()), below.clone()));
        }
    }
    found
}

#[test]
fn every_command_that_prints_json_has_a_schema_and_every_object_in_it_is_closed() {
    fn closed(file: &str, schema: &Value) {
        if schema["type"] == "object" {
            assert!(schema.get("additionalProperties").is_some(), "{file}: {schema} takes anything");
        }
        match schema {
            Value::Object(members) => members.values().for_each(|below| closed(file, below)),
            Value::Array(members) => members.iter().for_each(|below| closed(file, below)),
            _ => {}
        }
    }
    let schemas = Schemas::read().0;
    let files: BTreeSet<String> =
        schemas.keys().map(|file| file.strip_suffix(".json").unwrap().to_owned()).collect();
    assert_eq!(files, printed_shapes());
    for (file, schema) in &schemas {
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{file}");
        closed(file, schema);
    }
}

/// A run whose output is checked against the schema of this name.
fn shaped(schemas: &Schemas, seen: &mut BTreeSet<String>, name: &str, ran: &crate::operator::Ran) -> Value {
    let value: Value = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("{name}: {error}: {} {}", ran.stdout, ran.stderr));
    assert_eq!(schemas.misfits(name, &value), Vec::<String>::new(), "{value:#}");
    seen.insert(name.to_owned());
    value
}

const CHAT: i64 = 7_100_000_001;

/// Enquiries in many states.
async fn in_many_states(world: &mut World) -> Vec<Reference> {
    let mut references = Vec::new();
    // Confirmed by an answer, and told.
    references.push(world.record_by_hand(CHAT, "New gutters, please.").await);
    world.ring_for_the_write(&references).await;
    world.settle().await;
    // Perhaps told, with another content too.
    let perhaps = world.record_by_hand(CHAT + 1, "Perhaps told.").await;
    world.ring_for_the_write(std::slice::from_ref(&perhaps)).await;
    world.telegram.answer_next(500, "");
    world.settle().await;
    conflict(world, &perhaps, "Other words.").await;
    references.push(perhaps);
    // Read back.
    let lookup = |finding| WriteEvent::LookedUp { finding, started_at: world.now(), settle_seconds: 0 };
    let by_hand = |number: i64| world.record_by_hand(CHAT + number, "By hand.");
    let mut lost = Vec::new();
    for number in 2..6 {
        let reference = by_hand(number).await;
        world.somebody_claims_the_write(&reference).await;
        world.write_meets(&reference, unknown()).await;
        lost.push(reference);
    }
    let range = "'Intake'!A7:F7".to_owned();
    world.write_meets(&lost[0], lookup(Finding::OneEqual { range: range.clone() })).await;
    world.somebody_claims_the_acknowledgement(&lost[0]).await;
    world.acknowledgement_meets(&lost[0], AckEvent::Refused { cause: Cause::new("http_403") }).await;
    // In review; one by an operator's word, one given up.
    world.write_meets(&lost[1], lookup(Finding::OneDiffers { range })).await;
    world.write_meets(&lost[2], lookup(Finding::Several { rows: 2 })).await;
    let why = || "a test".to_owned();
    world.write_meets(&lost[2], WriteEvent::Ordered(WriteOrder::Recorded { why: why() })).await;
    world.write_meets(&lost[3], lookup(Finding::OneDiffers { range: "x".into() })).await;
    world.write_meets(&lost[3], WriteEvent::Ordered(WriteOrder::Abandon { why: why() })).await;
    references.extend(lost);
    references.push(by_hand(6).await);
    let claimed = by_hand(7).await;
    world.somebody_claims_the_write(&claimed).await;
    references.push(claimed);
    references
}

#[tokio::test(flavor = "multi_thread")]
async fn what_each_command_prints_for_scripts_is_as_its_schema_says() {
    let mut world = World::start().await;
    let references = in_many_states(&mut world).await;
    let following = world.clock.follow_real_time();
    let (schemas, mut seen) = (Schemas::read(), BTreeSet::new());
    let there = environment_of_operator(&world);
    let mut run = |name: &str, arguments: &[&str], environment: &Environment| {
        shaped(&schemas, &mut seen, name, &docket(environment, arguments))
    };

    let mut states = BTreeSet::new();
    for reference in &references {
        let shown = run("show", &["show", reference.as_str(), "--json"], &there);
        states.insert(format!("{} {}", shown["write"]["state"], shown["acknowledgement"]["state"]));
    }
    assert!(states.len() >= 7, "{states:?}");
    world.damage_record(&references[6], "summary").await;
    assert_eq!(run("reviews", &["reviews", "--json"], &there).as_array().unwrap().len(), 3);
    let recheck = |reference: usize| ["recheck", references[reference].as_str(), "--json"];
    assert_eq!(run("recheck", &recheck(0), &there)["found"]["kind"], "one_equal_row");
    assert_eq!(run("recheck", &recheck(3), &there)["found"]["kind"], "no_row");
    for (row, words) in [(4, "other words"), (5, "and a copy")] {
        let of_ours = [references[3].as_str(), "2026-03-01T09:15:00Z", "A quote", words, "-", "7"];
        world.sheets.put_row("Intake", row, &of_ours.map(|cell| json!(cell)));
        let kind = if row == 4 { "one_row_differs" } else { "several_rows" };
        assert_eq!(run("recheck", &recheck(3), &there)["found"]["kind"], kind);
    }
    world.sheets.from_now_on(On::Reads, Behaviour::permission_denied());
    let blind = docket(&there, &recheck(3));
    assert!(blind.status != 0 || blind.json()["found"]["kind"] == "not_readable", "{}", blind.stderr);
    world.sheets.heal();
    let because = ["--because", "a test", "--json"];
    let of_conflicts = ["resolve", "--reason", "conflict", "--keep-first"];
    run("resolve-reason", &[&of_conflicts[..], &because].concat(), &there);
    let leave = ["resolve", references[1].as_str(), "--leave"];
    assert_eq!(run("resolve", &[&leave[..], &because].concat(), &there)["found"], Value::Null);
    run("resolve-reason", &[&of_conflicts[..], &because, &["--apply"]].concat(), &there);
    assert_eq!(
        run("find", &["find", "--json"], &Environment::default().and(&there)).as_array().unwrap().len(),
        7
    );
    let stats = run("stats", &["stats", "--json"], &there);
    assert_eq!(stats["reviews"]["several_rows"]["open"], 1);
    let erase = ["erase", "--reference", references[0].as_str(), "--yes"];
    let erased = run("erase", &[&erase[..], &because].concat(), &there);
    assert_eq!(erased[0]["rows"].as_array().unwrap().len(), 1);
    run("show", &["show", references[0].as_str(), "--json"], &there);
    let audit = run("audit", &["audit", "--json"], &there);
    assert!(audit["oddities"].as_array().unwrap().len() >= 3, "{audit}");
    let doctor = run("doctor", &["doctor", "--json"], &there);
    let results: BTreeSet<&str> =
        doctor.as_array().unwrap().iter().filter_map(|check| check["result"].as_str()).collect();
    assert!(results.contains("ok") && results.contains("wrong"), "{doctor}");
    let telegram = world.url("acknowledger", docket_world::wire::Side::Telegram);
    let there = there.with("TELEGRAM_ENDPOINT", telegram).with("WEBHOOK_URL", format!("{NOBODY}/telegram"));
    run("webhook-info", &["webhook", "info", "--json"], &there);
    let address = "https://docket.example.org/telegram";
    let there = there.with("WEBHOOK_URL", address);
    assert_eq!(run("webhook-set", &["webhook", "set", "--now", "--json"], &there)["url"], address);
    run("webhook-delete", &["webhook", "delete", "--json"], &there);
    assert_eq!(run("sheet-init", &["sheet", "init", "--json"], &there)["made"], json!([]));
    let elsewhere = there.clone().with("SHEET_NAME", "Enquiries");
    assert_eq!(run("sheet-init", &["sheet", "init", "--json"], &elsewhere)["made"], json!(["tab", "header"]));
    let watched = run("watch", &["watch", "--once", "--json"], &there);
    assert_eq!(watched["due"].as_array().unwrap().len(), 3);
    run("canary", &["canary", "--json"], &there.with("OPERATOR_CHAT", "7100000099"));
    let lines = docket(&environment_of_operator(&world), &["export", "--format", "json-lines"]).stdout;
    for line in lines.lines() {
        assert_eq!(schemas.misfits("export", &serde_json::from_str(line).unwrap()), Vec::<String>::new());
    }
    assert_eq!(lines.lines().count(), 7);
    seen.insert("export".into());
    assert_eq!(seen, printed_shapes(), "a shape that nothing was held against");
    following.abort();
    world.is_not_checked("most of these states were put together by hand");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shape_that_drifts_is_noticed() {
    let mut world = World::start().await;
    let references = in_many_states(&mut world).await;
    let environment = environment_of_operator(&world);
    let good = docket(&environment, &["show", references[1].as_str(), "--json"]).json();
    let schemas = Schemas::read();
    assert_eq!(schemas.misfits("show", &good), Vec::<String>::new());
    for (place, drifted) in [
        ("/reference", json!("8M4T")),
        ("/submission/chat_id", json!("7")),
        ("/submission/confirmed_at", json!("2026-03-01T10:15:00+01:00")),
        ("/write/state", json!("dreaming")),
        ("/write/attempts", json!(-1)),
        ("/write/evidence/kind", json!("operator")),
        ("/acknowledgement/review", json!({"reason": "ack_uncertain"})),
        ("/conflicts/0", json!({})),
        ("/history/0/at", Value::Null),
        ("/history/0", json!({"at": "2026-03-01T09:15:00Z", "by": "webhook", "step": "x", "more": 1})),
        ("/due_at", json!(0)),
        ("/write", json!({})),
    ] {
        let mut shown = good.clone();
        *shown.pointer_mut(place).unwrap_or_else(|| panic!("{place}: {good:#}")) = drifted;
        assert_ne!(schemas.misfits("show", &shown), Vec::<String>::new(), "{place}");
    }
    let mut more = good.clone();
    more["more"] = json!(1);
    assert_eq!(schemas.misfits("show", &more), ["show.more has no place"]);
    world.is_not_checked("most of these states were put together by hand");
}
