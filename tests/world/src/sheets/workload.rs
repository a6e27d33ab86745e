//! Google without a key: an identity provider that trusts one AWS role, and the service account it may borrow.
//!
//! Two endpoints, as AIP-4117 and the references of Google's Security Token Service and of its IAM Service Account
//! Credentials API describe them. The first sends the signed request on to AWS; here AWS's part is played too: the
//! signature is worked out anew, and its date must be near the clock's.

use std::fmt::Write as _;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Value, json};

use super::call::{self, Pairs};
use super::cell::{days_since_1970, year_of};
use super::refusal::Refusal;
use super::service_account::CLIENT_EMAIL;
use super::signature::{Signable, signature};
use crate::exchange::Request;

/// The one identity provider that there is.
pub const AUDIENCE: &str = "//iam.googleapis.com/projects/100000000001/locations/global/workloadIdentityPools/docket-test/providers/aws";

/// The one AWS role that it trusts, as Lambda's environment gives it.
pub const ROLE: [(&str, &str); 4] = [
    ("AWS_ACCESS_KEY_ID", ACCESS_KEY_ID),
    ("AWS_SECRET_ACCESS_KEY", SECRET_ACCESS_KEY),
    ("AWS_SESSION_TOKEN", SESSION_TOKEN),
    ("AWS_REGION", crate::engines::REGION),
];

const ACCESS_KEY_ID: &str = "ASIATESTROLE";
const SECRET_ACCESS_KEY: &str = "hidden-aws-secret/of+the=role";
/// With all that a form or a URL could spoil.
const SESSION_TOKEN: &str = "hidden-aws-session/+%20==";

pub(super) const PLATFORM_SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
const SIGNED_AWS_REQUEST: &str = "urn:ietf:params:aws:token-type:aws4_request";
const GET_CALLER_IDENTITY: &str = "Action=GetCallerIdentity&Version=2011-06-15";
/// How far AWS lets a signature's date be from its own clock.
const DATE_SKEW_MS: i64 = 15 * 60_000;
/// The longest life that IAM lends a token for, where no policy allows more.
const LENT_SECONDS_MAX: i64 = 3_600;

/// The configuration that `gcloud iam workload-identity-pools create-cred-config … --aws` writes, with both endpoints under
/// `base_url`.
#[must_use]
pub(super) fn external_account_json(base_url: &str) -> String {
    let lend = format!("{base_url}/v1/projects/-/serviceAccounts/{CLIENT_EMAIL}:generateAccessToken");
    let configuration = json!({
        "universe_domain": "googleapis.com",
        "type": "external_account",
        "audience": AUDIENCE,
        "subject_token_type": SIGNED_AWS_REQUEST,
        "token_url": format!("{base_url}/v1/token"),
        "service_account_impersonation_url": lend,
        "credential_source": {
            "environment_id": "aws1",
            "region_url": "http://169.254.169.254/latest/meta-data/placement/availability-zone",
            "url": "http://169.254.169.254/latest/meta-data/iam/security-credentials",
            "regional_cred_verification_url": format!("https://sts.{{region}}.amazonaws.com?{GET_CALLER_IDENTITY}"),
        },
    });
    format!("{configuration:#}\n")
}

/// A form that exchanges a request which the role signed at `now_ms`, put together by hand. `change` may spoil the
/// request that was written down, or its form's fields.
#[must_use]
pub fn exchange_form(now_ms: i64, change: impl FnOnce(&mut Value, &mut Pairs)) -> String {
    let (host, date) = (format!("sts.{}.amazonaws.com", crate::engines::REGION), compact(now_ms));
    let signed_headers = "host;x-amz-date;x-amz-security-token;x-goog-cloud-target-resource";
    let mut headers: Pairs = [
        ("host", host.as_str()),
        ("x-amz-date", &date),
        ("x-amz-security-token", SESSION_TOKEN),
        ("x-goog-cloud-target-resource", AUDIENCE),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec();
    let signature = signature(
        &Signable {
            method: "POST",
            path: "/",
            query: GET_CALLER_IDENTITY,
            headers: &headers,
            signed_headers,
            date: &date,
            region: crate::engines::REGION,
            service: "sts",
        },
        SECRET_ACCESS_KEY,
    );
    let scope = format!("{}/{}/sts/aws4_request", &date[..8], crate::engines::REGION);
    headers.push((
        "Authorization".into(),
        format!(
            "AWS4-HMAC-SHA256 Credential={ACCESS_KEY_ID}/{scope}, SignedHeaders={signed_headers}, Signature={signature}"
        ),
    ));
    let headers: Vec<Value> =
        headers.iter().map(|(name, value)| json!({"key": name, "value": value})).collect();
    let mut request = json!({
        "url": format!("https://{host}?{GET_CALLER_IDENTITY}"), "method": "POST", "headers": headers,
    });
    let mut fields: Pairs = [
        ("grant_type", TOKEN_EXCHANGE),
        ("audience", AUDIENCE),
        ("scope", PLATFORM_SCOPE),
        ("requested_token_type", ACCESS_TOKEN),
        ("subject_token_type", SIGNED_AWS_REQUEST),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec();
    change(&mut request, &mut fields);
    fields.push(("subject_token".into(), encoded(&request.to_string())));
    let pairs: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    pairs.join("&")
}

/// Checks a token exchange (RFC 8693); the scope that a good one asks for.
pub(super) fn check_exchange(request: &Request, now_ms: i64) -> Result<String, Refusal> {
    let invalid = |why: &str| Refusal::of_token(400, "invalid_request", why);
    // The reference asks not to send it: it can make the exchange fail.
    if request.headers.iter().any(|(name, _)| name == "authorization") {
        return Err(invalid("Bad Request"));
    }
    let form = call::form(request).ok_or_else(|| invalid("Bad Request"))?;
    let field = |name: &str| call::one(&form, name).unwrap_or_default();
    if field("grant_type") != TOKEN_EXCHANGE {
        return Err(Refusal::of_token(400, "unsupported_grant_type", "Invalid grant_type."));
    }
    if field("requested_token_type") != ACCESS_TOKEN || field("subject_token_type") != SIGNED_AWS_REQUEST {
        return Err(invalid("Invalid token type."));
    }
    if field("audience") != AUDIENCE {
        return Err(Refusal::of_token(
            400,
            "invalid_target",
            "The target service indicated by the \"audience\" parameters is invalid. This might either be because the \
             pool or provider is disabled or deleted or because it doesn't exist.",
        ));
    }
    if field("scope").is_empty() {
        return Err(Refusal::of_token(400, "invalid_scope", "Invalid OAuth scope."));
    }
    check_subject(field("subject_token"), now_ms)?;
    Ok(field("scope").to_owned())
}

/// What is wrong with the written request is Google's refusal; what AWS would say of it comes back as `invalid_grant`.
fn check_subject(token: &str, now_ms: i64) -> Result<(), Refusal> {
    let malformed = |why: &str| {
        Refusal::of_token(400, "invalid_request", &format!("Invalid format of AWS credentials: {why}"))
    };
    // The form's own encoding is undone by now; the token has one more of its own.
    if token.contains('{') {
        return Err(malformed("it is not percent-encoded"));
    }
    let text = percent_decode_str(token).decode_utf8().map_err(|_| malformed("it is not UTF-8"))?;
    let written: Value = serde_json::from_str(&text).map_err(|_| malformed("it is not JSON"))?;
    let url = written["url"].as_str().and_then(|url| reqwest::Url::parse(url).ok());
    let url = url.filter(|url| url.scheme() == "https").ok_or_else(|| malformed("url"))?;
    if written["method"] != "POST" || written.get("body").is_some_and(|body| *body != "") {
        return Err(malformed("method or body"));
    }
    let entries = written["headers"].as_array().ok_or_else(|| malformed("headers"))?;
    let text_of = |entry: &Value, part: &str| entry[part].as_str().map(ToOwned::to_owned);
    let headers: Option<Pairs> = entries
        .iter()
        .map(|entry| Some((text_of(entry, "key")?.to_lowercase(), text_of(entry, "value")?)))
        .collect();
    let headers = headers.ok_or_else(|| malformed("headers"))?;
    let header = |name: &str| call::one(&headers, name).ok_or_else(|| malformed(name));
    if header("x-goog-cloud-target-resource")? != AUDIENCE {
        return Err(malformed("x-goog-cloud-target-resource"));
    }
    let (host, date, authorization) = (header("host")?, header("x-amz-date")?, header("authorization")?);
    is_believed(&url, &headers, host, date, authorization, now_ms)
        .then_some(())
        .ok_or_else(|| Refusal::of_token(400, "invalid_grant", "AWS refused the signed request."))
}

/// Whether AWS would answer who signed this, and it is the role.
fn is_believed(
    url: &reqwest::Url,
    headers: &Pairs,
    host: &str,
    date: &str,
    authorization: &str,
    now_ms: i64,
) -> bool {
    let part = |name: &str| {
        let parts = authorization.strip_prefix("AWS4-HMAC-SHA256 ")?.split(", ");
        parts
            .filter_map(|part| part.split_once('='))
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    };
    let (Some(credential), Some(signed_headers), Some(claimed)) =
        (part("Credential"), part("SignedHeaders"), part("Signature"))
    else {
        return false;
    };
    let &[key, day, region, "sts", "aws4_request"] = credential.split('/').collect::<Vec<_>>().as_slice()
    else {
        return false;
    };
    // Google only advises to sign its own header; this world insists, since an unsigned one could be exchanged.
    let signed: Vec<&str> = signed_headers.split(';').collect();
    let all_signed =
        headers.iter().all(|(name, _)| name == "authorization" || signed.contains(&name.as_str()));
    let fresh = milliseconds(date).is_some_and(|at_ms| (at_ms - now_ms).abs() <= DATE_SKEW_MS);
    let request = Signable {
        method: "POST",
        path: url.path(),
        query: url.query().unwrap_or_default(),
        headers,
        signed_headers,
        date,
        region,
        service: "sts",
    };
    key == ACCESS_KEY_ID
        && call::one(headers, "x-amz-security-token") == Some(SESSION_TOKEN)
        && host == format!("sts.{region}.amazonaws.com")
        && url.host_str() == Some(host)
        && url.query() == Some(GET_CALLER_IDENTITY)
        && date.starts_with(day)
        && all_signed
        && fresh
        && claimed == signature(&request, SECRET_ACCESS_KEY)
}

/// Checks `generateAccessToken`, whose bearer token covers `scope`; the scope and the life that a good one asks for.
pub(super) fn check_lending(request: &Request, scope: &str) -> Result<(String, i64), Refusal> {
    if !scope
        .split(' ')
        .any(|known| known == PLATFORM_SCOPE || known == "https://www.googleapis.com/auth/iam")
    {
        return Err(Refusal::scope_missing());
    }
    let named = request.path.rsplit('/').next().and_then(|last| last.strip_suffix(":generateAccessToken"));
    let account = named.map(|name| percent_decode_str(name).decode_utf8_lossy().into_owned());
    let known_place = request.path.starts_with("/v1/projects/-/serviceAccounts/");
    if request.method != "POST" || !known_place || account.as_deref() != Some(CLIENT_EMAIL) {
        return Err(Refusal::lending_denied());
    }
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|_| Refusal::invalid("Invalid JSON payload received. Unexpected token."))?;
    let scopes: Vec<&str> =
        body["scope"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if scopes.is_empty() {
        return Err(Refusal::invalid("Request contains an invalid argument: scope."));
    }
    let told = &body["lifetime"];
    let seconds = if told.is_null() {
        Some(LENT_SECONDS_MAX)
    } else {
        told.as_str().and_then(|text| text.strip_suffix('s')?.parse().ok())
    };
    match seconds {
        Some(seconds) if (1..=LENT_SECONDS_MAX).contains(&seconds) => Ok((scopes.join(" "), seconds)),
        _ => Err(Refusal::invalid("Request contains an invalid argument: lifetime.")),
    }
}

/// `{"accessToken","expireTime"}`.
pub(super) fn lent(token: &str, expires_at_ms: i64) -> Value {
    json!({"accessToken": token, "expireTime": rfc3339(expires_at_ms)})
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// `20260301T091500Z` as milliseconds since the epoch.
fn milliseconds(date: &str) -> Option<i64> {
    let (day, time) = date.strip_suffix('Z')?.split_once('T')?;
    let number = |text: &str, from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let days = days_since_1970(number(day, 0, 4)?, number(day, 4, 6)?, number(day, 6, 8)?);
    let seconds = number(time, 0, 2)? * 3_600 + number(time, 2, 4)? * 60 + number(time, 4, 6)?;
    Some((days * 86_400 + seconds) * 1_000)
}

fn compact(ms: i64) -> String {
    rfc3339(ms).replace(['-', ':'], "")
}

/// `2026-03-01T09:15:00Z`; a fraction is dropped.
fn rfc3339(ms: i64) -> String {
    let (days, seconds) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000) / 1_000);
    let year = year_of(ms);
    let month = (1..=12).rev().find(|month| days_since_1970(year, *month, 1) <= days).unwrap_or(1);
    let day = days - days_since_1970(year, month, 1) + 1;
    let mut text = format!("{year:04}-{month:02}-{day:02}T");
    let _ = write!(text, "{:02}:{:02}:{:02}Z", seconds / 3_600, seconds / 60 % 60, seconds % 60);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_and_read_as_people_do() {
        for (ms, text) in [
            (1_772_356_500_000, "2026-03-01T09:15:00Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59Z"),
            (1_798_761_599_000, "2026-12-31T23:59:59Z"),
            (1_798_761_600_000, "2027-01-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(ms), text);
            assert_eq!(milliseconds(&compact(ms)), Some(ms / 1_000 * 1_000));
        }
        assert_eq!(milliseconds("2026-03-01T09:15:00Z"), None);
    }
}
