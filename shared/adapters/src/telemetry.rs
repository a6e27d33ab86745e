//! What Docket says about itself: log lines as JSON, and metrics in CloudWatch's embedded format.
//!
//! Only our own modules write below `ERROR`: a library's debug line may hold a request's body or a URL with a token. Our
//! own lines hold references, steps, outcomes, counts and causes, and never a customer's words.

use std::collections::BTreeMap;
use std::sync::Mutex;

use docket_domain::metric::Metric;
use docket_domain::moment::Moment;
use docket_domain::ports::Meter;
use serde_json::{Map, Value, json};
use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;

/// The crates whose lines are ours.
const OURS: [&str; 8] = [
    "docket_domain",
    "docket_adapters",
    "webhook",
    "writer",
    "acknowledger",
    "sweeper",
    "docket",
    "docket_world",
];

/// The namespace of every metric.
pub const NAMESPACE: &str = "Docket";
/// The one dimension of every metric: the function that emitted it.
pub const DIMENSION: &str = "Function";

/// One JSON object a line, with the `timestamp` (RFC 3339) and `level` that Lambda's own log filter reads.
pub fn json_logs<W>(level: Level, writer: W) -> impl tracing::Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let ours = OURS.map(|name| (name, LevelFilter::from_level(level)));
    let filter = Targets::new().with_default(LevelFilter::ERROR).with_targets(ours);
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_writer(writer);
    tracing_subscriber::registry().with(filter).with(lines)
}

/// Starts the logs of a function, on standard output.
pub fn start(level: Level) {
    // A second start in one process keeps the first.
    drop(tracing::subscriber::set_global_default(json_logs(level, std::io::stdout)));
    log_panics();
}

/// Makes a panic a line of the log: where it happened, and its message only where that is a literal of the program. A
/// message that was put together may hold what it stumbled over; that of a text cut amiss holds the text.
pub fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let literal = panic.payload().downcast_ref::<&'static str>().copied().unwrap_or("(not shown)");
        tracing::error!(step = "panic", outcome = "panicked", place, literal, "a panic");
    }));
}

/// Collects the metrics of one invocation and writes them as one line of CloudWatch's embedded metric format.
#[derive(Debug)]
pub struct EmbeddedMeter {
    function: String,
    values: Mutex<BTreeMap<Metric, f64>>,
}

impl EmbeddedMeter {
    /// `function` is the name under which Lambda runs it.
    #[must_use]
    pub fn new(function: impl Into<String>) -> Self {
        Self { function: function.into(), values: Mutex::default() }
    }

    /// The line for what was recorded since the last one; none when nothing was.
    pub fn line(&self, now: Moment) -> Option<String> {
        let values =
            std::mem::take(&mut *self.values.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        if values.is_empty() {
            return None;
        }
        let metrics: Vec<Value> =
            values.keys().map(|metric| json!({"Name": metric.name(), "Unit": metric.unit()})).collect();
        let mut line = Map::new();
        line.insert(
            "_aws".into(),
            json!({
                "Timestamp": now.millis(),
                "CloudWatchMetrics": [{"Namespace": NAMESPACE, "Dimensions": [[DIMENSION]], "Metrics": metrics}],
            }),
        );
        line.insert(DIMENSION.into(), self.function.clone().into());
        for (metric, value) in values {
            line.insert(metric.name().into(), json!(value));
        }
        Some(Value::Object(line).to_string())
    }

    /// Writes the line whole to standard output, past the log format: CloudWatch reads metrics from bare lines only.
    #[expect(clippy::print_stdout, reason = "the embedded metric format is read from standard output")]
    pub fn flush(&self, now: Moment) {
        if let Some(line) = self.line(now) {
            println!("{line}");
        }
    }
}

impl Meter for EmbeddedMeter {
    fn record(&self, metric: Metric, value: f64) {
        let mut values = self.values.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let slot = values.entry(metric).or_insert(0.0);
        *slot = if metric.is_gauge() { value } else { *slot + value };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_line_is_a_valid_embedded_document() {
        let meter = EmbeddedMeter::new("writer");
        assert_eq!(meter.line(Moment::from_seconds(1)), None);
        meter.record(Metric::Appends, 1.0);
        meter.record(Metric::Appends, 2.0);
        meter.record(Metric::OldestDueAge, 9.0);
        meter.record(Metric::OldestDueAge, 7.0);
        let line: Value =
            serde_json::from_str(&meter.line(Moment::from_seconds(1)).expect("a line")).expect("JSON");
        let directive = &line["_aws"]["CloudWatchMetrics"][0];
        assert_eq!(line["_aws"]["Timestamp"], 1_000);
        assert_eq!(directive["Namespace"], "Docket");
        assert_eq!(directive["Dimensions"], json!([["Function"]]));
        for metric in directive["Metrics"].as_array().expect("a list") {
            assert!(line[metric["Name"].as_str().expect("a name")].is_number());
        }
        assert_eq!(
            (&line["Appends"], &line["OldestDueAge"], &line["Function"]),
            (&json!(3.0), &json!(7.0), &json!("writer"))
        );
    }
}
