//! AWS SDK clients for the test's own side of the world.
//!
//! They set up and look at what Docket works on, so they must not hide anything: no retries, dummy credentials,
//! and an endpoint that is always given. They can only reach plain HTTP, so a test that is set up wrongly cannot
//! call the real AWS.

use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region, retry::RetryConfig};
use aws_smithy_http_client::Builder;

use super::REGION;

/// A DynamoDB client that talks to `endpoint`.
///
/// Each call makes a client with a connection pool of its own: pooled connections belong to the runtime that
/// opened them, and every test has its own.
#[must_use]
pub fn dynamodb_at(endpoint: &str) -> aws_sdk_dynamodb::Client {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(REGION))
        .credentials_provider(credentials())
        .endpoint_url(endpoint)
        .retry_config(RetryConfig::disabled())
        .http_client(Builder::new().build_http())
        .build();
    aws_sdk_dynamodb::Client::from_conf(config)
}

/// An SQS client that talks to `endpoint`, whatever host the queue URLs name. Its pool is its own, see
/// [`dynamodb_at`].
#[must_use]
pub fn sqs_at(endpoint: &str) -> aws_sdk_sqs::Client {
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(REGION))
        .credentials_provider(credentials())
        .endpoint_url(endpoint)
        .retry_config(RetryConfig::disabled())
        .http_client(Builder::new().build_http())
        .build();
    aws_sdk_sqs::Client::from_conf(config)
}

/// The engines check no signature, but the SDK refuses to send without one.
fn credentials() -> Credentials {
    Credentials::new("test", "test", None, None, "the fake world")
}
