//! The real executables, as a stranger drives them: the Lambda Runtime API, environment variables, and nothing else.
//!
//! Time is real here, so timings are as small as the settings allow.

use std::sync::Arc;
use std::time::Duration;

use docket_domain::moment::Moment;
use docket_domain::reference::Reference;
use docket_domain::status::{AckState, ReviewReason, WriteReview, WriteState};
use docket_world::engines::Engines;
use docket_world::runtime_api::Invoked;
use docket_world::sheets::{Behaviour, On};
use docket_world::wire::Side;
use docket_world::workers::{BOT_TOKEN, NOBODY, WEBHOOK_SECRET};
use docket_world::world::http_event;
use docket_world::{Settings, World};
use serde_json::{Value, json};

use crate::executables::{Environment, FUNCTIONS};
use crate::stage::{Process, Stage, delivery, until};

const CHAT: i64 = 7_100_000_001;
const WORDS: &str = "Hidden gutters, please.";

const SETTLE_SECONDS: u64 = 5;

/// The smallest timings that the contract promises to take.
pub(crate) fn rehearsal(function: &str, environment: Environment) -> Environment {
    match function {
        "writer" => environment
            .with("SETTLE_SECONDS", SETTLE_SECONDS.to_string())
            .with("APPEND_TIMEOUT_MS", "1500")
            .with("LEASE_SECONDS", "12"),
        "acknowledger" => environment.with("SEND_TIMEOUT_MS", "1500").with("LEASE_SECONDS", "12"),
        _ => environment,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_story_goes_through_the_four_executables() {
    let mut stage = Stage::set(|function, environment| {
        let environment = rehearsal(function, environment).with("AWS_LAMBDA_LOG_LEVEL", "TRACE");
        // However the secrets were pasted.
        match function {
            "webhook" => environment.with("WEBHOOK_SECRET", format!(" {WEBHOOK_SECRET}\n")),
            "acknowledger" => environment.with("BOT_TOKEN", format!("{BOT_TOKEN}\r\n")),
            _ => environment,
        }
    })
    .await;
    let ann = stage.world.customer(CHAT, "Ann");
    let first = stage.submit(&ann, WORDS).await;
    assert_eq!(stage.poll_writer().await.done, 1);
    assert_eq!(stage.poll_acknowledger().await.done, 1);
    let record = stage.world.record(&first).await;
    assert!(record.finished(), "{record:?}");
    assert_eq!(stage.world.rows_of(&first), 1);
    assert_eq!(stage.world.acknowledgements(CHAT), [format!("Your enquiry {first} is recorded.")]);

    // An answer that is lost, and one that says nothing in time: read back, not appended again.
    let lost = [Behaviour::writes_then_hangs_up(), Behaviour::writes_then_never_answers()];
    for (number, behaviour) in lost.into_iter().enumerate() {
        stage.world.sheets.next(On::Appends, behaviour);
        let reference = stage.submit(&ann, WORDS).await;
        stage.poll_writer().await;
        let state = stage.world.record(&reference).await.write.state;
        assert!(matches!(state, WriteState::Uncertain { .. }), "{number}: {state:?}");
        stage.settle(Duration::from_secs(30)).await;
        let record = stage.world.record(&reference).await;
        assert!(record.finished() && record.write.lookups >= 1, "{record:?}");
        assert_eq!(stage.world.rows_of(&reference), 1);
    }
    assert_eq!(stage.world.acknowledgements(CHAT).len(), 3);
    assert_eq!(stage.world.wire.count(Side::Sheets, "append"), 3);
    let summary = stage.sweep().await;
    assert_eq!(
        summary,
        json!({
            "rung": {"write": 0, "acknowledge": 0, "missed": 0},
            "open_reviews": 0, "oldest_review_seconds": 0, "oldest_due_seconds": 0,
        })
    );
    stage.world.check_rules().await;
    for (name, process) in stage.processes() {
        says_what_it_may(name, process);
    }
}

/// Each line is JSON: a log line with its level and time, or a whole line of metrics. Nothing secret, nobody's words.
pub(crate) fn says_what_it_may(name: &str, process: &Process) {
    let (stdout, stderr) = (process.executable.stdout(), process.executable.stderr());
    assert_eq!(stderr, Vec::<String>::new(), "{name}");
    let mut kinds = (0, 0);
    for line in &stdout {
        let parsed: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{name}: no JSON: {line}"));
        if parsed.get("_aws").is_some() {
            kinds.0 += 1;
            let directive = &parsed["_aws"]["CloudWatchMetrics"][0];
            assert_eq!(
                (&directive["Namespace"], &directive["Dimensions"]),
                (&json!("Docket"), &json!([["Function"]]))
            );
            assert!(parsed["_aws"]["Timestamp"].is_u64() && parsed["Function"] == name, "{line}");
            for metric in directive["Metrics"].as_array().unwrap() {
                assert!(parsed[metric["Name"].as_str().unwrap()].is_number(), "{line}");
            }
        } else {
            kinds.1 += 1;
            let level = parsed["level"].as_str().unwrap();
            assert!(["TRACE", "DEBUG", "INFO", "WARN", "ERROR"].contains(&level), "{line}");
            let timestamp = parsed["timestamp"].as_str().unwrap();
            assert!(Moment::parse(timestamp).is_some() && timestamp.ends_with('Z'), "{line}");
            assert!(parsed["message"].is_string(), "{line}");
        }
        shows_no_secret(name, line);
    }
    assert!(kinds.0 > 0 && kinds.1 > 0, "{name}: {kinds:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_killed_in_mid_append_leaves_one_row_or_none_and_never_two() {
    for (behaviour, rows) in [(Behaviour::writes_then_never_answers(), 1), (Behaviour::never_answers(), 0)] {
        let mut settings = Settings::default();
        settings.timing.settle_seconds = SETTLE_SECONDS;
        let world = World::with(Arc::new(Engines::start().await), settings).await;
        let mut stage = Stage::set_in(world, |function, environment| {
            rehearsal(function, environment).with("LEASE_SECONDS", "6")
        })
        .await;
        let ann = stage.world.customer(CHAT, "Ann");
        let reference = stage.submit(&ann, WORDS).await;
        stage.world.sheets.next(On::Appends, behaviour);
        let taken = stage.world.write_source.take().await.unwrap();
        let event = taken.event().clone();
        let wire = stage.world.wire.clone();
        {
            let writer = stage.process("writer");
            let invoked = writer.api.invoke(&event, Duration::from_secs(60));
            let arrives = until("the append", || wire.count(Side::Sheets, "append") == 1);
            tokio::select! {
                ended = invoked => panic!("it should have been killed before: {ended:?}"),
                () = arrives => writer.executable.kill(),
            }
            writer.start_again();
        }
        // The same message again, at once: its lease still runs, and nothing happens.
        let again = stage.process("writer").invoke(&event).await;
        assert_eq!(again, Invoked::Answered(json!({"batchItemFailures": []})));
        let state = stage.world.record(&reference).await.write.state;
        assert!(matches!(state, WriteState::Attempting { .. }), "{state:?}");
        stage.world.write_source.settle(taken, &delivery(again));

        stage.settle(Duration::from_secs(40)).await;
        let record = stage.world.record(&reference).await;
        assert_eq!(stage.world.rows_of(&reference), rows);
        assert_eq!(stage.world.wire.count(Side::Sheets, "append"), 1);
        if rows == 1 {
            assert!(record.finished(), "{record:?}");
            assert_eq!(stage.world.acknowledgements(CHAT).len(), 1);
        } else {
            assert_eq!(record.reviews()[0].reason, ReviewReason::Write(WriteReview::NoMatchingRow));
            assert_eq!(stage.world.acknowledgements(CHAT).len(), 0);
        }
        stage.world.check_rules().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_of_another_kind_or_of_none_is_an_error_and_the_process_lives_on() {
    let mut stage = Stage::set(rehearsal).await;
    let ann = stage.world.customer(CHAT, "Ann");
    let http = http_event(ann.text("/new").to_string(), Some(WEBHOOK_SECRET));
    let queue =
        json!({"Records": [{"messageId": "m-1", "body": "{\"v\":1,\"reference\":\"DK-8M4T-K2QX-7RZ9\"}"}]});
    let garbage = [
        b"".to_vec(),
        b"no JSON at all".to_vec(),
        b"{\"Records\":".to_vec(),
        b"null".to_vec(),
        b"[]".to_vec(),
        b"\"text\"".to_vec(),
        b"{}".to_vec(),
        b"{\"Records\":[{}]}".to_vec(),
        vec![0xff, 0xfe, 0x00],
    ];
    for name in FUNCTIONS {
        let foreign = if name == "webhook" { &queue } else { &http };
        let mut events = garbage.to_vec();
        events.push(foreign.to_string().into_bytes());
        for body in events {
            let shown = String::from_utf8_lossy(&body).into_owned();
            let process = stage.process(name);
            let invoked = process.api.invoke_raw(body, Duration::from_secs(20)).await;
            match (name, &invoked) {
                // Whatever the schedule sends, it is a reason to sweep; what is no JSON the runtime itself turns away.
                ("sweeper", Invoked::Answered(summary)) => assert!(summary["rung"].is_object(), "{summary}"),
                ("sweeper", other) => {
                    let is_json = serde_json::from_str::<Value>(&shown).is_ok();
                    assert!(
                        !is_json && matches!(other, Invoked::Failed(_)),
                        "no sweep at {shown}: {other:?}"
                    );
                }
                // Nothing without the secret.
                ("webhook", Invoked::Answered(answer)) => assert_eq!(answer["statusCode"], 401, "{shown}"),
                (_, Invoked::Failed(_)) => {}
                (_, other) => panic!("{name} took {shown} for an event of its own: {other:?}"),
            }
            assert!(process.executable.lives(), "{name} died of {shown}");
        }
    }
    assert_eq!(stage.world.records().await.len(), 0);
    // All of them still do their work.
    let reference = stage.submit(&ann, WORDS).await;
    stage.poll_writer().await;
    stage.poll_acknowledger().await;
    stage.sweep().await;
    let state = stage.world.record(&reference).await.acknowledgement.unwrap().state;
    assert!(matches!(state, AckState::Confirmed { .. }), "{state:?}");
    for (name, process) in stage.processes() {
        assert!(process.executable.stderr().is_empty(), "{name}: {:?}", process.executable.stderr());
    }
    stage.world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_good_and_bad_messages_is_answered_message_by_message() {
    let mut stage = Stage::set(rehearsal).await;
    let reference = stage.world.record_by_hand(CHAT, WORDS).await;
    let event = json!({"Records": [
        {"messageId": "m-1", "body": "no ring at all", "attributes": {"MessageGroupId": "sheet"}},
        {"messageId": "m-2", "body": json!({"v": 1, "reference": "DK-8M4T-K2QX-7RZ9", "more": true}).to_string()},
        {"messageId": "m-3", "body": json!({"v": 1, "reference": reference, "unknown": [1, 2]}).to_string()},
    ]});
    for name in ["writer", "acknowledger"] {
        let answered = stage.process(name).invoke(&event).await;
        assert_eq!(answered, Invoked::Answered(json!({"batchItemFailures": []})), "{name}");
    }
    let state = stage.world.record(&reference).await.acknowledgement.unwrap().state;
    assert!(matches!(state, AckState::Confirmed { .. }), "{state:?}");
    for name in ["writer", "acknowledger"] {
        // What a process wrote may be read a moment after it has answered.
        let executable = &mut stage.process(name).executable;
        until("the metric of two dropped messages", || {
            let logged = executable.logged();
            let dropped: f64 = logged.iter().filter_map(|line| line["MessageDropped"].as_f64()).sum();
            dropped == 2.0
        })
        .await;
    }
    stage.world.check_rules().await;
}

/// An address behind TLS that does not answer: a closed port, or one at which the handshake begins and breaks.
fn secure(url: &str, broken: bool) -> String {
    if broken { url.replace("http://", "https://") } else { NOBODY.replace("http", "https") }
}

pub(crate) fn ring_for(reference: &Reference) -> Value {
    json!({"Records": [{"messageId": "m-1", "body": json!({"v": 1, "reference": reference}).to_string()}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn google_and_telegram_behind_tls_that_breaks_cost_no_enquiry() {
    for broken in [false, true] {
        let mut stage = Stage::set(rehearsal).await;
        let reference = stage.world.record_by_hand(CHAT, WORDS).await;
        let token_url = stage.world.url("writer", Side::Token);
        let key = stage.world.google_credentials().replace(&token_url, &secure(&token_url, broken));
        let environment = crate::executables::environment_of("writer", &stage.world)
            .with("GOOGLE_CREDENTIALS", key)
            .with("SHEETS_ENDPOINT", secure(&stage.world.url("writer", Side::Sheets), broken));
        let mut writer = Process::start("writer", environment).await;
        let answered = writer.invoke(&ring_for(&reference)).await;
        assert_eq!(answered, Invoked::Answered(json!({"batchItemFailures": []})));
        let state = stage.world.record(&reference).await.write.state;
        let WriteState::Pending { cause: Some(cause), .. } = &state else { panic!("{state:?}") };
        assert_eq!(cause.0, if broken { "token_tls" } else { "token_connect" });
        fails_cleanly(&mut writer);

        // Another one, written by the writer that finds its way.
        let other = stage.world.record_by_hand(CHAT + 1, WORDS).await;
        stage.world.ring_for_the_write(std::slice::from_ref(&other)).await;
        stage.poll_writer().await;
        let telegram = secure(&stage.world.url("acknowledger", Side::Telegram), broken);
        let environment = crate::executables::environment_of("acknowledger", &stage.world)
            .with("TELEGRAM_ENDPOINT", telegram);
        let mut acknowledger = Process::start("acknowledger", environment).await;
        let answered = acknowledger.invoke(&ring_for(&other)).await;
        assert_eq!(answered, Invoked::Answered(json!({"batchItemFailures": []})));
        let state = stage.world.record(&other).await.acknowledgement.unwrap().state;
        let AckState::Pending { cause: Some(cause), .. } = &state else { panic!("{state:?}") };
        assert_eq!(cause.0, if broken { "tls" } else { "connect" });
        fails_cleanly(&mut acknowledger);
        stage.world.check_rules().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn aws_behind_tls_that_breaks_is_a_clean_failure_of_each_function() {
    let stage = Stage::set(rehearsal).await;
    let reference = stage.world.record_by_hand(CHAT, WORDS).await;
    let places = [false, true].into_iter().flat_map(|broken| FUNCTIONS.map(|name| (broken, name)));
    let runs = places.map(|(broken, name)| {
        let (world, ring) = (&stage.world, ring_for(&reference));
        async move {
            let aws = secure(&world.url(name, Side::DynamoDb), broken);
            let environment = crate::executables::environment_of(name, world)
                .with("AWS_ENDPOINT_URL", &aws)
                .with("AWS_ENDPOINT_URL_SQS", &aws);
            let mut process = Process::start(name, environment).await;
            let update = world.customer(CHAT, "Ann").text("/new").to_string();
            match name {
                "webhook" => {
                    let answered = process.invoke(&http_event(update, Some(WEBHOOK_SECRET))).await;
                    let refused = matches!(&answered, Invoked::Answered(a) if a["statusCode"] == 503);
                    assert!(refused, "{answered:?}");
                }
                "sweeper" => {
                    let failed = process.invoke(&json!({})).await;
                    assert!(matches!(failed, Invoked::Failed(_)), "{failed:?}");
                }
                _ => {
                    let returned = json!({"batchItemFailures": [{"itemIdentifier": "m-1"}]});
                    assert_eq!(process.invoke(&ring).await, Invoked::Answered(returned), "{name}");
                }
            }
            fails_cleanly(&mut process);
        }
    });
    futures::future::join_all(runs).await;
    stage.world.check_rules().await;
}

fn fails_cleanly(process: &mut Process) {
    assert!(process.executable.lives());
    assert_eq!(process.executable.stderr(), Vec::<String>::new());
    for line in process.executable.stdout() {
        assert!(!line.contains("panicked"), "{line}");
        shows_no_secret("a failing process", &line);
    }
}

fn shows_no_secret(name: &str, line: &str) {
    for secret in [
        WORDS,
        "Hidden",
        "Ann",
        "world-bot-token",
        WEBHOOK_SECRET,
        "PRIVATE KEY",
        "ya29",
        "eyJ",
        "hidden-aws",
    ] {
        assert!(!line.contains(secret), "{name} shows {secret}: {line}");
    }
}
