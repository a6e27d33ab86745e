//! Settings to adapters; Lambda's loop is the adapters' own.

use std::sync::Arc;

use acknowledger::Acknowledger;
use acknowledger::pace::Pace;
use aws_types::SdkConfig;
use docket_adapters::clock::SystemClock;
use docket_adapters::config::{ConfigError, Environment};
use docket_adapters::dynamodb::DynamoSubmissions;
use docket_adapters::lambda;
use docket_adapters::lambda::Function;
use docket_adapters::telegram::TelegramMessenger;
use docket_adapters::telemetry::EmbeddedMeter;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    lambda::run("acknowledger", &["BOT_TOKEN", "CATALOG"], build).await
}

fn build(
    environment: &Environment,
    sdk: &SdkConfig,
    meter: Arc<EmbeddedMeter>,
) -> Result<impl Function + use<>, ConfigError> {
    let timing = environment.acknowledger_timing()?;
    let dynamodb = aws_sdk_dynamodb::Client::new(sdk);
    Ok(Acknowledger {
        submissions: DynamoSubmissions::new(
            dynamodb,
            environment.submissions_table()?,
            environment.retention_days()?,
        ),
        messenger: TelegramMessenger::new(
            &environment.telegram_endpoint()?,
            &environment.bot_token()?,
            timing.send_timeout_ms,
        )
        .map_err(|error| ConfigError::of("TELEGRAM_ENDPOINT", format!("cannot be used: {error}")))?,
        clock: SystemClock,
        meter,
        timing,
        catalog: environment.catalog()?,
        pace: Pace::default(),
        operator_chat: environment.operator_chat_if_set()?,
    })
}
