//! The one way out to Google and Telegram: one request, then one answer or the way in which the exchange broke.
//!
//! It exists so that nothing between us and the wire sends a request twice: no retries, no redirects, no proxy, no idle
//! connection, and HTTP/1.1 only, since with HTTP/2 a client may repeat a POST by itself after a GOAWAY. It never puts
//! an error's own text anywhere: such texts hold the URL, and Telegram's URLs hold the bot token.

use std::error::Error;
use std::fmt;
use std::io::ErrorKind;
use std::time::Duration;

use docket_domain::moment::Moment;
use docket_domain::outcome::Exchange;
use docket_domain::status::Cause;
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Client, Method, Response, redirect, retry};
use serde::Serialize;
use tokio::time::Instant;

use crate::config::Secret;

/// Largest answer taken where a small one is due.
const ANSWER_BYTES_MAX: usize = 1_000_000;
/// Largest answer taken from a read of a whole column.
const READ_BYTES_MAX: usize = 32_000_000;
/// A connection that is not there after so long will not come.
const CONNECT_MS_MAX: u64 = 5_000;

/// The client. Each exchange has a connection of its own.
#[derive(Clone)]
pub struct Http {
    client: Client,
}

/// The client could not be made; nothing can be asked of it later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the HTTP client cannot start: this machine has no readable certificate store")]
pub struct HttpUnavailable;

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Http")
    }
}

impl Http {
    /// A client for calls that have about `timeout_ms` each: connecting may take a third of that, and never so long that
    /// a lost connection could be taken for a lost answer.
    pub fn new(timeout_ms: u64) -> Result<Self, HttpUnavailable> {
        // Somebody else in this process may have installed it already; it is the same one then.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Client::builder()
            .http1_only()
            .retry(retry::never())
            .redirect(redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .pool_max_idle_per_host(0)
            .connect_timeout(Duration::from_millis((timeout_ms / 3).clamp(1, CONNECT_MS_MAX)))
            .user_agent(concat!("docket/", env!("CARGO_PKG_VERSION")))
            .build()
            .map(|client| Self { client })
            .map_err(|_| HttpUnavailable)
    }

    /// Sends the request once and reads its whole answer, all of it before the deadline.
    pub async fn exchange(&self, call: Call, deadline: Deadline) -> Exchange {
        let left = deadline.left();
        if left.is_zero() {
            return Exchange::NotSent(Cause::new("no_time_left"));
        }
        let mut request = self.client.request(call.method, call.url).timeout(left);
        if let Some(token) = call.bearer {
            request = request.bearer_auth(token.expose());
        }
        if let Some((name, value)) = call.secret_header {
            request = request.header(name, value.expose());
        }
        if let Some((kind, body)) = call.content {
            request = request.header(CONTENT_TYPE, kind).body(body);
        }
        match request.send().await {
            Ok(response) => whole(response, call.answer_bytes_max).await,
            Err(error) => broken(&error),
        }
    }
}

/// One request. It has no Debug: its parts are secrets and customers' words.
pub struct Call {
    method: Method,
    url: String,
    bearer: Option<Secret>,
    secret_header: Option<(&'static str, Secret)>,
    content: Option<(&'static str, Vec<u8>)>,
    answer_bytes_max: usize,
}

impl Call {
    /// A read, whose answer may be large.
    #[must_use]
    pub fn get(url: String) -> Self {
        Self::of(Method::GET, url, READ_BYTES_MAX)
    }

    /// A POST of JSON.
    #[must_use]
    pub fn post_json(url: String, body: &impl Serialize) -> Self {
        // Only a map with keys that are no strings, or a failing writer, makes this fail: neither occurs in our bodies.
        // An empty body would be refused by the other side, not obeyed.
        let body = serde_json::to_vec(body).unwrap_or_default();
        Self::post(url, "application/json", body)
    }

    /// A PUT of JSON.
    #[must_use]
    pub fn put_json(url: String, body: &impl Serialize) -> Self {
        Self { method: Method::PUT, ..Self::post_json(url, body) }
    }

    /// A POST of a form that is encoded already.
    #[must_use]
    pub fn post_form(url: String, form: String) -> Self {
        Self::post(url, "application/x-www-form-urlencoded", form.into_bytes())
    }

    /// With an OAuth access token.
    #[must_use]
    pub fn bearing(self, token: Secret) -> Self {
        Self { bearer: Some(token), ..self }
    }

    /// With a header whose value is a secret.
    #[must_use]
    pub fn with_secret(self, name: &'static str, value: Secret) -> Self {
        Self { secret_header: Some((name, value)), ..self }
    }

    fn post(url: String, kind: &'static str, body: Vec<u8>) -> Self {
        let content = Some((kind, body));
        Self { content, ..Self::of(Method::POST, url, ANSWER_BYTES_MAX) }
    }

    fn of(method: Method, url: String, answer_bytes_max: usize) -> Self {
        Self { method, url, bearer: None, secret_header: None, content: None, answer_bytes_max }
    }
}

/// When a whole step must be over, however many calls it makes.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Instant);

impl Deadline {
    #[must_use]
    pub fn in_ms(milliseconds: u64) -> Self {
        Self(Instant::now() + Duration::from_millis(milliseconds))
    }

    /// Zero once it has passed.
    #[must_use]
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}

/// Reads the body to its announced end. A body without an announced length ends with its connection, and only its own
/// syntax can tell that it was cut; whoever reads it must not take half of it for all.
async fn whole(mut response: Response, bytes_max: usize) -> Exchange {
    let status = response.status().as_u16();
    let retry_after_seconds = retry_after_seconds(response.headers());
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() > bytes_max => {
                return Exchange::Lost(Cause::new("answer_too_large"));
            }
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => return Exchange::Answered { status, retry_after_seconds, body },
            // The request arrived, for it was being answered: whatever broke now, it was not "not sent".
            Err(error) => return Exchange::Lost(Cause::new(loss(&error))),
        }
    }
}

/// The other side's clock, as the `Date` of any answer of it tells (RFC 9110, 6.6.1). None when it does not answer.
pub async fn server_time(url: &str) -> Option<Moment> {
    let http = Http::new(10_000).ok()?;
    let sent = http.client.get(url).timeout(Duration::from_secs(10)).send().await.ok()?;
    let date = sent.headers().get(reqwest::header::DATE)?.to_str().ok()?.to_owned();
    let parsed = time::OffsetDateTime::parse(&date, &time::format_description::well_known::Rfc2822).ok()?;
    Some(Moment::from_seconds(parsed.unix_timestamp()))
}

/// `Retry-After` in seconds; its other form, a date, is not used by either side.
fn retry_after_seconds(headers: &HeaderMap) -> Option<u64> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()
}

/// Not sent only where the connection never stood: before that not a byte of the request can have left.
fn broken(error: &reqwest::Error) -> Exchange {
    if error.is_builder() {
        Exchange::NotSent(Cause::new("request_invalid"))
    } else if error.is_connect() {
        Exchange::NotSent(Cause::new(obstacle(error)))
    } else {
        Exchange::Lost(Cause::new(loss(error)))
    }
}

fn obstacle(error: &reqwest::Error) -> &'static str {
    if error.is_dns() {
        "name_resolution"
    } else if error.is_timeout() {
        "connect_timeout"
    } else if causes(error).any(is_tls) {
        "tls"
    } else {
        "connect"
    }
}

fn loss(error: &reqwest::Error) -> &'static str {
    let reset = |cause: &(dyn Error + 'static)| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|io| {
            matches!(
                io.kind(),
                ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe
            )
        })
    };
    if error.is_timeout() {
        "timeout"
    } else if causes(error).any(reset) {
        "reset"
    } else {
        "cut"
    }
}

/// An `io::Error` hides what it wraps from `source`, and may wrap another one: they are opened by hand.
fn is_tls(cause: &(dyn Error + 'static)) -> bool {
    let wrapped = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    cause.is::<rustls::Error>() || wrapped.is_some_and(|inner| is_tls(inner))
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |cause: &&(dyn Error + 'static)| (*cause).source())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_a_number_of_seconds_or_nothing() {
        for (value, expected) in [
            ("60", Some(60)),
            (" 7 ", Some(7)),
            ("Wed, 21 Oct 2026 07:28:00 GMT", None),
            ("-1", None),
            ("1.5", None),
            ("", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, value.parse().expect("a header value"));
            assert_eq!(retry_after_seconds(&headers), expected, "{value}");
        }
        assert_eq!(retry_after_seconds(&HeaderMap::new()), None);
    }

    #[tokio::test]
    async fn nothing_is_sent_after_the_deadline_or_to_no_address() {
        let http = Http::new(1_000).expect("a client");
        let late = http.exchange(Call::get("http://127.0.0.1:1/".into()), Deadline::in_ms(0)).await;
        assert_eq!(late, Exchange::NotSent(Cause::new("no_time_left")));
        let nowhere = http.exchange(Call::get("no address".into()), Deadline::in_ms(500)).await;
        assert_eq!(nowhere, Exchange::NotSent(Cause::new("request_invalid")));
    }
}
