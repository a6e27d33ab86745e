//! `docket webhook`: what Telegram is told, and that what it remembers otherwise is said loudly.

use std::sync::Arc;

use docket_adapters::clock::SystemClock;
use docket_domain::ports::Clock as _;
use docket_world::World;
use docket_world::parameters::FakeParameters;
use docket_world::wire::{Backend, Side};
use docket_world::workers::{BOT_TOKEN, NOBODY, WEBHOOK_SECRET};
use serde_json::{Value, json};

use crate::executables::Environment;
use crate::operator::{Ran, docket, shows_no_secret};

const URL: &str = "https://docket.example.org/telegram";

fn environment(world: &World) -> Environment {
    Environment::default()
        .with("BOT_TOKEN", format!("{BOT_TOKEN}\n"))
        .with("WEBHOOK_SECRET", WEBHOOK_SECRET)
        .with("WEBHOOK_URL", URL)
        .with("TELEGRAM_ENDPOINT", world.url("acknowledger", Side::Telegram))
}

/// What was sent with the newest call of this method.
fn sent(world: &World, method: &str) -> Value {
    let calls = world.wire.calls_of("acknowledger", Side::Telegram);
    calls.iter().rev().find(|call| call.operation == method).unwrap_or_else(|| panic!("no {method}")).json()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_webhook_is_set_with_everything_named_whatever_an_earlier_one_asked_for() {
    let world = World::start().await;
    let environment = environment(&world);
    // Somebody asked for messages only, once.
    let endpoint = world.url("acknowledger", Side::Telegram);
    let earlier = json!({"url": "https://other.example.org/x", "allowed_updates": ["message"]});
    post(&format!("{endpoint}/bot{BOT_TOKEN}/setWebhook"), &earlier).await;
    let before = docket(&environment, &["webhook", "info"]);
    assert_eq!(before.status, 1);
    assert!(
        before.stdout.contains("it calls https://other.example.org/x, not https://docket"),
        "{}",
        before.stdout
    );
    assert!(
        before.stdout.contains("it sends message, not message, edited_message, callback_query"),
        "{}",
        before.stdout
    );

    let set = docket(&environment, &["webhook", "set", "--max-connections", "7"]);
    assert_eq!((set.status, set.stderr.as_str()), (0, ""));
    assert!(set.stdout.contains(URL) && set.stdout.contains("up to 7 connections"), "{}", set.stdout);
    assert_eq!(
        sent(&world, "setWebhook"),
        json!({
            "url": URL,
            "secret_token": WEBHOOK_SECRET,
            "allowed_updates": ["message", "edited_message", "callback_query"],
            "max_connections": 7,
            "drop_pending_updates": false,
        })
    );
    assert_eq!(world.telegram.webhook_secret().as_deref(), Some(WEBHOOK_SECRET));
    let after = docket(&environment, &["webhook", "info", "--json"]);
    let info = after.json();
    assert_eq!(
        (&info["url"], &info["wrong"], &info["max_connections"]),
        (&json!(URL), &json!([]), &json!(7))
    );

    let deleted = docket(&environment, &["webhook", "delete"]);
    assert_eq!(deleted.status, 0);
    let gone = docket(&environment, &["webhook", "info"]);
    assert_eq!(gone.status, 1);
    assert!(gone.stdout.contains("wrong: no webhook is set; docket webhook set"), "{}", gone.stdout);
    for ran in [before, set, after, deleted, gone] {
        for secret in [WEBHOOK_SECRET, "world-bot-token"] {
            assert!(!ran.stdout.contains(secret) && !ran.stderr.contains(secret), "{secret} is shown");
        }
    }
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ok_false_with_a_200_and_a_memory_that_differs_are_said_loudly() {
    let world = World::start().await;
    let environment = environment(&world);
    world.telegram.answer_next(200, r#"{"ok":false,"description":"something new"}"#);
    let refused = failing(&environment, &["webhook", "set"]);
    assert!(refused.refused(1).contains("something new"));

    // "ok", and nothing was set.
    world.telegram.answer_next(200, r#"{"ok":true,"result":true}"#);
    let forgotten = failing(&environment, &["webhook", "set"]);
    assert!(forgotten.refused(1).contains("no webhook is set"), "{}", forgotten.stderr);
    world.check_rules().await;
}

/// The token is a part of each URL, and an error of an HTTP client likes to name its URL.
#[tokio::test(flavor = "multi_thread")]
async fn however_telegram_fails_it_is_said_how_and_no_secret_is_shown() {
    let world = World::start().await;
    let environment = environment(&world);
    let refusal =
        |code: u16, why: &str| json!({"ok": false, "error_code": code, "description": why}).to_string();
    let elsewhere = [("location", "http://other.example.org/bot")];
    for command in ["set", "info", "delete"] {
        let failing = |environment: &Environment| failing(environment, &["webhook", command]);
        world.telegram.answer_next(401, &refusal(401, "Unauthorized"));
        let refused = failing(&environment);
        assert!(refused.refused(1).contains("401 Unauthorized; put the bot's token"), "{command}");
        world.telegram.answer_next(404, &refusal(404, "Not Found"));
        assert!(failing(&environment).refused(1).contains("404 Not Found"), "{command}");
        world.telegram.answer_next(502, "<html>");
        assert!(failing(&environment).refused(3).contains("http_502"), "{command}");
        // Nobody is followed to another address with the token in hand.
        world.telegram.answer_next_with(302, &elsewhere, "");
        assert!(failing(&environment).refused(3).contains("http_302"), "{command}");
        world.telegram.deliver_then_hang_up();
        assert_eq!(failing(&environment).status, 3, "{command}");
        let nobody = environment.clone().with("TELEGRAM_ENDPOINT", NOBODY);
        assert!(failing(&nobody).refused(3).contains("connect"), "{command}");
        // TLS is spoken to somebody who speaks none.
        let plain = world.url("acknowledger", Side::Telegram).replace("http://", "https://");
        let plain = environment.clone().with("TELEGRAM_ENDPOINT", plain);
        assert!(failing(&plain).refused(3).contains("tls"), "{command}");
    }
    // In the open the token is told to nobody at all.
    let open = environment.clone().with("TELEGRAM_ENDPOINT", "http://api.telegram.org");
    assert!(failing(&open, &["webhook", "info"]).refused(2).contains("TELEGRAM_ENDPOINT"));
    // Whoever takes the call and says nothing is waited for no longer than the client's own time.
    world.telegram.hold_next();
    assert!(failing(&environment, &["webhook", "info"]).refused(3).contains("timeout"));
    assert_eq!(world.telegram.held(), 1, "the call arrived, and its own end is not the fake's doing");
    world.check_rules().await;
}

/// Runs a command that fails, and sees that it shows no secret.
fn failing(environment: &Environment, arguments: &[&str]) -> Ran {
    let ran = docket(environment, arguments);
    assert_ne!(ran.status, 0, "{}", ran.stdout);
    shows_no_secret(&ran);
    ran
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_twenty_waiting_updates_do_not_get_through_and_twenty_may() {
    let world = World::start().await;
    let environment = environment(&world);
    assert_eq!(docket(&environment, &["webhook", "set"]).status, 0);
    for (waiting, status) in [(0, 0), (20, 0), (21, 1)] {
        let info = json!({"ok": true, "result": {
            "url": URL,
            "pending_update_count": waiting,
            "allowed_updates": ["callback_query", "edited_message", "message"],
        }});
        world.telegram.answer_next(200, &info.to_string());
        let ran = docket(&environment, &["webhook", "info"]);
        assert_eq!(ran.status, status, "{}", ran.stdout);
        shows_no_secret(&ran);
        assert!(ran.stdout.contains(&format!("waiting updates  {waiting}")), "{}", ran.stdout);
        let wrong = format!("wrong: {waiting} updates wait and do not get through");
        assert_eq!(ran.stdout.contains(&wrong), status == 1, "{}", ran.stdout);
    }
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recent_error_of_telegram_is_wrong_and_an_old_one_is_not() {
    let world = World::start().await;
    let environment = environment(&world);
    assert_eq!(docket(&environment, &["webhook", "set"]).status, 0);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    for (seconds_ago, status) in [(60, 1), (7_200, 0)] {
        let info = json!({"ok": true, "result": {
            "url": URL,
            "pending_update_count": 0,
            "allowed_updates": ["callback_query", "edited_message", "message"],
            "last_error_date": now - seconds_ago,
            "last_error_message": "Wrong response from the webhook: 503 Service Unavailable",
        }});
        world.telegram.answer_next(200, &info.to_string());
        let ran = docket(&environment, &["webhook", "info"]);
        assert_eq!(ran.status, status, "{}", ran.stdout);
        shows_no_secret(&ran);
        assert!(ran.stdout.contains("503 Service Unavailable"));
        assert_eq!(ran.stdout.contains("the webhook's log group says why"), status == 1, "{}", ran.stdout);
    }
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setting_that_is_missing_or_wrong_is_named_before_anybody_is_called() {
    let world = World::start().await;
    for (name, value, arguments) in [
        ("BOT_TOKEN", None, ["webhook", "info"]),
        ("BOT_TOKEN", Some("hidden"), ["webhook", "set"]),
        ("WEBHOOK_SECRET", None, ["webhook", "set"]),
        ("WEBHOOK_SECRET", Some("hidden secret"), ["webhook", "set"]),
        ("WEBHOOK_URL", None, ["webhook", "set"]),
        ("WEBHOOK_URL", Some("https://docket.example.org/hidden"), ["webhook", "info"]),
        ("WEBHOOK_URL", Some("http://docket.example.org/telegram"), ["webhook", "set"]),
    ] {
        let environment = environment(&world).without(name);
        let environment = value.map_or(environment.clone(), |value| environment.with(name, value));
        let ran = failing(&environment, &arguments);
        assert!(ran.refused(2).contains(name), "{name}: {}", ran.stderr);
    }
    assert_eq!(world.wire.calls().len(), 0);
    for wrong in ["0", "101", "many"] {
        assert_eq!(docket(&environment(&world), &["webhook", "set", "--max-connections", wrong]).status, 2);
    }
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_the_functions_may_not_know_yet_is_not_given_to_telegram() {
    let world = World::start().await;
    let given = environment(&world);
    assert_eq!(docket(&given, &["webhook", "set"]).status, 0);
    let now = SystemClock.now().seconds();
    let with_secret_of = async |put_at: i64| {
        let store = FakeParameters::of([("/docket/webhook-secret", "hidden-new-secret".to_owned())]);
        let store = Backend::Fake(Arc::new(store.put_at(put_at)));
        let gate = world.wire.gate("operator", Side::Parameters, store).await;
        let environment = Environment::of_aws(&gate.url())
            .with("BOT_TOKEN", BOT_TOKEN)
            .with("WEBHOOK_SECRET_PARAMETER", "/docket/webhook-secret")
            .with("WEBHOOK_URL", URL)
            .with("TELEGRAM_ENDPOINT", world.url("acknowledger", Side::Telegram));
        (gate, environment)
    };
    let (_gate, fresh) = with_secret_of(now - 100).await;
    let refused = failing(&fresh, &["webhook", "set"]);
    assert!(refused.refused(1).contains("try again in"), "{}", refused.stderr);
    assert_eq!(sent(&world, "setWebhook")["secret_token"], WEBHOOK_SECRET);
    // The same address with a slash at its end is the same door.
    let endpoint = world.url("acknowledger", Side::Telegram);
    post(&format!("{endpoint}/bot{BOT_TOKEN}/setWebhook"), &json!({"url": format!("{URL}/")})).await;
    assert!(failing(&fresh, &["webhook", "set"]).refused(1).contains("try again in"));
    // The functions were started since, or nobody calls yet, or the time is over.
    assert_eq!(docket(&fresh, &["webhook", "set", "--now"]).status, 0);
    assert_eq!(sent(&world, "setWebhook")["secret_token"], "hidden-new-secret");
    assert_eq!(docket(&given, &["webhook", "delete"]).status, 0);
    assert_eq!(docket(&fresh, &["webhook", "set"]).status, 0);
    let (_gate, old) = with_secret_of(now - 301).await;
    assert_eq!(docket(&old, &["webhook", "set"]).status, 0);
    // Parameters that cannot be read are the other side's matter, not a wrong setting's.
    let away = old.with("AWS_ENDPOINT_URL_SSM", NOBODY);
    assert!(failing(&away, &["webhook", "set"]).refused(3).contains("SSM"));
    assert!(failing(&away, &["webhook", "set", "--now"]).refused(3).contains("SSM"));
    world.check_rules().await;
}

/// A call of the Bot API by somebody else.
pub(crate) async fn post(url: &str, body: &Value) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let answer = client.post(url).json(body).send().await.unwrap();
    assert!(answer.status().is_success());
}
