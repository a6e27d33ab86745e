//! The Bot API as whoever sets a bot up uses it: who it is, and what its webhook is. Never a customer's message.
//!
//! The token is a part of the URL there, so no URL and no error text leaves this file.

use std::fmt;

use docket_domain::outcome::Exchange;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::config::Secret;
use crate::http::{Call, Deadline, Http, HttpUnavailable};

/// What Telegram sends to the webhook. Given with each `setWebhook`, since Telegram goes on remembering the list of an
/// earlier one, and a bot that once asked for messages only would get no buttons.
pub const ALLOWED_UPDATES: [&str; 3] = ["message", "edited_message", "callback_query"];
/// The Bot API may take about 8 s for a good request.
const TIMEOUT_MS: u64 = 20_000;

/// One bot, by its token.
pub struct BotApi {
    http: Http,
    /// Holds the token.
    base: Secret,
}

impl fmt::Debug for BotApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BotApi")
    }
}

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BotError {
    /// Telegram refused it: `error_code`, and Telegram's own words.
    #[error("Telegram refused: {code} {description}")]
    Refused { code: i64, description: String },
    /// No answer, or none that can be read; whether it was carried out is not known.
    #[error("Telegram could not be asked: {0}")]
    Unreachable(String),
}

/// `getMe`, as far as it is used.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Me {
    pub id: i64,
    pub username: String,
}

/// `getWebhookInfo`: what Telegram remembers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct WebhookInfo {
    /// Empty when none is set.
    pub url: String,
    pub pending_update_count: u64,
    pub max_connections: Option<u64>,
    /// None: what Telegram sends by default.
    pub allowed_updates: Option<Vec<String>>,
    /// Seconds since the epoch. Success does not clear it.
    pub last_error_date: Option<i64>,
    pub last_error_message: Option<String>,
}

/// What the webhook shall be.
#[derive(Debug, Clone)]
pub struct Webhook {
    pub url: String,
    pub secret: Secret,
    pub max_connections: u64,
}

impl BotApi {
    pub fn new(endpoint: &str, token: &Secret) -> Result<Self, HttpUnavailable> {
        let base = format!("{}/bot{}", endpoint.trim_end_matches('/'), token.expose());
        Ok(Self { http: Http::new(TIMEOUT_MS)?, base: Secret::new(base) })
    }

    pub async fn me(&self) -> Result<Me, BotError> {
        parsed(self.call("getMe", &json!({})).await?)
    }

    pub async fn webhook_info(&self) -> Result<WebhookInfo, BotError> {
        parsed(self.call("getWebhookInfo", &json!({})).await?)
    }

    /// Waiting updates are kept.
    pub async fn set_webhook(&self, webhook: &Webhook) -> Result<(), BotError> {
        let wanted = json!({
            "url": webhook.url,
            "secret_token": webhook.secret.expose(),
            "allowed_updates": ALLOWED_UPDATES,
            "max_connections": webhook.max_connections,
            "drop_pending_updates": false,
        });
        self.call("setWebhook", &wanted).await.map(drop)
    }

    /// Waiting updates are kept.
    pub async fn delete_webhook(&self) -> Result<(), BotError> {
        self.call("deleteWebhook", &json!({"drop_pending_updates": false})).await.map(drop)
    }

    /// The `result` of a method.
    async fn call(&self, method: &str, parameters: &Value) -> Result<Value, BotError> {
        let call = Call::post_json(format!("{}/{method}", self.base.expose()), parameters);
        match self.http.exchange(call, Deadline::in_ms(TIMEOUT_MS)).await {
            Exchange::NotSent(cause) | Exchange::Lost(cause) => Err(BotError::Unreachable(cause.to_string())),
            Exchange::Answered { status, body, .. } => read(status, &body),
        }
    }
}

/// 200 alone is no success: `{"ok":false}` may come with it.
fn read(status: u16, body: &[u8]) -> Result<Value, BotError> {
    #[derive(Deserialize)]
    struct Answer {
        ok: bool,
        #[serde(default)]
        result: Value,
        error_code: Option<i64>,
        #[serde(default)]
        description: String,
    }
    match serde_json::from_slice(body) {
        Ok(Answer { ok: true, result, .. }) => Ok(result),
        Ok(Answer { error_code, description, .. }) => {
            Err(BotError::Refused { code: error_code.unwrap_or(i64::from(status)), description })
        }
        Err(_) => Err(BotError::Unreachable(format!("http_{status}, no answer of the Bot API"))),
    }
}

fn parsed<T: for<'de> Deserialize<'de>>(result: Value) -> Result<T, BotError> {
    serde_json::from_value(result).map_err(|_| BotError::Unreachable("an answer of another shape".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_hundred_is_not_enough_and_a_refusal_is_told_in_telegrams_words() {
        assert_eq!(read(200, br#"{"ok":true,"result":true}"#), Ok(json!(true)));
        assert_eq!(
            read(200, br#"{"ok":false,"description":"no"}"#),
            Err(BotError::Refused { code: 200, description: "no".into() })
        );
        assert_eq!(
            read(401, br#"{"ok":false,"error_code":401,"description":"Unauthorized"}"#),
            Err(BotError::Refused { code: 401, description: "Unauthorized".into() })
        );
        assert!(matches!(read(502, b"<html>"), Err(BotError::Unreachable(_))));
        assert!(matches!(read(200, b""), Err(BotError::Unreachable(_))));
    }

    #[test]
    fn what_telegram_leaves_out_is_absent() {
        let info: WebhookInfo =
            parsed(json!({"url": "", "has_custom_certificate": false})).expect("readable");
        assert_eq!(info, WebhookInfo::default());
    }
}
