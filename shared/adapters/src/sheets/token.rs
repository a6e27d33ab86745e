//! The access token: fetched with a signed assertion or without any key, kept until shortly before it ends, dropped when
//! Google refuses it.
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

/// A request on the way to a token. Causes name it, so that whoever reads them knows whose refusal it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A service account's assertion for a token.
    Assertion,
    /// A signed AWS request for a federated token.
    Federation,
    /// A federated token for one of the service account.
    Impersonation,
}

impl Step {
    fn trouble(self, word: &str) -> Cause {
        let step = match self {
            Self::Assertion => "token",
            Self::Federation => "federation",
            Self::Impersonation => "impersonation",
        };
        Cause::new(format!("{step}_{word}"))
    }

    fn refusal(self) -> Cause {
        match self {
            Self::Assertion => Cause::new("credentials_refused"),
            Self::Federation | Self::Impersonation => self.trouble("refused"),
        }
    }
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
        let cannot_sign = || NotApplied::Halt(Cause::new("credentials_cannot_sign"));
        match &self.credentials {
            Credentials::ServiceAccount(account) => {
                let assertion = account.assertion(now).ok_or_else(cannot_sign)?;
                let form = format!("grant_type={GRANT_TYPE}&assertion={assertion}");
                let call = Call::post_form(account.token_uri().to_owned(), form);
                read_grant(Step::Assertion, &http.exchange(call, deadline).await, now)
            }
            Credentials::ExternalAccount(account) => {
                let form = account.exchange_form(now).ok_or_else(cannot_sign)?;
                let call = Call::post_form(account.token_url().to_owned(), form);
                let federated = read_grant(Step::Federation, &http.exchange(call, deadline).await, now)?;
                let Some(impersonation) = account.impersonation() else { return Ok(federated) };
                let call = Call::post_json(impersonation.url.clone(), &impersonation.body());
                let exchange = http.exchange(call.bearing(federated.token), deadline).await;
                read_grant(Step::Impersonation, &exchange, now)
            }
        }
    }
}

/// What an endpoint's answer means. Only its own JSON refusal says that the credentials are bad; a page of something
/// between us, or a server in trouble, says to come again.
fn read_grant(step: Step, exchange: &Exchange, now: Moment) -> Result<Granted, NotApplied> {
    let try_again = |word: &str| Err(NotApplied::TryAgain(step.trouble(word)));
    match exchange {
        Exchange::NotSent(cause) | Exchange::Lost(cause) => try_again(&cause.0),
        Exchange::Answered { status: 200..=299, body, .. } => {
            let granted = match step {
                Step::Assertion | Step::Federation => parse_grant(body),
                Step::Impersonation => parse_lent(body, now),
            };
            granted.map_or_else(|| try_again("unreadable_answer"), Ok)
        }
        Exchange::Answered { status: 429, retry_after_seconds, .. } => Err(NotApplied::Busy {
            cause: step.trouble("http_429"),
            retry_after_seconds: *retry_after_seconds,
        }),
        Exchange::Answered { status: 400 | 401 | 403, body, .. } if is_refusal(body) => {
            Err(NotApplied::Halt(step.refusal()))
        }
        Exchange::Answered { status, .. } => try_again(&format!("http_{status}")),
    }
}

/// `{"error":"invalid_grant","error_description":"…"}` (RFC 6749, 5.2), or `{"error":{"code":403,…}}` as Google's other
/// interfaces have it.
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
    let life_seconds = answer.expires_in.as_u64().or_else(|| answer.expires_in.as_str()?.trim().parse().ok());
    granted(answer.access_token, life_seconds)
}

/// `{"accessToken":"…","expireTime":"2026-03-01T10:15:00Z"}` (IAM Service Account Credentials API v1,
/// `generateAccessToken`: RFC 3339 in UTC, up to nine digits of a fraction).
fn parse_lent(body: &[u8], now: Moment) -> Option<Granted> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer {
        access_token: String,
        #[serde(default)]
        expire_time: Value,
    }
    let answer: Answer = serde_json::from_slice(body).ok()?;
    let expires = answer.expire_time.as_str().and_then(Moment::parse);
    granted(answer.access_token, expires.map(|expires| expires.seconds_since(now)))
}

/// None for what cannot stand in a header.
fn granted(token: String, life_seconds: Option<u64>) -> Option<Granted> {
    let fit = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    fit.then(|| Granted { token: Secret::new(token), life_seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Moment {
        Moment::from_seconds(1_772_356_500)
    }

    fn answered(status: u16, body: &str) -> Result<Granted, NotApplied> {
        answered_at(Step::Assertion, status, body)
    }

    fn answered_at(step: Step, status: u16, body: &str) -> Result<Granted, NotApplied> {
        let body = body.as_bytes().to_vec();
        read_grant(step, &Exchange::Answered { status, retry_after_seconds: None, body }, now())
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
        assert_eq!(
            answered(429, ""),
            Err(NotApplied::Busy { cause: Cause::new("token_http_429"), retry_after_seconds: None })
        );
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
        let lost = read_grant(Step::Assertion, &Exchange::Lost(Cause::new("timeout")), now());
        assert_eq!(lost, Err(NotApplied::TryAgain(Cause::new("token_timeout"))));
    }

    #[test]
    fn each_step_without_a_key_is_named_in_its_cause_and_judged_alike() {
        let of_oauth = r#"{"error":"invalid_grant","error_description":"…"}"#;
        let of_google = r#"{"error":{"code":403,"message":"…","status":"PERMISSION_DENIED"}}"#;
        for (step, name, refusal) in
            [(Step::Federation, "federation", of_oauth), (Step::Impersonation, "impersonation", of_google)]
        {
            let cause = |word: &str| Cause::new(format!("{name}_{word}"));
            for status in [400, 401, 403] {
                assert_eq!(answered_at(step, status, refusal), Err(NotApplied::Halt(cause("refused"))));
                let again = NotApplied::TryAgain(cause(&format!("http_{status}")));
                assert_eq!(answered_at(step, status, "<html>"), Err(again));
            }
            assert_eq!(
                answered_at(step, 429, refusal),
                Err(NotApplied::Busy { cause: cause("http_429"), retry_after_seconds: None })
            );
            for status in [302, 404, 500, 503] {
                let again = NotApplied::TryAgain(cause(&format!("http_{status}")));
                assert_eq!(answered_at(step, status, refusal), Err(again));
            }
            let unreadable = NotApplied::TryAgain(cause("unreadable_answer"));
            assert_eq!(answered_at(step, 200, "{}"), Err(unreadable));
            let not_sent = read_grant(step, &Exchange::NotSent(Cause::new("connect")), now());
            assert_eq!(not_sent, Err(NotApplied::TryAgain(cause("connect"))));
        }
    }

    #[test]
    fn a_lent_token_lives_until_its_expire_time() {
        for (told, life) in [
            (r#","expireTime":"2026-03-01T10:15:00Z""#, Some(3_600)),
            (r#","expireTime":"2026-03-01T09:25:00.045123456Z""#, Some(600)),
            (r#","expireTime":"2026-03-01T09:14:59Z""#, Some(0)),
            (r#","expireTime":"soon""#, None),
            (r#","expireTime":1772360100"#, None),
            (r#","expireTime":null"#, None),
            ("", None),
        ] {
            let body = format!(r#"{{"accessToken":"ya29.x"{told}}}"#);
            let granted = answered_at(Step::Impersonation, 200, &body);
            assert_eq!(granted, Ok(Granted { token: Secret::new("ya29.x"), life_seconds: life }), "{told}");
        }
        let other_words = r#"{"access_token":"ya29.x","expires_in":3599}"#;
        assert!(answered_at(Step::Impersonation, 200, other_words).is_err());
    }

    #[test]
    fn a_token_is_shown_nowhere() {
        let granted = answered(200, r#"{"access_token":"ya29.hidden","expires_in":3599}"#);
        assert!(!format!("{granted:?}").contains("hidden"));
    }
}
