//! Alarms that can fire, and metrics that somebody sees.

use std::collections::BTreeSet;

use docket_adapters::telemetry::{DIMENSION, NAMESPACE};
use docket_domain::metric::Metric;
use serde_json::Value;

use crate::sources::{FUNCTIONS, emitted};
use crate::template::{Template, names_resource, placeholders};

/// Metrics of AWS that alarms may watch, with the dimension that AWS publishes them under and the statistic that says
/// something (SQS, Lambda and API Gateway developer guides, "metrics").
const OF_AWS: [(&str, &str, &str, &str); 5] = [
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", "Maximum"),
    ("AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName", "Maximum"),
    ("AWS/Lambda", "Errors", "FunctionName", "Sum"),
    ("AWS/Lambda", "Throttles", "FunctionName", "Sum"),
    ("AWS/ApiGateway", "5xx", "ApiId", "Sum"),
];

fn alarms(template: &Template) -> Vec<(&str, &Value)> {
    template.resources("AWS::CloudWatch::Alarm")
}

/// The one dimension of an alarm: its name, and what its value is.
fn dimension(alarm: &Value) -> Option<(&str, &Value)> {
    match alarm["Dimensions"].as_array().map(Vec::as_slice) {
        Some([only]) => Some((only["Name"].as_str()?, &only["Value"])),
        Some(_) | None => None,
    }
}

/// Alarms on our own metrics: the metric exists, its function emits it, and the statistic suits it.
#[must_use]
pub fn of_ours(template: &Template) -> Vec<String> {
    let emitted = emitted();
    let mut found = Vec::new();
    for (name, alarm) in alarms(template).into_iter().filter(|(_, alarm)| alarm["Namespace"] == NAMESPACE) {
        let Some(metric) = Metric::ALL.into_iter().find(|metric| alarm["MetricName"] == metric.name()) else {
            found.push(format!("{name} watches {}, which nobody emits", alarm["MetricName"]));
            continue;
        };
        match dimension(alarm) {
            Some((DIMENSION, value)) => {
                let function = value["Ref"].as_str().unwrap_or_default();
                if !emitted.get(function).is_some_and(|metrics| metrics.contains(&metric)) {
                    found.push(format!("{name}: {function} never emits {}", metric.name()));
                }
            }
            other => found.push(format!("{name} has the dimensions {other:?}; ours is {DIMENSION} alone")),
        }
        let wanted = if metric.is_gauge() { "Maximum" } else { "Sum" };
        if alarm["Statistic"] != wanted {
            found.push(format!("{name}: {} is watched by {}", metric.name(), alarm["Statistic"]));
        }
        if let Some(unit) = alarm.get("Unit")
            && unit != metric.unit()
        {
            found.push(format!("{name}: {} has the unit {}", metric.name(), metric.unit()));
        }
        let threshold = template.number(&alarm["Threshold"]).unwrap_or(0);
        let state = matches!(metric, Metric::SheetHalted | Metric::BotHalted);
        if threshold < 1 || (state && threshold > 1) {
            found.push(format!("{name} never crosses {threshold}"));
        }
        // A heartbeat that is missing is the alarm; anything else that is missing is not.
        let heartbeat = metric == Metric::Sweeps;
        let (comparison, missing): (&str, &[&str]) = if heartbeat {
            ("LessThanThreshold", &["breaching"])
        } else {
            ("GreaterThanOrEqualToThreshold", &["notBreaching", "ignore"])
        };
        if alarm["ComparisonOperator"] != comparison {
            found.push(format!("{name} compares by {}", alarm["ComparisonOperator"]));
        }
        if !missing.iter().any(|wanted| alarm["TreatMissingData"] == *wanted) {
            found.push(format!("{name} treats what is missing as {}", alarm["TreatMissingData"]));
        }
        // What the sweeper says every minute holds the alarm until it says something else.
        if metric.is_gauge() && value_of(alarm, "Sweeper") && alarm["Period"] != 60 {
            found.push(format!("{name} looks every {} s at what is said every minute", alarm["Period"]));
        }
    }
    found
}

fn value_of(alarm: &Value, function: &str) -> bool {
    dimension(alarm).is_some_and(|(_, value)| value["Ref"] == function)
}

/// Alarms on AWS's metrics: a metric that is published, under the dimension by which it is, of a resource that exists;
/// and each queue, dead-letter queue and function has its own.
#[must_use]
pub fn of_aws(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let mut watched = BTreeSet::new();
    for (name, alarm) in alarms(template) {
        let (namespace, metric) = (
            alarm["Namespace"].as_str().unwrap_or_default(),
            alarm["MetricName"].as_str().unwrap_or_default(),
        );
        if !namespace.starts_with("AWS/") {
            continue;
        }
        let Some((.., wanted, statistic)) =
            OF_AWS.into_iter().find(|(space, known, ..)| (*space, *known) == (namespace, metric))
        else {
            found.push(format!(
                "{name} watches {namespace} {metric}, which does not say that something waits"
            ));
            continue;
        };
        let named = dimension(alarm).filter(|(known, _)| *known == wanted);
        let Some(resource) = named.and_then(|(_, value)| names_resource(value)) else {
            found.push(format!("{name} has no dimension {wanted} alone"));
            continue;
        };
        if template.properties(resource).is_null() {
            found.push(format!("{name} watches {resource}, which does not exist"));
        }
        if wanted == "QueueName" && named.is_none_or(|(_, value)| !value["Fn::GetAtt"].is_string()) {
            found.push(format!("{name}: a queue's Ref is its URL, not its name"));
        }
        if alarm["Statistic"] != statistic || alarm["ComparisonOperator"] != "GreaterThanOrEqualToThreshold" {
            found.push(format!("{name}: {metric} is watched by {}", alarm["Statistic"]));
        }
        if alarm["TreatMissingData"] != "notBreaching" {
            found.push(format!("{name} treats what is missing as {}", alarm["TreatMissingData"]));
        }
        watched.insert((metric.to_owned(), resource.to_owned()));
    }
    let mut must = |metric: &str, resource: &str| {
        if !watched.contains(&(metric.to_owned(), resource.to_owned())) {
            found.push(format!("no alarm watches {metric} of {resource}"));
        }
    };
    for (name, queue) in template.resources("AWS::SQS::Queue") {
        let is_main = queue.get("RedrivePolicy").is_some();
        must(
            if is_main { "ApproximateAgeOfOldestMessage" } else { "ApproximateNumberOfMessagesVisible" },
            name,
        );
    }
    for function in FUNCTIONS {
        must("Errors", function);
        must("Throttles", function);
    }
    must("5xx", "Api");
    found
}

/// Each alarm reaches a person, ends aloud, and says what it means, what to run and where in the runbook to read on.
#[must_use]
pub fn manners(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (name, alarm) in alarms(template) {
        for actions in ["AlarmActions", "OKActions"] {
            let reaches = alarm[actions].as_array().is_some_and(|all| {
                all.iter().any(|action| {
                    template.resources("AWS::SNS::Topic").iter().any(|(t, _)| action["Ref"] == *t)
                })
            });
            if !reaches {
                found.push(format!("{name}: {actions} reach nobody"));
            }
        }
        let says = alarm["AlarmDescription"].as_str().unwrap_or_default();
        // CloudWatch takes 1,024 characters.
        if !(40..=1_024).contains(&says.len()) || !says.contains("docket ") {
            found.push(format!("{name} does not say what to run"));
        }
        let called = alarm["AlarmName"]["Fn::Sub"].as_str().unwrap_or_default();
        let called = called.strip_prefix("${AWS::StackName}: ").unwrap_or_default();
        if !says.ends_with(&format!("Read on: infra/runbook.md, part 1, \"{called}\".")) {
            found.push(format!("{name} does not end with where to read on"));
        }
        let of_a_filter = template
            .resources("AWS::Logs::MetricFilter")
            .iter()
            .any(|(_, filter)| filter["MetricTransformations"][0]["MetricNamespace"] == alarm["Namespace"]);
        let namespace = alarm["Namespace"].as_str().unwrap_or_default();
        if namespace != NAMESPACE && !namespace.starts_with("AWS/") && !of_a_filter {
            found.push(format!("{name} watches {}, into which nobody writes", alarm["Namespace"]));
        }
    }
    let subscribed = template.resources("AWS::SNS::Topic").iter().any(|(_, topic)| {
        topic["Subscription"].as_array().is_some_and(|all| all.iter().any(|one| one["Protocol"] == "email"))
    });
    if !subscribed {
        found.push("nobody is subscribed by e-mail".into());
    }
    let may_publish = template.resources("AWS::SNS::TopicPolicy").iter().any(|(_, policy)| {
        policy["PolicyDocument"]["Statement"].as_array().is_some_and(|all| {
            all.iter().any(|one| {
                one["Principal"]["Service"] == "cloudwatch.amazonaws.com" && one["Action"] == "sns:Publish"
            })
        })
    });
    if !may_publish {
        found.push("alarms may not publish to their topic".into());
    }
    found
}

/// Every metric that a function emits stands in an alarm or on the dashboard, and the dashboard shows nothing else.
#[must_use]
pub fn every_metric_has_its_place(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let emitted = emitted();
    let mut seen: BTreeSet<(String, String)> = alarms(template)
        .into_iter()
        .filter(|(_, alarm)| alarm["Namespace"] == NAMESPACE)
        .filter_map(|(_, alarm)| {
            let function = dimension(alarm)?.1["Ref"].as_str()?;
            Some((function.to_owned(), alarm["MetricName"].as_str()?.to_owned()))
        })
        .collect();
    for (name, dashboard) in template.resources("AWS::CloudWatch::Dashboard") {
        let body = dashboard["DashboardBody"]["Fn::Sub"].as_str().unwrap_or_default();
        let Ok(body) = serde_json::from_str::<Value>(body) else {
            found.push(format!("{name} is no JSON"));
            continue;
        };
        for shown in body["widgets"].as_array().into_iter().flatten() {
            for metric in shown["properties"]["metrics"].as_array().into_iter().flatten() {
                let texts: Vec<&str> =
                    metric.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                let [namespace, metric, dimension, value] = texts.as_slice() else {
                    found.push(format!("{name} shows {metric}, which is no metric"));
                    continue;
                };
                if *namespace != NAMESPACE {
                    continue;
                }
                let function = placeholders(value).first().copied().unwrap_or_default().to_owned();
                let known = emitted
                    .get(function.as_str())
                    .is_some_and(|metrics| metrics.iter().any(|emitted| emitted.name() == *metric));
                if !known || *dimension != DIMENSION {
                    found.push(format!("{name} shows {metric} by {dimension} {value}, which nobody emits"));
                }
                seen.insert((function, (*metric).to_owned()));
            }
        }
    }
    for (function, metrics) in &emitted {
        for metric in metrics {
            if !seen.contains(&((*function).to_owned(), metric.name().to_owned())) {
                found.push(format!("{} of {function} is in no alarm and on no dashboard", metric.name()));
            }
        }
    }
    for metric in Metric::ALL {
        if !emitted.values().any(|metrics| metrics.contains(&metric)) {
            found.push(format!("no function emits {}", metric.name()));
        }
    }
    found
}
