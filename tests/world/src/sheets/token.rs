//! Google's token endpoints: a signed assertion in, an access token out; or, without a key, a signed AWS request in, and
//! the token of a service account out of a second one.
//!
//! They check all that Google checks: form, signature, issuer, audience, times. What they issue, and nothing else, opens
//! the fake spreadsheet.

use std::future::Future;
use std::pin::Pin;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::behaviour::Behaviour;
use super::call;
use super::google::{Google, SharedGoogle};
use super::plan::On;
use super::record::Seen;
use super::refusal::Refusal;
use super::service_account::{self, CLIENT_EMAIL, KEY_ID};
use super::{Kind, service_account_json, workload};
use crate::exchange::{Answer, Fake, Request};

/// The scope that opens spreadsheets.
pub const SPREADSHEETS_SCOPE: &str = "https://www.googleapis.com/auth/spreadsheets";

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// What Google tells of a token, and how long one lives whatever `expires_in` says, unless that is positive.
const USUAL_SECONDS: i64 = 3599;
const MOST_SECONDS: i64 = 3600;
const SKEW_SECONDS: i64 = 300;

/// How an answer tells the life of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpiresIn {
    /// `3599`, in seconds
    Number(i64),
    /// `"3599"`, in seconds
    Text(i64),
    Missing,
}

/// The issuer's part of the shared state.
#[derive(Debug)]
pub(super) struct Issuer {
    issued: Vec<Issued>,
    numbered: u32,
    expires_in: ExpiresIn,
    /// The audience an assertion has to name.
    audience: String,
}

#[derive(Debug)]
struct Issued {
    token: String,
    scope: String,
    expires_at_ms: i64,
}

impl Issuer {
    pub(super) fn new() -> Self {
        Self {
            issued: Vec::new(),
            numbered: 0,
            expires_in: ExpiresIn::Number(USUAL_SECONDS),
            audience: "https://oauth2.googleapis.com/token".to_owned(),
        }
    }

    /// Lets a request in, or answers 401, or 403 for a token without the scope.
    pub(super) fn admit(&self, request: &Request, now_ms: i64) -> Result<(), Refusal> {
        let covers = self.scope_of(request, now_ms)?.split(' ').any(|scope| scope == SPREADSHEETS_SCOPE);
        if covers { Ok(()) } else { Err(Refusal::scope_missing()) }
    }

    /// What the request's token is good for, or 401.
    fn scope_of(&self, request: &Request, now_ms: i64) -> Result<&str, Refusal> {
        let header = request.headers.iter().find(|(name, _)| name == "authorization");
        let token = header.and_then(|(_, value)| value.strip_prefix("Bearer "));
        let known = |issued: &&Issued| Some(issued.token.as_str()) == token && now_ms < issued.expires_at_ms;
        let issued = self.issued.iter().find(known).ok_or_else(Refusal::unauthenticated)?;
        Ok(&issued.scope)
    }

    /// The answer to a service account's assertion.
    pub(super) fn exchange(&mut self, request: &Request, now_ms: i64) -> Result<Value, Refusal> {
        let scope = self.check(request, now_ms)?;
        Ok(self.granted(&scope, now_ms))
    }

    /// The answer to a signed AWS request.
    pub(super) fn federate(&mut self, request: &Request, now_ms: i64) -> Result<Value, Refusal> {
        let scope = workload::check_exchange(request, now_ms)?;
        let mut answer = self.granted(&scope, now_ms);
        answer["issued_token_type"] = json!("urn:ietf:params:oauth:token-type:access_token");
        Ok(answer)
    }

    /// The answer to `generateAccessToken`.
    pub(super) fn lend(&mut self, request: &Request, now_ms: i64) -> Result<Value, Refusal> {
        let (scope, seconds) = workload::check_lending(request, self.scope_of(request, now_ms)?)?;
        // The time it tells has no fraction.
        let expires_at_ms = (now_ms + seconds * 1_000) / 1_000 * 1_000;
        Ok(workload::lent(&self.issue_until(&scope, expires_at_ms), expires_at_ms))
    }

    fn granted(&mut self, scope: &str, now_ms: i64) -> Value {
        let token = self.issue(scope, now_ms);
        let mut answer = json!({"access_token": token, "token_type": "Bearer"});
        match self.expires_in {
            ExpiresIn::Number(seconds) => answer["expires_in"] = json!(seconds),
            ExpiresIn::Text(seconds) => answer["expires_in"] = json!(seconds.to_string()),
            ExpiresIn::Missing => {}
        }
        answer
    }

    fn issue(&mut self, scope: &str, now_ms: i64) -> String {
        let told = match self.expires_in {
            ExpiresIn::Number(seconds) | ExpiresIn::Text(seconds) => seconds,
            ExpiresIn::Missing => 0,
        };
        let seconds = if told > 0 { told } else { USUAL_SECONDS };
        self.issue_until(scope, now_ms + seconds * 1000)
    }

    fn issue_until(&mut self, scope: &str, expires_at_ms: i64) -> String {
        self.numbered += 1;
        let token = format!("ya29.c.fake-access-token-{:06}", self.numbered);
        self.issued.push(Issued { token: token.clone(), scope: scope.to_owned(), expires_at_ms });
        token
    }

    /// Answers the scope that a good request asks for.
    fn check(&self, request: &Request, now_ms: i64) -> Result<String, Refusal> {
        let invalid_grant = |why: &str| Refusal::of_token(400, "invalid_grant", why);
        let invalid_request = |why: &str| Refusal::of_token(400, "invalid_request", why);
        let form = call::form(request).ok_or_else(|| invalid_request("Bad Request"))?;
        let field = |name: &str| call::one(&form, name);
        if field("grant_type") != Some(JWT_BEARER) {
            let named = field("grant_type").unwrap_or_default();
            return Err(Refusal::of_token(
                400,
                "unsupported_grant_type",
                &format!("Invalid grant_type: {named}"),
            ));
        }
        let assertion =
            field("assertion").ok_or_else(|| invalid_request("Missing required parameter: assertion"))?;

        let (signed, signature) = assertion.rsplit_once('.').ok_or_else(|| invalid_grant("Bad Request"))?;
        let (header, claims) = signed.split_once('.').ok_or_else(|| invalid_grant("Bad Request"))?;
        let part = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|_| invalid_grant("Bad Request"));
        let object = |text: &str| -> Result<Value, Refusal> {
            serde_json::from_slice(&part(text)?).map_err(|_| invalid_grant("Bad Request"))
        };
        let (header, claims, signature) = (object(header)?, object(claims)?, part(signature)?);
        if header["alg"] != "RS256" {
            return Err(invalid_grant("Invalid JWT: The algorithm is not RS256."));
        }
        if claims["iss"] != CLIENT_EMAIL {
            return Err(invalid_grant("Invalid grant: account not found"));
        }
        let key_known = header.get("kid").is_none_or(|key| key == KEY_ID);
        if !key_known || !service_account::is_signed(signed, &signature) {
            return Err(invalid_grant("Invalid JWT Signature."));
        }
        if claims["aud"] != self.audience.as_str() {
            return Err(invalid_grant(&format!(
                "Invalid JWT: Failed audience check. The right audience is {}",
                self.audience
            )));
        }
        let now = now_ms.div_euclid(1000);
        let in_time = |issued: i64, expires: i64| {
            (issued - now).abs() <= SKEW_SECONDS
                && expires > now
                && (1..=MOST_SECONDS).contains(&(expires - issued))
        };
        match (claims["iat"].as_i64(), claims["exp"].as_i64()) {
            (Some(issued), Some(expires)) if in_time(issued, expires) => {}
            _ => {
                return Err(invalid_grant(
                    "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check \
                     your iat and exp values in the JWT claim.",
                ));
            }
        }
        match claims["scope"].as_str() {
            Some(scope) if !scope.trim().is_empty() => Ok(scope.to_owned()),
            _ => Err(Refusal::of_token(
                400,
                "invalid_scope",
                "Invalid OAuth scope or ID token audience provided.",
            )),
        }
    }
}

/// Google's token endpoints, for one service account. Clones are the same endpoints. `/v1/token` takes signed AWS requests,
/// `…:generateAccessToken` lends tokens, and every other path takes assertions.
#[derive(Debug, Clone)]
pub struct FakeToken(pub(super) SharedGoogle);

impl FakeToken {
    /// A key file that sends its owner to `token_uri`; from now on assertions have to name that as their audience.
    #[must_use]
    pub fn service_account_json(&self, token_uri: &str) -> String {
        self.with(|google| token_uri.clone_into(&mut google.issuer.audience));
        service_account_json(token_uri)
    }

    /// The configuration that leads the trusted AWS role to the same service account, by way of endpoints at `base_url`.
    #[must_use]
    pub fn external_account_json(&self, base_url: &str) -> String {
        workload::external_account_json(base_url)
    }

    /// How the next answers tell the life of a token. A positive number of seconds is also how long it lives; every
    /// other token lives 3599 s, so that one whose life was not told still works once.
    pub fn tell_expires_in(&self, expires_in: ExpiresIn) {
        self.with(|google| google.issuer.expires_in = expires_in);
    }

    /// A good access token, without the ceremony.
    #[must_use]
    pub fn grant(&self) -> String {
        self.with(|google| google.issuer.issue(SPREADSHEETS_SCOPE, google.clock.now_ms()))
    }

    /// Every token issued so far gets 401 from now on.
    pub fn revoke_all(&self) {
        self.with(|google| google.issuer.issued.clear());
    }

    /// What happens to the next token request, of whichever kind; several wait in a queue.
    pub fn next(&self, behaviour: Behaviour) {
        self.with(|google| google.plans.add_next(On::Tokens, behaviour));
    }

    /// What happens to every token request until `FakeSheets::heal`.
    pub fn from_now_on(&self, behaviour: Behaviour) {
        self.with(|google| google.plans.add_lasting(On::Tokens, behaviour));
    }

    /// Token requests in order of arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<Seen> {
        let kinds = [Kind::Token, Kind::Federation, Kind::Impersonation];
        self.with(|google| google.seen(|kind| kinds.contains(&kind)))
    }

    fn with<T>(&self, act: impl FnOnce(&mut Google) -> T) -> T {
        self.0.with(act)
    }
}

impl Fake for FakeToken {
    fn answer(&self, request: Request) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>> {
        let kind = match request.path.as_str() {
            "/v1/token" => Kind::Federation,
            path if path.ends_with(":generateAccessToken") => Kind::Impersonation,
            _ => Kind::Token,
        };
        Box::pin(self.0.serve(request, kind))
    }
}
