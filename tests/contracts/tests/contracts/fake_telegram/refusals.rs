//! What Telegram refuses, and how it says so.

use docket_world::clock::TurnedClock;
use docket_world::exchange::Fake;
use docket_world::telegram::FakeTelegram;
use serde_json::{Value, json};

use super::{ANN, NOW_MS, TOKEN, call, post, send, telegram, whole};

fn description(body: &Value) -> &str {
    body["description"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn chats_that_cannot_be_written_to_say_why_until_they_are_healed() {
    type Break = fn(&FakeTelegram, i64);
    let cases: [(Break, u16, &str); 5] = [
        (FakeTelegram::block, 403, "Forbidden: bot was blocked by the user"),
        (FakeTelegram::kick, 403, "Forbidden: bot was kicked from the group chat"),
        (FakeTelegram::deactivate, 403, "Forbidden: user is deactivated"),
        (FakeTelegram::chat_not_found, 400, "Bad Request: chat not found"),
        (FakeTelegram::no_rights, 400, "Bad Request: not enough rights to send text messages to the chat"),
    ];
    for (break_chat, code, because) in cases {
        let telegram = telegram();
        break_chat(&telegram, ANN);
        let (status, body) = send(&telegram, ANN, "x").await;
        assert_eq!(status, code);
        assert_eq!(body, json!({ "ok": false, "error_code": code, "description": because }));
        assert_eq!(send(&telegram, ANN + 1, "x").await.0, 200, "other chats are not concerned");
        telegram.heal();
        assert_eq!(send(&telegram, ANN, "x").await.0, 200);
        assert_eq!(telegram.messages(ANN).len(), 1);
    }
}

#[tokio::test]
async fn a_migrated_group_names_its_new_id_in_the_parameters() {
    let telegram = telegram();
    telegram.migrate(-900_001, -1_002_000_000_009);
    let (status, body) = send(&telegram, -900_001, "x").await;
    assert_eq!(status, 400);
    assert_eq!(body["parameters"], json!({ "migrate_to_chat_id": -1_002_000_000_009_i64 }));
    assert_eq!(send(&telegram, -1_002_000_000_009, "x").await.0, 200);
}

#[tokio::test]
async fn a_wrong_token_is_401_and_what_is_no_token_is_404() {
    let telegram = telegram();
    let cases = [("123456789:AAother", 401), ("123456789AAtest-token", 404), ("", 404), ("bot", 404)];
    for (token, code) in cases {
        let answer = telegram.answer(post(&format!("/bot{token}/sendMessage"), &json!({}))).await;
        let (status, _, body) = whole(answer);
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((status, body["error_code"].as_u64()), (code, Some(u64::from(code))), "{token}");
        assert_eq!(body["ok"], false);
    }
    assert!(telegram.calls().is_empty());
    let answer = telegram.answer(post("/sendMessage", &json!({}))).await;
    assert_eq!(whole(answer).0, 404);
    assert_eq!(call(&telegram, "makeCoffee", json!({})).await.0, 404);
}

#[tokio::test]
async fn an_empty_text_is_refused() {
    let telegram = telegram();
    for text in ["", " ", "\n\t "] {
        let (status, body) = send(&telegram, ANN, text).await;
        assert_eq!((status, description(&body)), (400, "Bad Request: message text is empty"));
    }
    assert_eq!(call(&telegram, "sendMessage", json!({ "chat_id": ANN })).await.0, 400);
}

#[tokio::test]
async fn a_text_of_more_than_4096_units_is_refused() {
    let telegram = telegram();
    for text in ["a".repeat(4097), "😀".repeat(2049)] {
        let (status, body) = send(&telegram, ANN, &text).await;
        assert_eq!((status, description(&body)), (400, "Bad Request: message is too long"));
    }
    assert!(telegram.messages(ANN).is_empty());
}

#[tokio::test]
async fn unbalanced_marks_are_refused_when_a_parse_mode_is_given() {
    let telegram = telegram();
    let cases = [
        ("Markdown", "O_Neil", "Can't find end of the entity starting at byte offset 1"),
        ("Markdown", "a [b", "Can't find end of the entity starting at byte offset 2"),
        ("MarkdownV2", "*bold", "Can't find end of the entity starting at byte offset 0"),
        ("MarkdownV2", "wow!", "Character '!' is reserved and must be escaped with the preceding '\\'"),
        ("HTML", "<b>bold", "Can't find end tag corresponding to start tag \"b\""),
        ("HTML", "a <nobody@example.test>", "Unsupported start tag \"nobody@example.test\" at byte offset 2"),
        ("HTML", "2 < 3", "Unclosed start tag at byte offset 2"),
    ];
    for (mode, text, because) in cases {
        let parameters = json!({ "chat_id": ANN, "text": text, "parse_mode": mode });
        let (status, body) = call(&telegram, "sendMessage", parameters).await;
        let expected = format!("Bad Request: can't parse entities: {because}");
        assert_eq!((status, description(&body)), (400, expected.as_str()), "{mode} {text}");
    }
}

#[tokio::test]
async fn a_chat_has_to_be_named() {
    let telegram = telegram();
    for (chat_id, because) in
        [(json!(""), "chat_id is empty"), (json!("@nobody"), "chat not found"), (json!(0), "chat not found")]
    {
        let (status, body) = call(&telegram, "sendMessage", json!({ "chat_id": chat_id, "text": "x" })).await;
        assert_eq!((status, description(&body)), (400, format!("Bad Request: {because}").as_str()));
    }
}

#[tokio::test]
async fn button_data_is_1_to_64_bytes() {
    let telegram = telegram();
    for (data, status) in
        [("x".repeat(64), 200), ("x".repeat(65), 400), ("é".repeat(33), 400), (String::new(), 400)]
    {
        let keyboard = json!({ "inline_keyboard": [[{ "text": "Go", "callback_data": data }]] });
        let parameters = json!({ "chat_id": ANN, "text": "x", "reply_markup": keyboard });
        let (answered, body) = call(&telegram, "sendMessage", parameters).await;
        assert_eq!(answered, status, "{data}: {body}");
    }
}

#[tokio::test]
async fn a_thread_that_does_not_exist_is_refused() {
    let parameters = json!({ "chat_id": ANN, "text": "x", "message_thread_id": 1 });
    let (status, body) = call(&telegram(), "sendMessage", parameters).await;
    assert_eq!((status, description(&body)), (400, "Bad Request: message thread not found"));
}

#[tokio::test]
async fn an_edit_that_changes_nothing_is_refused_as_not_modified() {
    let telegram = telegram();
    let (_, body) = send(&telegram, ANN, "card").await;
    let message_id = body["result"]["message_id"].as_i64().unwrap();
    let edit = |message_id: i64, text: &str| {
        call(&telegram, "editMessageText", json!({ "chat_id": ANN, "message_id": message_id, "text": text }))
    };
    let (status, body) = edit(message_id, "card").await;
    assert_eq!(status, 400);
    assert!(description(&body).starts_with("Bad Request: message is not modified"), "{body}");
    assert_eq!(description(&edit(999, "x").await.1), "Bad Request: message to edit not found");
    let theirs = telegram.customer(ANN, "Ann", None).text("mine");
    let theirs = theirs["message"]["message_id"].as_i64().unwrap();
    assert_eq!(description(&edit(theirs, "x").await.1), "Bad Request: message can't be edited");
}

#[tokio::test]
async fn a_press_that_never_was_cannot_be_answered() {
    let telegram = telegram();
    let (status, body) = call(&telegram, "answerCallbackQuery", json!({ "callback_query_id": "1" })).await;
    assert_eq!(status, 400);
    assert!(description(&body).starts_with("Bad Request: query is too old"), "{body}");
    let update = telegram.customer(ANN, "Ann", None).press("c:1", 1);
    let id = update["callback_query"]["id"].clone();
    assert_eq!(call(&telegram, "answerCallbackQuery", json!({ "callback_query_id": id })).await.0, 200);
}

#[tokio::test]
async fn a_flood_names_the_seconds_left_in_body_and_header_until_they_have_passed() {
    let clock = TurnedClock::at(NOW_MS);
    let telegram = FakeTelegram::new(clock.clone(), TOKEN);
    telegram.flood(7200);
    let request = || post(&format!("/bot{TOKEN}/sendMessage"), &json!({ "chat_id": ANN, "text": "x" }));
    let (status, headers, body) = whole(telegram.answer(request()).await);
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(status, 429);
    assert_eq!(description(&body), "Too Many Requests: retry after 7200");
    assert_eq!(body["parameters"]["retry_after"], 7200);
    assert!(headers.contains(&("retry-after".to_owned(), "7200".to_owned())));

    clock.turn(7_199_001);
    assert_eq!(send(&telegram, ANN, "x").await.1["parameters"]["retry_after"], 1);
    assert!(telegram.messages(ANN).is_empty());
    clock.turn(999);
    assert_eq!(send(&telegram, ANN, "x").await.0, 200);
}

#[tokio::test]
async fn a_chat_takes_one_message_a_second_when_that_is_enforced() {
    let clock = TurnedClock::at(NOW_MS);
    let telegram = FakeTelegram::new(clock.clone(), TOKEN);
    telegram.enforce_one_message_a_second();
    assert_eq!(send(&telegram, ANN, "1").await.0, 200);
    assert_eq!(send(&telegram, ANN + 1, "other chat").await.0, 200);
    let (status, body) = send(&telegram, ANN, "2").await;
    assert_eq!((status, body["parameters"]["retry_after"].as_i64()), (429, Some(1)));
    clock.turn(1000);
    assert_eq!(send(&telegram, ANN, "2").await.0, 200);
}

#[tokio::test]
async fn the_front_may_answer_502_in_html() {
    let telegram = telegram();
    telegram.html_502();
    let answer = telegram
        .answer(post(&format!("/bot{TOKEN}/sendMessage"), &json!({ "chat_id": ANN, "text": "x" })))
        .await;
    let (status, headers, body) = whole(answer);
    assert_eq!(status, 502);
    assert!(headers.contains(&("content-type".to_owned(), "text/html".to_owned())));
    assert!(body.starts_with(b"<html>"));
    assert!(telegram.messages(ANN).is_empty());
}
