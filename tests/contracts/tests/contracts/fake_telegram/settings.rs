//! The webhook's settings: what is refused, and what Telegram goes on remembering.

use docket_world::telegram::{Deliveries, Ended, WebhookAnswer};
use serde_json::{Value, json};

use super::{ANN, NOW_MS, call, telegram};

const URL: &str = "https://docket.example/telegram";

#[tokio::test]
async fn the_webhook_is_set_shown_and_deleted() {
    let telegram = telegram();
    let set =
        json!({ "url": URL, "secret_token": "s3cret_-", "allowed_updates": ["message", "callback_query"] });
    let (status, body) = call(&telegram, "setWebhook", set.clone()).await;
    assert_eq!(
        (status, &body),
        (200, &json!({ "ok": true, "result": true, "description": "Webhook was set" }))
    );
    assert_eq!(telegram.webhook_secret().as_deref(), Some("s3cret_-"));
    assert_eq!(call(&telegram, "setWebhook", set).await.1["description"], "Webhook is already set");

    let info = call(&telegram, "getWebhookInfo", json!({})).await.1["result"].clone();
    assert_eq!(info["url"], URL);
    assert_eq!(info["pending_update_count"], 0);
    assert_eq!(info["allowed_updates"], json!(["message", "callback_query"]));
    assert_eq!(info.get("last_error_message"), None);

    assert_eq!(call(&telegram, "deleteWebhook", json!({})).await.1["description"], "Webhook was deleted");
    assert_eq!(call(&telegram, "getWebhookInfo", json!({})).await.1["result"]["url"], "");
}

#[tokio::test]
async fn a_secret_is_1_to_256_letters_digits_underscores_and_hyphens() {
    let telegram = telegram();
    let cases = [
        ("a".repeat(256), 200, None),
        ("a".repeat(257), 400, Some("Bad Request: secret token is too long")),
        ("a+b".to_owned(), 400, Some("Bad Request: secret token contains unallowed characters")),
        ("a b".to_owned(), 400, Some("Bad Request: secret token contains unallowed characters")),
    ];
    for (secret, status, because) in cases {
        let (answered, body) =
            call(&telegram, "setWebhook", json!({ "url": URL, "secret_token": secret })).await;
        assert_eq!(answered, status);
        if because.is_some() {
            assert_eq!(body["description"].as_str(), because);
        }
    }
}

#[tokio::test]
async fn a_webhook_has_to_be_https() {
    let (status, _) = call(&telegram(), "setWebhook", json!({ "url": "http://docket.example" })).await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn allowed_updates_outlive_a_call_that_does_not_name_them() {
    let telegram = telegram();
    call(&telegram, "setWebhook", json!({ "url": URL, "allowed_updates": ["message"] })).await;
    call(&telegram, "deleteWebhook", json!({})).await;
    call(&telegram, "setWebhook", json!({ "url": URL })).await;
    let info = call(&telegram, "getWebhookInfo", json!({})).await.1;
    assert_eq!(info["result"]["allowed_updates"], json!(["message"]));

    // So buttons stop arriving.
    let customer = telegram.customer(ANN, "Ann", None);
    let press =
        telegram.redeliver_until_2xx(customer.press("c:1", 1), |_| async { panic!("delivered") }).await;
    assert_eq!(press.ended, Ended::NotWanted);

    call(&telegram, "setWebhook", json!({ "url": URL, "allowed_updates": ["message", "callback_query"] }))
        .await;
    let press = telegram.redeliver_until_2xx(customer.press("c:1", 1), |_| async { Some(ok()) }).await;
    assert_eq!(press.ended, Ended::Accepted);
}

#[tokio::test]
async fn the_last_error_is_shown_and_success_does_not_clear_it() {
    let telegram = telegram();
    call(&telegram, "setWebhook", json!({ "url": URL })).await;
    let mut answers = vec![ok(), WebhookAnswer { status: 500, ..WebhookAnswer::default() }];
    let update = telegram.customer(ANN, "Ann", None).text("hello");
    telegram.redeliver_until_2xx(update, move |_| std::future::ready(answers.pop())).await;
    let info = call(&telegram, "getWebhookInfo", json!({})).await.1["result"].clone();
    assert_eq!(info["last_error_message"], "Wrong response from the webhook: 500 Internal Server Error");
    assert_eq!(info["last_error_date"], NOW_MS / 1000);
    assert_eq!(info["pending_update_count"], 0);
}

#[tokio::test]
async fn updates_on_their_way_are_counted() {
    let telegram = telegram();
    let mut deliveries = Deliveries::new(&telegram);
    deliveries.push(telegram.customer(ANN, "Ann", None).text("hello"));
    deliveries.push(telegram.customer(ANN + 1, "Ben", None).text("hello"));
    let info: Value = call(&telegram, "getWebhookInfo", json!({})).await.1;
    assert_eq!(info["result"]["pending_update_count"], 2);
}

fn ok() -> WebhookAnswer {
    WebhookAnswer { status: 200, ..WebhookAnswer::default() }
}
