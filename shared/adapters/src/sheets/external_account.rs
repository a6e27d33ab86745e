//! Credentials without a key: Google believes AWS who this function is, and lends it a service account for an hour.
//!
//! After AIP-4117, "External Account Credentials (Workload Identity Federation)": the function signs a request for its own
//! name at AWS, Google's Security Token Service exchanges that for a federated token, and the IAM Credentials API exchanges
//! this one for a token of the service account. Nothing in the setting is secret, and nothing in it can be stolen.

use std::fmt;

use docket_domain::moment::Moment;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;
use serde::Deserialize;
use serde_json::{Value, json};

use super::caller_identity::subject_token;
use super::credentials::{CredentialsError, SCOPE, filled};
use crate::aws::Caller;
use crate::config::is_safe;

/// What a federated token must be good for where it is only to be exchanged again (AIP-4117).
const PLATFORM_SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const ENVIRONMENT: &str = "aws1";
const SUBJECT_TOKEN_TYPE: &str = "urn:ietf:params:aws:token-type:aws4_request";
const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const REQUESTED_TOKEN_TYPE: &str = "urn:ietf:params:oauth:token-type:access_token";
/// How long an impersonated token lives, unless the file says otherwise; and what it may say (AIP-4117).
const LIFETIME_SECONDS: u64 = 3_600;
const LIFETIMES: std::ops::RangeInclusive<u64> = 600..=43_200;

/// An identity provider at Google that trusts an AWS account, and the role that this function has there.
pub struct ExternalAccount {
    audience: String,
    token_url: String,
    /// Where AWS says who somebody is, in this function's region.
    verification_url: Url,
    impersonation: Option<Impersonation>,
    caller: Caller,
}

/// The service account whose token is lent.
pub(super) struct Impersonation {
    pub(super) url: String,
    account: String,
    lifetime_seconds: u64,
}

impl fmt::Debug for ExternalAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalAccount").field("account", &self.account()).finish_non_exhaustive()
    }
}

/// What `gcloud iam workload-identity-pools create-cred-config … --aws` writes. Its addresses of AWS's metadata server are
/// not read: Lambda has none.
#[derive(Deserialize)]
pub(super) struct Configuration {
    audience: Option<String>,
    subject_token_type: Option<String>,
    token_url: Option<String>,
    service_account_impersonation_url: Option<String>,
    #[serde(default)]
    service_account_impersonation: Value,
    credential_source: Option<Source>,
}

#[derive(Deserialize)]
struct Source {
    environment_id: Option<String>,
    regional_cred_verification_url: Option<String>,
}

impl ExternalAccount {
    pub(super) fn of(file: Configuration, caller: &Caller) -> Result<Self, CredentialsError> {
        use CredentialsError::Lacks;
        let audience = filled(file.audience).ok_or(Lacks("audience"))?;
        // It becomes a header.
        if !audience.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(CredentialsError::BadAudience);
        }
        if filled(file.subject_token_type).ok_or(Lacks("subject_token_type"))? != SUBJECT_TOKEN_TYPE {
            return Err(CredentialsError::OtherSubject);
        }
        let source = file.credential_source.ok_or(Lacks("credential_source"))?;
        if filled(source.environment_id).ok_or(Lacks("credential_source.environment_id"))? != ENVIRONMENT {
            return Err(CredentialsError::OtherEnvironment);
        }
        let name = "credential_source.regional_cred_verification_url";
        let verification = filled(source.regional_cred_verification_url).ok_or(Lacks(name))?;
        if !verification.contains("{region}") {
            return Err(CredentialsError::NoRegion);
        }
        let verification_url = safe(&verification.replace("{region}", caller.region()), name)?;
        let token_url = filled(file.token_url).ok_or(Lacks("token_url"))?;
        safe(&token_url, "token_url")?;
        let lifetime = &file.service_account_impersonation["token_lifetime_seconds"];
        let impersonation = filled(file.service_account_impersonation_url)
            .map(|url| Impersonation::of(url, lifetime))
            .transpose()?;
        Ok(Self { audience, token_url, verification_url, impersonation, caller: caller.clone() })
    }

    /// The service account that is lent, or the identity provider where none is.
    pub(super) fn account(&self) -> &str {
        self.impersonation.as_ref().map_or(&self.audience, |impersonation| &impersonation.account)
    }

    pub(super) fn token_url(&self) -> &str {
        &self.token_url
    }

    pub(super) fn impersonation(&self) -> Option<&Impersonation> {
        self.impersonation.as_ref()
    }

    /// The form that asks for a federated token (RFC 8693, 2.1, as AIP-4117 fills it in). None only if the role's
    /// credentials cannot sign.
    pub(super) fn exchange_form(&self, now: Moment) -> Option<String> {
        let subject = subject_token(&self.caller, &self.verification_url, &self.audience, now)?;
        let scope = if self.impersonation.is_some() { PLATFORM_SCOPE } else { SCOPE };
        let fields = [
            ("grant_type", GRANT_TYPE),
            ("audience", &self.audience),
            ("scope", scope),
            ("requested_token_type", REQUESTED_TOKEN_TYPE),
            ("subject_token_type", SUBJECT_TOKEN_TYPE),
            ("subject_token", &subject),
        ];
        let encoded =
            fields.map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)));
        Some(encoded.join("&"))
    }
}

impl Impersonation {
    fn of(url: String, lifetime: &Value) -> Result<Self, CredentialsError> {
        let parsed = safe(&url, "service_account_impersonation_url")?;
        let last = parsed.path_segments().and_then(|mut segments| segments.next_back()).unwrap_or_default();
        let account = last.strip_suffix(":generateAccessToken").filter(|account| !account.is_empty());
        let account = account.ok_or(CredentialsError::NoAccount)?.to_owned();
        let lifetime_seconds = if lifetime.is_null() {
            LIFETIME_SECONDS
        } else {
            lifetime
                .as_u64()
                .filter(|seconds| LIFETIMES.contains(seconds))
                .ok_or(CredentialsError::BadLifetime)?
        };
        Ok(Self { url, account, lifetime_seconds })
    }

    /// The body of `projects.serviceAccounts.generateAccessToken` (IAM Service Account Credentials API v1).
    pub(super) fn body(&self) -> Value {
        json!({"scope": [SCOPE], "lifetime": format!("{}s", self.lifetime_seconds)})
    }
}

fn safe(url: &str, name: &'static str) -> Result<Url, CredentialsError> {
    Url::parse(url).ok().filter(is_safe).ok_or(CredentialsError::BadUrl(name))
}

#[cfg(test)]
mod tests {
    use super::super::credentials::Credentials;
    use super::*;
    use crate::config::Environment;

    const AUDIENCE: &str =
        "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/aws";

    /// As gcloud writes it.
    fn configuration() -> Value {
        json!({
            "universe_domain": "googleapis.com",
            "type": "external_account",
            "audience": AUDIENCE,
            "subject_token_type": "urn:ietf:params:aws:token-type:aws4_request",
            "token_url": "https://sts.googleapis.com/v1/token",
            "service_account_impersonation_url": "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/docket@example.iam.gserviceaccount.com:generateAccessToken",
            "credential_source": {
                "environment_id": "aws1",
                "region_url": "http://169.254.169.254/latest/meta-data/placement/availability-zone",
                "url": "http://169.254.169.254/latest/meta-data/iam/security-credentials",
                "regional_cred_verification_url": "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15"
            }
        })
    }

    fn caller() -> Caller {
        let pairs = [
            ("AWS_ACCESS_KEY_ID", "ASIAEXAMPLE"),
            ("AWS_SECRET_ACCESS_KEY", "hidden-secret"),
            ("AWS_SESSION_TOKEN", "hidden-session"),
            ("AWS_REGION", "eu-central-1"),
        ];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Caller::of_function(&Environment::of(pairs)).expect("a role")
    }

    fn read(configuration: &Value) -> Result<ExternalAccount, CredentialsError> {
        match Credentials::parse(&configuration.to_string(), &caller())? {
            Credentials::ExternalAccount(account) => Ok(*account),
            Credentials::ServiceAccount(_) => panic!("another type"),
        }
    }

    fn with(pointer: &str, value: Value) -> Value {
        let mut changed = configuration();
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
        changed.pointer_mut(parent).expect("a parent")[name] = value;
        changed
    }

    fn fields(account: &ExternalAccount) -> Vec<(String, String)> {
        let form = account.exchange_form(Moment::from_seconds(1_772_356_500)).expect("a form");
        let url = Url::parse(&format!("http://form/?{form}")).expect("a query");
        url.query_pairs().into_owned().collect()
    }

    #[test]
    fn the_form_asks_for_a_token_that_may_only_be_exchanged_again() {
        let account = read(&configuration()).expect("gcloud's own configuration");
        let mut fields = fields(&account);
        let (name, subject) = fields.pop().expect("a subject token");
        let plain = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("audience", AUDIENCE),
            ("scope", "https://www.googleapis.com/auth/cloud-platform"),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ("subject_token_type", "urn:ietf:params:aws:token-type:aws4_request"),
        ];
        assert_eq!(fields, plain.map(|(name, value)| (name.to_owned(), value.to_owned())));
        // Encoded once more than the form itself does it.
        assert!(name == "subject_token" && subject.starts_with("%7B%22headers%22"), "{subject}");
        let impersonation = account.impersonation().expect("a service account");
        assert_eq!(
            impersonation.body(),
            json!({"scope": ["https://www.googleapis.com/auth/spreadsheets"], "lifetime": "3600s"})
        );
        assert_eq!(account.account(), "docket@example.iam.gserviceaccount.com");
    }

    #[test]
    fn without_a_service_account_the_federated_token_itself_has_to_open_the_sheet() {
        for absent in [Value::Null, json!(" ")] {
            let account = read(&with("/service_account_impersonation_url", absent)).expect("well formed");
            assert!(account.impersonation().is_none());
            assert_eq!(account.account(), AUDIENCE);
            assert_eq!(fields(&account)[2].1, "https://www.googleapis.com/auth/spreadsheets");
        }
    }

    #[test]
    fn the_life_of_the_lent_token_may_be_set_within_googles_bounds() {
        let of = |lifetime: Value| {
            read(&with("/service_account_impersonation", json!({"token_lifetime_seconds": lifetime})))
        };
        for seconds in [600, 3_600, 43_200] {
            let account = of(json!(seconds)).expect("within bounds");
            let body = account.impersonation().expect("a service account").body();
            assert_eq!(body["lifetime"], format!("{seconds}s"));
        }
        for lifetime in [json!(599), json!(43_201), json!(-1), json!("3600"), json!(3600.5)] {
            assert_eq!(of(lifetime).expect_err("must be refused"), CredentialsError::BadLifetime);
        }
        assert!(read(&with("/service_account_impersonation", json!({}))).is_ok());
    }

    #[test]
    fn each_part_that_is_missing_or_wrong_is_named_and_not_shown() {
        use CredentialsError::{BadUrl, Lacks};
        let verification = "credential_source.regional_cred_verification_url";
        let wrong = json!("https://hidden.example.org/hidden");
        for (pointer, value, expected) in [
            ("/audience", Value::Null, Lacks("audience")),
            ("/audience", json!("hidden\nhidden"), CredentialsError::BadAudience),
            ("/subject_token_type", Value::Null, Lacks("subject_token_type")),
            ("/subject_token_type", json!("urn:hidden"), CredentialsError::OtherSubject),
            ("/token_url", json!(""), Lacks("token_url")),
            ("/token_url", json!("http://hidden.example.org"), BadUrl("token_url")),
            ("/service_account_impersonation_url", wrong.clone(), CredentialsError::NoAccount),
            (
                "/service_account_impersonation_url",
                json!("ftp://x/a:generateAccessToken"),
                BadUrl("service_account_impersonation_url"),
            ),
            ("/credential_source", Value::Null, Lacks("credential_source")),
            ("/credential_source/environment_id", Value::Null, Lacks("credential_source.environment_id")),
            ("/credential_source/environment_id", json!("aws2"), CredentialsError::OtherEnvironment),
            ("/credential_source/regional_cred_verification_url", Value::Null, Lacks(verification)),
            ("/credential_source/regional_cred_verification_url", wrong, CredentialsError::NoRegion),
            (
                "/credential_source/regional_cred_verification_url",
                json!("http://sts.{region}.hidden"),
                BadUrl(verification),
            ),
            ("/credential_source", json!("hidden"), CredentialsError::NotJson),
        ] {
            let error = read(&with(pointer, value)).expect_err(pointer);
            assert_eq!(error, expected, "{pointer}");
            assert!(!error.to_string().contains("hidden"), "{error}");
        }
    }

    #[test]
    fn debug_shows_the_account_and_nothing_else() {
        let credentials = Credentials::parse(&configuration().to_string(), &caller()).expect("well formed");
        let expected =
            r#"ExternalAccount(ExternalAccount { account: "docket@example.iam.gserviceaccount.com", .. })"#;
        assert_eq!(format!("{credentials:?}"), expected);
        assert_eq!(format!("{:?}", caller()), r#"Caller { region: "eu-central-1", .. }"#);
    }
}
