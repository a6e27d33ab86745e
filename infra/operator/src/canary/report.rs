//! What a canary found, for people and as JSON. It never holds a secret: no URL, no answer's body, no token.

use anstyle::{AnsiColor, Style};
use docket_domain::ports::StoreError;
use docket_domain::reference::Reference;
use docket_domain::status::Cause;
use serde_json::{Value, json};

use crate::Stopped;
use crate::refusal::{Asked, Refusal};
use crate::visible::visible;

/// One step, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub name: &'static str,
    pub ok: bool,
    /// Milliseconds that it took.
    pub ms: u64,
    pub found: String,
}

/// The steps in their order; the last but one is the one that failed, if one did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub steps: Vec<Step>,
    /// Known from the card on.
    pub reference: Option<Reference>,
    /// Row and record are gone again.
    pub removed: bool,
    /// What is left, and what to do about it.
    pub left: Option<String>,
    pub(super) unreachable: bool,
}

/// Why a step failed.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) found: String,
    /// A side could not be reached, so that perhaps nothing is wrong with the deployment.
    pub(super) unreachable: bool,
}

impl Failed {
    pub(super) fn refused(found: impl Into<String>) -> Self {
        Self { found: found.into(), unreachable: false }
    }

    pub(super) fn unreachable(found: impl Into<String>) -> Self {
        Self { found: found.into(), unreachable: true }
    }
}

impl Failed {
    /// A call of AWS that failed, as a sentence.
    pub(super) fn by_aws(sentence: &str, cause: &Cause) -> Self {
        let (found, refusal) = Refusal::explained(Asked::Table, sentence, cause);
        Self { found, unreachable: refusal.is_none() }
    }
}

impl From<Stopped> for Failed {
    fn from(stopped: Stopped) -> Self {
        let unreachable = matches!(stopped, Stopped::Unreachable(_));
        Self { found: stopped.message().to_owned(), unreachable }
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotApplied(cause) => Self::by_aws("the store changed nothing", &cause),
            StoreError::OutcomeUnknown(cause) => Self::by_aws("the store may have changed", &cause),
            StoreError::Unreadable(_) => Self::refused(error.to_string()),
        }
    }
}

impl Report {
    /// 0 when every step went well, 3 when a side could not be reached, 1 otherwise.
    #[must_use]
    pub fn exit_status(&self) -> u8 {
        match (self.steps.iter().all(|step| step.ok), self.unreachable) {
            (true, _) => 0,
            (false, true) => 3,
            (false, false) => 1,
        }
    }

    #[must_use]
    pub fn json(&self) -> Value {
        let step =
            |step: &Step| json!({"step": step.name, "ok": step.ok, "ms": step.ms, "found": step.found});
        json!({
            "steps": self.steps.iter().map(step).collect::<Vec<Value>>(),
            "reference": self.reference,
            "removed": self.removed,
            "left": self.left,
        })
    }

    #[must_use]
    pub fn page(&self) -> String {
        let mut lines = Vec::new();
        for step in &self.steps {
            let (style, word): (Style, &str) = if step.ok {
                (AnsiColor::Green.on_default(), "ok")
            } else {
                (AnsiColor::Red.on_default().bold(), "failed")
            };
            lines.push(format!(
                "{style}{word:<7}{style:#}{:<16}{:>9}  {}",
                step.name,
                duration(step.ms),
                visible(&step.found)
            ));
        }
        let failed: Vec<&str> = self.steps.iter().filter(|step| !step.ok).map(|step| step.name).collect();
        let reference = self.reference.as_ref().map_or("no reference".to_owned(), ToString::to_string);
        lines.push(if failed.is_empty() {
            format!("The whole way works ({reference}).")
        } else {
            format!("The canary failed at: {} ({reference}).", failed.join(", "))
        });
        lines.push(match &self.left {
            Some(left) => format!("Left: {left}."),
            None if self.removed => "Its row and its record are removed again.".to_owned(),
            None => "Nothing of it is left: neither a row nor a record.".to_owned(),
        });
        lines.join("\n")
    }
}

fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        _ => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_milliseconds_then_in_seconds() {
        assert_eq!([0, 999, 1_000, 61_250].map(duration), ["0 ms", "999 ms", "1.0 s", "61.2 s"]);
    }

    #[test]
    fn a_side_out_of_reach_is_told_apart_from_a_step_that_failed() {
        let step = |ok| Step { name: "new", ok, ms: 1, found: String::new() };
        let report =
            |ok, unreachable| Report { steps: vec![step(true), step(ok)], unreachable, ..Report::default() };
        let status = |ok, unreachable| report(ok, unreachable).exit_status();
        assert_eq!([status(true, false), status(false, false), status(false, true)], [0, 1, 3]);
    }
}
