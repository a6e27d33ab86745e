//! The proof of who this function is to AWS: a signed request for `GetCallerIdentity`, written down and never sent by us.
//!
//! Google's Security Token Service sends it on to AWS and believes AWS's answer. It opens nothing at AWS but the
//! function's own name, and it names the one identity provider it is meant for, so that nobody else can use it.

use std::time::{Duration, UNIX_EPOCH};

use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::identity::Identity;
use docket_domain::moment::Moment;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;
use serde_json::{Value, json};

use crate::aws::Caller;

/// Google sends the request on as it is written down, so method and body are those that were signed (AIP-4117).
const METHOD: &str = "POST";
/// Names the identity provider for which the request was signed (AIP-4117; google-auth-library-python, aws.py).
const TARGET_HEADER: &str = "x-goog-cloud-target-resource";

/// The subject token of AIP-4117, "Determining the subject token in AWS": `{"url","method","headers":[{"key","value"}]}`,
/// percent-encoded. Whoever puts it into a form encodes it once more, as Google's own libraries do.
///
/// `now` becomes the signature's date, which AWS believes for a few minutes. None only if the request cannot be signed.
pub(super) fn subject_token(caller: &Caller, url: &Url, audience: &str, now: Moment) -> Option<String> {
    let host = match (url.host_str()?, url.port()) {
        (host, Some(port)) => format!("{host}:{port}"),
        (host, None) => host.to_owned(),
    };
    let headers = [("host", host.as_str()), (TARGET_HEADER, audience)];
    let identity: Identity = caller.credentials().clone().into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(caller.region())
        .name("sts")
        .time(UNIX_EPOCH + Duration::from_millis(u64::try_from(now.millis()).ok()?))
        .settings(SigningSettings::default())
        .build()
        .ok()?
        .into();
    let request =
        SignableRequest::new(METHOD, url.as_str(), headers.into_iter(), SignableBody::Bytes(&[])).ok()?;
    let (signed, _) = sign(request, &params).ok()?.into_parts();
    // The signer's own: Authorization, x-amz-date, and x-amz-security-token where the role has one.
    let headers: Vec<Value> = headers
        .into_iter()
        .chain(signed.headers())
        .map(|(name, value)| json!({"key": as_google_spells_it(name), "value": value}))
        .collect();
    let request = json!({"url": url.as_str(), "method": METHOD, "headers": headers});
    Some(utf8_percent_encode(&request.to_string(), NON_ALPHANUMERIC).to_string())
}

/// Names of headers know no case, but nobody says that Google's reader of this JSON knows that.
fn as_google_spells_it(name: &str) -> &str {
    if name.eq_ignore_ascii_case("authorization") { "Authorization" } else { name }
}

#[cfg(test)]
mod tests {
    use percent_encoding::percent_decode_str;

    use super::*;
    use crate::config::Environment;

    const AUDIENCE: &str =
        "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/aws";

    fn caller(session_token: Option<&str>) -> Caller {
        let pairs = [
            ("AWS_ACCESS_KEY_ID", Some("ASIAEXAMPLE")),
            ("AWS_SECRET_ACCESS_KEY", Some("hidden")),
            ("AWS_SESSION_TOKEN", session_token),
            ("AWS_REGION", Some("eu-central-1")),
        ];
        let set = pairs.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
        Caller::of_function(&Environment::of(set)).expect("a role")
    }

    fn decoded(caller: &Caller) -> Value {
        let url = "https://sts.eu-central-1.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15";
        let url = Url::parse(url).expect("a URL");
        let token = subject_token(caller, &url, AUDIENCE, Moment::from_seconds(1_772_356_500));
        let token = token.expect("a signature");
        assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'%'), "{token}");
        serde_json::from_str(&percent_decode_str(&token).decode_utf8().expect("UTF-8")).expect("JSON")
    }

    fn header<'a>(request: &'a Value, name: &str) -> Option<&'a str> {
        let headers = request["headers"].as_array().expect("a list");
        headers.iter().find(|header| header["key"] == name)?["value"].as_str()
    }

    #[test]
    fn the_request_names_region_moment_and_audience_and_all_of_them_are_signed() {
        let request = decoded(&caller(Some("session+/=")));
        assert_eq!(request["method"], "POST");
        assert_eq!(
            request["url"],
            "https://sts.eu-central-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15"
        );
        assert_eq!(header(&request, "host"), Some("sts.eu-central-1.amazonaws.com"));
        assert_eq!(header(&request, "x-amz-date"), Some("20260301T091500Z"));
        assert_eq!(header(&request, "x-amz-security-token"), Some("session+/="));
        assert_eq!(header(&request, "x-goog-cloud-target-resource"), Some(AUDIENCE));
        let authorization = header(&request, "Authorization").expect("a signature");
        assert!(authorization.starts_with(
            "AWS4-HMAC-SHA256 Credential=ASIAEXAMPLE/20260301/eu-central-1/sts/aws4_request, \
             SignedHeaders=host;x-amz-date;x-amz-security-token;x-goog-cloud-target-resource, Signature="
        ));
        assert!(!request.to_string().contains("hidden"));
    }

    #[test]
    fn credentials_without_a_session_token_name_none() {
        let request = decoded(&caller(None));
        assert_eq!(header(&request, "x-amz-security-token"), None);
        let authorization = header(&request, "Authorization").expect("a signature");
        assert!(authorization.contains("SignedHeaders=host;x-amz-date;x-goog-cloud-target-resource,"));
    }
}
