//! Alarms that can go off in time, and the ones that must be there.
//!
//! An alarm may watch the right metric and never ring: switched off, above anything the metric reaches, or counted over
//! spans that CloudWatch refuses.

use docket_adapters::telemetry::NAMESPACE;
use docket_domain::metric::Metric;
use serde_json::Value;

use crate::template::{Template, names_resource};

/// What must page a person, as (function, metric of ours). Those on AWS's metrics follow from the queues and functions
/// (`alarms::of_aws`), those on logs from the filters.
pub const MUST: [(&str, Metric); 15] = [
    ("Sweeper", Metric::OpenReviews),
    ("Sweeper", Metric::OldestReviewAge),
    ("Sweeper", Metric::Sweeps),
    ("Sweeper", Metric::OldestDueAge),
    ("Writer", Metric::SheetHalted),
    ("Writer", Metric::WriteNotApplied),
    ("Writer", Metric::RecordUnreadable),
    ("Writer", Metric::SettingsRefused),
    ("Acknowledger", Metric::BotHalted),
    ("Acknowledger", Metric::AckRefused),
    ("Acknowledger", Metric::RecordUnreadable),
    ("Acknowledger", Metric::SettingsRefused),
    ("Webhook", Metric::WrongSecret),
    ("Webhook", Metric::RecordUnreadable),
    ("Webhook", Metric::SettingsRefused),
];

/// CloudWatch looks back a day (PutMetricAlarm: `EvaluationPeriods` times `Period`).
const LOOKED_BACK_SECONDS_MAX: u64 = 86_400;

/// The highest threshold that still pages a person in time; what is not named here is an alarm at its first event.
const HIGHEST: [(&str, u64); 7] = [
    ("OldestReviewAge", 86_400),
    ("OldestDueAge", 3_600),
    ("ApproximateAgeOfOldestMessage", 3_600),
    // Strangers knock, and customers block the bot.
    ("WrongSecret", 100),
    ("AckRefused", 10),
    // API Gateway fails now and then.
    ("5xx", 10),
    // Less than this many sweeps: one a minute is all there can be.
    ("Sweeps", 1),
];

/// Each alarm that is required is there.
#[must_use]
pub fn required(template: &Template) -> Vec<String> {
    let watched = |function: &str, metric: Metric| {
        template.resources("AWS::CloudWatch::Alarm").iter().any(|(_, alarm)| {
            alarm["Namespace"] == NAMESPACE
                && alarm["MetricName"] == metric.name()
                && names_resource(&alarm["Dimensions"][0]["Value"]) == Some(function)
        })
    };
    let lacking = MUST.into_iter().filter(|(function, metric)| !watched(function, *metric));
    lacking.map(|(function, metric)| format!("no alarm watches {} of {function}", metric.name())).collect()
}

/// Nothing keeps an alarm from going off, or CloudWatch from taking it.
#[must_use]
pub fn possible(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (name, alarm) in template.resources("AWS::CloudWatch::Alarm") {
        found.extend(hindrances(template, alarm).into_iter().map(|hindrance| format!("{name} {hindrance}")));
    }
    found
}

fn hindrances(template: &Template, alarm: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if alarm.get("ActionsEnabled").is_some_and(|enabled| *enabled != true) {
        found.push("is switched off".to_owned());
    }
    let metric = alarm["MetricName"].as_str().unwrap_or_default();
    let highest = HIGHEST.iter().find(|(known, _)| *known == metric).map_or(1, |(_, highest)| *highest);
    match template.number(&alarm["Threshold"]) {
        Some(threshold) if threshold > highest => {
            found.push(format!("waits for {threshold} of {metric}; nobody is paged in time above {highest}"));
        }
        Some(_) => {}
        None => found.push(format!("has the threshold {}", alarm["Threshold"])),
    }
    // No metric here is finer than a minute, so shorter spans would mostly be empty.
    let period = template.number(&alarm["Period"]).unwrap_or(0);
    if period == 0 || !period.is_multiple_of(60) {
        found.push(format!("counts over {} s, which is no whole minute", alarm["Period"]));
    }
    let spans = template.number(&alarm["EvaluationPeriods"]).unwrap_or(0);
    if spans == 0 || period * spans > LOOKED_BACK_SECONDS_MAX {
        found.push(format!("looks back {} s; CloudWatch looks back a day at most", period * spans));
    }
    let of_these = alarm.get("DatapointsToAlarm").map(|wanted| template.number(wanted).unwrap_or(0));
    if of_these.is_some_and(|wanted| wanted == 0 || wanted > spans) {
        found.push(format!("wants {} datapoints of {spans}", alarm["DatapointsToAlarm"]));
    }
    found
}
