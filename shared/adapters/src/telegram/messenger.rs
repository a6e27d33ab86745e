//! `sendMessage`, once a call. The token is a part of the URL there, so no URL and no error text leaves this file.

use std::fmt;

use docket_domain::outcome::SendOutcome;
use docket_domain::outcome::telegram::classify_send;
use docket_domain::ports::Messenger;
use docket_domain::submission::ChatId;
use serde_json::json;

use crate::config::Secret;
use crate::http::{Call, Deadline, Http, HttpUnavailable};

/// One bot.
pub struct TelegramMessenger {
    http: Http,
    /// Holds the token.
    url: Secret,
    send_timeout_ms: u64,
}

impl fmt::Debug for TelegramMessenger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TelegramMessenger")
            .field("send_timeout_ms", &self.send_timeout_ms)
            .finish_non_exhaustive()
    }
}

impl TelegramMessenger {
    /// `endpoint` is a base URL. The Bot API's server may take about 8 s before it answers a good request, so the timeout
    /// should be 15 s or more.
    pub fn new(endpoint: &str, token: &Secret, send_timeout_ms: u64) -> Result<Self, HttpUnavailable> {
        let url = format!("{}/bot{}/sendMessage", endpoint.trim_end_matches('/'), token.expose());
        Ok(Self { http: Http::new(send_timeout_ms)?, url: Secret::new(url), send_timeout_ms })
    }
}

impl Messenger for TelegramMessenger {
    async fn send(&self, chat_id: ChatId, text: &str) -> SendOutcome {
        // No parse_mode: a customer's words are never markup.
        let body = json!({
            "chat_id": chat_id,
            "text": text,
            "link_preview_options": {"is_disabled": true},
        });
        let call = Call::post_json(self.url.expose().to_owned(), &body);
        classify_send(&self.http.exchange(call, Deadline::in_ms(self.send_timeout_ms)).await)
    }
}
