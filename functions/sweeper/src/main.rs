//! Settings to adapters; Lambda's loop is the adapters' own.

use std::sync::Arc;

use aws_types::SdkConfig;
use docket_adapters::clock::SystemClock;
use docket_adapters::config::{ConfigError, Environment};
use docket_adapters::dynamodb::DynamoSubmissions;
use docket_adapters::lambda;
use docket_adapters::lambda::Function;
use docket_adapters::sqs::SqsDoorbell;
use docket_adapters::telemetry::EmbeddedMeter;
use docket_domain::limits::RETENTION_DAYS;
use sweeper::Sweeper;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    lambda::run("sweeper", &[], build).await
}

fn build(
    environment: &Environment,
    sdk: &SdkConfig,
    meter: Arc<EmbeddedMeter>,
) -> Result<impl Function + use<>, ConfigError> {
    let sqs = aws_sdk_sqs::Client::new(sdk);
    let table = environment.submissions_table()?;
    Ok(Sweeper {
        // It changes no record, so it never sets an expiry.
        submissions: DynamoSubmissions::new(aws_sdk_dynamodb::Client::new(sdk), table, RETENTION_DAYS),
        write_queue: SqsDoorbell::write_queue(sqs.clone(), environment.queue_url("WRITE_QUEUE_URL")?),
        acknowledge_queue: SqsDoorbell::acknowledge_queue(
            sqs,
            environment.queue_url("ACKNOWLEDGE_QUEUE_URL")?,
        ),
        clock: SystemClock,
        meter,
    })
}
