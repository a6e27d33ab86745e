//! The tables: their keys, indexes, expiry and recovery; and whether anything in them is overdue or waits for a person.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    KeySchemaElement, KeyType, PointInTimeRecoveryStatus, TableDescription, TableStatus, TimeToLiveStatus,
};
use aws_types::SdkConfig;
use docket_adapters::aws;
use docket_adapters::config::Environment;
use docket_adapters::dynamodb::DynamoSubmissions;
use docket_domain::limits::RETENTION_DAYS;
use docket_domain::moment::Moment;
use docket_domain::ports::{StoreError, Submissions as _};
use docket_domain::status::{DueStep, ReviewReason, WriteReview};

use super::{Check, aws_failed, not_seen};

/// The sweeper rings every minute; whatever is due for longer than this is not being worked on.
const OVERDUE_SECONDS: u64 = 300;
const DEPLOY: &str = "deploy the template again; a table with another key has to be made anew";

/// A key: attribute, and its type in DynamoDB.
type Key = (&'static str, &'static str);

struct Wanted {
    setting: &'static str,
    key: Key,
    indexes: &'static [(&'static str, Key, Key)],
}

const WANTED: [Wanted; 2] = [
    Wanted {
        setting: "SUBMISSIONS_TABLE",
        key: ("reference", "S"),
        indexes: &[
            ("due", ("due_shard", "S"), ("due_at", "N")),
            ("reviews", ("review", "S"), ("review_since", "N")),
        ],
    },
    Wanted { setting: "CONVERSATIONS_TABLE", key: ("chat_id", "N"), indexes: &[] },
];

pub(super) async fn check(environment: &Environment, sdk: &SdkConfig, now: Moment, checks: &mut Vec<Check>) {
    let client = Client::new(sdk);
    for wanted in &WANTED {
        let Ok(table) = environment.required(wanted.setting) else { continue };
        let name = format!("table {table}");
        match client.describe_table().table_name(&table).send().await {
            Err(error) => {
                let cause = aws::cause(&error).to_string();
                checks.push(not_seen(name, &cause, wanted.setting, "dynamodb:DescribeTable"));
                continue;
            }
            Ok(answer) => {
                let wrong = answer
                    .table()
                    .map_or(vec!["not described".to_owned()], |table| differences(table, wanted));
                checks.push(if wrong.is_empty() {
                    Check::ok(name, "its key and indexes are as they must be")
                } else {
                    Check::wrong(name, wrong.join("; "), DEPLOY)
                });
            }
        }
        checks.push(expiry(&client, &table).await);
        checks.push(recovery(&client, &table).await);
    }
    if let Ok(table) = environment.submissions_table() {
        let submissions = DynamoSubmissions::new(client, table, RETENTION_DAYS);
        checks.push(overdue(&submissions, now).await);
        checks.push(reviews(&submissions).await);
    }
}

fn differences(table: &TableDescription, wanted: &Wanted) -> Vec<String> {
    let kind = |attribute: &str| {
        let found = table.attribute_definitions().iter().find(|known| known.attribute_name() == attribute);
        found.map(|known| known.attribute_type().as_str()).unwrap_or_default()
    };
    let is = |schema: &[KeySchemaElement], keys: &[(Key, KeyType)]| {
        schema.len() == keys.len()
            && keys.iter().all(|((attribute, of), role)| {
                kind(attribute) == *of
                    && schema
                        .iter()
                        .any(|part| part.attribute_name() == *attribute && part.key_type() == role)
            })
    };
    let mut wrong = Vec::new();
    if table.table_status() != Some(&TableStatus::Active) {
        wrong.push("it is not active".to_owned());
    }
    if !is(table.key_schema(), &[(wanted.key, KeyType::Hash)]) {
        wrong.push(format!("its key is not {} ({})", wanted.key.0, wanted.key.1));
    }
    for (name, partition, sort) in wanted.indexes {
        let found = table.global_secondary_indexes().iter().find(|index| index.index_name() == Some(name));
        match found {
            None => wrong.push(format!("it has no index {name}")),
            Some(index)
                if !is(index.key_schema(), &[(*partition, KeyType::Hash), (*sort, KeyType::Range)]) =>
            {
                wrong.push(format!("its index {name} is not over {} and {}", partition.0, sort.0));
            }
            Some(_) => {}
        }
    }
    wrong
}

async fn expiry(client: &Client, table: &str) -> Check {
    let name = format!("expiry of {table}");
    match client.describe_time_to_live().table_name(table).send().await {
        Err(error) => aws_failed(name, aws::cause(&error).0.as_str(), "dynamodb:DescribeTimeToLive"),
        Ok(answer) => {
            let setting = answer.time_to_live_description();
            let on = setting.is_some_and(|setting| {
                setting.attribute_name() == Some("expires_at")
                    && setting.time_to_live_status() == Some(&TimeToLiveStatus::Enabled)
            });
            if on {
                Check::ok(name, "by expires_at")
            } else {
                Check::wrong(name, "nothing ever expires", "enable TTL on the attribute expires_at")
            }
        }
    }
}

async fn recovery(client: &Client, table: &str) -> Check {
    let name = format!("recovery of {table}");
    match client.describe_continuous_backups().table_name(table).send().await {
        Err(error) => aws_failed(name, aws::cause(&error).0.as_str(), "dynamodb:DescribeContinuousBackups"),
        Ok(answer) => {
            let status = answer
                .continuous_backups_description()
                .and_then(|backups| backups.point_in_time_recovery_description())
                .and_then(|recovery| recovery.point_in_time_recovery_status());
            if status == Some(&PointInTimeRecoveryStatus::Enabled) {
                Check::ok(name, "to any second of the last 35 days")
            } else {
                Check::wrong(
                    name,
                    "it cannot be recovered to an earlier moment",
                    "enable point-in-time recovery",
                )
            }
        }
    }
}

async fn overdue(submissions: &DynamoSubmissions, now: Moment) -> Check {
    const NAME: &str = "work that is due";
    let mut oldest = 0;
    for step in DueStep::ALL {
        match submissions.due(step, now, 1).await {
            Ok(due) => {
                let since = due.first().map_or(0, |(_, since)| now.seconds_since(*since));
                oldest = oldest.max(since);
            }
            Err(error) => return not_asked(NAME, &error, "dynamodb:Query on the index due"),
        }
    }
    if oldest <= OVERDUE_SECONDS {
        return Check::ok(NAME, format!("nothing is overdue by more than {oldest} s"));
    }
    Check::wrong(
        NAME,
        format!("something has been due for {oldest} s"),
        "look at the schedule and the queues below, then at the log groups of writer and acknowledger",
    )
}

/// An index that could not be asked; what kept it from that is AWS's own word.
fn not_asked(name: &str, error: &StoreError, action: &str) -> Check {
    match error {
        StoreError::NotApplied(cause) | StoreError::OutcomeUnknown(cause) | StoreError::Unreadable(cause) => {
            aws_failed(name, &cause.0, action)
        }
    }
}

/// What waits for a person, by reason. A misplaced row comes first: all that is pending waits for it too.
async fn reviews(submissions: &DynamoSubmissions) -> Check {
    const NAME: &str = "open reviews";
    const COUNTED_MAX: usize = 1_000;
    let misplaced = ReviewReason::Write(WriteReview::MisplacedRow);
    let mut open = Vec::new();
    for reason in ReviewReason::ALL {
        let count = match submissions.reviews(reason, COUNTED_MAX).await {
            Ok(found) => found.len(),
            Err(error) => return not_asked(NAME, &error, "dynamodb:Query on the index reviews"),
        };
        let at_least = if count == COUNTED_MAX { "at least " } else { "" };
        match count {
            0 => {}
            _ if reason == misplaced => {
                open.insert(0, format!("{at_least}{count} {}, for which the sheet stops", reason.as_str()))
            }
            _ => open.push(format!("{at_least}{count} {}", reason.as_str())),
        }
    }
    if open.is_empty() {
        return Check::ok(NAME, "none");
    }
    Check::wrong(
        NAME,
        open.join("; "),
        "docket reviews, then docket show REFERENCE: it says what may be ordered (runbook, part 2)",
    )
}
