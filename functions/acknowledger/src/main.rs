//! Settings to adapters to the runtime's loop.

use std::sync::Arc;

use acknowledger::Acknowledger;
use acknowledger::pace::Pace;
use aws_types::SdkConfig;
use docket_adapters::clock::SystemClock;
use docket_adapters::config::{ConfigError, Environment};
use docket_adapters::dynamodb::DynamoSubmissions;
use docket_adapters::lambda::Function;
use docket_adapters::parameters::InParameters;
use docket_adapters::rotation::Rotating;
use docket_adapters::telegram::TelegramMessenger;
use docket_adapters::telemetry::EmbeddedMeter;
use docket_adapters::{aws, lambda, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    let environment = Environment::of_process();
    lambda::complete_environment(&environment, "acknowledger");
    telemetry::start(environment.log_level());
    let meter = Arc::new(EmbeddedMeter::new(environment.function_name()));
    match start(environment.clone(), Arc::clone(&meter)).await {
        Ok(acknowledger) => lambda::serve(acknowledger, meter, SystemClock, &environment).await,
        Err(error) => lambda::refuse_to_start(&error),
    }
}

async fn start(environment: Environment, meter: Arc<EmbeddedMeter>) -> Result<impl Function, ConfigError> {
    let sdk = aws::for_function(&environment, aws::Patience::default())?;
    let client = aws_sdk_ssm::Client::new(&sdk);
    let settings = InParameters::new(environment, &["BOT_TOKEN", "CATALOG"], client);
    let of = Arc::clone(&meter);
    let build = move |environment: &Environment| build(environment, &sdk, Arc::clone(&of));
    Rotating::start(settings, SystemClock, meter, build).await
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
    })
}
