//! What `--json` prints: the shapes that scripts rely on.

use docket_domain::status::AckState;
use docket_domain::status::{Evidence, Finding, OpenReview, Record, ReviewReason, WriteState};
use serde_json::{Value, json};

use crate::erase::Gone;
use crate::orders::many::Outcome;
use crate::orders::{Done, Look};
use crate::{Listed, Stopped};

/// `docket show REFERENCE --json`. What does not exist yet is `null`.
#[must_use]
pub fn record(record: &Record) -> Value {
    let submission = &record.submission;
    let reviews = record.reviews();
    let review_of = |wanted: fn(ReviewReason) -> bool| reviews.iter().find(|r| wanted(r.reason)).map(review);
    let ack = record.acknowledgement.as_ref();
    let message_id = ack.and_then(|ack| match ack.state {
        AckState::Confirmed { message_id } => message_id,
        AckState::Pending { .. }
        | AckState::Attempting { .. }
        | AckState::Uncertain { .. }
        | AckState::Refused { .. }
        | AckState::Abandoned => None,
    });
    let conflicts: Vec<Value> = record
        .conflicts
        .iter()
        .map(|conflict| {
            json!({
                "at": conflict.at,
                "request_type": conflict.request_type,
                "summary": conflict.summary,
                "fingerprint": conflict.fingerprint,
            })
        })
        .collect();
    json!({
        "reference": submission.reference,
        "submission": {
            "request_type": submission.request_type,
            "summary": submission.summary,
            "chat_id": submission.chat_id,
            "contact": submission.contact,
            "confirmed_at": submission.confirmed_at,
        },
        "write": {
            "state": record.write.state.as_str(),
            "attempts": record.write.attempts,
            "lookups": record.write.lookups,
            "evidence": evidence(&record.write.state),
            "review": review_of(|reason| matches!(reason, ReviewReason::Write(_))),
        },
        "acknowledgement": {
            "state": ack.map(|ack| ack.state.as_str()),
            "attempts": ack.map_or(0, |ack| ack.attempts),
            "message_id": message_id,
            "review": review_of(|reason| matches!(reason, ReviewReason::AckUncertain)),
        },
        "conflicts": conflicts,
        "due_at": record.due().map(|(_, at)| at),
        "history": record.history,
    })
}

/// `docket reviews --json`: oldest first. The last four are null for a record that this release cannot read.
#[must_use]
pub fn reviews(listed: &[Listed]) -> Value {
    listed
        .iter()
        .map(|Listed { reference, review, record }| {
            let record = record.as_ref();
            json!({
                "reference": reference,
                "reason": review.reason.as_str(),
                "since": review.since,
                "version": record.map(|record| record.version),
                "request_type": record.map(|record| &record.submission.request_type),
                "write": record.map(|record| record.write.state.as_str()),
                "acknowledgement": record
                    .and_then(|record| record.acknowledgement.as_ref())
                    .map(|ack| ack.state.as_str()),
            })
        })
        .collect()
}

/// What `docket recheck` and `docket resolve REFERENCE` did.
#[must_use]
pub fn done(done: &Done) -> Value {
    json!({
        "changed": done.changed,
        "found": done.found.as_ref().map(found),
        "said": done.said,
        "version": done.record.version,
        "record": record(&done.record),
    })
}

/// `docket resolve --reason`: what became of each; `null` in a dry run.
#[must_use]
pub fn outcomes(outcomes: &[Outcome]) -> Value {
    outcomes
        .iter()
        .map(|Outcome { reference, since, done }| {
            json!({
                "reference": reference,
                "since": since,
                "done": done.as_ref().map(Result::is_ok),
                "refused": done.as_ref().and_then(|done| done.as_ref().err()).map(Stopped::message),
            })
        })
        .collect()
}

/// What `docket erase` did.
#[must_use]
pub fn erased(gone: &[Gone]) -> Value {
    gone.iter()
        .map(|Gone { reference, rows, astray, left }| {
            json!({"reference": reference, "rows": rows, "astray": astray, "left": left})
        })
        .collect()
}

fn found(look: &Look) -> Value {
    let mut found = match &look.finding {
        Finding::OneEqual { range } => json!({"kind": "one_equal_row", "range": range}),
        Finding::OneDiffers { range } => json!({"kind": "one_row_differs", "range": range}),
        Finding::Several { rows } => json!({"kind": "several_rows", "rows": rows}),
        Finding::None => json!({"kind": "no_row"}),
        Finding::Unreadable(cause) => json!({"kind": "not_readable", "cause": cause.0}),
    };
    found["place"] = json!(look.place);
    found["astray"] = json!(look.astray);
    found
}

fn review(review: &OpenReview) -> Value {
    json!({"reason": review.reason.as_str(), "since": review.since})
}

fn evidence(state: &WriteState) -> Value {
    match state {
        WriteState::Confirmed { evidence } => match evidence {
            Evidence::AppendAnswer { range } | Evidence::ReadBack { range } => {
                json!({"kind": evidence.kind(), "range": range})
            }
            Evidence::Operator { why } => json!({"kind": evidence.kind(), "why": why}),
        },
        WriteState::Pending { .. }
        | WriteState::Attempting { .. }
        | WriteState::Uncertain { .. }
        | WriteState::Abandoned => Value::Null,
    }
}
