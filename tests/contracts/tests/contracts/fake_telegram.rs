//! What the fake Telegram imitates, fact by fact.

mod bot_api;
mod conversation;
mod delivery;
mod refusals;
mod settings;

use docket_world::clock::TurnedClock;
use docket_world::exchange::{Answer, Fake, Request};
use docket_world::telegram::FakeTelegram;
use serde_json::{Value, json};

const NOW_MS: i64 = 1_767_323_045_000;
const TOKEN: &str = "123456789:AAtest-token";
const ANN: i64 = 7_100_000_001;

fn telegram() -> FakeTelegram {
    FakeTelegram::new(TurnedClock::at(NOW_MS), TOKEN)
}

fn post(path: &str, body: &Value) -> Request {
    Request {
        method: "POST".to_owned(),
        path: path.to_owned(),
        query: String::new(),
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: body.to_string().into_bytes(),
    }
}

/// Calls a method with the right token: status and body of the answer.
async fn call(telegram: &FakeTelegram, method: &str, parameters: Value) -> (u16, Value) {
    let answer = telegram.answer(post(&format!("/bot{TOKEN}/{method}"), &parameters)).await;
    let (status, _, body) = whole(answer);
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

async fn send(telegram: &FakeTelegram, chat_id: i64, text: &str) -> (u16, Value) {
    call(telegram, "sendMessage", json!({ "chat_id": chat_id, "text": text })).await
}

fn whole(answer: Answer) -> (u16, Vec<(String, String)>, Vec<u8>) {
    match answer {
        Answer::Reply { status, headers, body } => (status, headers, body),
        Answer::HangUp | Answer::Half { .. } | Answer::Never => panic!("no whole answer: {answer:?}"),
    }
}
