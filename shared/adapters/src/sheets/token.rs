//! The access token: fetched with a signed assertion, kept until shortly before it ends, dropped when Google refuses it.
//!
//! A token whose life nobody told is used once and not kept: kept for ever it would end in 401 until the next deployment.
//! No token means that nothing was applied, so every trouble here is a `NotApplied`.

use docket_domain::moment::Moment;
use docket_domain::outcome::{Exchange, NotApplied};
use docket_domain::status::Cause;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;

use super::credentials::Credentials;
use crate::config::Secret;
use crate::http::{Call, Deadline, Http};

/// A token is not used in its last minute: it might end on the way.
const SPARE_SECONDS: u64 = 60;
/// Google's tokens live an hour; whoever tells more is not believed.
const LIFE_SECONDS_MAX: u64 = 3_600;
/// `grant_type` of RFC 7523, encoded for a form.
const GRANT_TYPE: &str = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer";

/// The tokens of one process.
pub(super) struct Tokens {
    credentials: Credentials,
    kept: Mutex<Option<Kept>>,
}

struct Kept {
    token: Secret,
    until: Moment,
}

/// A token as the endpoint gave it.
#[derive(Debug, PartialEq, Eq)]
struct Granted {
    token: Secret,
    life_seconds: Option<u64>,
}

impl Tokens {
    pub(super) fn new(credentials: Credentials) -> Self {
        Self { credentials, kept: Mutex::new(None) }
    }

    /// Whose tokens they are.
    pub(super) fn account(&self) -> &str {
        self.credentials.account()
    }

    /// The kept token, or a fresh one. Whoever comes meanwhile waits for that one instead of asking too.
    ///
    /// `now` is when it was asked for: counted from then, a fresh token cannot be older than it is thought to be.
    pub(super) async fn get(
        &self,
        http: &Http,
        now: Moment,
        deadline: Deadline,
    ) -> Result<Secret, NotApplied> {
        let mut kept = self.kept.lock().await;
        if let Some(kept) = kept.as_ref().filter(|kept| now < kept.until) {
            return Ok(kept.token.clone());
        }
        *kept = None;
        let granted = self.fetch(http, now, deadline).await?;
        *kept = granted
            .life_seconds
            .map(|life| life.min(LIFE_SECONDS_MAX).saturating_sub(SPARE_SECONDS))
            .filter(|usable| *usable > 0)
            .map(|usable| Kept { token: granted.token.clone(), until: now.plus_seconds(usable) });
        Ok(granted.token)
    }

    /// Drops a token that was refused, unless another one has taken its place already.
    pub(super) async fn forget(&self, refused: &Secret) {
        let mut kept = self.kept.lock().await;
        if kept.as_ref().is_some_and(|kept| kept.token == *refused) {
            *kept = None;
        }
    }

    async fn fetch(&self, http: &Http, now: Moment, deadline: Deadline) -> Result<Granted, NotApplied> {
        match &self.credentials {
            Credentials::ServiceAccount(account) => {
                let assertion = account
                    .assertion(now)
                    .ok_or_else(|| NotApplied::Halt(Cause::new("credentials_cannot_sign")))?;
                let form = format!("grant_type={GRANT_TYPE}&assertion={assertion}");
                let call = Call::post_form(account.token_uri().to_owned(), form);
                read_grant(&http.exchange(call, deadline).await)
            }
        }
    }
}

/// What the token endpoint's answer means. Only its own JSON refusal says that the credentials are bad; a page of
/// something between us, or a server in trouble, says to come again.
fn read_grant(exchange: &Exchange) -> Result<Granted, NotApplied> {
    let try_again = |word: &str| Err(NotApplied::TryAgain(Cause::new(format!("token_{word}"))));
    match exchange {
        Exchange::NotSent(cause) | Exchange::Lost(cause) => try_again(&cause.0),
        Exchange::Answered { status: 200..=299, body, .. } => match parse_grant(body) {
            Some(granted) => Ok(granted),
            None => try_again("unreadable_answer"),
        },
        Exchange::Answered { status: 429, .. } => Err(NotApplied::Busy(Cause::new("token_http_429"))),
        Exchange::Answered { status: 400 | 401 | 403, body, .. } if is_refusal(body) => {
            Err(NotApplied::Halt(Cause::new("credentials_refused")))
        }
        Exchange::Answered { status, .. } => try_again(&format!("http_{status}")),
    }
}

/// `{"error":"invalid_grant","error_description":"…"}` (RFC 6749, 5.2).
fn is_refusal(body: &[u8]) -> bool {
    serde_json::from_slice::<Value>(body).is_ok_and(|body| body.get("error").is_some())
}

/// `{"access_token":"…","expires_in":3599,"token_type":"Bearer"}`, the life a number, a string or not told.
fn parse_grant(body: &[u8]) -> Option<Granted> {
    #[derive(Deserialize)]
    struct Answer {
        access_token: String,
        #[serde(default)]
        expires_in: Value,
    }
    let answer: Answer = serde_json::from_slice(body).ok()?;
    let fit =
        !answer.access_token.is_empty() && answer.access_token.bytes().all(|byte| byte.is_ascii_graphic());
    let life_seconds = answer.expires_in.as_u64().or_else(|| answer.expires_in.as_str()?.trim().parse().ok());
    fit.then(|| Granted { token: Secret::new(answer.access_token), life_seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, body: &str) -> Result<Granted, NotApplied> {
        read_grant(&Exchange::Answered { status, retry_after_seconds: None, body: body.as_bytes().to_vec() })
    }

    #[test]
    fn a_life_may_be_a_number_a_string_or_unknown() {
        for (told, life) in [
            (r#","expires_in":3599"#, Some(3_599)),
            (r#","expires_in":"3599""#, Some(3_599)),
            (r#","expires_in":0"#, Some(0)),
            (r#","expires_in":-5"#, None),
            (r#","expires_in":"soon""#, None),
            (r#","expires_in":null"#, None),
            (r#","expires_in":{"a":1}"#, None),
            ("", None),
        ] {
            let granted =
                answered(200, &format!(r#"{{"access_token":"ya29.x","token_type":"Bearer"{told}}}"#));
            assert_eq!(granted, Ok(Granted { token: Secret::new("ya29.x"), life_seconds: life }), "{told}");
        }
    }

    #[test]
    fn only_the_endpoints_own_refusal_halts() {
        let refusal = r#"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#;
        for status in [400, 401, 403] {
            assert_eq!(answered(status, refusal), Err(NotApplied::Halt(Cause::new("credentials_refused"))));
            for page in ["", "<html>", "{}", "[]"] {
                let again = NotApplied::TryAgain(Cause::new(format!("token_http_{status}")));
                assert_eq!(answered(status, page), Err(again), "{page}");
            }
        }
        assert_eq!(answered(429, ""), Err(NotApplied::Busy(Cause::new("token_http_429"))));
        for status in [302, 404, 408, 500, 502, 503] {
            let again = NotApplied::TryAgain(Cause::new(format!("token_http_{status}")));
            assert_eq!(answered(status, refusal), Err(again));
        }
        for body in [
            "",
            "{}",
            "<html>",
            r#"{"access_token":""}"#,
            r#"{"access_token":"a\nb"}"#,
            r#"{"access_token":7}"#,
        ] {
            assert_eq!(
                answered(200, body),
                Err(NotApplied::TryAgain(Cause::new("token_unreadable_answer"))),
                "{body}"
            );
        }
        let lost = read_grant(&Exchange::Lost(Cause::new("timeout")));
        assert_eq!(lost, Err(NotApplied::TryAgain(Cause::new("token_timeout"))));
    }

    #[test]
    fn a_token_is_shown_nowhere() {
        let granted = answered(200, r#"{"access_token":"ya29.hidden","expires_in":3599}"#);
        assert!(!format!("{granted:?}").contains("hidden"));
    }
}
