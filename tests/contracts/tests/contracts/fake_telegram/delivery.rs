//! When Telegram sends an update again, and when it gives up.

use std::cell::{Cell, RefCell};
use std::future::ready;

use docket_world::clock::TurnedClock;
use docket_world::telegram::{Deliveries, Ended, FakeTelegram, WebhookAnswer};
use serde_json::json;

use super::{ANN, NOW_MS, TOKEN};

fn answer(status: u16) -> Option<WebhookAnswer> {
    Some(WebhookAnswer { status, ..WebhookAnswer::default() })
}

fn telegram_and_clock() -> (FakeTelegram, TurnedClock) {
    let clock = TurnedClock::at(NOW_MS);
    (FakeTelegram::new(clock.clone(), TOKEN), clock)
}

fn seconds(attempts_ms: &[i64]) -> Vec<i64> {
    attempts_ms.iter().map(|at_ms| (at_ms - NOW_MS) / 1000).collect()
}

#[tokio::test]
async fn any_2xx_ends_the_delivery() {
    for status in [200, 201, 204, 299] {
        let (telegram, _) = telegram_and_clock();
        let update = telegram.customer(ANN, "Ann", None).text("hello");
        let delivery = telegram.redeliver_until_2xx(update.clone(), |_| ready(answer(status))).await;
        assert_eq!((delivery.ended, delivery.attempts_ms.len()), (Ended::Accepted, 1));
        assert_eq!(update["update_id"], delivery.update_id);
    }
}

#[tokio::test]
async fn everything_else_is_repeated_at_once_then_ever_later() {
    for failure in [answer(500), answer(302), answer(403), None] {
        let (telegram, _) = telegram_and_clock();
        let left = Cell::new(9);
        let update = telegram.customer(ANN, "Ann", None).text("hello");
        let delivery = telegram
            .redeliver_until_2xx(update, |_| {
                left.set(left.get() - 1);
                ready(if left.get() > 0 { failure.clone() } else { answer(200) })
            })
            .await;
        assert_eq!(delivery.ended, Ended::Accepted);
        assert_eq!(seconds(&delivery.attempts_ms), [0, 0, 2, 6, 14, 30, 62, 122, 182]);
    }
}

#[tokio::test]
async fn the_same_update_comes_again_not_a_new_one() {
    let (telegram, _) = telegram_and_clock();
    let update = telegram.customer(ANN, "Ann", None).text("hello");
    let seen = RefCell::new(Vec::new());
    telegram
        .redeliver_until_2xx(update.clone(), |delivered| {
            seen.borrow_mut().push(delivered);
            ready(answer(if seen.borrow().len() < 3 { 500 } else { 200 }))
        })
        .await;
    assert_eq!(seen.into_inner(), vec![update; 3]);
}

#[tokio::test]
async fn a_message_is_given_up_after_a_day_and_a_press_after_150_seconds() {
    let (telegram, clock) = telegram_and_clock();
    let customer = telegram.customer(ANN, "Ann", None);
    let message = telegram.redeliver_until_2xx(customer.text("hello"), |_| ready(answer(500))).await;
    assert_eq!(message.ended, Ended::GivenUp);
    let last = *seconds(&message.attempts_ms).last().unwrap();
    assert!((86_340..=86_400).contains(&last), "{last}");

    let pressed_at_ms = clock.now_ms();
    let press = telegram.redeliver_until_2xx(customer.press("c:1", 1), |_| ready(None)).await;
    assert_eq!(press.ended, Ended::GivenUp);
    let last_ms = press.attempts_ms.last().unwrap() - pressed_at_ms;
    assert!((90_000..=150_000).contains(&last_ms), "{last_ms}");
}

#[tokio::test]
async fn retry_after_is_honoured_up_to_an_hour() {
    let (telegram, _) = telegram_and_clock();
    let asked = RefCell::new(vec![7200, 90]);
    let update = telegram.customer(ANN, "Ann", None).text("hello");
    let delivery = telegram
        .redeliver_until_2xx(update, |_| {
            let retry_after_seconds = asked.borrow_mut().pop();
            let status = if retry_after_seconds.is_some() { 503 } else { 200 };
            ready(Some(WebhookAnswer { status, retry_after_seconds, body: Vec::new() }))
        })
        .await;
    assert_eq!(seconds(&delivery.attempts_ms), [0, 90, 3690]);
}

#[tokio::test]
async fn a_poison_message_blocks_its_chat_but_neither_other_chats_nor_presses() {
    let (telegram, clock) = telegram_and_clock();
    let (ann, ben) = (telegram.customer(ANN, "Ann", None), telegram.customer(ANN + 1, "Ben", None));
    let mut deliveries = Deliveries::new(&telegram);
    for update in [ann.sticker(), ann.text("next"), ben.text("hello"), ann.press("c:1", 1)] {
        deliveries.push(update);
    }
    let poison = |update: serde_json::Value| {
        ready(answer(if update["message"]["sticker"].is_null() { 200 } else { 500 }))
    };
    deliveries.deliver_due(poison).await;
    assert_eq!(deliveries.done().len(), 2);
    assert_eq!(deliveries.next_due_ms(), Some(NOW_MS + 2000));

    deliveries.run(poison).await;
    let ended: Vec<Ended> = deliveries.done().iter().map(|delivery| delivery.ended).collect();
    assert_eq!(ended, [Ended::Accepted, Ended::Accepted, Ended::GivenUp, Ended::Accepted]);
    assert!(clock.now_ms() - NOW_MS > 23 * 60 * 60 * 1000, "the next message waited for a day");
}

#[tokio::test]
async fn the_accepted_answers_method_is_carried_out_once_and_a_refused_answers_is_not() {
    let (telegram, _) = telegram_and_clock();
    let ann = telegram.customer(ANN, "Ann", None);
    let body =
        json!({ "method": "sendMessage", "chat_id": ANN, "text": "Which kind?" }).to_string().into_bytes();
    let tries = Cell::new(0);
    telegram
        .redeliver_until_2xx(ann.text("/new"), |_| {
            tries.set(tries.get() + 1);
            let status = if tries.get() == 1 { 500 } else { 200 };
            ready(Some(WebhookAnswer { status, retry_after_seconds: None, body: body.clone() }))
        })
        .await;
    assert_eq!(ann.chat().transcript(), "Ann: /new\nbot: Which kind?\n");
}
