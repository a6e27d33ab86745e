//! What the answer to a `sendMessage` means.

use serde::Deserialize;

use super::Exchange;
use crate::cause::Cause;
use crate::submission::ChatId;

/// Nothing was sent, for sure. The next step differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotSent {
    /// The request did not get there.
    TryAgain(Cause),
    /// Too many messages: after so many seconds, however many.
    Busy { retry_after_seconds: u64 },
    /// The token is wrong: no message of this bot can be sent until somebody mends it.
    Halt(Cause),
}

impl NotSent {
    #[must_use]
    pub fn cause(&self) -> Cause {
        match self {
            Self::TryAgain(cause) | Self::Halt(cause) => cause.clone(),
            Self::Busy { .. } => Cause::new("http_429"),
        }
    }
}

/// What is known after a `sendMessage`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendOutcome {
    /// The Bot API accepted the message, and named it where it could.
    Accepted {
        message_id: Option<i64>,
    },
    /// Final for this chat.
    Refused(Cause),
    /// The chat has become another one, which Telegram names.
    Moved {
        to: ChatId,
    },
    NotSent(NotSent),
    Unknown(Cause),
}

/// The Bot API's envelope, as far as a decision needs it.
#[derive(Debug, Deserialize)]
struct Envelope {
    ok: bool,
    #[serde(default)]
    error_code: Option<u16>,
    #[serde(default)]
    parameters: Option<Parameters>,
    #[serde(default)]
    result: Option<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
struct Parameters {
    #[serde(default)]
    retry_after: Option<u64>,
    #[serde(default)]
    migrate_to_chat_id: Option<i64>,
}

/// Used when Telegram says "too many requests" without saying for how long.
const RETRY_AFTER_SECONDS_UNSAID: u64 = 60;

/// Classifies the answer to a `sendMessage`. The words of `description` change and decide nothing.
#[must_use]
pub fn classify_send(exchange: &Exchange) -> SendOutcome {
    let (status, header, body) = match exchange {
        Exchange::NotSent(cause) => return SendOutcome::NotSent(NotSent::TryAgain(cause.clone())),
        Exchange::Lost(cause) => return SendOutcome::Unknown(cause.clone()),
        Exchange::Answered { status, retry_after_seconds, body } => (*status, *retry_after_seconds, body),
    };
    let envelope = serde_json::from_slice::<Envelope>(body).ok();
    match (status, envelope) {
        (200..=299, Some(Envelope { ok: true, result, .. })) => {
            let message_id = result.and_then(|message| message.get("message_id")?.as_i64());
            SendOutcome::Accepted { message_id }
        }
        // A refusal may travel in a 200.
        (200..=299, Some(Envelope { ok: false, error_code: Some(code), parameters, .. })) => {
            classify_refusal(code, header, parameters)
        }
        (200..=299, Some(Envelope { ok: false, error_code: None, .. }) | None) => {
            SendOutcome::Unknown(Cause::new("unreadable_answer"))
        }
        (429, envelope) => classify_refusal(429, header, envelope.and_then(|e| e.parameters)),
        // Only the Bot API's own words prove that it refused.
        (status, Some(Envelope { ok: false, parameters, .. })) => {
            classify_refusal(status, header, parameters)
        }
        (status, Some(Envelope { ok: true, .. }) | None) => {
            SendOutcome::Unknown(Cause::new(format!("http_{status}")))
        }
    }
}

fn classify_refusal(code: u16, header: Option<u64>, parameters: Option<Parameters>) -> SendOutcome {
    let (retry_after, moved) = match parameters {
        Some(Parameters { retry_after, migrate_to_chat_id }) => (retry_after, migrate_to_chat_id),
        None => (None, None),
    };
    match code {
        400 => match moved {
            Some(to) => SendOutcome::Moved { to: ChatId(to) },
            None => SendOutcome::Refused(Cause::new("http_400")),
        },
        403 => SendOutcome::Refused(Cause::new("http_403")),
        401 | 404 => SendOutcome::NotSent(NotSent::Halt(Cause::new(format!("http_{code}")))),
        429 => SendOutcome::NotSent(NotSent::Busy {
            retry_after_seconds: retry_after.or(header).unwrap_or(RETRY_AFTER_SECONDS_UNSAID).max(1),
        }),
        _ => SendOutcome::Unknown(Cause::new(format!("http_{code}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, body: &str) -> SendOutcome {
        classify_send(&Exchange::Answered {
            status,
            retry_after_seconds: None,
            body: body.as_bytes().to_vec(),
        })
    }

    #[test]
    fn each_answer_means_what_the_table_says() {
        use SendOutcome as O;
        assert_eq!(
            answered(200, r#"{"ok":true,"result":{"message_id":77}}"#),
            O::Accepted { message_id: Some(77) }
        );
        assert_eq!(answered(200, r#"{"ok":true}"#), O::Accepted { message_id: None });
        for body in ["", "<html>", "{", "{}", r#"{"ok":false}"#, "[1]"] {
            assert!(matches!(answered(200, body), O::Unknown(_)), "{body}");
        }
        let refused = |code| format!(r#"{{"ok":false,"error_code":{code},"description":"other words"}}"#);
        for code in [400, 403] {
            assert_eq!(answered(code, &refused(code)), O::Refused(Cause::new(format!("http_{code}"))));
        }
        for code in [401, 404] {
            assert!(matches!(answered(code, &refused(code)), O::NotSent(NotSent::Halt(_))));
        }
        for code in [408, 409, 500, 502, 503, 504] {
            assert!(matches!(answered(code, &refused(code)), O::Unknown(_)));
            assert!(matches!(answered(code, "<html>Bad Gateway</html>"), O::Unknown(_)));
        }
        // A front's page proves nothing, whatever its status.
        for code in [400, 401, 403, 404] {
            assert!(matches!(answered(code, "<html>"), O::Unknown(_)), "{code}");
        }
    }

    #[test]
    fn retry_after_is_taken_however_long() {
        for seconds in [3, 901, 90_000] {
            let body = format!(
                r#"{{"ok":false,"error_code":429,"description":"x","parameters":{{"retry_after":{seconds}}}}}"#
            );
            assert_eq!(
                answered(429, &body),
                SendOutcome::NotSent(NotSent::Busy { retry_after_seconds: seconds })
            );
        }
        let header = Exchange::Answered { status: 429, retry_after_seconds: Some(901), body: Vec::new() };
        assert_eq!(classify_send(&header), SendOutcome::NotSent(NotSent::Busy { retry_after_seconds: 901 }));
    }

    #[test]
    fn a_chat_that_moved_is_told_by_the_parameter_not_by_the_words() {
        let body = r#"{"ok":false,"error_code":400,"description":"anders","parameters":{"migrate_to_chat_id":-1002000000009}}"#;
        assert_eq!(answered(400, body), SendOutcome::Moved { to: ChatId(-1_002_000_000_009) });
    }
}
