//! Metric filters that match the lines which Lambda really writes.
//!
//! A filter that matches nothing makes an alarm that never fires. The evaluator understands what the template uses of
//! CloudWatch's JSON filter language: equality of text fields, joined by `&&` ("Filter and pattern syntax", CloudWatch
//! Logs user guide). A comparison by `!=` is refused: on a field that is absent it does not match, whatever one would think.

use serde_json::{Value, json};

use crate::sources::FUNCTIONS;
use crate::template::Template;

/// Whether a filter pattern matches a log line.
///
/// # Errors
/// The pattern uses something that is not understood here.
pub fn matches(pattern: &str, line: &str) -> Result<bool, String> {
    let not_understood = || format!("a filter that is not understood: {pattern}");
    let inner = pattern
        .trim()
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .ok_or_else(not_understood)?;
    let parsed: Value = serde_json::from_str(line).unwrap_or(Value::Null);
    let mut all = true;
    for comparison in inner.split("&&") {
        let comparison = comparison.trim().trim_start_matches('(').trim_end_matches(')').trim();
        if comparison.contains("!=") || comparison.contains("||") {
            return Err(not_understood());
        }
        let (field, wanted) = comparison.split_once('=').ok_or_else(not_understood)?;
        let path = field.trim().strip_prefix("$.").ok_or_else(not_understood)?;
        let wanted = wanted
            .trim()
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .ok_or_else(not_understood)?;
        let value = path.split('.').fold(&parsed, |value, name| &value[name]);
        all &= value.as_str() == Some(wanted);
    }
    Ok(all)
}

/// Lines as Lambda writes them in JSON format ("Working with Lambda function logs", system log events), and as Docket does;
/// with whether a function ran out of time.
#[must_use]
pub fn lines() -> Vec<(&'static str, String, bool)> {
    let report = |status: &str, more: Value| {
        let mut record = json!({
            "requestId": "6d68ca91-49c9-448d-89b8-7ca3e6dc66aa",
            "metrics": {"billedDurationMs": 90_000, "durationMs": 90_000.0, "maxMemoryUsedMB": 41, "memorySizeMB": 256},
            "status": status,
        });
        for (name, value) in more.as_object().into_iter().flatten() {
            record[name] = value.clone();
        }
        json!({"time": "2026-03-01T09:15:00.000Z", "type": "platform.report", "record": record}).to_string()
    };
    vec![
        ("a report of a function that ran out of time", report("timeout", json!({})), true),
        ("a report of a good run", report("success", json!({})), false),
        ("a report of a crash", report("error", json!({"errorType": "Runtime.ExitError"})), false),
        ("a report of a failed answer", report("failure", json!({"errorType": "Unhandled"})), false),
        (
            "a start",
            json!({"time": "2026-03-01T09:15:00.000Z", "type": "platform.start", "record": {"requestId": "x", "version": "1"}})
                .to_string(),
            false,
        ),
        (
            "a line of ours",
            json!({"timestamp": "2026-03-01T09:15:00Z", "level": "ERROR", "message": "the store failed", "cause": "timeout"})
                .to_string(),
            false,
        ),
        ("a panic in plain text", "thread 'main' panicked at src/main.rs:1:1:\ntimeout".into(), false),
        ("a line that lacks the fields", "{}".into(), false),
    ]
}

/// Every function's logs are watched for time that ran out, and some alarm watches what the filters count.
#[must_use]
pub fn of_template(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let filters = template.resources("AWS::Logs::MetricFilter");
    for function in FUNCTIONS {
        let group = format!("{function}Logs");
        if !filters.iter().any(|(_, filter)| filter["LogGroupName"]["Ref"] == group.as_str()) {
            found.push(format!("nobody looks for a {function} that ran out of time"));
        }
    }
    for (name, filter) in filters {
        let pattern = filter["FilterPattern"].as_str().unwrap_or_default();
        for (what, line, wanted) in lines() {
            match matches(pattern, &line) {
                Ok(matched) if matched == wanted => {}
                Ok(matched) => found.push(format!("{name}: {what}: {matched}")),
                Err(problem) => found.push(format!("{name}: {problem}")),
            }
        }
        let counted = &filter["MetricTransformations"][0];
        let is_watched = template.resources("AWS::CloudWatch::Alarm").iter().any(|(_, alarm)| {
            alarm["MetricName"] == counted["MetricName"]
                && alarm["Namespace"] == counted["MetricNamespace"]
                && alarm.get("Dimensions").is_none()
                && alarm["Statistic"] == "Sum"
                && alarm["Threshold"] == 1
        });
        if !is_watched || counted["MetricValue"] != "1" {
            found.push(format!("no alarm watches what {name} counts"));
        }
    }
    found
}
