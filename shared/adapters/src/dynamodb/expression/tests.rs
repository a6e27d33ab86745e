use docket_domain::outcome::{NotApplied, NotSent};
use docket_domain::status::{
    AckEvent, AckState, AttemptToken, By, Cause, ConflictEvent, WriteEvent, WriteState,
};
use docket_domain::submission::ChatId;

use super::super::item::to_item;
use super::super::samples::{confirmed, conflict, every_state, evidence, fresh, now};
use super::*;

fn change(seen: &Record, next: &Record) -> Change {
    Change::between(seen, next, &to_item(next, now(), 365))
}

fn claim(token: &str) -> WriteEvent {
    WriteEvent::Claimed { token: AttemptToken(token.into()), lease_seconds: 120 }
}

fn later() -> Moment {
    now().plus_seconds(600)
}

fn claimed(token: &str) -> Record {
    fresh().write_after(&claim(token), later(), &By::Writer).expect("possible")
}

/// Every event that a worker of one kind may store, applied wherever it is possible.
fn changes(events: &[AckEvent]) -> Vec<(Record, Record)> {
    let mut found = Vec::new();
    for seen in every_state() {
        for event in events {
            if let Ok(next) = seen.acknowledgement_after(event, later(), &By::Acknowledger) {
                found.push((seen.clone(), next));
            }
        }
    }
    found
}

#[test]
fn the_acknowledgers_changes_name_no_attribute_of_the_write() {
    let changes = changes(&[
        AckEvent::Claimed { token: AttemptToken("a".into()), lease_seconds: 120 },
        AckEvent::LeaseRanOut,
        AckEvent::Accepted { message_id: Some(77) },
        AckEvent::Refused { cause: Cause::new("blocked") },
        AckEvent::Moved { to: ChatId(-1) },
        AckEvent::NotSent(NotSent::Busy { retry_after_seconds: 9 }),
        AckEvent::Unknown { cause: Cause::new("timeout") },
    ]);
    assert!(changes.len() > 20, "{}", changes.len());
    for (seen, next) in changes {
        let change = change(&seen, &next);
        assert!(change.with.names.values().all(|name| !name.starts_with("write_")), "{}", change.update);
        assert!(!change.update.contains("write_"), "{}", change.update);
        assert!(change.with.names.values().any(|name| name.starts_with("ack_")));
    }
}

#[test]
fn the_writers_changes_touch_the_acknowledgement_only_to_let_it_begin() {
    let claim = change(&fresh(), &claimed("a"));
    assert!(claim.update.contains("#write_attempt = :write_attempt"), "{}", claim.update);
    assert!(!claim.update.contains("ack_"), "{}", claim.update);

    let seen = claimed("a");
    let applied = WriteEvent::Applied { range: "'Intake'!A2:F2".into() };
    let begun = change(&seen, &seen.write_after(&applied, later(), &By::Writer).expect("possible"));
    assert!(begun.update.contains("#ack_state = :ack_state"), "{}", begun.update);
    assert_eq!(begun.with.values[":ack_state"], text("pending"));
}

#[test]
fn a_change_removes_what_the_next_state_does_not_have() {
    let seen = claimed("a");
    let unknown =
        WriteEvent::NotApplied { reason: NotApplied::TryAgain(Cause::new("connect")), jitter_seconds: 0 };
    let change = change(&seen, &seen.write_after(&unknown, later(), &By::Writer).expect("possible"));
    let removed = change.update.split(" REMOVE ").nth(1).expect("something is removed");
    for name in ["#write_attempt", "#write_lease_until", "#write_evidence", "#write_review", "#expires_at"] {
        assert!(removed.split(", ").any(|removed| removed == name), "{name} in {removed}");
    }
}

#[test]
fn a_conflict_changes_neither_of_the_two_states() {
    let seen = confirmed(evidence().remove(0), AckState::Abandoned, None);
    let arrived = ConflictEvent::Arrived(conflict("other words"));
    let change = change(&seen, &seen.conflict_after(&arrived, now(), &By::Webhook).expect("possible"));
    assert!(!change.update.contains("write_") && !change.update.contains("ack_"), "{}", change.update);
    // It was finished and is not any more.
    assert!(change.update.contains("REMOVE") && change.update.contains("#expires_at"), "{}", change.update);
}

#[test]
fn every_change_is_conditional_on_the_version_that_was_seen() {
    let change = change(&fresh(), &claimed("a"));
    assert_eq!(change.condition, "attribute_exists(#reference) AND #version = :seen_version");
    assert_eq!(change.with.values[":seen_version"], number(1_u64));
    assert_eq!(change.with.values[":version"], number(2_u64));
}

/// DynamoDB refuses some 570 plain names, and its embedded twins may let them pass.
#[test]
fn every_expression_names_attributes_and_values_only_through_placeholders() {
    const WORDS: [&str; 6] = ["SET", "REMOVE", "AND", "attribute_exists", "attribute_not_exists", "NOT"];
    let mut expressions = vec![
        Condition::absent("reference"),
        Condition::absent("chat_id"),
        Condition::version(number(1_u64)),
        Condition::without_version("chat_id"),
    ];
    expressions.extend(DueStep::ALL.map(|step| Condition::due(step, now())));
    expressions.extend(ReviewReason::ALL.map(Condition::review));
    let records = every_state();
    expressions.extend(records.iter().map(Condition::removable));
    let mut texts: Vec<(String, Placeholders)> =
        expressions.into_iter().map(|condition| (condition.expression, condition.with)).collect();
    for next in &records {
        let item = to_item(next, now(), 365);
        for seen in records.iter().step_by(7) {
            let change = Change::between(seen, next, &item);
            texts.push((format!("{} {}", change.update, change.condition), change.with));
        }
    }
    for (expression, with) in texts {
        let mut named = Vec::new();
        for word in expression.split([' ', ',', '(', ')', '=', '<']).filter(|word| !word.is_empty()) {
            match word.chars().next() {
                Some('#') => assert!(with.names.contains_key(word), "{word} in {expression}"),
                Some(':') => assert!(with.values.contains_key(word), "{word} in {expression}"),
                _ => assert!(WORDS.contains(&word), "{word} in {expression}"),
            }
            named.push(word);
        }
        // DynamoDB refuses placeholders that nothing uses, too.
        assert!(with.names.keys().chain(with.values.keys()).all(|name| named.contains(&name.as_str())));
    }
}

#[test]
fn a_change_is_recognised_by_its_attempt_token() {
    let (seen, ours, other) = (fresh(), claimed("ours"), claimed("other"));
    assert!(carries(&ours, &seen, &ours));
    assert!(!carries(&other, &seen, &ours));
    assert!(!carries(&seen, &seen, &ours));

    // A conflict that arrived right after our claim does not make it another one's.
    let arrived = ConflictEvent::Arrived(conflict("other words"));
    let moved_on = ours.conflict_after(&arrived, later(), &By::Webhook).expect("possible");
    assert!(carries(&moved_on, &seen, &ours));
}

#[test]
fn two_workers_who_lead_to_the_same_state_are_told_apart_by_the_history() {
    let halted =
        WriteEvent::NotApplied { reason: NotApplied::Halt(Cause::new("http_403")), jitter_seconds: 0 };
    let seen = fresh();
    let ours = seen.write_after(&halted, later(), &By::Writer).expect("possible");
    let other = seen.write_after(&halted, later(), &By::Operator("ann".into())).expect("possible");
    assert_eq!(ours.write, other.write);
    assert!(matches!(ours.write.state, WriteState::Pending { .. }));
    assert!(carries(&ours, &seen, &ours) && !carries(&other, &seen, &ours));
}
