//! The webhook as Telegram calls it: one update, signed with the secret, and the HTTP answer. For the operator's canary.
//!
//! Telegram delivers an update again until it is accepted; this caller never does. What an answer that did not come means
//! is its user's matter.

use std::fmt;

use docket_domain::outcome::Exchange;
use serde_json::Value;

use crate::config::Secret;
use crate::http::{Call, Deadline, Http, HttpUnavailable};

/// Telegram sends the secret of `setWebhook` in this header (Bot API).
pub const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";
/// A cold function may take seconds; API Gateway gives up after 30 s.
const TIMEOUT_MS: u64 = 35_000;

/// One webhook, by its address and its secret.
pub struct WebhookCaller {
    http: Http,
    url: String,
    secret: Secret,
}

impl fmt::Debug for WebhookCaller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookCaller")
    }
}

impl WebhookCaller {
    /// # Errors
    /// No HTTP client can be made.
    pub fn new(url: String, secret: Secret) -> Result<Self, HttpUnavailable> {
        Ok(Self { http: Http::new(TIMEOUT_MS)?, url, secret })
    }

    /// Posts one update (Bot API, Update), once.
    pub async fn post(&self, update: &Value) -> Exchange {
        let call = Call::post_json(self.url.clone(), update).with_secret(SECRET_HEADER, self.secret.clone());
        self.http.exchange(call, Deadline::in_ms(TIMEOUT_MS)).await
    }
}
