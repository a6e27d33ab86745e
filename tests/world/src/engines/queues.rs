//! The queues of one world.
//!
//! Owns their kinds and names. No redrive policy is set on them: the event source takes every message out of the
//! engine at once and does the counting and the moving to the dead-letter queue itself, on the turned clock.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::QueueAttributeName;

use super::Engines;

/// The URLs of one world's queues. Each works as it is, and also as an argument to a client whose endpoint is
/// another port that forwards to the engine: the SDK calls its endpoint and only names the queue by this URL.
#[derive(Debug, Clone)]
pub struct Queues {
    /// FIFO, explicit deduplication ids.
    pub write: String,
    /// FIFO, like the queue whose dead letters it takes.
    pub write_dead_letters: String,
    /// Standard.
    pub acknowledge: String,
    /// Standard.
    pub acknowledge_dead_letters: String,
}

impl Engines {
    /// Creates the queues of one world, empty.
    ///
    /// # Panics
    /// When the engine refuses, for example because the prefix has a character that a queue name cannot have.
    pub async fn queues(&self, prefix: &str) -> Queues {
        let client = self.sqs_client();
        Queues {
            write: fifo(&client, &format!("{prefix}-write.fifo")).await,
            write_dead_letters: fifo(&client, &format!("{prefix}-write-dead-letters.fifo")).await,
            acknowledge: standard(&client, &format!("{prefix}-acknowledge")).await,
            acknowledge_dead_letters: standard(&client, &format!("{prefix}-acknowledge-dead-letters")).await,
        }
    }
}

async fn fifo(client: &Client, name: &str) -> String {
    let created = client
        .create_queue()
        .queue_name(name)
        .attributes(QueueAttributeName::FifoQueue, "true")
        // Two rings of one reference have the same body, so the body must not decide what is a repetition.
        .attributes(QueueAttributeName::ContentBasedDeduplication, "false")
        .send()
        .await
        .expect("the FIFO queue is created");
    created.queue_url.expect("a created queue has a URL")
}

async fn standard(client: &Client, name: &str) -> String {
    let created = client.create_queue().queue_name(name).send().await.expect("the standard queue is created");
    created.queue_url.expect("a created queue has a URL")
}
