//! The queues: their kinds, how long a message is hidden, and what was given up.

use std::collections::HashMap;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::QueueAttributeName;
use aws_types::SdkConfig;
use docket_adapters::aws;
use docket_adapters::config::Environment;
use docket_domain::limits::VISIBILITY_SECONDS;
use serde_json::Value;

use super::{Check, not_seen};

const RECEIVES_MIN: u64 = 5;

type Attributes = HashMap<QueueAttributeName, String>;

pub(super) async fn check(environment: &Environment, sdk: &SdkConfig, checks: &mut Vec<Check>) {
    let client = Client::new(sdk);
    for (setting, fifo) in [("WRITE_QUEUE_URL", true), ("ACKNOWLEDGE_QUEUE_URL", false)] {
        let Ok(url) = environment.queue_url(setting) else { continue };
        let name = format!("queue {}", url.rsplit('/').next().unwrap_or_default());
        let attributes = match attributes(&client, &url).await {
            Ok(attributes) => attributes,
            Err(cause) => {
                checks.push(not_seen(name, &cause, setting, "sqs:GetQueueAttributes"));
                continue;
            }
        };
        let (mut wrong, letters) = differences(&attributes, fifo);
        let letters = match letters {
            None => None,
            Some(arn) => match dead_letters(&client, &arn, fifo).await {
                Ok(waiting) => Some((arn, waiting)),
                Err(problem) => {
                    wrong.push(problem);
                    None
                }
            },
        };
        let waiting = number(&attributes, &QueueAttributeName::ApproximateNumberOfMessages).unwrap_or(0);
        checks.push(if wrong.is_empty() {
            Check::ok(name, format!("{waiting} rings wait"))
        } else {
            Check::wrong(name, wrong.join("; "), "deploy the template again")
        });
        if let Some((arn, waiting)) = letters {
            let name = format!("dead letters {}", arn.rsplit(':').next().unwrap_or_default());
            checks.push(if waiting == 0 {
                Check::ok(name, "none")
            } else {
                Check::wrong(
                    name,
                    format!("{waiting} rings were given up"),
                    format!("when everything else is ok: aws sqs start-message-move-task --source-arn {arn}"),
                )
            });
        }
    }
}

async fn attributes(client: &Client, url: &str) -> Result<Attributes, String> {
    let call = client.get_queue_attributes().queue_url(url).attribute_names(QueueAttributeName::All);
    match call.send().await {
        Ok(answer) => Ok(answer.attributes.unwrap_or_default()),
        Err(error) => Err(aws::cause(&error).to_string()),
    }
}

fn number(attributes: &Attributes, name: &QueueAttributeName) -> Option<u64> {
    attributes.get(name)?.parse().ok()
}

/// What is wrong with a queue, and the ARN of its dead letters.
fn differences(attributes: &Attributes, fifo: bool) -> (Vec<String>, Option<String>) {
    let mut wrong = Vec::new();
    if is_fifo(attributes) != fifo {
        wrong.push(format!(
            "it is {}",
            if fifo { "a standard queue; it must be FIFO" } else { "FIFO; it must be a standard queue" }
        ));
    }
    let visibility = number(attributes, &QueueAttributeName::VisibilityTimeout).unwrap_or(0);
    if visibility < VISIBILITY_SECONDS {
        wrong.push(format!("it hides a message for {visibility} s; a function may take so long that {VISIBILITY_SECONDS} s are needed"));
    }
    let redrive: Value = attributes
        .get(&QueueAttributeName::RedrivePolicy)
        .and_then(|policy| serde_json::from_str(policy).ok())
        .unwrap_or_default();
    // AWS tells it as a number, others as a text.
    let tries = &redrive["maxReceiveCount"];
    let tries = tries.as_u64().or_else(|| tries.as_str()?.parse().ok());
    let letters = redrive["deadLetterTargetArn"].as_str().map(str::to_owned);
    if letters.is_none() {
        wrong.push("it has no dead-letter queue".to_owned());
    } else if tries.unwrap_or(0) < RECEIVES_MIN {
        wrong.push(format!("it gives a message up after {} tries", tries.unwrap_or(0)));
    }
    (wrong, letters)
}

fn is_fifo(attributes: &Attributes) -> bool {
    attributes.get(&QueueAttributeName::FifoQueue).is_some_and(|fifo| fifo == "true")
}

/// How many wait there.
async fn dead_letters(client: &Client, arn: &str, fifo: bool) -> Result<u64, String> {
    let name = arn.rsplit(':').next().unwrap_or_default();
    let found = client.get_queue_url().queue_name(name).send().await;
    let url = found.map_err(|error| format!("its dead-letter queue {name}: {}", aws::cause(&error)))?;
    let url = url.queue_url().unwrap_or_default().to_owned();
    let attributes = attributes(client, &url).await?;
    if is_fifo(&attributes) != fifo {
        return Err(format!("its dead-letter queue {name} is of another kind"));
    }
    number(&attributes, &QueueAttributeName::ApproximateNumberOfMessages)
        .ok_or_else(|| format!("its dead-letter queue {name} does not say how many wait"))
}
