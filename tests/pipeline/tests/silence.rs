//! Rule 11: no secret and no customer's words in any log line, metric, queue body, reason or history, at any level.
//!
//! A test binary of its own: the real log subscriber is the whole process's, at its most talkative.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::Write;
use std::sync::{Arc, Mutex};

use docket_adapters::telemetry::{self, EmbeddedMeter, json_logs};
use docket_domain::metric::Metric;
use docket_domain::ports::Meter as _;
use docket_world::sheets::{Behaviour, FailureBody, On};
use docket_world::wire::{Fault, Plan, Side};
use docket_world::world::http_event;
use docket_world::{Settings, World};

const WORDS: &str = "Xylophone-repairs-for-Quartermain";
const NAME: &str = "Zebediah";

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_and_no_customers_words_leave_by_logs_queues_reasons_or_history() {
    let captured = Captured::default();
    let writer = captured.clone();
    let logs = json_logs(tracing::Level::TRACE, move || writer.clone());
    tracing::subscriber::set_global_default(logs).unwrap();

    let mut settings = Settings::default();
    settings.timing.append_timeout_ms = 500;
    settings.timing.send_timeout_ms = 500;
    let mut world = World::with(Arc::new(docket_world::engines::Engines::start().await), settings).await;
    let secret = docket_world::workers::WEBHOOK_SECRET;
    world.deliver_event(http_event(format!("{{\"x\":\"{WORDS}\"}}"), Some("wrong-secret-given"))).await;
    world.deliver_event(http_event(WORDS.to_owned(), Some(secret))).await;

    // Every fault at every outward side and at the store, one enquiry each.
    let places = [
        ("webhook", Side::DynamoDb, "TransactWriteItems"),
        ("webhook", Side::Sqs, "SendMessage"),
        ("writer", Side::DynamoDb, "UpdateItem"),
        ("writer", Side::Token, "token"),
        ("writer", Side::Sheets, "append"),
        ("writer", Side::Sheets, "batch_read"),
        ("acknowledger", Side::Telegram, "sendMessage"),
        ("acknowledger", Side::DynamoDb, "UpdateItem"),
    ];
    let mut chat = 7_100_000_000;
    for (worker, side, operation) in places {
        for fault in
            [Fault::FailBefore, Fault::LoseAnswer, Fault::Answer500After, Fault::Throttle, Fault::CrashAfter]
        {
            chat += 1;
            let customer = world.customer(chat, NAME);
            world.restart();
            world.wire.set_plan(Plan::at_operation(worker, side, operation, 1, fault).times(2));
            world.submit(&customer, "A quote", WORDS).await;
            world.work().await;
            world.wire.heal();
        }
    }
    // Answers that repeat what they were sent, refusals of the token, and answers that never come.
    let echo = format!(
        r#"{{"error":{{"code":400,"message":"Invalid values[0][3]: {WORDS}","status":"INVALID_ARGUMENT"}}}}"#
    );
    for behaviour in [
        Behaviour::answers(400, Vec::new(), &echo),
        Behaviour::answers(500, Vec::new(), &echo),
        Behaviour::fails(401, FailureBody::Json),
        Behaviour::writes_then_answers_html(),
        Behaviour::never_answers(),
    ] {
        chat += 1;
        let customer = world.customer(chat, NAME);
        world.sheets.next(On::Appends, behaviour);
        world.submit(&customer, "A quote", WORDS).await;
        world.work().await;
    }
    world.sheets.token().next(Behaviour::invalid_grant());
    world.sheets.token().revoke_all();
    let elsewhere = [("location", "https://elsewhere.example.org/")];
    for (status, headers, body) in [
        (401, &[][..], "{\"ok\":false,\"error_code\":401}".to_owned()),
        (404, &[], "{\"ok\":false,\"error_code\":404,\"description\":\"Not Found\"}".to_owned()),
        (302, &elsewhere, String::new()),
        (500, &[], WORDS.to_owned()),
    ] {
        chat += 1;
        let customer = world.customer(chat, NAME);
        world.telegram.answer_next_with(status, headers, &body);
        world.submit(&customer, "A quote", WORDS).await;
        world.work().await;
    }
    // Nobody there, and somebody who never answers.
    for (worker, side) in [
        ("writer", Side::Token),
        ("writer", Side::Sheets),
        ("acknowledger", Side::Telegram),
        ("writer", Side::DynamoDb),
        ("acknowledger", Side::DynamoDb),
        ("writer", Side::Sqs),
    ] {
        chat += 1;
        let customer = world.customer(chat, NAME);
        world.submit(&customer, "A quote", WORDS).await;
        world.restart();
        world.refuse_connections(worker, side, true).await;
        world.work().await;
        world.refuse_connections(worker, side, false).await;
    }
    chat += 1;
    world.wire.set_plan(Plan::at_operation("acknowledger", Side::Telegram, "sendMessage", 1, Fault::Hang));
    world.submit(&world.customer(chat, NAME), "A quote", WORDS).await;
    world.work().await;
    world.wire.heal();
    // A door that speaks no TLS.
    let over_tls = |url: &str| url.replace("http://", "https://");
    let (sheets, telegram) =
        (over_tls(&world.url("writer", Side::Sheets)), over_tls(&world.url("acknowledger", Side::Telegram)));
    world.deploy(|settings| {
        settings.sheets_endpoint = Some(sheets);
        settings.telegram_endpoint = Some(telegram);
    });
    chat += 1;
    world.submit(&world.customer(chat, NAME), "A quote", WORDS).await;
    world.work().await;
    world.deploy(|settings| settings.sheets_endpoint = None);
    world.work().await;
    world.deploy(|settings| settings.telegram_endpoint = None);
    world.settle().await;

    // Somebody puts the words themselves into the queues and into the schedule.
    let nobody = "DK-8M4T-K2QX-7RZ9";
    let poison = [
        WORDS.to_owned(),
        format!(r#"{{"summary":"{WORDS}"}}"#),
        format!(r#"{{"v":1,"reference":"{WORDS}"}}"#),
        format!(r#"{{"v":"{WORDS}","reference":"{nobody}"}}"#),
        format!(r#"{{"v":1,"reference":"{nobody}","summary":"{WORDS}"}}"#),
    ];
    let dropped = world.recorder().sum(Metric::MessageDropped);
    for body in &poison {
        world.put_into_both_queues(body).await;
        world.work().await;
        assert!(world.invoke_sweeper(body.parse().unwrap_or_else(|_| body.as_str().into())).await.is_some());
    }
    let dropped = world.recorder().sum(Metric::MessageDropped) - dropped;
    assert_eq!(dropped, 2.0 * poison.len() as f64, "each is consumed and counted");

    // A panic over a customer's words, as a text cut amiss makes it.
    telemetry::log_panics();
    let stumbled = std::panic::catch_unwind(|| {
        let cut = format!("é{WORDS}");
        cut[1..].len()
    });
    assert!(stumbled.is_err());

    let mut all = String::from_utf8(captured.0.lock().unwrap().clone()).unwrap();
    // The interesting lines are there: silence because nothing was logged proves nothing.
    for line in [
        "a request without the secret",
        "the store failed",
        "the rows will be read back",
        "a person must look",
        "acknowledged",
        "a message that can never be understood",
        "a panic",
    ] {
        assert!(all.contains(line), "nothing was logged of: {line}");
    }
    for call in world.wire.calls().iter().filter(|call| call.side == Side::Sqs) {
        all.push_str(&call.text());
    }
    // The lines of metrics, as each function writes them beside its log.
    let meter = EmbeddedMeter::new("any");
    let recorded = world.recorder().all();
    for (metric, value) in &recorded {
        meter.record(*metric, *value);
        all.push_str(&meter.line(world.now()).unwrap());
        all.push('\n');
    }
    assert!(!recorded.is_empty(), "nothing was counted");
    for item in world.items().await {
        for (name, value) in item {
            if !matches!(name.as_str(), "summary" | "contact" | "conflicts") {
                all.push_str(&format!("{name} {value:?}\n"));
            }
        }
    }
    let key = world.google_credentials();
    let pem: serde_json::Value = serde_json::from_str(key).unwrap();
    let pem = pem["private_key"].as_str().unwrap();
    let token_key = docket_world::workers::BOT_TOKEN.split_once(':').unwrap().1;
    for forbidden in [
        WORDS,
        "Quartermain",
        NAME,
        secret,
        "wrong-secret-given",
        token_key,
        &pem[40..80],
        "Bearer ",
        "assertion=",
        "eyJ",
        "ya29",
    ] {
        let found = all.lines().find(|line| line.contains(forbidden));
        assert!(found.is_none(), "{forbidden} stands in: {found:?}");
    }
    world.check_rules().await;
}
