//! The two states as attributes: `write_*` and `ack_*`, each with exactly the facts that its state has.
//!
//! The moment that a waiting state waits for is stored once, as the item's `due_at`: at most one of the two waits for
//! a machine at any time.

use aws_sdk_dynamodb::types::AttributeValue;
use docket_domain::moment::Moment;
use docket_domain::status::{
    AckState, Acknowledgement, Attempt, AttemptToken, Cause, Evidence, ReviewReason, Wait, Write,
    WriteReview, WriteState,
};
use docket_domain::submission::ChatId;

use super::attributes::{Attributes, Damaged, Item, map, moment, number, put, seconds_up, text};

/// Everything the write owns. The acknowledger never touches any of them.
pub(super) const WRITE: [&str; 9] = [
    "write_state",
    "write_attempts",
    "write_lookups",
    "write_attempt",
    "write_attempted_at",
    "write_lease_until",
    "write_reason",
    "write_evidence",
    "write_review",
];

/// Everything the acknowledgement owns. The writer only makes them appear, with the write's confirmation.
pub(super) const ACK: [&str; 10] = [
    "ack_state",
    "ack_attempts",
    "ack_attempt",
    "ack_attempted_at",
    "ack_lease_until",
    "ack_reason",
    "ack_message_id",
    "ack_moved_to",
    "ack_review",
    // What is said, where that is not that the row is there.
    "ack_words",
];

pub(super) fn put_write(item: &mut Item, write: &Write) {
    put(item, "write_state", text(write.state.as_str()));
    put(item, "write_attempts", number(write.attempts));
    put(item, "write_lookups", number(write.lookups));
    match &write.state {
        WriteState::Pending { wait, cause } => {
            put_write_wait(item, wait);
            if let Some(cause) = cause {
                put(item, "write_reason", text(&cause.0));
            }
        }
        WriteState::Attempting { attempt } => put_write_attempt(item, attempt),
        WriteState::Uncertain { attempt, wait, cause } => {
            put_write_attempt(item, attempt);
            put_write_wait(item, wait);
            put(item, "write_reason", text(&cause.0));
        }
        WriteState::Confirmed { evidence } => put(item, "write_evidence", evidence_value(evidence)),
        WriteState::Abandoned => {}
    }
}

fn put_write_attempt(item: &mut Item, attempt: &Attempt) {
    put(item, "write_attempt", text(&attempt.token.0));
    put(item, "write_attempted_at", moment(attempt.at));
    put(item, "write_lease_until", seconds_up(attempt.lease_until));
}

fn put_write_wait(item: &mut Item, wait: &Wait<WriteReview>) {
    match wait {
        // Derived from the state, as `due_at`.
        Wait::Due(_) => {}
        Wait::Review { reason, since } => {
            put(item, "write_review", review_value(ReviewReason::Write(*reason), *since));
        }
    }
}

/// An open review: `{reason, since}`.
pub(super) fn review_value(reason: ReviewReason, since: Moment) -> AttributeValue {
    map([("reason", text(reason.as_str())), ("since", moment(since))])
}

fn evidence_value(evidence: &Evidence) -> AttributeValue {
    let kind = text(evidence.kind());
    match evidence {
        Evidence::AppendAnswer { range } | Evidence::ReadBack { range } => {
            map([("kind", kind), ("range", text(range))])
        }
        Evidence::Operator { why } => map([("kind", kind), ("why", text(why))]),
    }
}

pub(super) fn read_write(item: &Attributes<'_>) -> Result<Write, Damaged> {
    let state = match item.text("write_state")? {
        "pending" => WriteState::Pending {
            wait: read_write_wait(item)?,
            cause: item.text_if_there("write_reason")?.map(Cause::new),
        },
        "attempting" => WriteState::Attempting { attempt: read_write_attempt(item)? },
        "uncertain" => WriteState::Uncertain {
            attempt: read_write_attempt(item)?,
            wait: read_write_wait(item)?,
            cause: Cause::new(item.text("write_reason")?),
        },
        "confirmed" => WriteState::Confirmed { evidence: read_evidence(&item.map("write_evidence")?)? },
        "abandoned" => WriteState::Abandoned,
        _ => return Err(Damaged::malformed("write_state")),
    };
    Ok(Write { state, attempts: item.integer("write_attempts")?, lookups: item.integer("write_lookups")? })
}

fn read_write_attempt(item: &Attributes<'_>) -> Result<Attempt, Damaged> {
    Ok(Attempt {
        token: AttemptToken(item.text("write_attempt")?.to_owned()),
        at: item.moment("write_attempted_at")?,
        lease_until: item.seconds("write_lease_until")?,
    })
}

fn read_write_wait(item: &Attributes<'_>) -> Result<Wait<WriteReview>, Damaged> {
    let Some(review) = item.map_if_there("write_review")? else {
        return Ok(Wait::Due(item.seconds("due_at")?));
    };
    match read_review_reason(&review)? {
        Some(ReviewReason::Write(reason)) => Ok(Wait::Review { reason, since: review.moment("since")? }),
        Some(ReviewReason::AckUncertain | ReviewReason::Conflict) | None => {
            Err(Damaged::malformed("write_review"))
        }
    }
}

fn read_review_reason(review: &Attributes<'_>) -> Result<Option<ReviewReason>, Damaged> {
    let word = review.text("reason")?;
    Ok(ReviewReason::ALL.into_iter().find(|reason| reason.as_str() == word))
}

/// Since when the review `attribute` is open; its reason must be `expected`.
pub(super) fn read_review_since(
    item: &Attributes<'_>,
    attribute: &'static str,
    expected: ReviewReason,
) -> Result<Option<Moment>, Damaged> {
    let Some(review) = item.map_if_there(attribute)? else { return Ok(None) };
    if read_review_reason(&review)? == Some(expected) {
        review.moment("since").map(Some)
    } else {
        Err(Damaged::malformed(attribute))
    }
}

fn read_evidence(evidence: &Attributes<'_>) -> Result<Evidence, Damaged> {
    Ok(match evidence.text("kind")? {
        "append_answer" => Evidence::AppendAnswer { range: evidence.text("range")?.to_owned() },
        "read_back" => Evidence::ReadBack { range: evidence.text("range")?.to_owned() },
        "operator" => Evidence::Operator { why: evidence.text("why")?.to_owned() },
        _ => return Err(Damaged::malformed("write_evidence")),
    })
}

pub(super) fn put_acknowledgement(item: &mut Item, acknowledgement: &Acknowledgement) {
    put(item, "ack_state", text(acknowledgement.state.as_str()));
    put(item, "ack_attempts", number(acknowledgement.attempts));
    if let Some(chat_id) = acknowledgement.moved_to {
        put(item, "ack_moved_to", number(chat_id.0));
    }
    match &acknowledgement.state {
        AckState::Pending { due_at: _, cause } => {
            if let Some(cause) = cause {
                put(item, "ack_reason", text(&cause.0));
            }
        }
        AckState::Attempting { attempt } => put_ack_attempt(item, attempt),
        AckState::Uncertain { attempt, cause, review_since } => {
            put_ack_attempt(item, attempt);
            put(item, "ack_reason", text(&cause.0));
            put(item, "ack_review", review_value(ReviewReason::AckUncertain, *review_since));
        }
        AckState::Confirmed { message_id } => {
            if let Some(message_id) = message_id {
                put(item, "ack_message_id", number(*message_id));
            }
        }
        AckState::Refused { cause } => put(item, "ack_reason", text(&cause.0)),
        AckState::Abandoned => {}
    }
}

fn put_ack_attempt(item: &mut Item, attempt: &Attempt) {
    put(item, "ack_attempt", text(&attempt.token.0));
    put(item, "ack_attempted_at", moment(attempt.at));
    put(item, "ack_lease_until", seconds_up(attempt.lease_until));
}

pub(super) fn read_acknowledgement(item: &Attributes<'_>) -> Result<Option<Acknowledgement>, Damaged> {
    let Some(word) = item.text_if_there("ack_state")? else { return Ok(None) };
    let state = match word {
        "pending" => AckState::Pending {
            due_at: item.seconds("due_at")?,
            cause: item.text_if_there("ack_reason")?.map(Cause::new),
        },
        "attempting" => AckState::Attempting { attempt: read_ack_attempt(item)? },
        "uncertain" => AckState::Uncertain {
            attempt: read_ack_attempt(item)?,
            cause: Cause::new(item.text("ack_reason")?),
            review_since: read_review_since(item, "ack_review", ReviewReason::AckUncertain)?
                .ok_or(Damaged::missing("ack_review"))?,
        },
        "confirmed" => AckState::Confirmed { message_id: item.integer_if_there("ack_message_id")? },
        "refused" => AckState::Refused { cause: Cause::new(item.text("ack_reason")?) },
        "abandoned" => AckState::Abandoned,
        _ => return Err(Damaged::malformed("ack_state")),
    };
    let attempts = item.integer("ack_attempts")?;
    let moved_to = item.integer_if_there("ack_moved_to")?.map(ChatId);
    Ok(Some(Acknowledgement { state, attempts, moved_to }))
}

fn read_ack_attempt(item: &Attributes<'_>) -> Result<Attempt, Damaged> {
    Ok(Attempt {
        token: AttemptToken(item.text("ack_attempt")?.to_owned()),
        at: item.moment("ack_attempted_at")?,
        lease_until: item.seconds("ack_lease_until")?,
    })
}
