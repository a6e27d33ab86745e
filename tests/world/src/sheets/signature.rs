//! AWS Signature Version 4 of a request that was written down, worked out anew.
//!
//! After "Create a signed AWS API request" in the IAM user guide, with HMAC and SHA-256 and nothing of the AWS SDK: whoever
//! signed with the SDK and is believed here signed what AWS would believe.

use std::fmt::Write as _;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use ring::digest::{SHA256, digest};
use ring::hmac::{HMAC_SHA256, Key, sign};

/// The characters that the canonical query string leaves as they are.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What is signed: an empty body goes with it.
pub(super) struct Signable<'a> {
    pub(super) method: &'a str,
    /// Still percent-encoded; `/` when there is none.
    pub(super) path: &'a str,
    /// Still percent-encoded.
    pub(super) query: &'a str,
    /// Names in lower case.
    pub(super) headers: &'a [(String, String)],
    /// As `Authorization` lists them: lower case, `;` between them.
    pub(super) signed_headers: &'a str,
    /// `x-amz-date`: `20260301T091500Z`.
    pub(super) date: &'a str,
    pub(super) region: &'a str,
    pub(super) service: &'a str,
}

/// The signature in hexadecimal digits.
pub(super) fn signature(request: &Signable<'_>, secret_access_key: &str) -> String {
    let day = request.date.get(..8).unwrap_or_default();
    let scope = format!("{day}/{}/{}/aws4_request", request.region, request.service);
    let to_sign = format!(
        "AWS4-HMAC-SHA256\n{}\n{scope}\n{}",
        request.date,
        hexadecimal(digest(&SHA256, canonical(request).as_bytes()).as_ref())
    );
    let mut key = format!("AWS4{secret_access_key}").into_bytes();
    for part in [day, request.region, request.service, "aws4_request"] {
        key = hmac(&key, part);
    }
    hexadecimal(&hmac(&key, &to_sign))
}

fn canonical(request: &Signable<'_>) -> String {
    let mut text = format!("{}\n{}\n{}\n", request.method, request.path, canonical_query(request.query));
    for name in request.signed_headers.split(';') {
        let value = request.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value);
        let trimmed: Vec<&str> = value.split_whitespace().collect();
        let _ = writeln!(text, "{name}:{}", trimmed.join(" "));
    }
    let _ = write!(text, "\n{}\n{}", request.signed_headers, hexadecimal(digest(&SHA256, b"").as_ref()));
    text
}

fn canonical_query(query: &str) -> String {
    let encoded = |text: &str| {
        let decoded = percent_decode_str(text).decode_utf8_lossy().into_owned();
        utf8_percent_encode(&decoded, ENCODED).to_string()
    };
    let mut pairs: Vec<(String, String)> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (encoded(name), encoded(value)))
        .collect();
    pairs.sort();
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    sign(&Key::new(HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The request that AWS's own guide to Signature Version 4 works out step by step.
    #[test]
    fn the_guides_own_example_comes_out_as_the_guide_has_it() {
        let headers = [
            ("host", "iam.amazonaws.com"),
            ("content-type", "application/x-www-form-urlencoded; charset=utf-8"),
            ("x-amz-date", "20150830T123600Z"),
        ];
        let request = Signable {
            method: "GET",
            path: "/",
            query: "Version=2010-05-08&Action=ListUsers",
            headers: &headers.map(|(name, value)| (name.to_owned(), value.to_owned())),
            signed_headers: "content-type;host;x-amz-date",
            date: "20150830T123600Z",
            region: "us-east-1",
            service: "iam",
        };
        assert_eq!(
            signature(&request, "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
        );
    }
}
