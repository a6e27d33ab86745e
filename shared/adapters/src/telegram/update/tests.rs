//! What Telegram may send, and what becomes of it.

use serde_json::json;

use super::*;

fn of(update: &Value) -> Incoming {
    parse(update.to_string().as_bytes()).expect("an update")
}

fn user(id: i64) -> Value {
    json!({"id": id, "is_bot": false, "first_name": "Ann", "last_name": "Lee", "username": "ann_lee"})
}

fn sender(id: i64) -> Sender {
    Sender { id, contact: Contact::of_user("Ann", Some("Lee"), Some("ann_lee")) }
}

/// A message of a private chat, with more in it.
fn message(more: &Value) -> Value {
    let mut message = json!({
        "message_id": 77, "date": 1_772_356_500, "from": user(7_100_000_001),
        "chat": {"id": 7_100_000_001_i64, "type": "private", "first_name": "Ann"},
    });
    for (name, value) in more.as_object().expect("an object") {
        message[name] = value.clone();
    }
    json!({"update_id": 1, "message": message})
}

fn button(message: &Value, data: &Value) -> Value {
    let mut query = json!({"id": "4382bfdwdsb323b2d9", "from": user(5), "chat_instance": "1"});
    for (name, value) in [("message", message), ("data", data)] {
        if !value.is_null() {
            query[name] = value.clone();
        }
    }
    json!({"update_id": 1, "callback_query": query})
}

#[test]
fn a_text_is_read_with_its_ids_whole() {
    for id in [7_100_000_001, 4_503_599_627_370_495, 9_007_199_254_740_993, i64::MAX, -1_002_000_000_001, -5]
    {
        let update = json!({"update_id": 4_294_967_999_i64, "message": {
            "message_id": id, "from": user(id), "chat": {"id": id, "type": "private"}, "text": "a\nb \u{1f600}",
        }});
        let expected =
            Update::Text { chat_id: ChatId(id), message_id: id, from: sender(id), text: "a\nb 😀".into() };
        assert_eq!(of(&update), Incoming::Update(expected));
    }
}

#[test]
fn an_id_that_is_no_whole_number_of_64_bits_is_not_rounded() {
    for id in [json!(1.5), json!(1e30), json!(u64::MAX), json!("7"), Value::Null] {
        let update = message(&json!({"text": "x", "chat": {"id": id, "type": "private"}}));
        assert_eq!(of(&update), Incoming::Ignored("other_shape"), "{id}");
    }
}

#[test]
fn a_message_without_text_asks_for_text_whatever_it_holds() {
    for more in [
        json!({"sticker": {"file_id": "x"}}),
        json!({"voice": {}}),
        json!({"photo": [], "caption": "a caption"}),
        json!({"poll": {}}),
        json!({"contact": {}}),
        json!({"location": {}}),
        json!({"dice": {"emoji": "🎲", "value": 3}}),
        json!({"some_future_content": {}}),
        json!({"text": null, "document": {}}),
    ] {
        let expected = Update::NotText { chat_id: ChatId(7_100_000_001) };
        assert_eq!(of(&message(&more)), Incoming::Update(expected), "{more}");
    }
}

#[test]
fn events_that_nobody_wrote_are_passed_over() {
    for name in SERVICE {
        assert_eq!(of(&message(&json!({name: {}}))), Incoming::Ignored("service_message"), "{name}");
    }
}

#[test]
fn an_edited_text_keeps_the_id_of_its_message() {
    let mut update = message(&json!({"text": "mended"}));
    update["edited_message"] = update["message"].take();
    update.as_object_mut().expect("an object").remove("message");
    let expected =
        Update::EditedText { chat_id: ChatId(7_100_000_001), message_id: 77, text: "mended".into() };
    assert_eq!(of(&update), Incoming::Update(expected));
    update["edited_message"]["text"] = Value::Null;
    assert_eq!(of(&update), Incoming::Ignored("edited_without_text"));
}

#[test]
fn a_button_names_its_message_while_that_can_be_edited() {
    let chat = json!({"id": 5, "type": "private"});
    for (carrier, message_id) in [
        (json!({"chat": chat, "message_id": 9, "date": 1_772_356_500, "text": "card"}), Some(9)),
        (json!({"chat": chat, "message_id": 9, "date": 0}), None),
        (json!({"chat": chat, "date": 1_772_356_500}), None),
    ] {
        let expected = Update::Button {
            callback_id: "4382bfdwdsb323b2d9".into(),
            chat_id: ChatId(5),
            message_id,
            from: sender(5),
            data: "confirm:x:y".into(),
        };
        assert_eq!(of(&button(&carrier, &json!("confirm:x:y"))), Incoming::Update(expected), "{carrier}");
    }
    let carrier = json!({"chat": chat, "message_id": 9, "date": 1});
    assert_eq!(of(&button(&carrier, &Value::Null)), Incoming::Ignored("button_without_data"));
    assert_eq!(of(&button(&Value::Null, &json!("x"))), Incoming::Ignored("button_without_message"));
    let group = json!({"chat": {"id": -5, "type": "group"}, "message_id": 9, "date": 1});
    assert_eq!(of(&button(&group, &json!("x"))), Incoming::Ignored("not_a_private_chat"));
}

#[test]
fn other_chats_bots_and_kinds_are_passed_over() {
    for kind in ["group", "supergroup", "channel", "some_future_kind"] {
        let update = message(&json!({"text": "x", "chat": {"id": -1_002_000_000_001_i64, "type": kind}}));
        assert_eq!(of(&update), Incoming::Ignored("not_a_private_chat"));
    }
    let bot = message(&json!({"text": "x", "from": {"id": 3, "is_bot": true, "first_name": "B"}}));
    assert_eq!(of(&bot), Incoming::Ignored("from_a_bot"));
    assert_eq!(of(&message(&json!({"text": "x", "from": null}))), Incoming::Ignored("no_sender"));
    for kind in ["channel_post", "inline_query", "my_chat_member", "business_message", "some_future_kind"] {
        assert_eq!(of(&json!({"update_id": 1, kind: {"text": "x"}})), Incoming::Ignored("other_kind"));
    }
    for shape in [json!(null), json!([]), json!("x"), json!(7), json!({}), json!({"chat": 7})] {
        for kind in ["message", "edited_message", "callback_query"] {
            assert_eq!(of(&json!({kind: shape})), Incoming::Ignored("other_shape"), "{kind} {shape}");
        }
    }
}

#[test]
fn a_field_that_is_not_used_may_hold_anything() {
    let update = message(&json!({
        "text": "x", "date": "yesterday", "entities": 7, "reply_to_message": [1], "photo": "?", "update": {},
        "chat": {"id": 5, "type": "private", "title": 7, "first_name": []},
        "from": {"id": 5, "is_bot": false, "first_name": "Ann", "language_code": 7, "is_premium": "yes"},
    }));
    assert!(matches!(of(&update), Incoming::Update(Update::Text { .. })));
}

#[test]
fn what_is_no_json_object_is_no_update() {
    for body in ["", " ", "null", "[]", "7", "\"x\"", "{", "{\"update_id\":1", "<html>", "\u{feff}{}"] {
        assert_eq!(parse(body.as_bytes()), Err(NotAnUpdate), "{body}");
    }
    assert_eq!(parse(b"\xff\xfe{}"), Err(NotAnUpdate));
    assert_eq!(parse(b"{}"), Ok(Incoming::Ignored("other_kind")));
    let deep = format!("{{\"message\":{}{}}}", "[".repeat(5_000), "]".repeat(5_000));
    assert_eq!(parse(deep.as_bytes()), Err(NotAnUpdate));
}
