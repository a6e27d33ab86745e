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

/// Whose alarm a line must raise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Raises {
    /// Ours, by the filter; AWS counts an error besides.
    Timeouts,
    /// AWS's count of errors (`AWS/Lambda` `Errors`): the filter must leave the line alone, or one end would count twice.
    Errors,
    /// Nobody's: all is well, or another line says it.
    Nothing,
}

/// Lines as Lambda writes them in JSON format ("Lambda Telemetry API event schema reference", whose events are the system
/// log's), and as Docket does; with the alarm that must go off for what they say.
#[must_use]
pub fn lines() -> Vec<(&'static str, String, Raises)> {
    let platform = |kind: &str, mut record: Value, more: Value| {
        for (name, value) in more.as_object().into_iter().flatten() {
            record[name] = value.clone();
        }
        json!({"time": "2026-03-01T09:15:00.000Z", "type": format!("platform.{kind}"), "record": record})
            .to_string()
    };
    let report = |status: &str, more: Value| {
        let record = json!({
            "requestId": "6d68ca91-49c9-448d-89b8-7ca3e6dc66aa",
            "metrics": {"billedDurationMs": 90_000, "durationMs": 90_000.0, "maxMemoryUsedMB": 41, "memorySizeMB": 256},
            "status": status,
        });
        platform("report", record, more)
    };
    let done = |status: &str, more: Value| {
        let record = json!({
            "requestId": "6d68ca91-49c9-448d-89b8-7ca3e6dc66aa",
            "metrics": {"durationMs": 140.0, "producedBytes": 0},
            "status": status,
        });
        platform("runtimeDone", record, more)
    };
    let started = |status: &str, more: Value| {
        let record = json!({
            "initializationType": "on-demand",
            "phase": "init",
            "metrics": {"durationMs": 125.33},
            "status": status,
        });
        platform("initReport", record, more)
    };
    let of = |error: &str| json!({"errorType": error});
    vec![
        ("a report of a function that ran out of time", report("timeout", json!({})), Raises::Timeouts),
        ("a report of a good run", report("success", json!({})), Raises::Nothing),
        ("a report of a crash", report("error", of("Runtime.ExitError")), Raises::Errors),
        ("a report of a failed answer", report("failure", of("Unhandled")), Raises::Errors),
        ("a start", platform("start", json!({"requestId": "x", "version": "1"}), json!({})), Raises::Nothing),
        // A setting that is refused ends the process before its first event.
        ("an end before the first event", started("error", of("Runtime.ExitError")), Raises::Errors),
        // Lambda starts it over within the invocation, whose own report says how that went.
        ("a start that took too long", started("timeout", json!({})), Raises::Nothing),
        ("a good start", started("success", json!({})), Raises::Nothing),
        ("an end for want of memory", done("error", of("Runtime.OutOfMemory")), Raises::Errors),
        ("an end by itself", done("error", of("Runtime.ExitError")), Raises::Errors),
        // Its report follows, and is the one that counts.
        ("an end of time", done("timeout", json!({})), Raises::Nothing),
        ("a good end", done("success", json!({})), Raises::Nothing),
        (
            "a line of ours",
            json!({"timestamp": "2026-03-01T09:15:00Z", "level": "ERROR", "message": "the store failed", "cause": "timeout"})
                .to_string(),
            Raises::Nothing,
        ),
        // The report of the crash that follows raises it.
        ("a panic in plain text", "thread 'main' panicked at src/main.rs:1:1:\ntimeout".into(), Raises::Nothing),
        ("a line that lacks the fields", "{}".into(), Raises::Nothing),
    ]
}

/// Every function's logs are watched for time that ran out, and some alarm watches what the filters count; whatever they
/// leave to AWS's count of errors, one error a span is enough for.
#[must_use]
pub fn of_template(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let filters = template.resources("AWS::Logs::MetricFilter");
    for function in FUNCTIONS {
        let group = format!("{function}Logs");
        if !filters.iter().any(|(_, filter)| filter["LogGroupName"]["Ref"] == group.as_str()) {
            found.push(format!("nobody looks for a {function} that ran out of time"));
        }
        let counts_errors = |alarm: &Value| {
            alarm["Namespace"] == "AWS/Lambda"
                && alarm["MetricName"] == "Errors"
                && alarm["Dimensions"] == json!([{"Name": "FunctionName", "Value": {"Ref": function}}])
                && alarm["Threshold"] == 1
        };
        let is_paged =
            template.resources("AWS::CloudWatch::Alarm").iter().any(|(_, alarm)| counts_errors(alarm));
        for (what, ..) in lines().into_iter().filter(|(.., raises)| *raises == Raises::Errors && !is_paged) {
            found.push(format!("{what} of the {function} raises no alarm"));
        }
    }
    for (name, filter) in filters {
        let pattern = filter["FilterPattern"].as_str().unwrap_or_default();
        for (what, line, raises) in lines() {
            match matches(pattern, &line) {
                Ok(matched) if matched == (raises == Raises::Timeouts) => {}
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
