//! The expressions that DynamoDB is given: which attributes a change touches, and on what condition.
//!
//! Every attribute is named through a `#placeholder` and every value through a `:placeholder`: DynamoDB reserves some
//! 570 words (`status`, `source`, `name`, …), refuses them in expressions, and its embedded twins may not.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use docket_domain::moment::Moment;
use docket_domain::status::{DueStep, Record, ReviewReason};

use super::attributes::{Item, number, text};
use super::item::{ALWAYS, CONFLICTS, ERASED};
use super::states::{ACK, WRITE};

/// What the placeholders of an expression stand for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Placeholders {
    pub(super) names: HashMap<String, String>,
    pub(super) values: HashMap<String, AttributeValue>,
}

impl Placeholders {
    fn name(&mut self, attribute: &str) -> String {
        let placeholder = format!("#{attribute}");
        self.names.insert(placeholder.clone(), attribute.to_owned());
        placeholder
    }

    fn value(&mut self, label: &str, value: AttributeValue) -> String {
        let placeholder = format!(":{label}");
        self.values.insert(placeholder.clone(), value);
        placeholder
    }

    /// None when there are none: DynamoDB refuses an empty map.
    pub(super) fn values_if_any(&self) -> Option<HashMap<String, AttributeValue>> {
        (!self.values.is_empty()).then(|| self.values.clone())
    }
}

/// A condition, or the key condition of a query.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Condition {
    pub(super) expression: String,
    pub(super) with: Placeholders,
}

impl Condition {
    fn new(expression: impl FnOnce(&mut Placeholders) -> String) -> Self {
        let mut with = Placeholders::default();
        Self { expression: expression(&mut with), with }
    }

    /// No item with this key yet.
    pub(super) fn absent(key: &str) -> Self {
        Self::new(|with| format!("attribute_not_exists({})", with.name(key)))
    }

    /// The version is still what was seen, whatever type it has.
    pub(super) fn version(seen: AttributeValue) -> Self {
        Self::new(|with| format!("{} = {}", with.name("version"), with.value("seen_version", seen)))
    }

    /// The item is there and still has no version at all.
    pub(super) fn without_version(key: &str) -> Self {
        Self::new(|with| {
            format!("attribute_exists({}) AND attribute_not_exists({})", with.name(key), with.name("version"))
        })
    }

    /// The record is still `seen`, and nothing about it is open: neither for a machine nor for a person.
    pub(super) fn removable(seen: &Record) -> Self {
        Self::new(|with| {
            let mut equal = |attribute: &str, value| {
                format!("{} = {}", with.name(attribute), with.value(attribute, value))
            };
            let all = [
                equal("fingerprint", text(seen.submission.fingerprint.as_str())),
                equal("version", number(seen.version)),
                equal("write_state", text("confirmed")),
                equal("ack_state", text("confirmed")),
            ];
            let (review, due) = (with.name("review"), with.name("due_at"));
            format!(
                "{} AND attribute_not_exists({review}) AND attribute_not_exists({due})",
                all.join(" AND ")
            )
        })
    }

    /// The part of the index `due` that holds what is due for `step` by `now`.
    pub(super) fn due(step: DueStep, now: Moment) -> Self {
        Self::new(|with| {
            let (shard, at) = (with.name("due_shard"), with.name("due_at"));
            let step = with.value("due_shard", text(step.as_str()));
            // Stored seconds are rounded up and this one is rounded down: nothing comes early.
            let now = with.value("now", number(now.seconds()));
            format!("{shard} = {step} AND {at} <= {now}")
        })
    }

    /// The part of the index `reviews` that holds what is listed under `reason`.
    pub(super) fn review(reason: ReviewReason) -> Self {
        Self::new(|with| format!("{} = {}", with.name("review"), with.value("review", text(reason.as_str()))))
    }
}

/// A change of the note that says when a person was told of an open review. It leaves the record and its version as they are.
impl Change {
    /// Told at `now` of what is owed since `owed_at`, unless that was noted already or nothing is open. `token` names whoever
    /// notes it: two may come in the same millisecond.
    pub(super) fn told(owed_at: Moment, now: Moment, token: &str) -> Self {
        let mut with = Placeholders::default();
        let (note, by) = (with.name("alerted_at"), with.name("alerted_by"));
        let update = format!(
            "SET {note} = {}, {by} = {}",
            with.value("now", number(now.millis())),
            with.value("token", text(token))
        );
        let condition = format!(
            "attribute_exists({}) AND (attribute_not_exists({note}) OR {note} < {})",
            with.name("review"),
            with.value("owed_at", number(owed_at.millis()))
        );
        Self { update, condition, with }
    }

    /// Nobody was told at that moment.
    pub(super) fn not_told(noted_at: Moment) -> Self {
        let mut with = Placeholders::default();
        let (note, by) = (with.name("alerted_at"), with.name("alerted_by"));
        let condition = format!("{note} = {}", with.value("noted_at", number(noted_at.millis())));
        Self { update: format!("REMOVE {note}, {by}"), condition, with }
    }
}

/// One conditional change of a record.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Change {
    pub(super) update: String,
    pub(super) condition: String,
    pub(super) with: Placeholders,
}

impl Change {
    /// From `seen` to `next`, whose item is `item`: only the groups that differ are touched.
    ///
    /// So the acknowledger's updates cannot carry a `write_*` attribute, not even an unchanged one, and the writer's
    /// carry `ack_*` only when they make the acknowledgement begin.
    pub(super) fn between(seen: &Record, next: &Record, item: &Item) -> Self {
        let mut touched: Vec<&str> = ALWAYS.to_vec();
        if was_erased(seen, next) {
            touched.extend(ERASED);
        }
        if seen.write != next.write {
            touched.extend(WRITE);
        }
        if acknowledgements_differ(seen, next) {
            touched.extend(ACK);
        }
        if conflicts_differ(seen, next) {
            touched.extend(CONFLICTS);
        }

        let mut with = Placeholders::default();
        let (mut set, mut removed) = (Vec::new(), Vec::new());
        for attribute in touched {
            let name = with.name(attribute);
            match item.get(attribute) {
                Some(value) => set.push(format!("{name} = {}", with.value(attribute, value.clone()))),
                None => removed.push(name),
            }
        }
        let mut update = format!("SET {}", set.join(", "));
        if !removed.is_empty() {
            update = format!("{update} REMOVE {}", removed.join(", "));
        }
        // An update creates what is not there: a record that was deleted must not come back in half.
        let condition = format!(
            "attribute_exists({}) AND {} = {}",
            with.name("reference"),
            with.name("version"),
            with.value("seen_version", number(seen.version)),
        );
        Self { update, condition, with }
    }
}

/// Whether `stored` is what the change from `seen` to `next` left behind, perhaps with later changes of other groups.
///
/// A claim is named by its attempt token. Other changes may lead two workers to the same state, so the newest entry of
/// the history, which says who and when, must be there too.
pub(super) fn carries(stored: &Record, seen: &Record, next: &Record) -> bool {
    let entry_there =
        next.history.entries().last().is_none_or(|newest| stored.history.entries().contains(newest));
    stored.version >= next.version
        && entry_there
        && (seen.write == next.write || stored.write == next.write)
        && (!acknowledgements_differ(seen, next) || !acknowledgements_differ(stored, next))
        && (!conflicts_differ(seen, next) || !conflicts_differ(stored, next))
        && (!was_erased(seen, next) || !was_erased(stored, next))
}

/// What is said belongs to it.
fn acknowledgements_differ(one: &Record, other: &Record) -> bool {
    one.acknowledgement != other.acknowledgement || one.words != other.words
}

fn was_erased(one: &Record, other: &Record) -> bool {
    one.erased_at != other.erased_at
        || one.erased_rows != other.erased_rows
        || one.erasing_until != other.erasing_until
        || one.submission != other.submission
}

fn conflicts_differ(one: &Record, other: &Record) -> bool {
    one.conflicts != other.conflicts || one.conflict_review != other.conflict_review
}

#[cfg(test)]
mod tests;
