//! What a function's answer means for the messages of its batch.
//!
//! Owns the reading of `batchItemFailures`, after "Implementing partial batch responses" in the AWS Lambda
//! developer guide. Note its two traps: an answer without the field is a complete success, so a misspelt name
//! loses messages; and one wrong identifier fails the whole batch, the messages that are done with too.

use std::collections::HashSet;

use serde_json::Value;

use super::Delivery;

/// Which messages of a batch come back.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// None.
    Done,
    /// All.
    Failed,
    /// Those with these message ids.
    Partly(HashSet<String>),
}

/// Judges the end of an invocation that was given the messages `batch`.
pub(super) fn judge(delivery: &Delivery, batch: &[&str]) -> Verdict {
    let Delivery::Answered(answer) = delivery else { return Verdict::Failed };
    if answer.is_null() {
        return Verdict::Done;
    }
    let Some(fields) = answer.as_object() else { return Verdict::Failed };
    let failures = match fields.get("batchItemFailures") {
        None => return Verdict::Done,
        Some(failures) if failures.is_null() => return Verdict::Done,
        Some(failures) => failures.as_array(),
    };
    let Some(failures) = failures else { return Verdict::Failed };
    let known = |failure: &Value| {
        let identifier = failure.get("itemIdentifier")?.as_str()?;
        batch.contains(&identifier).then(|| identifier.to_owned())
    };
    match failures.iter().map(known).collect::<Option<HashSet<String>>>() {
        None => Verdict::Failed,
        Some(identifiers) if identifiers.is_empty() => Verdict::Done,
        Some(identifiers) => Verdict::Partly(identifiers),
    }
}
