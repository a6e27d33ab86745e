//! What opens the spreadsheet: the key file of a service account, or the description of a way without a key.
//!
//! What cannot work is found here, in one sentence, not at the first write. No sentence repeats a part of the file.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use docket_domain::moment::Moment;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject as _;
use serde::Deserialize;
use serde_json::{Value, json};

use super::external_account::{Configuration, ExternalAccount};
use crate::aws::Caller;
use crate::config::is_safe;

/// Where Google exchanges an assertion for a token, unless the key file names another place.
const TOKEN_URI: &str = "https://oauth2.googleapis.com/token";
/// Reading and writing spreadsheets; without Drive, so it reaches only what was shared with the account.
pub(super) const SCOPE: &str = "https://www.googleapis.com/auth/spreadsheets";
/// The longest life that Google lets an assertion have.
const ASSERTION_SECONDS: i64 = 3_600;

/// A way to get an access token.
#[derive(Debug)]
pub enum Credentials {
    ServiceAccount(Box<ServiceAccount>),
    /// Workload identity federation: no key at all.
    ExternalAccount(Box<ExternalAccount>),
}

/// Why a setting holds no usable credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    #[error("is not the JSON of a service-account key, nor of an external account")]
    NotJson,
    #[error("is neither of type service_account nor of type external_account")]
    OtherType,
    #[error(
        "does without a key and needs an AWS role: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION"
    )]
    NoCaller,
    #[error("lacks {0}")]
    Lacks(&'static str),
    #[error("holds a private_key that is no RSA key in PEM of at least 2048 bits")]
    BadKey,
    #[error("holds a {0} that is neither https nor http on a loopback address")]
    BadUrl(&'static str),
    #[error("holds an audience that is no identity provider's name")]
    BadAudience,
    #[error("holds another subject_token_type than that of a signed AWS request")]
    OtherSubject,
    #[error("holds another credential_source.environment_id than aws1")]
    OtherEnvironment,
    #[error("holds a credential_source.regional_cred_verification_url without {{region}}")]
    NoRegion,
    #[error(
        "holds a service_account_impersonation_url that does not end in a service account's :generateAccessToken"
    )]
    NoAccount,
    #[error("holds a service_account_impersonation.token_lifetime_seconds that is not between 600 and 43200")]
    BadLifetime,
}

/// A service account's name and key.
pub struct ServiceAccount {
    client_email: String,
    key_id: Option<String>,
    token_uri: String,
    key: RsaKeyPair,
}

impl fmt::Debug for ServiceAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceAccount").field("client_email", &self.client_email).finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct KeyFile {
    client_email: Option<String>,
    private_key: Option<String>,
    private_key_id: Option<String>,
    token_uri: Option<String>,
}

impl Credentials {
    /// Reads the JSON that the Google Cloud console hands out for a key, or that gcloud writes for an external account;
    /// there `caller` takes the key's place.
    pub fn parse(text: &str, caller: &Caller) -> Result<Self, CredentialsError> {
        Self::parse_for(text, Some(caller))
    }

    /// The same for a person's machine, where an AWS role may be missing and a key does without.
    pub fn parse_for(text: &str, caller: Option<&Caller>) -> Result<Self, CredentialsError> {
        let file: Value = serde_json::from_str(text).map_err(|_| CredentialsError::NotJson)?;
        match file.get("type").and_then(Value::as_str) {
            Some("service_account") => {
                let file = KeyFile::deserialize(file).map_err(|_| CredentialsError::NotJson)?;
                ServiceAccount::of(file).map(|account| Self::ServiceAccount(Box::new(account)))
            }
            Some("external_account") => {
                let file = Configuration::deserialize(file).map_err(|_| CredentialsError::NotJson)?;
                let caller = caller.ok_or(CredentialsError::NoCaller)?;
                ExternalAccount::of(file, caller).map(|account| Self::ExternalAccount(Box::new(account)))
            }
            Some(_) => Err(CredentialsError::OtherType),
            None => Err(CredentialsError::Lacks("type")),
        }
    }

    /// The address with which the spreadsheet has to be shared. An external account that borrows no service account has
    /// none: then it is the identity provider's name.
    #[must_use]
    pub fn account(&self) -> &str {
        match self {
            Self::ServiceAccount(account) => &account.client_email,
            Self::ExternalAccount(account) => account.account(),
        }
    }
}

impl ServiceAccount {
    fn of(file: KeyFile) -> Result<Self, CredentialsError> {
        let client_email = filled(file.client_email).ok_or(CredentialsError::Lacks("client_email"))?;
        let pem = filled(file.private_key).ok_or(CredentialsError::Lacks("private_key"))?;
        let token_uri = filled(file.token_uri).unwrap_or_else(|| TOKEN_URI.to_owned());
        if !reqwest::Url::parse(&token_uri).is_ok_and(|url| is_safe(&url)) {
            return Err(CredentialsError::BadUrl("token_uri"));
        }
        let key = read_key(&pem).ok_or(CredentialsError::BadKey)?;
        Ok(Self { client_email, key_id: filled(file.private_key_id), token_uri, key })
    }

    pub(super) fn token_uri(&self) -> &str {
        &self.token_uri
    }

    /// A JWT by which the account asks for a token, signed with RS256 (RFC 7523; Google: "Using OAuth 2.0 for server to
    /// server applications"). None only if the key cannot sign.
    pub(super) fn assertion(&self, now: Moment) -> Option<String> {
        let mut header = json!({"alg": "RS256", "typ": "JWT"});
        if let Some(id) = &self.key_id {
            header["kid"] = json!(id);
        }
        let claims = json!({
            "iss": self.client_email,
            "scope": SCOPE,
            "aud": self.token_uri,
            "iat": now.seconds(),
            "exp": now.seconds() + ASSERTION_SECONDS,
        });
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(&claims));
        let mut signature = vec![0; self.key.public().modulus_len()];
        self.key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).ok()?;
        Some(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

/// A part of the file that is there and not blank.
pub(super) fn filled(value: Option<String>) -> Option<String> {
    value.filter(|text| !text.trim().is_empty())
}

fn read_key(pem: &str) -> Option<RsaKeyPair> {
    // A key file that was pasted into a setting by hand often carries its line ends as a backslash and an n.
    let pem = pem.replace("\\n", "\n");
    match PrivateKeyDer::from_pem_slice(pem.as_bytes()).ok()? {
        PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).ok(),
        PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()).ok(),
        PrivateKeyDer::Sec1(_) | _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};

    use super::*;
    use crate::config::Environment;

    /// A throw-away key that opens nothing anywhere.
    const TEST_KEY: &str = include_str!("../../../../tests/world/src/sheets/test_only_key.pem");

    fn key_file() -> Value {
        json!({
            "type": "service_account",
            "project_id": "docket-test",
            "private_key_id": "key-1",
            "private_key": TEST_KEY,
            "client_email": "docket@example.iam.gserviceaccount.com",
            "token_uri": "https://oauth2.googleapis.com/token",
            "universe_domain": "googleapis.com",
        })
    }

    /// A key file needs no role.
    fn parse(text: &str) -> Result<Credentials, CredentialsError> {
        let pairs = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"];
        let environment = Environment::of(pairs.map(|name| (name.to_owned(), "x".to_owned())));
        Credentials::parse(text, &Caller::of_function(&environment).expect("a role"))
    }

    fn account() -> Credentials {
        parse(&key_file().to_string()).expect("a good key file")
    }

    fn with(name: &str, value: &Value) -> Result<Credentials, CredentialsError> {
        let mut file = key_file();
        file[name] = value.clone();
        parse(&file.to_string())
    }

    #[test]
    fn an_assertion_names_account_scope_audience_and_times_and_is_signed_by_the_key() {
        let Credentials::ServiceAccount(account) = account() else { panic!("another type") };
        let assertion = account.assertion(Moment::from_seconds(1_772_356_500)).expect("a signature");
        let parts: Vec<&str> = assertion.split('.').collect();
        let decoded = |text: &str| URL_SAFE_NO_PAD.decode(text).expect("base64url without padding");
        let object = |text: &str| serde_json::from_slice::<Value>(&decoded(text)).expect("JSON");
        assert_eq!(object(parts[0]), json!({"alg": "RS256", "typ": "JWT", "kid": "key-1"}));
        assert_eq!(
            object(parts[1]),
            json!({
                "iss": "docket@example.iam.gserviceaccount.com",
                "scope": "https://www.googleapis.com/auth/spreadsheets",
                "aud": "https://oauth2.googleapis.com/token",
                "iat": 1_772_356_500,
                "exp": 1_772_360_100,
            })
        );
        let public: RsaPublicKeyComponents<Vec<u8>> = account.key.public_key().into();
        let signed = format!("{}.{}", parts[0], parts[1]);
        public
            .verify(&RSA_PKCS1_2048_8192_SHA256, signed.as_bytes(), &decoded(parts[2]))
            .expect("the key's own signature");
    }

    #[test]
    fn a_key_file_pasted_with_escaped_line_ends_or_without_an_id_works() {
        assert!(with("private_key", &json!(TEST_KEY.replace('\n', "\\n"))).is_ok());
        assert!(with("private_key_id", &Value::Null).is_ok());
        assert!(with("token_uri", &Value::Null).is_ok());
        assert!(with("token_uri", &json!("http://127.0.0.1:9/token")).is_ok());
    }

    #[test]
    fn whatever_is_wrong_is_said_without_repeating_the_file() {
        let refused = |result: Result<Credentials, CredentialsError>| result.expect_err("must be refused");
        assert_eq!(refused(parse("hidden")), CredentialsError::NotJson);
        assert_eq!(refused(parse("[]")), CredentialsError::Lacks("type"));
        assert_eq!(refused(with("type", &json!("authorized_user"))), CredentialsError::OtherType);
        assert_eq!(refused(with("client_email", &json!(" "))), CredentialsError::Lacks("client_email"));
        assert_eq!(refused(with("private_key", &Value::Null)), CredentialsError::Lacks("private_key"));
        assert_eq!(refused(with("private_key", &json!(7))), CredentialsError::NotJson);
        assert_eq!(refused(with("private_key", &json!("hidden"))), CredentialsError::BadKey);
        for uri in ["http://example.org/token", "hidden", "ftp://127.0.0.1/"] {
            assert_eq!(
                refused(with("token_uri", &json!(uri))),
                CredentialsError::BadUrl("token_uri"),
                "{uri}"
            );
        }
    }

    #[test]
    fn debug_shows_the_address_and_nothing_else() {
        let expected = r#"ServiceAccount(ServiceAccount { client_email: "docket@example.iam.gserviceaccount.com", .. })"#;
        assert_eq!(format!("{:?}", account()), expected);
    }
}
