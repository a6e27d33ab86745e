//! Methods that succeed, and what they leave in the chat.

use docket_world::exchange::{Answer, Fake, Request};
use serde_json::json;

use super::{ANN, NOW_MS, TOKEN, call, post, send, telegram};

#[tokio::test]
async fn a_sent_message_is_in_the_chat_and_its_id_is_answered() {
    let telegram = telegram();
    let (status, body) = send(&telegram, ANN, "Recorded: DK-1").await;
    assert_eq!(status, 200);
    assert_eq!(body["ok"], true);
    assert_eq!(body["result"]["chat"]["id"], ANN);
    assert_eq!(body["result"]["text"], "Recorded: DK-1");
    let sent = &telegram.messages(ANN)[0];
    assert_eq!(body["result"]["message_id"], sent.message_id);
    assert_eq!((sent.text.as_str(), sent.at_ms), ("Recorded: DK-1", NOW_MS));
    assert_eq!(sent.raw, json!({ "chat_id": ANN, "text": "Recorded: DK-1" }));
}

#[tokio::test]
async fn ids_beyond_32_bits_and_below_zero_stay_what_they_are() {
    for chat_id in [ANN, -1_002_000_000_001, 4_503_599_627_370_495, -5, 9_007_199_254_740_993] {
        let telegram = telegram();
        assert_eq!(send(&telegram, chat_id, "x").await.1["result"]["chat"]["id"], chat_id);
        assert_eq!(telegram.messages(chat_id).len(), 1);
    }
}

#[tokio::test]
async fn the_same_message_twice_is_two_messages_for_there_is_no_idempotency_key() {
    let telegram = telegram();
    send(&telegram, ANN, "same").await;
    send(&telegram, ANN, "same").await;
    let sent = telegram.messages(ANN);
    assert_eq!(sent.len(), 2);
    assert_ne!(sent[0].message_id, sent[1].message_id);
}

#[tokio::test]
async fn a_bot_cannot_read_messages_back() {
    for method in ["getMessage", "getMessages", "getChatHistory"] {
        assert_eq!(call(&telegram(), method, json!({ "chat_id": ANN })).await.0, 404);
    }
}

#[tokio::test]
async fn a_text_is_trimmed() {
    let telegram = telegram();
    let (_, body) = send(&telegram, ANN, "  \n hello \n\n").await;
    assert_eq!(body["result"]["text"], "hello");
}

#[tokio::test]
async fn a_text_may_have_4096_units_of_utf_16() {
    let telegram = telegram();
    assert_eq!(send(&telegram, ANN, &"a".repeat(4096)).await.0, 200);
    assert_eq!(send(&telegram, ANN, &"😀".repeat(2048)).await.0, 200);
    assert_eq!(send(&telegram, ANN, &format!("{}{}", "é".repeat(4000), "😀".repeat(48))).await.0, 200);
    assert_eq!(send(&telegram, ANN, &format!("  {}  ", "a".repeat(4096))).await.0, 200);
}

#[tokio::test]
async fn balanced_marks_are_parsed_before_the_text_is_measured() {
    let telegram = telegram();
    for (mode, text) in [("HTML", "<b>a</b> &lt; c"), ("Markdown", "*a* < c"), ("MarkdownV2", "__a__ < c")] {
        let parameters = json!({ "chat_id": ANN, "text": text, "parse_mode": mode });
        let (status, body) = call(&telegram, "sendMessage", parameters).await;
        assert_eq!((status, body["result"]["text"].as_str()), (200, Some("a < c")), "{mode}");
    }
    let long = format!("<b>{}</b>", "a".repeat(4096));
    let parameters = json!({ "chat_id": ANN, "text": long, "parse_mode": "HTML" });
    assert_eq!(call(&telegram, "sendMessage", parameters).await.0, 200);
}

#[tokio::test]
async fn without_a_parse_mode_marks_are_only_characters() {
    let telegram = telegram();
    let wild = "test_1:beta *x [a](b) <b> & \\ ` O_Neil*";
    let (status, body) = send(&telegram, ANN, wild).await;
    assert_eq!((status, body["result"]["text"].as_str()), (200, Some(wild)));
}

#[tokio::test]
async fn an_edit_replaces_the_text_and_the_buttons() {
    let telegram = telegram();
    let keyboard = json!({ "inline_keyboard": [[{ "text": "Confirm", "callback_data": "c:1" }]] });
    let card = json!({ "chat_id": ANN, "text": "card", "reply_markup": keyboard });
    let (_, body) = call(&telegram, "sendMessage", card).await;
    let message_id = body["result"]["message_id"].as_i64().unwrap();
    assert_eq!(telegram.chat(ANN).last_card().unwrap().data_of("Confirm"), Some("c:1"));

    let edit = json!({ "chat_id": ANN, "message_id": message_id, "text": "done" });
    let (status, body) = call(&telegram, "editMessageText", edit).await;
    assert_eq!((status, body["result"]["message_id"].as_i64()), (200, Some(message_id)));
    assert_eq!(telegram.chat(ANN).card(message_id).unwrap().text, "done");
    assert_eq!(telegram.chat(ANN).last_card(), None);
}

#[tokio::test]
async fn get_me_says_who_the_bot_is() {
    let (_, body) = call(&telegram(), "getMe", json!({})).await;
    assert_eq!(body["result"]["id"], 123_456_789);
    assert_eq!(body["result"]["username"], "OurBot");
}

#[tokio::test]
async fn parameters_may_also_come_in_the_query_or_in_a_form() {
    let telegram = telegram();
    let path = format!("/bot{TOKEN}/sendMessage");
    let query = Request {
        method: "GET".to_owned(),
        query: format!("chat_id={ANN}&text=a%20b+%F0%9F%98%80"),
        headers: Vec::new(),
        ..post(&path, &json!({}))
    };
    telegram.answer(query).await;
    let form = Request {
        headers: vec![("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned())],
        body: format!("chat_id={ANN}&text=100%25").into_bytes(),
        ..post(&path, &json!({}))
    };
    telegram.answer(form).await;
    let texts: Vec<String> = telegram.messages(ANN).into_iter().map(|sent| sent.text).collect();
    assert_eq!(texts, ["a b 😀", "100%"]);
}

#[tokio::test]
async fn every_call_is_kept_with_its_refusal() {
    let telegram = telegram();
    send(&telegram, ANN, "fine").await;
    telegram.block(ANN);
    send(&telegram, ANN, "refused").await;
    let calls = telegram.calls();
    assert_eq!(calls.len(), 2);
    assert_eq!(
        (calls[0].method.as_str(), calls[0].at_ms, calls[0].refused.as_deref()),
        ("sendMessage", NOW_MS, None)
    );
    assert_eq!(calls[1].parameters["text"], "refused");
    assert_eq!(calls[1].refused.as_deref(), Some("Forbidden: bot was blocked by the user"));
    assert_eq!(telegram.messages(ANN).len(), 1);
}

#[tokio::test]
async fn a_scripted_answer_may_follow_a_delivery_or_come_instead_of_it() {
    let telegram = telegram();
    let restart = r#"{"ok":false,"error_code":500,"description":"Internal Server Error: restart"}"#;
    telegram.deliver_then(500, restart);
    telegram.answer_next(500, restart);
    for _ in 0..2 {
        let (status, body) = send(&telegram, ANN, "x").await;
        assert_eq!((status, body["description"].as_str()), (500, Some("Internal Server Error: restart")));
    }
    assert_eq!(telegram.messages(ANN).len(), 1);
    assert_eq!(telegram.calls().len(), 2);
    assert_eq!(send(&telegram, ANN, "y").await.0, 200);
}

#[tokio::test]
async fn a_delivered_message_may_lose_its_answer_in_every_way() {
    let telegram = telegram();
    let say = || {
        telegram.answer(post(&format!("/bot{TOKEN}/sendMessage"), &json!({ "chat_id": ANN, "text": "x" })))
    };
    telegram.deliver_then_hang_up();
    assert!(matches!(say().await, Answer::HangUp));
    telegram.deliver_then_never();
    assert!(matches!(say().await, Answer::Never));
    telegram.deliver_then_half(9);
    assert!(matches!(say().await, Answer::Half { status: 200, sent: 9, .. }));
    assert_eq!(telegram.messages(ANN).len(), 3);
}
