//! Settings to adapters to the runtime's loop.

use std::sync::Arc;

use docket_adapters::clock::SystemClock;
use docket_adapters::config::{ConfigError, Environment};
use docket_adapters::dynamodb::{DynamoConversations, DynamoSubmissions};
use docket_adapters::sqs::SqsDoorbell;
use docket_adapters::telemetry::EmbeddedMeter;
use docket_adapters::{aws, lambda, parameters, telemetry};
use docket_domain::limits::RETENTION_DAYS;
use docket_domain::ports::{Conversations, Doorbell, Submissions};
use webhook::{Handler, Webhook};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    let environment = Environment::of_process();
    lambda::complete_environment(&environment);
    telemetry::start(environment.log_level());
    let meter = Arc::new(EmbeddedMeter::new("webhook"));
    match build(environment.clone(), Arc::clone(&meter)).await {
        Ok(handler) => lambda::serve(handler, meter, SystemClock, &environment).await,
        Err(error) => lambda::refuse_to_start(&error),
    }
}

async fn build(
    environment: Environment,
    meter: Arc<EmbeddedMeter>,
) -> Result<
    Handler<impl Submissions, impl Conversations, impl Doorbell, SystemClock, Arc<EmbeddedMeter>>,
    ConfigError,
> {
    let sdk = aws::for_function(&environment, aws::Patience::default())?;
    let used = ["WEBHOOK_SECRET", "WEBHOOK_SECRET_PREVIOUS", "CATALOG"];
    let environment = parameters::resolve(environment, &used, &aws_sdk_ssm::Client::new(&sdk)).await?;
    let dynamodb = aws_sdk_dynamodb::Client::new(&sdk);
    let (submissions, conversations) = (environment.submissions_table()?, environment.conversations_table()?);
    let queue = environment.queue_url("WRITE_QUEUE_URL")?;
    Ok(Handler {
        secrets: environment.webhook_secrets()?,
        webhook: Webhook {
            // The webhook only ever adds an open review to a record, so no record of its making expires.
            submissions: DynamoSubmissions::new(dynamodb.clone(), submissions.clone(), RETENTION_DAYS),
            conversations: DynamoConversations::new(dynamodb, conversations, submissions),
            write_queue: SqsDoorbell::write_queue(aws_sdk_sqs::Client::new(&sdk), queue),
            clock: SystemClock,
            meter,
            bot: environment.bot()?,
            catalog: environment.catalog()?,
        },
    })
}
