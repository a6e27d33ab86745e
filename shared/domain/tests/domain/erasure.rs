//! What is left of a customer who asked to be forgotten: of every record that can be, nothing they wrote.

use docket_domain::moment::Moment;
use docket_domain::row::Row;
use docket_domain::status::{
    AckState, By, ConflictEvent, NotErasable, Record, ReviewReason, Settle, Wait, WriteEvent, WriteOrder,
    WriteReview, WriteState,
};

use crate::samples::{acknowledgements, conflict, now, recorded, why, writes};

const REASON: &str = "Asked by letter.";

fn operator() -> By {
    By::Operator("ann".into())
}

/// Every write with every acknowledgement that it may have, with and without a conflict.
fn records() -> Vec<Record> {
    let mut records = Vec::new();
    for write in writes() {
        let confirmed = matches!(write.state, WriteState::Confirmed { .. });
        let abandoned = matches!(write.state, WriteState::Abandoned);
        let acks = if confirmed || abandoned {
            acknowledgements().into_iter().map(Some).collect()
        } else {
            vec![None]
        };
        for acknowledgement in acks {
            let words = abandoned.then(|| "Sorry, Annabel.".to_owned());
            records.push(Record { write: write.clone(), acknowledgement, words, ..recorded() });
        }
        if abandoned {
            records.push(Record { write: write.clone(), ..recorded() });
        }
    }
    let conflicting: Vec<Record> = records
        .iter()
        .map(|record| {
            let arrived = ConflictEvent::Arrived(conflict("other words", now()));
            record.conflict_after(&arrived, now(), &By::Webhook).expect("possible")
        })
        .collect();
    records.extend(conflicting);
    records
}

#[test]
fn of_every_record_that_can_be_erased_no_word_is_left_and_nothing_waits() {
    let (mut erased, mut refused) = (0, 0);
    for before in records() {
        for settle in [None, Some(Settle::Recorded), Some(Settle::Abandoned)] {
            let after = match before.erased(settle, REASON, 1, now(), &operator()) {
                Ok(after) => after,
                Err(NotErasable::BeingErased { .. }) => panic!("nobody has begun: {before:?}"),
                Err(NotErasable::UnderWay { .. }) => {
                    let sending = before
                        .acknowledgement
                        .as_ref()
                        .is_some_and(|ack| matches!(ack.state, AckState::Attempting { .. }));
                    let writing = matches!(
                        before.write.state,
                        WriteState::Attempting { .. } | WriteState::Uncertain { .. }
                    );
                    assert!(sending || writing, "{before:?}");
                    refused += 1;
                    continue;
                }
                Err(NotErasable::Unsettled) => {
                    assert!(settle.is_none() && !matches!(before.write.state, WriteState::Confirmed { .. }));
                    refused += 1;
                    continue;
                }
                Err(NotErasable::NotAppended) => {
                    assert!(settle == Some(Settle::Recorded));
                    assert!(matches!(before.write.state, WriteState::Pending { .. }));
                    refused += 1;
                    continue;
                }
            };
            erased += 1;
            assert!(after.finished(), "{after:?}");
            assert_eq!(after.acknowledgement.is_some(), after.may_be_told(), "{after:?}");
            assert_eq!((after.version, after.erased_at), (before.version + 1, Some(now())));
            assert_eq!(after.submission.reference, before.submission.reference);
            assert_eq!(after.submission.confirmed_at, before.submission.confirmed_at);
            if matches!(before.write.state, WriteState::Confirmed { .. } | WriteState::Abandoned) {
                assert_eq!(after.write.state.as_str(), before.write.state.as_str());
            }
            let mut left = format!("{:?} {:?} {:?}", after.words, after.conflicts, after.history.entries());
            left.push_str(&Row::of(&after.submission).cells().concat());
            left.push_str(&after.submission.origin);
            for word in [
                before.submission.summary.as_str(),
                before.submission.request_type.as_str(),
                before.submission.contact.as_str(),
                before.submission.origin.as_str(),
                "other words",
                "Annabel",
                why().as_str(),
            ] {
                assert!(!left.contains(word), "{word} is left: {left}");
            }
            // Nothing brings it back.
            assert!(after.erased(settle, REASON, 0, now(), &operator()).is_ok());
            let again = ConflictEvent::Arrived(conflict("more words", now()));
            assert!(after.conflict_after(&again, now(), &By::Webhook).is_err());
        }
    }
    assert!(erased > 100 && refused > 20, "{erased} {refused}");
}

#[test]
fn whoever_begins_to_erase_a_record_leaves_nothing_to_machines_and_keeps_others_from_it_for_a_while() {
    let until = now().plus_seconds(240);
    let mut begun = 0;
    for before in records() {
        for settle in [None, Some(Settle::Recorded), Some(Settle::Abandoned)] {
            let first = before.erasure_begun(settle, REASON, until, now(), &operator());
            assert_eq!(first.as_ref().err(), before.erasable(settle, now()).as_ref().err());
            let Ok(first) = first else { continue };
            begun += 1;
            assert_eq!((first.due(), first.version), (None, before.version + 1));
            assert_eq!(first.submission, before.submission, "its words go when its rows are gone");
            let open: Vec<_> = first.reviews().into_iter().map(|review| review.reason).collect();
            assert!(open.is_empty() || open == [ReviewReason::Conflict], "{open:?}");
            let refused = Err(NotErasable::BeingErased { until });
            let a_moment_before = Moment::from_millis(until.millis() - 1);
            assert_eq!(first.erasable(settle, a_moment_before), refused);
            assert_eq!(first.erasable(settle, until), Ok(()), "whoever broke off is not waited for");
            // Whoever has begun it ends it, and it ends as if it had been done at once.
            let ended = first.erased(settle, REASON, 1, now(), &operator()).expect("begun");
            let at_once = before.erased(settle, REASON, 1, now(), &operator()).expect("begun");
            assert_eq!(ended.erasing_until, None);
            assert_eq!((&ended.submission, &ended.write.state), (&at_once.submission, &at_once.write.state));
            assert_eq!(ended.acknowledgement, at_once.acknowledgement);
            assert_eq!(ended.erased_rows, Some(1));
            let again = ended.erased(None, REASON, 2, now(), &operator()).expect("nothing is left");
            assert_eq!(again.erased_rows, Some(3));
        }
    }
    assert!(begun > 100, "{begun}");
}

#[test]
fn while_google_may_still_carry_out_an_append_its_customer_is_not_forgotten() {
    let mut late = 0;
    for before in records() {
        let WriteState::Uncertain { attempt, wait: Wait::Review { reason, .. }, .. } = &before.write.state
        else {
            continue;
        };
        let over = attempt.at.plus_seconds(180).up_to_second();
        let settled = |at| before.erasable(Some(Settle::Abandoned), at);
        assert_eq!(settled(over), Ok(()));
        let just_before = settled(Moment::from_millis(over.millis() - 1));
        if *reason == WriteReview::MisplacedRow {
            assert_eq!(just_before, Ok(()), "its answer came");
        } else {
            assert_eq!(just_before, Err(NotErasable::UnderWay { until: over }));
            late += 1;
        }
    }
    assert!(late > 3, "{late}");
}

#[test]
fn only_who_is_given_up_and_has_heard_nothing_may_be_told_in_an_operators_words() {
    for before in records() {
        let possible =
            matches!(before.write.state, WriteState::Abandoned) && before.acknowledgement.is_none();
        let told = before.clone().with_words("Sorry.".into(), now());
        assert_eq!(told.is_ok(), possible, "{before:?}");
        if let Ok(told) = told {
            assert!(told.may_be_told() && told.due().is_some());
        }
    }
    let refused = Record {
        write: docket_domain::status::Write {
            state: WriteState::Pending {
                wait: Wait::Review { reason: WriteReview::WriteRefused, since: now() },
                cause: None,
            },
            attempts: 1,
            lookups: 0,
        },
        ..recorded()
    };
    let abandon = WriteEvent::Ordered(WriteOrder::Abandon { why: why() });
    let given_up = refused.write_after(&abandon, now(), &operator()).expect("allowed");
    assert!(given_up.finished() && given_up.with_words("Sorry.".into(), now()).is_ok());
}
