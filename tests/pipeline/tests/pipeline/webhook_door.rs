//! The webhook's door: who is let in, and what an authentic request that cannot be understood does, which is nothing.
//!
//! The secret comes first, before the body and before AWS. A refusal of something authentic would make Telegram hold up its
//! chat for a day, so whatever can never succeed is a 200.

use docket_adapters::config::Environment;
use docket_domain::metric::Metric;
use docket_world::World;
use docket_world::telegram::Customer;
use docket_world::workers::WEBHOOK_SECRET;
use docket_world::world::http_event;
use serde_json::{Value, json};

const CHAT: i64 = 7_100_000_001;
const HEADER: &str = "x-telegram-bot-api-secret-token";

fn event(update: &Value) -> Value {
    http_event(update.to_string(), Some(WEBHOOK_SECRET))
}

fn with_header(update: &Value, name: &str, value: &str) -> Value {
    let mut event = http_event(update.to_string(), None);
    event["headers"][name] = json!(value);
    event
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_exact_secret_is_let_in_and_nothing_is_called_before() {
    let mut world = World::start().await;
    world.deploy(|settings| settings.secrets = vec!["good".into()]);
    let ann = world.customer(CHAT, "Ann");
    let new = ann.text("/new");
    let mut refused: Vec<Value> =
        ["", " ", "wrong", "good,good", "good, good", "Good", "GOOD", "goo", "goodd", "bad,good"]
            .map(|value| with_header(&new, HEADER, value))
            .into_iter()
            .collect();
    refused.push(http_event(new.to_string(), None));
    // Doubled in any way, though both be right.
    for value in [json!("good"), json!("bad"), json!("")] {
        let mut doubled = with_header(&new, HEADER, "good");
        doubled["headers"]["X-Telegram-Bot-Api-Secret-Token"] = value;
        refused.push(doubled);
    }
    for value in [json!(["good", "good"]), json!(["good"])] {
        let mut listed = with_header(&new, HEADER, "good");
        listed["headers"][HEADER] = value;
        refused.push(listed);
    }
    refused.push(with_header(&new, "x-telegram-bot-api-secret", "good"));
    refused.push(with_header(&new, "authorization", "good"));
    refused.push(with_header(&json!({"update_id": 1}), HEADER, "wrong"));
    refused.push({
        let mut elsewhere = http_event(new.to_string(), None);
        elsewhere["rawQueryString"] = json!(format!("{HEADER}=good"));
        elsewhere["queryStringParameters"] = json!({ HEADER: "good" });
        elsewhere
    });
    // Headers that no event type takes: a stranger's request is refused, and is no failure of ours.
    for odd in [
        json!(null),
        json!([]),
        json!({"host": 7}),
        json!({"host": {"a": "b"}}),
        json!({"h\u{e4}": "x\u{7f}"}),
    ] {
        let mut event = http_event(new.to_string(), None);
        event["headers"] = odd;
        refused.push(event);
    }
    // Not even looked at: neither the body, nor the path, nor the method.
    for body in ["", "{", "[[[[", &"x".repeat(1_000_000)] {
        refused.push(http_event(body.to_owned(), Some("wrong")));
    }
    let mut other_path = http_event(new.to_string(), Some("wrong"));
    other_path["rawPath"] = json!("/other");
    refused.push(other_path);
    let mut broken_base64 = http_event("%%%".into(), Some("wrong"));
    broken_base64["isBase64Encoded"] = json!(true);
    refused.push(broken_base64);

    let count = refused.len();
    for event in refused {
        let answer = world.deliver_event(event.clone()).await.unwrap();
        assert_eq!((answer.status, answer.body.len()), (401, 0), "{event}");
    }
    assert!(world.wire.calls().is_empty(), "{:?}", world.wire.calls());
    assert_eq!(world.recorder().sum(Metric::WrongSecret), f64::from(u32::try_from(count).unwrap()));

    // The name in any case.
    for name in [HEADER, "X-Telegram-Bot-Api-Secret-Token", "X-TELEGRAM-BOT-API-SECRET-TOKEN"] {
        let answer = world.deliver_event(with_header(&new, name, "good")).await.unwrap();
        assert_eq!((answer.status, answer.body.is_empty()), (200, false), "{name}");
    }
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_secret_is_replaced_both_are_let_in_and_afterwards_only_the_new_one() {
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    let new = ann.text("/new");
    for (secrets, old, current) in
        [(vec!["old"], 200, 401), (vec!["current", "old"], 200, 200), (vec!["current"], 401, 200)]
    {
        world.deploy(|settings| settings.secrets = secrets.iter().map(|&secret| secret.to_owned()).collect());
        for (secret, status) in [("old", old), ("current", current), ("old,current", 401), ("", 401)] {
            let answer = world.deliver_event(with_header(&new, HEADER, secret)).await.unwrap();
            assert_eq!(answer.status, status, "{secret} while {secrets:?}");
        }
    }
    world.check_rules().await;
}

#[test]
fn an_empty_secret_stops_the_function_at_start_and_a_newline_is_no_part_of_one() {
    let secrets = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Environment::of(pairs).webhook_secrets().map_err(|error| error.to_string())
    };
    for empty in ["", " ", "\n"] {
        assert!(secrets(&[("WEBHOOK_SECRET", empty)]).unwrap_err().starts_with("WEBHOOK_SECRET"));
        let previous = secrets(&[("WEBHOOK_SECRET", "good"), ("WEBHOOK_SECRET_PREVIOUS", empty)]);
        assert!(previous.unwrap_err().starts_with("WEBHOOK_SECRET_PREVIOUS"));
    }
    assert!(secrets(&[]).unwrap_err().starts_with("WEBHOOK_SECRET"));
    let kept = secrets(&[("WEBHOOK_SECRET", "good\n"), ("WEBHOOK_SECRET_PREVIOUS", " old ")]).unwrap();
    assert_eq!(kept.iter().map(|secret| secret.expose()).collect::<Vec<_>>(), ["good", "old"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_path_or_method_is_refused_without_a_call() {
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    let new = ann.text("/new");
    for (path, method, status) in [
        ("/", "POST", 404),
        ("", "POST", 404),
        ("/other", "POST", 404),
        ("/telegram/other", "POST", 404),
        ("/xtelegram", "POST", 404),
        ("/Telegram", "POST", 404),
        ("/telegram", "GET", 405),
        ("/telegram", "PUT", 405),
        ("/telegram", "OPTIONS", 405),
    ] {
        let mut event = event(&new);
        event["rawPath"] = json!(path);
        event["requestContext"]["http"]["path"] = json!(path);
        event["requestContext"]["http"]["method"] = json!(method);
        assert_eq!(world.deliver_event(event).await.unwrap().status, status, "{method} {path}");
    }
    assert!(world.wire.calls().is_empty());
    for path in ["/telegram", "/telegram/", "/prod/telegram"] {
        let mut event = event(&new);
        event["rawPath"] = json!(path);
        assert_eq!(world.deliver_event(event).await.unwrap().status, 200, "{path}");
    }
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_url_and_an_http_api_are_the_same_door() {
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    let mut url_event = event(&ann.text("/new"));
    url_event["routeKey"] = json!("$default");
    url_event["cookies"] = json!(["a=b"]);
    url_event["requestContext"]["authentication"] = Value::Null;
    url_event["requestContext"]["routeKey"] = json!("$default");
    url_event["requestContext"]["accountId"] = json!("anonymous");
    url_event["requestContext"]["domainName"] = json!("abc.lambda-url.eu-central-1.on.aws");
    let answer = world.deliver_event(url_event).await.unwrap();
    assert_eq!((answer.status, answer.json()["method"].as_str()), (200, Some("sendMessage")));
    world.check_rules().await;
}

/// The customer is asked for a summary.
async fn asked_for_a_summary(world: &mut World) -> Customer {
    let ann = world.customer(CHAT, "Ann");
    world.say(ann.text("/new")).await;
    world.say(ann.press_button("A quote")).await;
    ann
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authentic_body_that_cannot_be_understood_is_accepted_and_does_nothing() {
    let mut world = World::start().await;
    let ann = asked_for_a_summary(&mut world).await;
    let before = world.conversation(CHAT).await;
    world.wire.clear_log();
    let me = r#""from":{"id":7100000001,"is_bot":false,"first_name":"Ann"}"#;
    let chat = r#""chat":{"id":7100000001,"type":"private"}"#;
    let bodies = [
        String::new(),
        " ".into(),
        "null".into(),
        "true".into(),
        "7".into(),
        "\"/new\"".into(),
        "[]".into(),
        "{}".into(),
        "{".into(),
        "{\"update_id\":1,}".into(),
        "\u{feff}{}".into(),
        "<xml/>".into(),
        "update_id=1&message=hello".into(),
        "[".repeat(100_000),
        format!("{{\"update_id\":1,\"message\":{}1{}}}", "[".repeat(5_000), "]".repeat(5_000)),
        "x".repeat(6_000_000),
        format!(r#"{{"update_id":1,"message":{{"message_id":1.5,{me},{chat},"text":"hello"}}}}"#),
        format!(r#"{{"update_id":1,"message":{{"message_id":"9",{me},{chat},"text":"hello"}}}}"#),
        format!(
            r#"{{"update_id":1,"message":{{"message_id":9223372036854775808,{me},{chat},"text":"hello"}}}}"#
        ),
        format!(r#"{{"update_id":1,"message":{{"message_id":9,{me},{chat},"text":7}}}}"#),
        // Half of a character: no text at all.
        format!(r#"{{"update_id":1,"message":{{"message_id":9,{me},{chat},"text":"\ud83d"}}}}"#),
        format!(r#"{{"update_id":1,"message":{{"message_id":9,{me},"text":"hello"}}}}"#),
        format!(r#"{{"update_id":1,"message":{{"message_id":9,{chat},"text":"hello"}}}}"#),
        format!(
            r#"{{"update_id":1,"message":{{"message_id":9,{me},"chat":{{"id":"7100000001","type":"private"}},"text":"hello"}}}}"#
        ),
        r#"{"update_id":1,"message":null}"#.into(),
        r#"{"update_id":1,"message":"hello"}"#.into(),
        r#"{"update_id":1,"callback_query":{}}"#.into(),
        format!(r#"{{"update_id":1,"callback_query":{{"id":"1",{me},"data":"type:1:quote"}}}}"#),
        format!(
            r#"{{"update_id":1,"callback_query":{{"id":"1",{me},"message":{{"message_id":1,"date":1,{chat}}}}}}}"#
        ),
        format!(r#"{{"update_id":1,"edited_message":{{"message_id":9,{me},{chat}}}}}"#),
    ];
    let mut events: Vec<Value> =
        bodies.into_iter().map(|body| http_event(body, Some(WEBHOOK_SECRET))).collect();
    for base64 in ["%%%", "e30", "====", "/w==", "eyJ1cGRhdGVfaWQiOjF9"] {
        let mut event = http_event(base64.into(), Some(WEBHOOK_SECRET));
        event["isBase64Encoded"] = json!(true);
        events.push(event);
    }
    for body in [Value::Null, json!("gone")] {
        let mut event = http_event(String::new(), Some(WEBHOOK_SECRET));
        if body.is_null() {
            event["body"] = Value::Null;
        } else {
            event.as_object_mut().unwrap().remove("body");
        }
        events.push(event);
    }
    let count = events.len();
    for event in events {
        let answer = world.deliver_event(event.clone()).await.unwrap();
        let shown: String = event["body"].to_string().chars().take(200).collect();
        assert_eq!((answer.status, answer.body.len()), (200, 0), "{shown}");
    }
    assert!(world.wire.calls().is_empty(), "{:?}", world.wire.calls());
    assert_eq!(world.recorder().sum(Metric::Ignored), f64::from(u32::try_from(count).unwrap()));
    assert_eq!(world.conversation(CHAT).await, before);

    // The next text is taken at once.
    world.say(ann.text("Ten gutters.")).await;
    world.say(ann.press_button("Confirm")).await;
    world.settle().await;
    assert_eq!(world.rows().len(), 1);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_in_base64_is_the_same_body() {
    let mut world = World::start().await;
    let ann = asked_for_a_summary(&mut world).await;
    let update = ann.text("Ten gutters, 😀.");
    let mut event = event(&update);
    event["body"] = json!(base64(update.to_string().as_bytes()));
    event["isBase64Encoded"] = json!(true);
    let answer = world.deliver_event(event).await.unwrap();
    assert!(answer.words().contains("Ten gutters, 😀."), "{}", answer.words());
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_of_a_megabyte_is_refused_like_any_that_is_too_long() {
    let mut world = World::start().await;
    let ann = asked_for_a_summary(&mut world).await;
    let before = world.conversation(CHAT).await;
    let answer = world.deliver_again(&ann.text(&"x".repeat(1_000_000))).await;
    assert_eq!(answer.status, 200);
    assert!(answer.words().contains("it has 1000000 characters, 3000 are allowed"));
    assert_eq!(world.conversation(CHAT).await, before);
    world.check_rules().await;
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits =
            chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter =
                if place <= chunk.len() { LETTERS[(bits >> (18 - 6 * place) & 63) as usize] } else { b'=' };
            text.push(char::from(letter));
        }
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_for_which_no_time_is_left_comes_again_and_is_not_half_done() {
    let mut world = World::start().await;
    let ann = asked_for_a_summary(&mut world).await;
    world.say(ann.text("New gutters, please.")).await;
    let confirm = ann.press_button("Confirm");
    let before = world.conversation(CHAT).await;
    world.wire.clear_log();
    world.shorten_invocations(100);
    let answer = world.deliver(&confirm).await.unwrap();
    assert_eq!((answer.status, answer.body.len()), (503, 0));
    assert!(world.wire.calls().is_empty(), "{:?}", world.wire.calls());
    assert_eq!((world.conversation(CHAT).await, world.records().await.len()), (before, 0));
    // Telegram delivers it again.
    world.lengthen_invocations();
    assert_eq!(world.deliver_again(&confirm).await.status, 200);
    world.settle().await;
    assert_eq!((world.rows().len(), world.acknowledgements(CHAT).len()), (1, 1));
    world.check_rules().await;
}
