//! Settings, as the executables read them: what is missing or wrong stops a function at start, by name and in one line.
//!
//! While a function does not start nothing is answered, so nothing is lost.

use std::time::Duration;

use docket_domain::moment::Moment;
use docket_world::World;
use docket_world::engines::REGION;
use docket_world::parameters::FakeParameters;
use docket_world::runtime_api::Invoked;
use docket_world::telegram::Customer;
use docket_world::wire::{Backend, Gate, Side};
use docket_world::workers::{BOT_TOKEN, NOBODY, WEBHOOK_SECRET};
use docket_world::world::http_event;
use serde_json::{Value, json};

use crate::executables::{Environment, FUNCTIONS, environment_of};
use crate::stage::{Process, until};

const CHAT: i64 = 7_100_000_001;

fn required(function: &str) -> &'static [&'static str] {
    match function {
        "webhook" => {
            &["SUBMISSIONS_TABLE", "CONVERSATIONS_TABLE", "WRITE_QUEUE_URL", "TELEGRAM_BOT", "WEBHOOK_SECRET"]
        }
        "writer" => &[
            "SUBMISSIONS_TABLE",
            "ACKNOWLEDGE_QUEUE_URL",
            "GOOGLE_CREDENTIALS",
            "SPREADSHEET_ID",
            "SHEET_NAME",
        ],
        "acknowledger" => &["SUBMISSIONS_TABLE", "BOT_TOKEN"],
        _ => &["SUBMISSIONS_TABLE", "WRITE_QUEUE_URL", "ACKNOWLEDGE_QUEUE_URL"],
    }
}

fn optional(function: &str) -> &'static [&'static str] {
    match function {
        "webhook" => &["WEBHOOK_SECRET_PREVIOUS", "CATALOG"],
        "writer" => {
            &["SHEETS_ENDPOINT", "RETENTION_DAYS", "SETTLE_SECONDS", "APPEND_TIMEOUT_MS", "LEASE_SECONDS"]
        }
        "acknowledger" => {
            &["TELEGRAM_ENDPOINT", "RETENTION_DAYS", "SEND_TIMEOUT_MS", "LEASE_SECONDS", "CATALOG"]
        }
        _ => &[],
    }
}

/// Starts a function that must not stay. The sentence that says why.
pub(crate) async fn refusal(function: &'static str, environment: Environment) -> String {
    let process = Process::start(function, environment).await;
    let (polls, init_errors) = (process.api.polls(), process.api.init_errors().len());
    let ended = process.executable.ended(Duration::from_secs(60));
    assert!(!ended.status.success(), "{ended:?}");
    assert_eq!((polls, init_errors), (0, 0));
    assert_eq!((ended.stdout.len(), ended.stderr.as_slice()), (1, &[] as &[String]), "{ended:?}");
    let line = &ended.stdout[0];
    for secret in ["hidden", "world-bot-token", WEBHOOK_SECRET, "PRIVATE KEY", "MII"] {
        assert!(!line.contains(secret), "{line}");
    }
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["level"], "ERROR");
    assert!(Moment::parse(line["timestamp"].as_str().unwrap()).is_some());
    line["cause"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_setting_that_is_missing_empty_or_blank_stops_its_function_by_name() {
    let world = World::start().await;
    for function in FUNCTIONS {
        let good = environment_of(function, &world);
        for name in required(function).iter().chain(&["AWS_REGION"]) {
            let missing = refusal(function, good.clone().without(name)).await;
            assert!(missing.starts_with(&format!("{name} is missing")), "{missing}");
        }
        for name in required(function).iter().chain(optional(function)) {
            for value in ["", " \t\n"] {
                let empty = refusal(function, good.clone().with(name, value)).await;
                assert_eq!(empty, format!("{name} is empty"));
            }
        }
    }
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_setting_stops_its_function_by_name_and_its_value_is_not_shown() {
    let world = World::start().await;
    for (function, name, value) in [
        ("webhook", "WEBHOOK_SECRET", "hidden secret with blanks"),
        ("webhook", "WEBHOOK_SECRET_PREVIOUS", "hidden,hidden"),
        ("webhook", "TELEGRAM_BOT", "@hidden"),
        ("webhook", "CATALOG", "{\"request_types\": \"hidden"),
        ("webhook", "WRITE_QUEUE_URL", "hidden"),
        ("writer", "GOOGLE_CREDENTIALS", "hidden"),
        ("writer", "GOOGLE_CREDENTIALS", "{\"type\":\"service_account\",\"private_key\":\"hidden\"}"),
        ("writer", "GOOGLE_CREDENTIALS", "{\"type\":\"external_account\",\"audience\":\"hidden\"}"),
        ("writer", "SPREADSHEET_ID", "https://docs.google.com/spreadsheets/d/hidden/edit"),
        ("writer", "SHEETS_ENDPOINT", "http://hidden.example.org"),
        ("writer", "RETENTION_DAYS", "hidden"),
        ("writer", "RETENTION_DAYS", "0"),
        ("writer", "APPEND_TIMEOUT_MS", "-1"),
        ("writer", "LEASE_SECONDS", "3"),
        ("acknowledger", "BOT_TOKEN", "hidden"),
        ("acknowledger", "TELEGRAM_ENDPOINT", "ftp://hidden.example.org"),
        ("acknowledger", "LEASE_SECONDS", "12s"),
        ("sweeper", "ACKNOWLEDGE_QUEUE_URL", "hidden"),
    ] {
        let environment = environment_of(function, &world).with(name, value);
        let said = refusal(function, environment).await;
        assert!(said.contains(name), "{name}: {said}");
    }
    // Both names of one parameter: nobody could say which counts.
    let twice = environment_of("webhook", &world)
        .with("WEBHOOK_SECRET_PREVIOUS_PARAMETER", "/docket/previous")
        .with("WEBHOOK_SECRET_PARAMETER_PREVIOUS", "/docket/previous");
    let twice = refusal("webhook", twice).await;
    assert!(
        twice
            .contains("WEBHOOK_SECRET_PREVIOUS_PARAMETER and WEBHOOK_SECRET_PARAMETER_PREVIOUS are both set"),
        "{twice}"
    );
    // A settle time within Google's own processing time, where the sheet is Google's.
    let at_google = environment_of("writer", &world).without("SHEETS_ENDPOINT").with("SETTLE_SECONDS", "5");
    assert!(refusal("writer", at_google).await.contains("SETTLE_SECONDS"));
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_but_the_runtimes_address_is_needed_of_lambda() {
    let world = World::start().await;
    for function in FUNCTIONS {
        let mut process = Process::start(function, environment_of(function, &world)).await;
        let api = &process.api;
        until("the first poll", || api.polls() > 0).await;
        assert!(process.executable.lives());
        process.executable.kill();
        assert_eq!((process.executable.stdout(), process.executable.stderr()), (Vec::new(), Vec::new()));
    }
    // The region, where the SDK looks for it next.
    let elsewhere =
        environment_of("sweeper", &world).without("AWS_REGION").with("AWS_DEFAULT_REGION", REGION);
    let mut process = Process::start("sweeper", elsewhere).await;
    let api = &process.api;
    until("the first poll", || api.polls() > 0).await;
    assert!(process.executable.lives());
    // As Lambda sets them; and without the address.
    let full = environment_of("sweeper", &world)
        .with("AWS_LAMBDA_FUNCTION_NAME", "docket-sweeper")
        .with("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256")
        .with("AWS_LAMBDA_FUNCTION_VERSION", "7");
    let process = Process::start("sweeper", full.clone()).await;
    assert!(matches!(process.invoke(&json!({})).await, Invoked::Answered(_)));
    let alone =
        docket_world::executable::Executable::start(&crate::executables::built("sweeper"), &[], full.pairs());
    let ended = alone.ended(Duration::from_secs(60));
    assert!(!ended.status.success());
    assert_eq!((ended.stdout.len(), ended.stderr.len()), (1, 0), "{ended:?}");
    assert!(ended.stdout[0].contains("AWS_LAMBDA_RUNTIME_API is missing"), "{ended:?}");
    world.check_rules().await;
}

/// A Parameter Store with these parameters, and the function's settings that lead there.
async fn in_parameters(
    world: &World,
    function: &str,
    parameters: &[(&str, &str, String)],
) -> (Gate, Environment) {
    let store = FakeParameters::of(parameters.iter().map(|(_, name, value)| (*name, value.clone())));
    let backend = Backend::Fake(std::sync::Arc::new(store));
    let gate = world.wire.gate(function, Side::Parameters, backend).await;
    let mut environment = environment_of(function, world).with("AWS_ENDPOINT_URL_SSM", gate.url());
    for (setting, name, _) in parameters {
        environment = environment.without(setting).with(&format!("{setting}_PARAMETER"), *name);
    }
    (gate, environment)
}

fn new_of(customer: &Customer) -> String {
    customer.text("/new").to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_in_parameters_are_read_once_and_in_one_call() {
    let world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    let catalog = json!({"request_types": [{"id": "tiles", "label": "Tiles and slate"}]}).to_string();
    let (_gate, environment) = in_parameters(
        &world,
        "webhook",
        &[
            // However they were pasted.
            ("WEBHOOK_SECRET", "/docket/secret", format!("{WEBHOOK_SECRET}\n")),
            ("WEBHOOK_SECRET_PREVIOUS", "/docket/previous", "world-previous-secret".into()),
            ("CATALOG", "/docket/catalog", catalog),
        ],
    )
    .await;
    let webhook = Process::start("webhook", environment).await;
    for (secret, status) in [(WEBHOOK_SECRET, 200), ("world-previous-secret", 200), ("world-other", 401)] {
        let answered = webhook.invoke(&http_event(new_of(&ann), Some(secret))).await;
        let Invoked::Answered(answer) = answered else { panic!("{answered:?}") };
        assert_eq!(answer["statusCode"], status, "{secret}");
        if status == 200 {
            assert!(answer["body"].as_str().unwrap().contains("Tiles and slate"), "{answer}");
        }
    }
    assert_eq!(world.wire.count(Side::Parameters, "GetParameters"), 1);
    assert_eq!(world.wire.calls().iter().filter(|call| call.side == Side::Parameters).count(), 1);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_secret_may_live_in_a_parameter_and_a_wrong_one_is_named_by_its_setting() {
    let world = World::start().await;
    let google = world.google_credentials().to_owned();
    for (function, setting, value) in [
        ("webhook", "WEBHOOK_SECRET", WEBHOOK_SECRET.to_owned()),
        ("writer", "GOOGLE_CREDENTIALS", google),
        ("acknowledger", "BOT_TOKEN", BOT_TOKEN.to_owned()),
    ] {
        let (_gate, good) = in_parameters(&world, function, &[(setting, "/docket/it", value.clone())]).await;
        let process = Process::start(function, good.clone()).await;
        until("the first poll", || process.api.polls() > 0).await;

        let parameter = format!("{setting}_PARAMETER");
        let absent = refusal(function, good.clone().with(&parameter, "/docket/other")).await;
        assert_eq!(absent, format!("{parameter} names no SSM parameter"));
        let both = refusal(function, good.clone().with(setting, &value)).await;
        assert!(both.contains(setting) && both.contains(&parameter), "{both}");
        let blank = refusal(function, good.clone().with(&parameter, " \n")).await;
        assert_eq!(blank, format!("{parameter} is empty"));
        let down = refusal(function, good.clone().with("AWS_ENDPOINT_URL_SSM", NOBODY)).await;
        assert!(down.contains(&parameter) && down.contains("SSM"), "{down}");
        let (_gate, bad) =
            in_parameters(&world, function, &[(setting, "/docket/it", "hidden value".into())]).await;
        assert!(refusal(function, bad).await.starts_with(setting));
    }
    world.check_rules().await;
}
