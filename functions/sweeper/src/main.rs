//! Settings to adapters to the runtime's loop.

use std::sync::Arc;

use docket_adapters::clock::SystemClock;
use docket_adapters::config::{ConfigError, Environment};
use docket_adapters::dynamodb::DynamoSubmissions;
use docket_adapters::lambda::Function;
use docket_adapters::sqs::SqsDoorbell;
use docket_adapters::telemetry::EmbeddedMeter;
use docket_adapters::{aws, lambda, telemetry};
use docket_domain::limits::RETENTION_DAYS;
use sweeper::Sweeper;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    let environment = Environment::of_process();
    lambda::complete_environment(&environment, "sweeper");
    telemetry::start(environment.log_level());
    let meter = Arc::new(EmbeddedMeter::new(environment.function_name()));
    match build(&environment, Arc::clone(&meter)).await {
        Ok(sweeper) => lambda::serve(sweeper, meter, SystemClock, &environment).await,
        Err(error) => lambda::refuse_to_start(&error),
    }
}

async fn build(environment: &Environment, meter: Arc<EmbeddedMeter>) -> Result<impl Function, ConfigError> {
    let sdk = aws::for_function(environment, aws::Patience::default())?;
    let sqs = aws_sdk_sqs::Client::new(&sdk);
    let table = environment.submissions_table()?;
    Ok(Sweeper {
        // It changes no record, so it never sets an expiry.
        submissions: DynamoSubmissions::new(aws_sdk_dynamodb::Client::new(&sdk), table, RETENTION_DAYS),
        write_queue: SqsDoorbell::write_queue(sqs.clone(), environment.queue_url("WRITE_QUEUE_URL")?),
        acknowledge_queue: SqsDoorbell::acknowledge_queue(
            sqs,
            environment.queue_url("ACKNOWLEDGE_QUEUE_URL")?,
        ),
        clock: SystemClock,
        meter,
    })
}
