//! The AWS SDK's shared settings: one HTTP client for every service, bounded in time.
//!
//! The SDK itself has no read or operation timeout and retries three times; a function that waits for ever is killed by
//! Lambda with its work half marked, so every call is bounded here.

use std::time::Duration;

use aws_config::profile::ProfileFileCredentialsProvider;
use aws_config::provider_config::ProviderConfig;
use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use aws_sdk_dynamodb::config::{BehaviorVersion, Region, SharedHttpClient};
use aws_smithy_async::rt::sleep::{SharedAsyncSleep, TokioSleep};
use aws_smithy_async::time::SystemTimeSource;
use aws_smithy_http_client::{Builder, tls};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::SdkConfig;
use aws_types::service_config::{LoadServiceConfig, ServiceConfigKey};
use docket_domain::limits::AWS_CALL_MS;
use docket_domain::status::Cause;

use crate::config::{ConfigError, Environment};

/// How patient the SDK is.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    pub attempts_max: u32,
    pub first_backoff_ms: u64,
    pub attempt_timeout_ms: u64,
    pub operation_timeout_ms: u64,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            attempts_max: 3,
            first_backoff_ms: 50,
            attempt_timeout_ms: 3_000,
            operation_timeout_ms: AWS_CALL_MS,
        }
    }
}

/// Who somebody is to AWS: credentials, and the region in which they sign. A function has its role's, as Lambda's environment
/// gives them, and Lambda starts a new process before they expire; a person has what the SDK finds.
#[derive(Clone)]
pub struct Caller {
    credentials: Credentials,
    region: String,
}

impl Caller {
    /// # Errors
    /// No region or no credentials.
    pub fn of_function(environment: &Environment) -> Result<Self, ConfigError> {
        let credentials = Credentials::new(
            environment.required("AWS_ACCESS_KEY_ID")?,
            environment.required("AWS_SECRET_ACCESS_KEY")?,
            environment.optional("AWS_SESSION_TOKEN")?,
            None,
            "environment",
        );
        // The SDK's own first and second place for it.
        let region = match environment.optional("AWS_REGION")? {
            Some(region) => region,
            None => match environment.optional("AWS_DEFAULT_REGION")? {
                Some(region) => region,
                None => environment.required("AWS_REGION")?,
            },
        };
        Ok(Self { credentials, region })
    }

    /// Whoever makes the calls of this SDK.
    ///
    /// # Errors
    /// No region or no credentials.
    pub async fn of_sdk(sdk: &SdkConfig) -> Result<Self, ConfigError> {
        let region = sdk.region().ok_or_else(|| ConfigError::of("AWS_REGION", "is missing"))?.to_string();
        Ok(Self { credentials: credentials_of(sdk).await?, region })
    }

    pub(crate) fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    pub(crate) fn region(&self) -> &str {
        &self.region
    }
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller").field("region", &self.region).finish_non_exhaustive()
    }
}

/// The SDK of a function: region, credentials and endpoints as Lambda's environment gives them.
///
/// It knows none of the other places where a person's machine may keep credentials: they would be a tenth of what is
/// deployed.
///
/// # Errors
/// No region or no credentials: every call would fail later, looking like a network that is down.
pub fn for_function(environment: &Environment, patience: Patience) -> Result<SdkConfig, ConfigError> {
    let Caller { credentials, region } = Caller::of_function(environment)?;
    let mut sdk = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(region))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .service_config(Endpoints(environment.clone()))
        .http_client(https())
        .sleep_impl(SharedAsyncSleep::new(TokioSleep::new()))
        .time_source(SystemTimeSource::new())
        .retry_config(retries(patience))
        .timeout_config(timeouts(patience));
    sdk.set_endpoint_url(environment.optional("AWS_ENDPOINT_URL")?);
    for service in ["DYNAMODB", "SQS", "SSM"] {
        environment.optional(&format!("AWS_ENDPOINT_URL_{service}"))?;
    }
    Ok(sdk.build())
}

/// `AWS_ENDPOINT_URL_DYNAMODB` and the like, which go before `AWS_ENDPOINT_URL`.
#[derive(Clone)]
struct Endpoints(Environment);

impl std::fmt::Debug for Endpoints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Endpoints")
    }
}

impl LoadServiceConfig for Endpoints {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        let service = key.service_id().to_uppercase().replace(' ', "_");
        self.0.optional(&format!("{}_{service}", key.env())).ok().flatten()
    }
}

/// What a person said on the command line; the rest is wherever the SDK finds it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Person {
    pub region: Option<String>,
    pub profile: Option<String>,
}

/// The SDK of a command that a person runs: region, credentials and endpoint from wherever the SDK finds them. A profile that
/// was named goes before keys in the environment.
///
/// # Errors
/// No region: every call would fail later, looking like a network that is down.
pub async fn for_person(patience: Patience, person: &Person) -> Result<SdkConfig, ConfigError> {
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .http_client(https())
        .retry_config(retries(patience))
        .timeout_config(timeouts(patience));
    if let Some(region) = &person.region {
        loader = loader.region(Region::new(region.clone()));
    }
    if let Some(profile) = &person.profile {
        // Its credentials are put in below.
        loader = loader.profile_name(profile).no_credentials();
    }
    let mut sdk = loader.load().await;
    if let Some(profile) = &person.profile {
        // Left to itself the SDK takes keys in the environment first, whatever profile it was told.
        let places = ProviderConfig::without_region()
            .with_region(sdk.region().cloned())
            .with_http_client(https())
            .with_retry_config(retries(patience))
            .with_timeout_config(timeouts(patience));
        let of_profile =
            ProfileFileCredentialsProvider::builder().configure(&places).profile_name(profile).build();
        sdk = sdk.to_builder().credentials_provider(SharedCredentialsProvider::new(of_profile)).build();
    }
    match sdk.region() {
        Some(region) if !region.as_ref().trim().is_empty() => Ok(sdk),
        Some(_) => Err(ConfigError::of("AWS_REGION", "is empty")),
        None => Err(ConfigError::of("AWS_REGION", "is missing: export it, or say --region NAME")),
    }
}

fn https() -> SharedHttpClient {
    Builder::new().tls_provider(tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring)).build_https()
}

/// Makes sure that there are credentials: for a command that a person runs. Lambda gives a function its own.
///
/// # Errors
/// None can be had.
pub async fn check_credentials(sdk: &SdkConfig) -> Result<(), ConfigError> {
    key_id_of(sdk).await.map(drop)
}

/// The id of the access key in use, which is no secret.
///
/// # Errors
/// There are no credentials.
pub async fn key_id_of(sdk: &SdkConfig) -> Result<String, ConfigError> {
    Ok(credentials_of(sdk).await?.access_key_id().to_owned())
}

async fn credentials_of(sdk: &SdkConfig) -> Result<Credentials, ConfigError> {
    let missing = || {
        ConfigError::of(
            "AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,",
            "must give AWS credentials; none were found (of a profile with single sign-on or credential_process, make them \
             variables first: aws configure export-credentials --format env)",
        )
    };
    let provider = sdk.credentials_provider().ok_or_else(missing)?;
    provider.provide_credentials().await.map_err(|_| missing())
}

/// Retries of one call; each is a new attempt with its own timeout.
#[must_use]
pub fn retries(patience: Patience) -> RetryConfig {
    RetryConfig::standard()
        .with_max_attempts(patience.attempts_max)
        .with_initial_backoff(Duration::from_millis(patience.first_backoff_ms))
}

#[must_use]
pub fn timeouts(patience: Patience) -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(Duration::from_millis(patience.attempt_timeout_ms.min(2_000)))
        .operation_attempt_timeout(Duration::from_millis(patience.attempt_timeout_ms))
        .operation_timeout(Duration::from_millis(patience.operation_timeout_ms))
        .build()
}

pub type SdkError<E> = aws_smithy_runtime_api::client::result::SdkError<E, HttpResponse>;

/// Why a call failed, in one word: AWS's own error code where it sent one. Never its message, which may repeat what
/// was sent.
pub fn cause<E: ProvideErrorMetadata>(error: &SdkError<E>) -> Cause {
    match error {
        SdkError::ServiceError(service) => match service.err().code() {
            Some(code) => Cause::new(code),
            None => Cause::new(format!("http_{}", service.raw().status().as_u16())),
        },
        SdkError::ConstructionFailure(_) => Cause::new("request_not_built"),
        SdkError::TimeoutError(_) => Cause::new("timeout"),
        SdkError::DispatchFailure(failure) if failure.is_timeout() => Cause::new("timeout"),
        SdkError::DispatchFailure(_) => Cause::new("connection_failed"),
        SdkError::ResponseError(response) => {
            Cause::new(format!("answer_unreadable_http_{}", response.raw().status().as_u16()))
        }
        _ => Cause::new("failed"),
    }
}
