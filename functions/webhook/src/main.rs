//! Settings to adapters; Lambda's loop is the adapters' own.

use std::sync::Arc;

use aws_types::SdkConfig;
use docket_adapters::clock::SystemClock;
use docket_adapters::config::{ConfigError, Environment};
use docket_adapters::dynamodb::{DynamoConversations, DynamoSubmissions};
use docket_adapters::lambda;
use docket_adapters::lambda::Function;
use docket_adapters::sqs::SqsDoorbell;
use docket_adapters::telemetry::EmbeddedMeter;
use docket_domain::limits::RETENTION_DAYS;
use webhook::{Handler, Webhook};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    lambda::run("webhook", &["WEBHOOK_SECRET", "WEBHOOK_SECRET_PREVIOUS", "CATALOG"], build).await
}

fn build(
    environment: &Environment,
    sdk: &SdkConfig,
    meter: Arc<EmbeddedMeter>,
) -> Result<impl Function + use<>, ConfigError> {
    let dynamodb = aws_sdk_dynamodb::Client::new(sdk);
    let (submissions, conversations) = (environment.submissions_table()?, environment.conversations_table()?);
    let queue = environment.queue_url("WRITE_QUEUE_URL")?;
    Ok(Handler {
        secrets: environment.webhook_secrets()?,
        webhook: Webhook {
            // The webhook only ever adds an open review to a record, so no record of its making expires.
            submissions: DynamoSubmissions::new(dynamodb.clone(), submissions.clone(), RETENTION_DAYS),
            conversations: DynamoConversations::new(dynamodb, conversations, submissions),
            write_queue: SqsDoorbell::write_queue(aws_sdk_sqs::Client::new(sdk), queue),
            clock: SystemClock,
            meter,
            bot: environment.bot()?,
            catalog: environment.catalog()?,
        },
    })
}
