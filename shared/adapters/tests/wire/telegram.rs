//! `sendMessage` on the wire.

use docket_adapters::config::Secret;
use docket_adapters::telegram::TelegramMessenger;
use docket_domain::outcome::{NotSent, SendOutcome};
use docket_domain::ports::Messenger as _;
use docket_domain::status::Cause;
use docket_domain::submission::ChatId;
use serde_json::{Value, json};

use crate::other_side::{Act, OtherSide, nobody};

const TOKEN: &str = "123456789:AA-hidden_token";
const ACCEPTED: &str = r#"{"ok":true,"result":{"message_id":77,"date":1,"chat":{"id":5,"type":"private"}}}"#;

fn messenger(endpoint: &str) -> TelegramMessenger {
    TelegramMessenger::new(endpoint, &Secret::new(TOKEN), 1_000).expect("a client")
}

async fn against(act: Act) -> (SendOutcome, usize) {
    let other = OtherSide::start(move |_| act.clone()).await;
    let outcome = messenger(&other.url()).send(ChatId(5), "hello").await;
    assert!(!format!("{outcome:?}").contains("hidden"));
    (outcome, other.seen("").await.len())
}

#[tokio::test]
async fn a_message_has_its_text_as_it_is_and_no_markup() {
    let other = OtherSide::start(|_| Act::json(200, ACCEPTED)).await;
    let text = "test_1:beta *x [a](b) <b> & \\ ` O_Neil* \u{1f600}\nhttps://example.org";
    let messenger = messenger(&format!("{}/", other.url()));
    for _ in 0..2 {
        let outcome = messenger.send(ChatId(9_007_199_254_740_993), text).await;
        assert_eq!(outcome, SendOutcome::Accepted { message_id: Some(77) });
    }
    let seen = other.seen("").await;
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].line, format!("POST /bot{TOKEN}/sendMessage HTTP/1.1"));
    assert!(seen[0].headers.contains("content-type: application/json"));
    assert!(seen[0].body.contains("9007199254740993"));
    let body: Value = serde_json::from_str(&seen[0].body).expect("JSON");
    assert_eq!(
        body,
        json!({"chat_id": 9_007_199_254_740_993_i64, "text": text, "link_preview_options": {"is_disabled": true}})
    );
    assert_eq!(other.connections(), 2);
}

#[tokio::test]
async fn each_answer_means_what_the_design_says_and_none_is_asked_for_twice() {
    let refused = |code: u16| json!({"ok": false, "error_code": code, "description": "hidden words"});
    let unknown = |word: &str| SendOutcome::Unknown(Cause::new(word));
    let busy = json!({"ok": false, "error_code": 429, "parameters": {"retry_after": 7_200}});
    for (act, expected) in [
        (Act::json(400, refused(400)), SendOutcome::Refused(Cause::new("http_400"))),
        (Act::json(403, refused(403)), SendOutcome::Refused(Cause::new("http_403"))),
        (Act::json(401, refused(401)), SendOutcome::NotSent(NotSent::Halt(Cause::new("http_401")))),
        (Act::json(429, busy), SendOutcome::NotSent(NotSent::Busy { retry_after_seconds: 7_200 })),
        (Act::json(500, refused(500)), unknown("http_500")),
        (Act::json(502, "<html>"), unknown("http_502")),
        (Act::json(302, ""), unknown("http_302")),
        (Act::json(200, "{\"ok\":"), unknown("unreadable_answer")),
        (Act::Hang, unknown("timeout")),
    ] {
        assert_eq!(against(act.clone()).await, (expected, 1), "{act:?}");
    }
    for act in [Act::CloseAfterAll, Act::HalfAnAnswer { status: 200, body: ACCEPTED.into() }] {
        let (outcome, count) = against(act).await;
        assert!(matches!(outcome, SendOutcome::Unknown(_)), "{outcome:?}");
        assert_eq!(count, 1);
    }
}

#[tokio::test]
async fn nobody_there_means_not_sent_and_nothing_shows_the_token() {
    let messenger = messenger(&nobody().await);
    let outcome = messenger.send(ChatId(5), "hello").await;
    assert_eq!(outcome, SendOutcome::NotSent(NotSent::TryAgain(Cause::new("connect"))));
    assert!(!format!("{messenger:?}").contains("hidden"));
}
