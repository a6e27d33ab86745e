//! The customer's half of a chat: authentic updates, and what the webhook's answers do to the chat.

use serde_json::{Value, json};

use super::{ANN, NOW_MS, TOKEN, call, telegram};
use docket_world::clock::TurnedClock;
use docket_world::telegram::{Customer, FakeTelegram};

fn ann(telegram: &FakeTelegram) -> Customer {
    telegram.customer(ANN, "Ann", Some("ann_example"))
}

fn say(telegram: &FakeTelegram, text: &str, buttons: Value) {
    let answer = json!({
        "method": "sendMessage", "chat_id": ANN, "text": text, "reply_markup": { "inline_keyboard": buttons },
    });
    telegram.take_webhook_answer(answer.to_string().as_bytes());
}

#[test]
fn a_text_comes_as_a_message_of_a_private_chat() {
    let update = ann(&telegram()).text("hello");
    let message = &update["message"];
    assert_eq!(message["text"], "hello");
    assert_eq!(message["date"], NOW_MS / 1000);
    assert_eq!(message["from"]["id"], ANN);
    assert_eq!(message["from"]["username"], "ann_example");
    assert_eq!(
        message["chat"],
        json!({
            "id": ANN, "first_name": "Ann", "username": "ann_example", "type": "private",
        })
    );
}

#[test]
fn a_command_is_marked_at_its_beginning() {
    let update = ann(&telegram()).text("/start@OurBot abc");
    assert_eq!(update["message"]["entities"], json!([{ "type": "bot_command", "offset": 0, "length": 13 }]));
}

#[test]
fn update_ids_and_message_ids_are_fresh() {
    let telegram = telegram();
    let (ann, ben) = (ann(&telegram), telegram.customer(ANN + 1, "Ben", None));
    let updates = [ann.text("1"), ben.text("1"), ann.text("2"), ann.press("c", 1)];
    let mut ids: Vec<i64> = updates.iter().map(|update| update["update_id"].as_i64().unwrap()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 4);
    assert_eq!(updates[0]["message"]["message_id"], 1);
    assert_eq!(updates[2]["message"]["message_id"], 2);
    say(&telegram, "card", json!([]));
    assert_eq!(ann.text("3")["message"]["message_id"], 4, "the bot's messages count along");
}

#[test]
fn update_ids_may_start_anew_after_an_idle_week() {
    let telegram = telegram();
    let before = ann(&telegram).text("1")["update_id"].as_i64().unwrap();
    telegram.go_on_from_update_id(5);
    assert!(ann(&telegram).text("2")["update_id"].as_i64().unwrap() < before);
}

#[test]
fn an_edited_message_keeps_its_id_and_its_date() {
    let clock = TurnedClock::at(NOW_MS);
    let telegram = FakeTelegram::new(clock.clone(), TOKEN);
    let ann = ann(&telegram);
    let sent = ann.text("helo");
    clock.turn(60_000);
    let edited = ann.edit(sent["message"]["message_id"].as_i64().unwrap(), "hello");
    let message = &edited["edited_message"];
    assert_eq!(message["message_id"], sent["message"]["message_id"]);
    assert_eq!(message["date"], NOW_MS / 1000);
    assert_eq!(message["edit_date"], NOW_MS / 1000 + 60);
    assert_eq!(message["text"], "hello");
}

#[test]
fn a_double_tap_makes_two_updates_with_different_ids() {
    let telegram = telegram();
    say(&telegram, "card", json!([[{ "text": "Confirm", "callback_data": "c:1" }]]));
    let (first, second) = (ann(&telegram).press_button("Confirm"), ann(&telegram).press_button("Confirm"));
    assert_ne!(first["update_id"], second["update_id"]);
    assert_ne!(first["callback_query"]["id"], second["callback_query"]["id"]);
    assert_eq!(first["callback_query"]["data"], second["callback_query"]["data"]);
}

#[test]
fn a_press_carries_the_bots_message_as_it_stands() {
    let telegram = telegram();
    say(&telegram, "card", json!([[{ "text": "Confirm", "callback_data": "c:1" }]]));
    let query = ann(&telegram).press_button("Confirm")["callback_query"].clone();
    assert_eq!(query["from"]["id"], ANN);
    assert_eq!(query["data"], "c:1");
    assert_eq!(query["message"]["text"], "card");
    assert_eq!(query["message"]["from"]["is_bot"], true);
    assert_eq!(query["message"]["chat"]["type"], "private");
    assert_eq!(query["message"]["reply_markup"]["inline_keyboard"][0][0]["callback_data"], "c:1");
}

#[test]
fn a_press_may_come_without_its_message() {
    let ann = ann(&telegram());
    let inaccessible = ann.press_on_inaccessible("c:1", 44)["callback_query"]["message"].clone();
    assert_eq!(inaccessible["date"], 0);
    assert_eq!(inaccessible["message_id"], 44);
    assert_eq!(inaccessible["chat"]["id"], ANN);
    assert_eq!(inaccessible.as_object().unwrap().len(), 3);
    let inline = ann.press_inline("c:1", "AQAD")["callback_query"].clone();
    assert_eq!(inline["inline_message_id"], "AQAD");
    assert_eq!(inline.get("message"), None);
}

#[test]
fn messages_without_text_come_in_every_kind() {
    let ann = ann(&telegram());
    let kinds = [
        (ann.sticker(), "sticker"),
        (ann.photo_with_caption("look"), "photo"),
        (ann.voice(), "voice"),
        (ann.poll(), "poll"),
        (ann.contact(), "contact"),
        (ann.location(), "location"),
        (ann.dice(), "dice"),
        (ann.new_chat_members(), "new_chat_members"),
        (ann.migrate_to_chat(-1_002_000_000_009), "migrate_to_chat_id"),
        (ann.migrate_from_chat(-9), "migrate_from_chat_id"),
        (ann.message_with(json!({ "game": {} })), "game"),
    ];
    for (update, field) in kinds {
        assert!(update["message"].get(field).is_some(), "{field}");
        assert_eq!(update["message"].get("text"), None, "{field}");
    }
    assert_eq!(ann.photo_with_caption("look")["message"]["caption"], "look");
}

#[test]
fn a_group_message_comes_from_the_group() {
    let telegram = telegram();
    let in_group = ann(&telegram).in_group(-5, "Friends");
    let update = in_group.text("hello");
    assert_eq!(update["message"]["chat"], json!({ "id": -5, "title": "Friends", "type": "group" }));
    assert_eq!(update["message"]["from"]["id"], ANN);
    let supergroup = ann(&telegram).in_group(-1_002_000_000_001, "Friends").text_in_thread("hello", 1, true);
    assert_eq!(supergroup["message"]["chat"]["type"], "supergroup");
    assert_eq!(supergroup["message"]["is_topic_message"], true);
}

#[test]
fn the_method_in_the_webhooks_answer_is_carried_out_and_seen_in_the_chat() {
    let telegram = telegram();
    let ann = ann(&telegram);
    let _ = ann.text("/new");
    say(&telegram, "Which kind?", json!([[{ "text": "Order", "callback_data": "t:order" }]]));
    let press = ann.press_button("Order");
    let answers = [
        json!({ "method": "answerCallbackQuery", "callback_query_id": press["callback_query"]["id"], "text": "Fine" }),
        json!({ "method": "editMessageText", "chat_id": ANN, "message_id": 2, "text": "Write it down" }),
    ];
    for answer in answers {
        telegram.take_webhook_answer(answer.to_string().as_bytes());
    }
    assert_eq!(
        ann.chat().transcript(),
        "Ann: /new\nbot: Which kind? [Order]\nAnn: (presses t:order)\nbot notifies: Fine\nbot edits 2: Write it down\n"
    );
    assert_eq!(ann.chat().last_words().as_deref(), Some("Write it down"));
    assert_eq!(ann.chat().last_card(), None);
    assert!(telegram.silent_refusals().is_empty());
    assert!(
        telegram.messages(ANN).is_empty() && telegram.calls().is_empty(),
        "no call was made to the Bot API"
    );
}

#[tokio::test]
async fn a_refused_method_in_the_webhooks_answer_is_reported_to_nobody() {
    let telegram = telegram();
    telegram.take_webhook_answer(b"");
    telegram.take_webhook_answer(br#"{"ok":true}"#);
    assert!(telegram.silent_refusals().is_empty());
    let answer = json!({ "method": "sendMessage", "chat_id": ANN, "text": " " });
    telegram.take_webhook_answer(answer.to_string().as_bytes());
    assert_eq!(telegram.silent_refusals(), ["sendMessage: Bad Request: message text is empty"]);
    assert!(telegram.chat(ANN).cards().is_empty());
    assert_eq!(
        call(&telegram, "getWebhookInfo", json!({})).await.1["result"].get("last_error_message"),
        None
    );
}
