//! Settings to adapters to the runtime's loop.

use std::sync::Arc;

use acknowledger::Acknowledger;
use acknowledger::pace::Pace;
use docket_adapters::clock::SystemClock;
use docket_adapters::config::{ConfigError, Environment};
use docket_adapters::dynamodb::DynamoSubmissions;
use docket_adapters::lambda::Function;
use docket_adapters::telegram::TelegramMessenger;
use docket_adapters::telemetry::EmbeddedMeter;
use docket_adapters::{aws, lambda, parameters, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    let environment = Environment::of_process();
    lambda::complete_environment(&environment);
    telemetry::start(environment.log_level());
    let meter = Arc::new(EmbeddedMeter::new("acknowledger"));
    match build(environment.clone(), Arc::clone(&meter)).await {
        Ok(acknowledger) => lambda::serve(acknowledger, meter, SystemClock, &environment).await,
        Err(error) => lambda::refuse_to_start(&error),
    }
}

async fn build(environment: Environment, meter: Arc<EmbeddedMeter>) -> Result<impl Function, ConfigError> {
    let sdk = aws::for_function(&environment, aws::Patience::default())?;
    let used = ["BOT_TOKEN", "CATALOG"];
    let environment = parameters::resolve(environment, &used, &aws_sdk_ssm::Client::new(&sdk)).await?;
    let timing = environment.acknowledger_timing()?;
    let dynamodb = aws_sdk_dynamodb::Client::new(&sdk);
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
    })
}
