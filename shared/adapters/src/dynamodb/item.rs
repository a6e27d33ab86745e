//! A record as an item: the wire shape of the submissions table.
//!
//! What must be looked at (`due_*`, `review*`, `expires_at`) is computed from the states on every write and never set
//! by itself, so an index cannot disagree with the state it was made from. Reading checks the same: an item whose
//! attributes do not go together is damaged, whatever each of them says alone.

use aws_sdk_dynamodb::types::AttributeValue;
use docket_domain::moment::Moment;
use docket_domain::status::history::Entry;
use docket_domain::status::{Conflict, History, OpenReview, Record, ReviewReason, WriteState};
use docket_domain::submission::{ChatId, Contact, Fingerprint, Submission, Summary};

use super::attributes::{Attributes, Damaged, Item, map, moment, number, put, seconds_up, text};
use super::states::{
    ACK, WRITE, put_acknowledgement, put_write, read_acknowledgement, read_review_since, read_write,
    review_value,
};

/// Everything that erasing a customer changes of what they sent.
pub(super) const ERASED: [&str; 9] = [
    "request_type",
    "summary",
    "chat_id",
    "contact",
    "fingerprint",
    "origin",
    "erased_at",
    "erased_rows",
    "erasing_until",
];

/// Everything that conflicts own.
pub(super) const CONFLICTS: [&str; 2] = ["conflicts", "conflict_review"];

/// What every change of a record writes anew: what happened, how often it changed, and what follows from its states.
pub(super) const ALWAYS: [&str; 7] =
    ["history", "version", "due_at", "due_shard", "review", "review_since", "expires_at"];

/// The keys of both indexes. `review_since` is in epoch seconds, as the contract's number key.
const INDEXED: [&str; 4] = ["due_at", "due_shard", "review", "review_since"];

/// The whole item of `record` as of `now`.
pub(super) fn to_item(record: &Record, now: Moment, retention_days: u64) -> Item {
    let mut item = Item::new();
    put_submission(&mut item, &record.submission);
    if let Some(at) = record.erased_at {
        put(&mut item, "erased_at", moment(at));
    }
    if let Some(rows) = record.erased_rows {
        put(&mut item, "erased_rows", number(rows));
    }
    if let Some(until) = record.erasing_until {
        put(&mut item, "erasing_until", moment(until));
    }
    put_write(&mut item, &record.write);
    if let Some(acknowledgement) = &record.acknowledgement {
        put_acknowledgement(&mut item, acknowledgement);
    }
    if let Some(words) = &record.words {
        put(&mut item, "ack_words", text(words));
    }
    put(&mut item, "conflicts", AttributeValue::L(record.conflicts.iter().map(conflict_value).collect()));
    if let Some(since) = record.conflict_review {
        put(&mut item, "conflict_review", review_value(ReviewReason::Conflict, since));
    }
    put(&mut item, "history", AttributeValue::L(record.history.entries().iter().map(entry_value).collect()));
    put(&mut item, "version", number(record.version));

    if let Some((step, at)) = record.due() {
        put(&mut item, "due_shard", text(step.as_str()));
        put(&mut item, "due_at", seconds_up(at));
    }
    if let Some(OpenReview { reason, since }) = record.reviews().first() {
        put(&mut item, "review", text(reason.as_str()));
        put(&mut item, "review_since", number(since.seconds()));
    }
    // Only what nobody needs to look at again may be forgotten.
    if record.finished() {
        put(&mut item, "expires_at", seconds_up(now.plus_seconds(retention_days.saturating_mul(86_400))));
    }
    item
}

/// The record that `item` holds, whole and consistent, or what is wrong with it.
pub(super) fn to_record(item: &Item) -> Result<Record, Damaged> {
    let attributes = Attributes::of(item);
    let record = Record {
        submission: read_submission(&attributes)?,
        write: read_write(&attributes)?,
        acknowledgement: read_acknowledgement(&attributes)?,
        words: attributes.text_if_there("ack_words")?.map(str::to_owned),
        conflicts: attributes.maps("conflicts")?.iter().map(read_conflict).collect::<Result<_, _>>()?,
        erased_at: attributes.moment_if_there("erased_at")?,
        erased_rows: attributes.integer_if_there("erased_rows")?,
        erasing_until: attributes.moment_if_there("erasing_until")?,
        conflict_review: read_review_since(&attributes, "conflict_review", ReviewReason::Conflict)?,
        history: read_history(&attributes.maps("history")?)?,
        version: attributes.integer("version")?,
    };
    check(item, &record)?;
    Ok(record)
}

/// Holds an item against the record read from it: no fact of another state beside it, and its indexes where it is.
fn check(item: &Item, record: &Record) -> Result<(), Damaged> {
    if record.acknowledgement.is_some() != record.may_be_told() {
        return Err(Damaged::contradiction("ack_state"));
    }
    let abandoned = matches!(record.write.state, WriteState::Abandoned);
    if record.words.is_some() && !abandoned {
        return Err(Damaged::contradiction("ack_words"));
    }
    if record.submission.is_erased() != record.erased_at.is_some() {
        return Err(Damaged::contradiction("erased_at"));
    }
    let expected = to_item(record, Moment::from_millis(0), 0);
    for attribute in WRITE.into_iter().chain(ACK).chain(CONFLICTS) {
        if item.contains_key(attribute) != expected.contains_key(attribute) {
            return Err(Damaged::contradiction(attribute));
        }
    }
    for attribute in INDEXED {
        if item.get(attribute) != expected.get(attribute) {
            return Err(Damaged::contradiction(attribute));
        }
    }
    // A finished record may lack it (somebody wants to keep it); an unfinished one would vanish with it.
    if item.contains_key("expires_at") && !record.finished() {
        return Err(Damaged::contradiction("expires_at"));
    }
    Ok(())
}

fn put_submission(item: &mut Item, submission: &Submission) {
    put(item, "reference", text(submission.reference.as_str()));
    put(item, "request_type", text(&submission.request_type));
    put(item, "summary", text(submission.summary.as_str()));
    put(item, "chat_id", number(submission.chat_id.0));
    put(item, "contact", text(submission.contact.as_str()));
    put(item, "confirmed_at", moment(submission.confirmed_at));
    put(item, "fingerprint", text(submission.fingerprint.as_str()));
    put(item, "origin", text(&submission.origin));
}

fn read_submission(item: &Attributes<'_>) -> Result<Submission, Damaged> {
    let request_type = item.text("request_type")?.to_owned();
    let summary = read_summary(item, "summary")?;
    let chat_id = ChatId(item.integer("chat_id")?);
    let contact = Contact::recorded(item.text("contact")?).ok_or(Damaged::malformed("contact"))?;
    let fingerprint = Fingerprint::of(&request_type, &summary, chat_id);
    if fingerprint.as_str() != item.text("fingerprint")? {
        return Err(Damaged::contradiction("fingerprint"));
    }
    Ok(Submission {
        reference: item.text("reference")?.parse().map_err(|_| Damaged::malformed("reference"))?,
        request_type,
        summary,
        chat_id,
        contact,
        confirmed_at: item.moment("confirmed_at")?,
        fingerprint,
        origin: item.text("origin")?.to_owned(),
    })
}

/// Cleaned once, at the door, by the release that took it; its fingerprint proves that it is what was confirmed.
fn read_summary(item: &Attributes<'_>, attribute: &'static str) -> Result<Summary, Damaged> {
    Summary::recorded(item.text("summary")?).ok_or(Damaged::malformed(attribute))
}

fn conflict_value(conflict: &Conflict) -> AttributeValue {
    map([
        ("at", moment(conflict.at)),
        ("request_type", text(&conflict.request_type)),
        ("summary", text(conflict.summary.as_str())),
        ("fingerprint", text(conflict.fingerprint.as_str())),
    ])
}

fn read_conflict(conflict: &Attributes<'_>) -> Result<Conflict, Damaged> {
    let digits = conflict.text("fingerprint")?;
    let hexadecimal = digits.len() == 64 && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    Ok(Conflict {
        at: conflict.moment("at")?,
        request_type: conflict.text("request_type")?.to_owned(),
        summary: read_summary(conflict, "conflicts")?,
        fingerprint: serde_json::from_value(digits.into())
            .ok()
            .filter(|_: &Fingerprint| hexadecimal)
            .ok_or(Damaged::malformed("conflicts"))?,
    })
}

/// Fields that say nothing are left out, as in the operator's JSON.
fn entry_value(entry: &Entry) -> AttributeValue {
    let mut fields = Item::new();
    put(&mut fields, "at", moment(entry.at));
    put(&mut fields, "by", text(&entry.by));
    put(&mut fields, "step", text(&entry.step));
    let said = [("from", &entry.from), ("to", &entry.to), ("why", &entry.why), ("evidence", &entry.evidence)];
    for (name, value) in said {
        if let Some(value) = value {
            put(&mut fields, name, text(value));
        }
    }
    if entry.times != 1 {
        put(&mut fields, "times", number(entry.times));
    }
    AttributeValue::M(fields)
}

fn read_entry(entry: &Attributes<'_>) -> Result<Entry, Damaged> {
    let said = |field| Ok(entry.text_if_there(field)?.map(str::to_owned));
    Ok(Entry {
        at: entry.moment("at")?,
        by: entry.text("by")?.to_owned(),
        step: entry.text("step")?.to_owned(),
        from: said("from")?,
        to: said("to")?,
        why: said("why")?,
        evidence: said("evidence")?,
        times: entry.integer_if_there("times")?.unwrap_or(1),
    })
}

/// The domain lets nobody put a history together but itself, and what it once wrote.
fn read_history(entries: &[Attributes<'_>]) -> Result<History, Damaged> {
    let entries: Vec<Entry> = entries.iter().map(read_entry).collect::<Result<_, _>>()?;
    serde_json::to_value(entries).and_then(serde_json::from_value).map_err(|_| Damaged::malformed("history"))
}

#[cfg(test)]
mod tests;
