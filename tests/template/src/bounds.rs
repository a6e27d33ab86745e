//! The relations between times and counts that DESIGN's bounds ask for, as they are deployed.

use docket_domain::limits;
use serde_json::Value;

use crate::sources::FUNCTIONS;
use crate::template::{Template, names_resource};

/// Of each queue: how long a message is hidden, how often it is tried, where it goes then, and that it is encrypted.
#[must_use]
pub fn queues(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (name, queue) in template.resources("AWS::SQS::Queue") {
        if queue["SqsManagedSseEnabled"] != true {
            found.push(format!("{name} is not encrypted"));
        }
        let Some(redrive) = queue.get("RedrivePolicy") else {
            if queue["MessageRetentionPeriod"] != 1_209_600 {
                found.push(format!("{name} does not keep dead letters for 14 days"));
            }
            continue;
        };
        let tries = redrive["maxReceiveCount"].as_u64().unwrap_or(0);
        if tries != u64::from(limits::RECEIVES_MAX) || tries < 5 {
            found.push(format!("{name} gives a message up after {tries} tries"));
        }
        let letters = names_resource(&redrive["deadLetterTargetArn"]).unwrap_or_default();
        let target = template.properties(letters);
        if target.is_null() || target["FifoQueue"] != queue["FifoQueue"] {
            found.push(format!("{name} has no dead-letter queue of its own kind"));
        }
        if target["MessageRetentionPeriod"].as_u64() < queue["MessageRetentionPeriod"].as_u64() {
            found.push(format!("{letters} forgets sooner than {name}"));
        }
    }
    found
}

/// Timeouts, lease, visibility and settle time, as parameters' defaults make them.
#[must_use]
pub fn times(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let mut same = |parameter: &str, bound: u64| {
        let default = template.at(&format!("/Parameters/{parameter}/Default")).as_u64();
        if default != Some(bound) {
            found.push(format!("{parameter} is {default:?} by default, and {bound} in the code"));
        }
    };
    same("AppendTimeoutMs", limits::APPEND_TIMEOUT_MS);
    same("SendTimeoutMs", limits::SEND_TIMEOUT_MS);
    same("LeaseSeconds", limits::LEASE_SECONDS);
    same("SettleSeconds", limits::SETTLE_SECONDS);
    same("RetentionDays", limits::RETENTION_DAYS);
    same("WorkerTimeoutSeconds", limits::FUNCTION_TIMEOUT_SECONDS);
    same("VisibilitySeconds", limits::VISIBILITY_SECONDS);
    let timeout = |function: &str| template.number(&template.properties(function)["Timeout"]).unwrap_or(0);
    for (name, queue) in template.resources("AWS::SQS::Queue") {
        let visibility = template.number(&queue["VisibilityTimeout"]).unwrap_or(0);
        for (function, source) in wakings(template).into_iter().filter(|(.., source)| wakes(source) == name) {
            // What a batch waits to be filled, its messages are hidden already.
            let window = template.number(&source["MaximumBatchingWindowInSeconds"]).unwrap_or(0);
            if visibility < 6 * timeout(function) + window {
                found.push(format!(
                    "{name} hides a message for {visibility} s, {function} may take {} s after {window} s of gathering",
                    timeout(function)
                ));
            }
            if window > 0 && queue["FifoQueue"] == true {
                found.push(format!("{name} is FIFO, and AWS gathers no batches for such a queue"));
            }
        }
    }
    for function in ["Writer", "Acknowledger"] {
        if timeout(function) >= limits::LEASE_SECONDS {
            found.push(format!("{function} may outlive its own lease"));
        }
        if timeout(function) * 1_000
            <= limits::APPEND_TIMEOUT_MS.max(limits::SEND_TIMEOUT_MS) + limits::MARKING_MS
        {
            found.push(format!("{function} ends before its longest call does"));
        }
    }
    let door_ms = template.properties("ApiIntegration")["TimeoutInMillis"].as_u64().unwrap_or(0);
    // API Gateway gives an HTTP API 30 s, and Telegram hangs up after 60.
    if timeout("Webhook") * 1_000 > door_ms || door_ms > 30_000 {
        found.push(format!(
            "the webhook may take {} s, and its door closes after {door_ms} ms",
            timeout("Webhook")
        ));
    }
    if timeout("Sweeper") >= 60 {
        found.push("a sweep may last into the next one".into());
    }
    found
}

/// Of each event source: partial answers are declared, batches and concurrency are bounded, by the source alone; and no
/// function rings a queue that wakes it, by whichever way round.
#[must_use]
pub fn event_sources(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for function in FUNCTIONS {
        for event in events(template, function).filter(|event| event["Type"] == "SQS") {
            let source = &event["Properties"];
            if source["FunctionResponseTypes"] != serde_json::json!(["ReportBatchItemFailures"]) {
                found.push(format!(
                    "{function} answers message by message, and its event source does not listen"
                ));
            }
            if !(1..=10).contains(&source["BatchSize"].as_u64().unwrap_or(0)) {
                found.push(format!("{function} takes batches of {}", source["BatchSize"]));
            }
            // AWS takes no less than two.
            let at_once = source["ScalingConfig"]["MaximumConcurrency"].as_u64().unwrap_or(0);
            if !(2..=5).contains(&at_once) {
                found.push(format!("{function} runs without a bound"));
            }
            // What Lambda turns away for want of a reserve has been received: ten times, and it is a dead letter that
            // nobody worked on.
            let reserved = template.number(&template.properties(function)["ReservedConcurrentExecutions"]);
            if reserved.is_some_and(|reserved| reserved < at_once) {
                found.push(format!("{function} starves: its queue hands out more at once than it reserves"));
            }
            if function == "Acknowledger" && at_once != limits::ACKNOWLEDGERS_MAX {
                found
                    .push(format!("the pace of messages is meant for {} at once", limits::ACKNOWLEDGERS_MAX));
            }
        }
    }
    for (function, queue) in [("Writer", "WriteQueue"), ("Acknowledger", "AcknowledgeQueue")] {
        if !triggers(template).contains(&(function.to_owned(), queue.to_owned())) {
            found.push(format!("nothing wakes the {function} when {queue} is rung"));
        }
    }
    let rings: Vec<(String, String)> = FUNCTIONS
        .into_iter()
        .flat_map(|function| {
            rung_by(template, function).into_iter().map(move |queue| (function.to_owned(), queue))
        })
        .collect();
    for function in FUNCTIONS {
        let mut reached: Vec<String> = vec![function.to_owned()];
        let mut next = 0;
        while let Some(from) = reached.get(next).cloned() {
            next += 1;
            for (_, queue) in rings.iter().filter(|(who, _)| *who == from) {
                for (woken, _) in triggers(template).into_iter().filter(|(_, of)| of == queue) {
                    if woken == function {
                        found
                            .push(format!("{function} wakes itself through {queue}: AWS stops such a chain"));
                    } else if !reached.contains(&woken) {
                        reached.push(woken);
                    }
                }
            }
        }
    }
    let sweeps = events(template, "Sweeper").any(|event| {
        event["Type"] == "ScheduleV2" && event["Properties"]["ScheduleExpression"] == "rate(1 minute)"
    });
    if !sweeps {
        found.push("nothing wakes the Sweeper every minute".into());
    }
    found
}

fn events<'t>(template: &'t Template, function: &str) -> impl Iterator<Item = &'t Value> + use<'t> {
    template.properties(function)["Events"].as_object().into_iter().flat_map(|events| events.values())
}

/// Which function is woken by which queue.
fn triggers(template: &Template) -> Vec<(String, String)> {
    let named = |(function, source): (&str, &Value)| (function.to_owned(), wakes(source).to_owned());
    wakings(template).into_iter().map(named).collect()
}

/// Each function that a queue wakes, with the properties of its event source.
fn wakings(template: &Template) -> Vec<(&'static str, &Value)> {
    let of = |function: &'static str| {
        events(template, function)
            .filter(|event| event["Type"] == "SQS")
            .map(move |event| (function, &event["Properties"]))
    };
    FUNCTIONS.into_iter().flat_map(of).collect()
}

/// The queue of an event source.
fn wakes(source: &Value) -> &str {
    names_resource(&source["Queue"]).unwrap_or_default()
}

/// The queues that a function is allowed to ring.
fn rung_by(template: &Template, function: &str) -> Vec<String> {
    crate::shape::allowed(template, function)
        .into_iter()
        .filter(|(action, _)| action == "sqs:SendMessage")
        .map(|(_, resource)| resource)
        .collect()
}
