//! The schedule that runs the sweeper: whether it is on, and whether the sweeper was heard of.

use std::time::{Duration, SystemTime};

use aws_sdk_cloudwatch::types::{Dimension, Statistic};
use aws_sdk_scheduler::types::ScheduleState;
use aws_types::SdkConfig;
use docket_adapters::aws;
use docket_adapters::config::Environment;
use docket_adapters::telemetry::{DIMENSION, NAMESPACE};
use docket_domain::metric::Metric;
use docket_domain::moment::Moment;

use super::{Check, aws_failed, not_seen};

/// A sweeper that was not heard of for so long is not alive.
const SILENT_SECONDS: u64 = 600;

pub(super) async fn check(environment: &Environment, sdk: &SdkConfig, now: Moment, checks: &mut Vec<Check>) {
    let Ok(schedule) = environment.sweeper_schedule() else { return };
    let name = format!("schedule {schedule}");
    let found = aws_sdk_scheduler::Client::new(sdk).get_schedule().name(&schedule).send().await;
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            let cause = aws::cause(&error).to_string();
            checks.push(not_seen(name, &cause, "SWEEPER_SCHEDULE", "scheduler:GetSchedule"));
            return;
        }
    };
    let every_minute = found.schedule_expression() == Some("rate(1 minute)");
    checks.push(match found.state() {
        Some(ScheduleState::Enabled) if every_minute => Check::ok(name, "on, every minute"),
        Some(ScheduleState::Enabled) => Check::wrong(
            name,
            format!("it runs by {}", found.schedule_expression().unwrap_or_default()),
            "deploy the template again: rate(1 minute)",
        ),
        Some(_) | None => {
            Check::wrong(name, "it is switched off", "switch it on: nothing is tried again until then")
        }
    });
    let function = found.target().and_then(|target| target.arn().rsplit(':').next()).unwrap_or_default();
    checks.push(heartbeat(sdk, function, now).await);
}

async fn heartbeat(sdk: &SdkConfig, function: &str, now: Moment) -> Check {
    let name = format!("heartbeat of {function}");
    let at = |seconds: i64| {
        let since = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        aws_sdk_cloudwatch::primitives::DateTime::from(SystemTime::UNIX_EPOCH + since)
    };
    let silent = i64::try_from(SILENT_SECONDS).unwrap_or(i64::MAX);
    let call = aws_sdk_cloudwatch::Client::new(sdk)
        .get_metric_statistics()
        .namespace(NAMESPACE)
        .metric_name(Metric::Sweeps.name())
        .dimensions(Dimension::builder().name(DIMENSION).value(function).build())
        .start_time(at(now.seconds() - silent))
        .end_time(at(now.seconds() + 60))
        .period(60)
        .statistics(Statistic::Sum);
    match call.send().await {
        Err(error) => aws_failed(name, aws::cause(&error).0.as_str(), "cloudwatch:GetMetricStatistics"),
        Ok(answer) => {
            let sweeps: f64 = answer.datapoints().iter().filter_map(|point| point.sum()).sum();
            if sweeps >= 1.0 {
                Check::ok(name, format!("{sweeps} sweeps in the last {} minutes", SILENT_SECONDS / 60))
            } else {
                Check::wrong(
                    name,
                    format!("no sweep in the last {} minutes", SILENT_SECONDS / 60),
                    "look at the sweeper's log group; a new deployment needs some minutes",
                )
            }
        }
    }
}
