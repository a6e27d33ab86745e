use docket_domain::limits::{CONFLICTS_MAX, HISTORY_MAX, ITEM_BYTES_MAX, SUMMARY_UTF16_UNITS_MAX};
use docket_domain::status::{
    AckState, AttemptToken, By, ConflictEvent, Evidence, Wait, WriteEvent, WriteReview,
};

use super::super::attributes::bytes;
use super::super::samples::{confirmed, conflict, every_state, evidence, fresh, now, submission};
use super::*;

fn item(record: &Record) -> Item {
    to_item(record, now(), 365)
}

fn finished() -> Record {
    confirmed(evidence().remove(0), AckState::Confirmed { message_id: Some(77) }, None)
}

/// Keys may not be empty, and no name or map key either.
fn holds_no_empty_key(item: &Item) -> bool {
    ["reference", "due_shard", "review"]
        .iter()
        .all(|key| item.get(*key).is_none_or(|value| value.as_s() != Ok(&String::new())))
}

#[test]
fn every_state_is_read_as_it_was_stored() {
    let records = every_state();
    for record in &records {
        let item = item(record);
        assert_eq!(to_record(&item).as_ref(), Ok(record), "{item:?}");
        assert!(holds_no_empty_key(&item));
    }
    assert!(records.len() > 150, "{}", records.len());
}

#[test]
fn an_item_without_any_one_of_its_attributes_is_not_read() {
    for record in every_state() {
        let whole = item(&record);
        for name in whole.keys() {
            let mut item = whole.clone();
            item.remove(name);
            match name.as_str() {
                // The reasons of a pending state and the message's id are there or not; so is a new chat's id.
                "write_reason" if matches!(record.write.state, WriteState::Pending { .. }) => {}
                "ack_reason" | "ack_message_id" | "ack_moved_to" => {}
                // A conflict that waits behind another review shows nowhere else.
                "conflict_review" if record.reviews().len() > 1 => {}
                // No state follows from whether somebody is erasing it, nor from how many rows went.
                "erasing_until" | "erased_rows" => {}
                // Whoever removes it keeps the record for ever.
                "expires_at" => {}
                name => assert!(to_record(&item).is_err(), "{name} of {:?}", record.write.state),
            }
        }
    }
}

#[test]
fn an_item_with_a_fact_of_another_state_is_not_read() {
    let facts: Item = every_state().iter().flat_map(item).collect();
    for record in every_state() {
        let whole = item(&record);
        for name in WRITE.into_iter().chain(ACK).chain(CONFLICTS).chain(INDEXED).chain(["expires_at"]) {
            if whole.contains_key(name) {
                continue;
            }
            let mut item = whole.clone();
            put(&mut item, name, facts[name].clone());
            let read = to_record(&item);
            // What a state may have or not have, it may have.
            let allowed = match name {
                "write_reason" => matches!(record.write.state, WriteState::Pending { .. }),
                "ack_reason" => record
                    .acknowledgement
                    .as_ref()
                    .is_some_and(|ack| matches!(ack.state, AckState::Pending { .. })),
                "ack_message_id" => record
                    .acknowledgement
                    .as_ref()
                    .is_some_and(|ack| matches!(ack.state, AckState::Confirmed { .. })),
                "ack_moved_to" => record.acknowledgement.is_some(),
                "conflict_review" => !record.reviews().is_empty(),
                _ => false,
            };
            assert_eq!(read.is_ok(), allowed, "{name} beside {:?}: {read:?}", record.write.state);
        }
    }
}

#[test]
fn an_attribute_of_another_type_or_content_is_told_by_its_name() {
    let whole = item(&finished());
    for (name, value, fault) in [
        ("write_state", text("written"), "malformed:write_state"),
        ("write_attempts", AttributeValue::N("1.0".into()), "malformed:write_attempts"),
        ("write_attempts", AttributeValue::N("-1".into()), "malformed:write_attempts"),
        ("write_evidence", text("append_answer"), "malformed:write_evidence"),
        ("write_evidence", map([("kind", text("append_answer"))]), "missing:write_evidence"),
        ("ack_state", text("sent"), "malformed:ack_state"),
        ("ack_message_id", AttributeValue::N("9223372036854775808".into()), "malformed:ack_message_id"),
        ("summary", text(""), "malformed:summary"),
        ("summary", text("other words"), "contradiction:fingerprint"),
        ("contact", text(""), "malformed:contact"),
        ("reference", text("DK-1"), "malformed:reference"),
        ("confirmed_at", text("yesterday"), "malformed:confirmed_at"),
        ("version", text("1"), "malformed:version"),
        ("history", AttributeValue::L(vec![text("recorded")]), "malformed:history"),
        ("history", AttributeValue::L(vec![map([("step", text("recorded"))])]), "missing:history"),
        ("conflicts", map([]), "malformed:conflicts"),
        ("conflict_review", review_value(ReviewReason::AckUncertain, now()), "malformed:conflict_review"),
        ("review", text("conflict"), "contradiction:review"),
    ] {
        let mut item = whole.clone();
        put(&mut item, name, value);
        let damaged = to_record(&item).expect_err(name);
        assert_eq!(damaged.to_string(), fault);
    }
}

#[test]
fn an_acknowledgement_stands_only_beside_a_confirmed_write() {
    let mut both = item(&fresh());
    for (name, value) in item(&finished()).into_iter().filter(|(name, _)| name.starts_with("ack_")) {
        both.insert(name, value);
    }
    assert_eq!(to_record(&both), Err(Damaged::contradiction("ack_state")));

    let mut neither = item(&finished());
    neither.retain(|name, _| !name.starts_with("ack_"));
    assert_eq!(to_record(&neither), Err(Damaged::contradiction("ack_state")));
}

#[test]
fn the_indexes_hold_a_record_only_while_it_waits_for_them() {
    let mut pending = fresh();
    pending.write.state = WriteState::Pending { wait: Wait::Due(now()), cause: None };
    let pending = item(&pending);
    assert_eq!(pending["due_shard"], text("append"));
    // A fraction more than 500: rounded up, never early.
    assert_eq!(pending["due_at"], AttributeValue::N("1772356501".into()));
    assert!(!pending.contains_key("review") && !pending.contains_key("expires_at"));

    let mut waiting = fresh();
    let wait = Wait::Review { reason: WriteReview::WriteRefused, since: now() };
    waiting.write.state = WriteState::Pending { wait, cause: None };
    let waiting = item(&waiting);
    assert_eq!(waiting["review"], text("write_refused"));
    assert_eq!(waiting["review_since"], AttributeValue::N("1772356500".into()));
    assert!(!waiting.contains_key("due_at") && !waiting.contains_key("due_shard"));

    let done = item(&finished());
    assert!(INDEXED.iter().all(|name| !done.contains_key(*name)));
    let year_later = 1_772_356_501 + 365 * 86_400;
    assert_eq!(done["expires_at"], AttributeValue::N(year_later.to_string()));
}

#[test]
fn only_a_finished_record_may_be_forgotten() {
    for record in every_state() {
        let mut item = item(&record);
        assert_eq!(item.contains_key("expires_at"), record.finished());
        if !record.finished() {
            put(&mut item, "expires_at", number(1));
            assert_eq!(to_record(&item), Err(Damaged::contradiction("expires_at")));
        }
    }
}

#[test]
fn chat_ids_of_64_bits_are_stored_to_the_last_digit() {
    for chat_id in [9_007_199_254_740_993, -1_002_000_000_001, 4_503_599_627_370_495, -5, i64::MAX, i64::MIN]
    {
        let record = Record::recorded(submission("words", chat_id), now());
        let item = item(&record);
        assert_eq!(item["chat_id"], AttributeValue::N(chat_id.to_string()));
        assert_eq!(to_record(&item), Ok(record));
    }
}

#[test]
fn the_history_is_stored_with_all_it_says() {
    let record = fresh();
    let claimed = WriteEvent::Claimed { token: AttemptToken("t".into()), lease_seconds: 120 };
    let later = now().plus_seconds(1);
    let record = record.write_after(&claimed, later, &By::Writer).expect("possible");
    let applied = WriteEvent::Applied { range: "'Intake'!A2:F2".into() };
    let record = record.write_after(&applied, later, &By::Writer).expect("possible");
    let stored = to_record(&item(&record)).expect("whole");
    assert_eq!(stored.history, record.history);
    assert_eq!(stored.history.entries().len(), 3);
    assert!(matches!(stored.write.state, WriteState::Confirmed { evidence: Evidence::AppendAnswer { .. } }));
}

#[test]
fn a_record_at_its_longest_stays_below_the_largest_item() {
    let longest = |n: usize| format!("{n:03}{}", "€".repeat(SUMMARY_UTF16_UNITS_MAX - 3));
    let mut record = Record::recorded(submission(&longest(0), i64::MIN), now());
    for n in 1..=CONFLICTS_MAX {
        record = record
            .conflict_after(&ConflictEvent::Arrived(conflict(&longest(n))), now(), &By::Webhook)
            .expect("possible");
    }
    for n in 0..HISTORY_MAX {
        let keep = ConflictEvent::KeepFirst { why: format!("{n}{}", "x".repeat(900)) };
        record = record.conflict_after(&keep, now(), &By::Operator("ann".into())).expect("possible");
        // One more content: it opens the review again, and finds no room.
        let again = ConflictEvent::Arrived(conflict(&longest(CONFLICTS_MAX + 1 + n)));
        record = record.conflict_after(&again, now(), &By::Webhook).expect("possible");
    }
    let item = item(&record);
    assert!(bytes(&item) < ITEM_BYTES_MAX, "{}", bytes(&item));
    assert_eq!(to_record(&item), Ok(record));
}
