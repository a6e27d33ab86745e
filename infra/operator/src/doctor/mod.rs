//! `docket doctor`: whether a deployment is set up well, check by check, each with its cure.
//!
//! A wrong setting hides no other check: each runs as far as its own inputs are there. What could not be learned is `not
//! known`, never `ok`.

mod settings;
mod tables;
mod queues;
mod google;
mod telegram;
mod schedule;

use std::collections::BTreeMap;

use anstyle::{AnsiColor, Style};
use aws_types::SdkConfig;
use docket_adapters::config::Environment;
use docket_domain::moment::Moment;
use serde_json::{Value, json};

use crate::reach;
use crate::refusal::{CREDENTIALS_CURE, Refusal, until_it_passes};
use crate::visible::visible;
use crate::zone::Zone;

/// What a check came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Ok,
    Wrong,
    /// Nothing could be learned.
    NotKnown,
}

impl Verdict {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Wrong => "wrong",
            Self::NotKnown => "not known",
        }
    }
}

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub name: String,
    pub verdict: Verdict,
    pub found: String,
    /// What to do about it; empty when all is well.
    pub cure: String,
}

impl Check {
    pub(crate) fn ok(name: impl Into<String>, found: impl Into<String>) -> Self {
        Self { name: name.into(), verdict: Verdict::Ok, found: found.into(), cure: String::new() }
    }

    pub(crate) fn wrong(name: impl Into<String>, found: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { name: name.into(), verdict: Verdict::Wrong, found: found.into(), cure: cure.into() }
    }

    pub(crate) fn not_known(
        name: impl Into<String>,
        found: impl Into<String>,
        cure: impl Into<String>,
    ) -> Self {
        Self { name: name.into(), verdict: Verdict::NotKnown, found: found.into(), cure: cure.into() }
    }
}

/// Everything that was checked.
#[derive(Debug)]
pub struct Report(pub Vec<Check>);

impl Report {
    #[must_use]
    pub fn all_well(&self) -> bool {
        self.0.iter().all(|check| check.verdict == Verdict::Ok)
    }

    #[must_use]
    pub fn json(&self) -> Value {
        let line = |check: &Check| {
            json!({
                "check": check.name,
                "result": check.verdict.as_str(),
                "found": check.found,
                "cure": Some(&check.cure).filter(|cure| !cure.is_empty()),
            })
        };
        self.0.iter().map(line).collect()
    }

    /// A cure that several checks share stands with the first of them, and the others point there.
    #[must_use]
    pub fn page(&self) -> String {
        let mut lines = Vec::new();
        let mut first_with: BTreeMap<&str, &str> = BTreeMap::new();
        for check in &self.0 {
            let style: Style = match check.verdict {
                Verdict::Ok => AnsiColor::Green.on_default(),
                Verdict::Wrong => AnsiColor::Red.on_default().bold(),
                Verdict::NotKnown => AnsiColor::Yellow.on_default(),
            };
            let verdict = check.verdict.as_str();
            let line =
                format!("{style}{verdict:<10}{style:#} {}: {}", visible(&check.name), visible(&check.found));
            if check.cure.is_empty() {
                lines.push(line);
            } else if let Some(first) = first_with.get(check.cure.as_str()) {
                lines.push(format!("{line} → as for {}", visible(first)));
            } else {
                first_with.insert(&check.cure, &check.name);
                lines.extend([line, format!("{:<10} → {}", "", visible(&check.cure))]);
            }
        }
        let bad = self.0.iter().filter(|check| check.verdict != Verdict::Ok).count();
        lines.push(match bad {
            0 => format!("All {} checks are ok.", self.0.len()),
            bad => format!("{bad} of {} checks are not ok.", self.0.len()),
        });
        lines.join("\n")
    }
}

/// Examines everything; times are told in those of `zone`.
pub async fn examine(environment: &Environment, now: Moment, zone: &Zone) -> Report {
    let mut checks = Vec::new();
    let sdk = sdk(environment, &mut checks).await;
    let environment = settings::with_parameters(environment, sdk.as_ref(), &mut checks).await;
    settings::check(&environment, &mut checks);
    if let Some(sdk) = &sdk {
        tables::check(&environment, sdk, now, &mut checks).await;
        queues::check(&environment, sdk, &mut checks).await;
        schedule::check(&environment, sdk, now, &mut checks).await;
    }
    google::check(&environment, &mut checks).await;
    telegram::check(&environment, now, zone, &mut checks).await;
    Report(checks)
}

async fn sdk(environment: &Environment, checks: &mut Vec<Check>) -> Option<SdkConfig> {
    const NAME: &str = "AWS credentials and region";
    match reach::sdk(environment).await {
        Ok(sdk) => {
            let region = sdk.region().map(ToString::to_string).unwrap_or_default();
            checks.push(Check::ok(NAME, region));
            Some(sdk)
        }
        Err(error) => {
            checks.push(Check::wrong(NAME, error.to_string(), "set AWS_REGION and AWS_PROFILE, or sign in"));
            None
        }
    }
}

/// Something that a setting names could not be looked at; perhaps it is not there.
pub(crate) fn not_seen(name: impl Into<String>, cause: &str, setting: &str, action: &str) -> Check {
    if Refusal::of(cause) == Some(Refusal::Absent) {
        let cure = format!("{setting} names another deployment's, or deploy");
        return Check::wrong(name, "there is none of this name", cure);
    }
    aws_failed(name, cause, action)
}

/// A call to AWS that failed: what is refused needs a permission, anything else is another time's matter.
pub(crate) fn aws_failed(name: impl Into<String>, cause: &str, action: &str) -> Check {
    match Refusal::of(cause) {
        Some(Refusal::Denied) => Check::wrong(name, cause, format!("allow yourself {action}")),
        Some(Refusal::Credentials) => Check::wrong(name, cause, CREDENTIALS_CURE),
        Some(Refusal::Absent) | None => Check::not_known(name, cause, until_it_passes(cause)),
    }
}
