//! The webhook's settings, as Telegram remembers them between calls.
//!
//! Two memories of Telegram are traps, and are kept here faithfully: `allowed_updates` outlives the call that set it,
//! and the last error is not forgotten when deliveries succeed again.

use serde_json::{Map, Value, json};

use super::refusal::{Done, Refusal};

const SECRET_LIMIT: usize = 256;

#[derive(Debug, Default)]
pub(super) struct WebhookSettings {
    url: String,
    pub(super) secret_token: Option<String>,
    /// None: all kinds that Telegram sends by default.
    allowed_updates: Option<Vec<String>>,
    max_connections: Option<i64>,
    pub(super) pending_updates: usize,
    last_error: Option<(i64, String)>,
}

impl WebhookSettings {
    pub(super) fn set(&mut self, parameters: &Map<String, Value>) -> Result<Done, Refusal> {
        let words = |name: &str| parameters.get(name).and_then(Value::as_str).unwrap_or_default();
        let url = words("url");
        if url.is_empty() {
            return Ok(self.delete());
        }
        if !url.starts_with("https://") {
            return Err(Refusal::bad_request("bad webhook: An HTTPS URL must be provided for webhook"));
        }
        let secret = words("secret_token");
        if secret.len() > SECRET_LIMIT {
            return Err(Refusal::bad_request("secret token is too long"));
        }
        if !secret.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter)) {
            return Err(Refusal::bad_request("secret token contains unallowed characters"));
        }
        if let Some(kinds) = allowed_updates(parameters)? {
            // An empty list stands for the default.
            self.allowed_updates = Some(kinds).filter(|kinds| !kinds.is_empty());
        }
        let unchanged = self.url == url && self.secret_token.as_deref().unwrap_or_default() == secret;
        url.clone_into(&mut self.url);
        self.secret_token = Some(secret.to_owned()).filter(|secret| !secret.is_empty());
        self.max_connections = parameters.get("max_connections").and_then(Value::as_i64);
        let description = if unchanged { "Webhook is already set" } else { "Webhook was set" };
        Ok(Done { result: json!(true), description: Some(description) })
    }

    pub(super) fn delete(&mut self) -> Done {
        let description =
            if self.url.is_empty() { "Webhook is already deleted" } else { "Webhook was deleted" };
        self.url.clear();
        self.secret_token = None;
        self.max_connections = None;
        Done { result: json!(true), description: Some(description) }
    }

    pub(super) fn info(&self) -> Value {
        let mut info = json!({
            "url": self.url,
            "has_custom_certificate": false,
            "pending_update_count": self.pending_updates,
        });
        if !self.url.is_empty() {
            info["max_connections"] = json!(self.max_connections.unwrap_or(40));
            info["ip_address"] = json!("192.0.2.1");
        }
        if let Some(kinds) = &self.allowed_updates {
            info["allowed_updates"] = json!(kinds);
        }
        if let Some((at_ms, message)) = &self.last_error {
            info["last_error_date"] = json!(at_ms / 1000);
            info["last_error_message"] = json!(message);
        }
        info
    }

    pub(super) fn delivery_failed(&mut self, at_ms: i64, message: String) {
        self.last_error = Some((at_ms, message));
    }

    /// Whether Telegram sends updates of this kind at all.
    pub(super) fn wants(&self, kind: &str) -> bool {
        self.allowed_updates.as_ref().is_none_or(|kinds| kinds.iter().any(|allowed| allowed == kind))
    }
}

/// A list, or the same as JSON text.
fn allowed_updates(parameters: &Map<String, Value>) -> Result<Option<Vec<String>>, Refusal> {
    let refused = || Refusal::bad_request("can't parse allowed updates JSON-encoded list");
    let list = match parameters.get("allowed_updates") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => serde_json::from_str(text).map_err(|_| refused())?,
        Some(other) => other.clone(),
    };
    serde_json::from_value(list).map(Some).map_err(|_| refused())
}
