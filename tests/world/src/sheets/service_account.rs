//! The service account of the fake world: its key file, and the two halves of its key.
//!
//! The key is a THROW-AWAY TEST KEY that lies open in this folder. It opens nothing anywhere.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair, UnparsedPublicKey};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::{Value, json};

/// The address a spreadsheet has to be shared with.
pub const CLIENT_EMAIL: &str = "docket-test@docket-test.iam.gserviceaccount.com";

pub(super) const KEY_ID: &str = "0000000000000000000000000000000000000001";

const KEY_FILE: &str = include_str!("test_only_key.pem");
const PUBLIC_KEY: &[u8] = include_bytes!("test_only_key.public.der");

/// A key file as the Google Cloud console hands it out, for the throw-away test key.
#[must_use]
pub fn service_account_json(token_uri: &str) -> String {
    let file = json!({
        "type": "service_account",
        "project_id": "docket-test",
        "private_key_id": KEY_ID,
        "private_key": private_key_pem(),
        "client_email": CLIENT_EMAIL,
        "client_id": "100000000000000000001",
        "auth_uri": "https://accounts.google.com/o/oauth2/auth",
        "token_uri": token_uri,
        "auth_provider_x509_cert_url": "https://www.googleapis.com/oauth2/v1/certs",
        "client_x509_cert_url": format!("https://www.googleapis.com/robot/v1/metadata/x509/{CLIENT_EMAIL}"),
        "universe_domain": "googleapis.com"
    });
    format!("{file:#}\n")
}

/// A JWT over these claims, signed by the service account with RS256.
///
/// # Panics
///
/// When the key in this folder is broken.
#[must_use]
pub fn signed_assertion(claims: &Value) -> String {
    let header = json!({"alg": "RS256", "typ": "JWT", "kid": KEY_ID});
    let encode = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
    let signed = format!("{}.{}", encode(&header), encode(claims));
    let der = PrivatePkcs8KeyDer::from_pem_slice(KEY_FILE.as_bytes()).expect("the test key is PKCS#8 in PEM");
    let pair = RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).expect("the test key is an RSA key");
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)
        .expect("signing with a good key does not fail");
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// Whether `signature` is the service account's, over `signed`.
pub(super) fn is_signed(signed: &str, signature: &[u8]) -> bool {
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, PUBLIC_KEY)
        .verify(signed.as_bytes(), signature)
        .is_ok()
}

/// The key without the words before it.
fn private_key_pem() -> &'static str {
    KEY_FILE.find("-----BEGIN").map_or(KEY_FILE, |start| &KEY_FILE[start..])
}
