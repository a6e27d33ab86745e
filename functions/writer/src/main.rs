//! Settings to adapters; Lambda's loop is the adapters' own.

use std::sync::Arc;

use aws_types::SdkConfig;
use docket_adapters::clock::SystemClock;
use docket_adapters::config::{ConfigError, Environment};
use docket_adapters::dynamodb::DynamoSubmissions;
use docket_adapters::lambda::Function;
use docket_adapters::sheets::{Credentials, GoogleSheet, SheetSettings};
use docket_adapters::sqs::SqsDoorbell;
use docket_adapters::telemetry::EmbeddedMeter;
use docket_adapters::{aws, lambda};
use docket_domain::limits::READ_TIMEOUT_MS;
use writer::Writer;
use writer::misplaced::Misplaced;
use writer::pace::Pace;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    lambda::run("writer", &["GOOGLE_CREDENTIALS"], build).await
}

fn build(
    environment: &Environment,
    sdk: &SdkConfig,
    meter: Arc<EmbeddedMeter>,
) -> Result<impl Function + use<>, ConfigError> {
    let timing = environment.writer_timing()?;
    let dynamodb = aws_sdk_dynamodb::Client::new(sdk);
    let queue = environment.queue_url("ACKNOWLEDGE_QUEUE_URL")?;
    Ok(Writer {
        submissions: DynamoSubmissions::new(
            dynamodb,
            environment.submissions_table()?,
            environment.retention_days()?,
        ),
        sheet: sheet(environment, timing.append_timeout_ms)?,
        acknowledge_queue: SqsDoorbell::acknowledge_queue(aws_sdk_sqs::Client::new(sdk), queue),
        clock: SystemClock,
        meter,
        timing,
        pace: Pace::default(),
        misplaced: Misplaced::default(),
    })
}

fn sheet(environment: &Environment, append_timeout_ms: u64) -> Result<GoogleSheet<SystemClock>, ConfigError> {
    let caller = aws::Caller::of_function(environment)?;
    let credentials = Credentials::parse(environment.google_credentials()?.expose(), &caller)
        .map_err(|error| ConfigError::of("GOOGLE_CREDENTIALS", error))?;
    let settings = SheetSettings {
        endpoint: environment.sheets_endpoint()?,
        spreadsheet_id: environment.spreadsheet_id()?,
        tab: environment.sheet_name()?,
        credentials,
        append_timeout_ms,
        // A look never takes longer than an append may: the writer's time is counted in them.
        read_timeout_ms: append_timeout_ms.min(READ_TIMEOUT_MS),
    };
    GoogleSheet::new(settings, SystemClock)
        .map_err(|error| ConfigError::of("SHEETS_ENDPOINT", format!("cannot be used: {error}")))
}
