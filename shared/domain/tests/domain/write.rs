//! Every shape of a write meets every event: the rules of the design as properties of every result.

use std::collections::BTreeSet;

use docket_domain::limits::{BUSY_JITTER_SECONDS, BUSY_PAUSE_SECONDS, HALT_PAUSE_SECONDS, WRITE_TRIES_MAX};
use docket_domain::moment::Moment;
use docket_domain::outcome::NotApplied;
use docket_domain::status::{
    Acknowledgement, By, DueStep, Evidence, Finding, Record, ReviewReason, Wait, Write, WriteEvent,
    WriteOrder, WriteReview, WriteState,
};

use super::samples::{
    LEASE_SECONDS, acknowledgements, at, cause, now, recorded, token, why, write_events, write_orders, writes,
};

/// Every pair of a shape and an event that it allows, with the result.
fn steps() -> Vec<(Write, WriteEvent, Write)> {
    let events = write_events();
    let mut steps = Vec::new();
    for before in writes() {
        for event in &events {
            if let Ok(after) = before.after(event, now()) {
                steps.push((before.clone(), event.clone(), after));
            }
        }
    }
    steps
}

fn record_with(write: &Write) -> Record {
    Record { write: write.clone(), ..recorded() }
}

fn review_of(write: &Write) -> Option<(WriteReview, Moment)> {
    match &write.state {
        WriteState::Pending { wait: Wait::Review { reason, since }, .. }
        | WriteState::Uncertain { wait: Wait::Review { reason, since }, .. } => Some((*reason, *since)),
        _ => None,
    }
}

/// What is known when the last try was turned away: all of it, unless an append before an operator's order was lost sight of.
fn turned_away_for_good(lookups: u32) -> WriteReview {
    if lookups > 0 { WriteReview::NoMatchingRow } else { WriteReview::WriteRefused }
}

/// What the design's picture draws, as words: a new arrow here is a decision, not an accident.
#[test]
fn the_arrows_between_states_are_those_of_the_picture() {
    // What was turned away for good is reviewed while pending, and everything else while uncertain.
    let fits = |before: &Write| match (&before.state, review_of(before)) {
        (WriteState::Pending { .. }, Some((reason, _))) => reason == turned_away_for_good(before.lookups),
        (_, Some((reason, _))) => reason != WriteReview::WriteRefused,
        (_, None) => true,
    };
    let arrows: BTreeSet<String> = steps()
        .iter()
        .filter(|(before, _, _)| fits(before))
        .map(|(before, event, after)| {
            let shown = |write: &Write| match review_of(write) {
                Some(_) => format!("{}, in review", write.state.as_str()),
                None => write.state.as_str().to_owned(),
            };
            format!("{} --{}--> {}", shown(before), event.as_str(), shown(after))
        })
        .collect();
    insta::assert_snapshot!(arrows.into_iter().collect::<Vec<_>>().join("\n"), @r"
    attempting --append_applied--> confirmed
    attempting --append_misplaced--> uncertain, in review
    attempting --append_not_applied--> pending
    attempting --append_not_applied--> pending, in review
    attempting --append_unknown--> uncertain
    attempting --lease_ran_out--> uncertain
    pending --append_not_applied--> pending
    pending --append_not_applied--> pending, in review
    pending --claimed--> attempting
    pending --looked_up--> confirmed
    pending --looked_up--> pending
    pending --looked_up--> uncertain, in review
    pending, in review --looked_up--> confirmed
    pending, in review --ordered_abandon--> abandoned
    pending, in review --ordered_append_again--> pending
    pending, in review --ordered_recorded--> confirmed
    uncertain --looked_up--> confirmed
    uncertain --looked_up--> uncertain
    uncertain --looked_up--> uncertain, in review
    uncertain, in review --looked_up--> confirmed
    uncertain, in review --looked_up--> uncertain, in review
    uncertain, in review --ordered_abandon--> abandoned
    uncertain, in review --ordered_append_again--> pending
    uncertain, in review --ordered_recorded--> confirmed
    ");
}

#[test]
fn an_append_starts_only_from_a_pending_write_that_is_due() {
    let mut claimed = 0;
    for (before, event, after) in steps() {
        let WriteState::Attempting { attempt } = &after.state else { continue };
        claimed += 1;
        let WriteState::Pending { wait: Wait::Due(due_at), .. } = &before.state else {
            panic!("{event:?} led from {before:?} to an append")
        };
        assert!(*due_at <= now() && matches!(event, WriteEvent::Claimed { .. }), "{before:?} {event:?}");
        assert_eq!((attempt.token.clone(), attempt.at), (token("ours"), now()));
        assert!(attempt.lease_until >= now().plus_seconds(LEASE_SECONDS), "{attempt:?}");
        assert_eq!(after.attempts, before.attempts + 1);
    }
    assert!(claimed > 0);
}

#[test]
fn a_write_is_pending_again_only_when_it_is_known_not_to_be_applied_or_by_an_operators_order() {
    for (before, event, after) in steps() {
        if !matches!(after.state, WriteState::Pending { .. }) {
            continue;
        }
        match (&before.state, &event) {
            (WriteState::Pending { .. } | WriteState::Attempting { .. }, WriteEvent::NotApplied { .. })
            | (_, WriteEvent::Ordered(WriteOrder::AppendAgain { .. })) => {}
            // The look before the append taught nothing.
            (WriteState::Pending { .. }, WriteEvent::LookedUp { finding: Finding::Unreadable(_), .. }) => {
                assert_eq!(after.attempts, before.attempts);
            }
            _ => panic!("{event:?} led from {before:?} back to pending"),
        }
    }
}

#[test]
fn confirmed_always_has_evidence_of_its_kind() {
    for (before, event, after) in steps() {
        let WriteState::Confirmed { evidence } = &after.state else { continue };
        match (evidence, &event, &before.state) {
            (
                Evidence::AppendAnswer { range },
                WriteEvent::Applied { range: answered },
                WriteState::Attempting { .. },
            ) => assert_eq!(range, answered),
            (
                Evidence::ReadBack { range },
                WriteEvent::LookedUp { finding: Finding::OneEqual { range: read }, .. },
                WriteState::Uncertain { .. },
            ) => assert_eq!(range, read),
            // Sent off again by a person, and there before the append.
            (
                Evidence::ReadBack { range },
                WriteEvent::LookedUp { finding: Finding::OneEqual { range: read }, .. },
                WriteState::Pending { wait: Wait::Due(_), .. },
            ) if before.lookups > 0 => assert_eq!(range, read),
            // Turned away, and entered by a person since.
            (
                Evidence::ReadBack { range },
                WriteEvent::LookedUp { finding: Finding::OneEqual { range: read }, .. },
                WriteState::Pending { wait: Wait::Review { .. }, .. },
            ) => assert_eq!(range, read),
            (
                Evidence::Operator { why: given },
                WriteEvent::Ordered(WriteOrder::Recorded { .. }),
                WriteState::Uncertain { wait: Wait::Review { .. }, .. }
                | WriteState::Pending { wait: Wait::Review { .. }, .. },
            ) => assert_eq!(given, &why()),
            _ => panic!("{event:?} confirmed {before:?} with {evidence:?}"),
        }
    }
}

#[test]
fn a_write_is_over_or_due_or_in_review_and_never_two_of_them() {
    for (before, event, after) in steps() {
        let record = record_with(&after);
        let over = matches!(after.state, WriteState::Confirmed { .. } | WriteState::Abandoned);
        let (due, reviews) = (record.due(), record.reviews());
        let kinds = [over, due.is_some(), !reviews.is_empty()];
        assert_eq!(
            kinds.iter().filter(|kind| **kind).count(),
            1,
            "{before:?} {event:?} {after:?}: over, due, in review are {kinds:?}"
        );
        if let Some((step, due_at)) = due {
            assert!(due_at >= now().whole_second(), "{event:?} made {after:?} due in the past");
            let expected = match &after.state {
                WriteState::Pending { .. } => DueStep::Append,
                _ => DueStep::LookUp,
            };
            assert_eq!(step, expected);
        }
        assert_eq!(record.finished(), over);
    }
}

#[test]
fn what_is_over_stays_as_it_is() {
    for before in writes() {
        if matches!(before.state, WriteState::Confirmed { .. } | WriteState::Abandoned) {
            for event in write_events() {
                assert!(before.after(&event, now()).is_err(), "{before:?} {event:?}");
            }
        }
    }
}

#[test]
fn an_operator_may_order_what_the_table_offers_for_the_reason_and_nothing_without_a_review() {
    use WriteReview as R;
    // Recorded, append again, abandon.
    let offered = |reason| match reason {
        R::NoMatchingRow | R::MisplacedRow | R::SheetUnreadable => [true, true, true],
        R::SeveralRows | R::RowDiffers => [true, false, true],
        R::WriteRefused => [false, true, true],
    };
    let mut in_review = 0;
    for before in writes() {
        let expected = review_of(&before).map_or([false; 3], |(reason, _)| offered(reason));
        in_review += usize::from(review_of(&before).is_some());
        for (order, offered) in write_orders().into_iter().zip(expected) {
            let result = before.after(&WriteEvent::Ordered(order.clone()), now());
            assert_eq!(result.is_ok(), offered, "{before:?} {order:?}");
        }
    }
    assert!(in_review > 0);
}

#[test]
fn a_lease_that_runs_is_left_alone_and_one_that_ended_is_never_a_second_append() {
    for before in writes() {
        let WriteState::Attempting { attempt } = &before.state else { continue };
        let claim = WriteEvent::Claimed { token: token("ours"), lease_seconds: LEASE_SECONDS };
        assert!(before.after(&claim, now()).is_err(), "{before:?}");
        match before.after(&WriteEvent::LeaseRanOut, now()) {
            Ok(after) => {
                assert!(attempt.lease_until <= now());
                assert!(
                    matches!(&after.state, WriteState::Uncertain { attempt: kept, wait: Wait::Due(due_at), .. }
                    if kept == attempt && *due_at <= now())
                );
            }
            Err(_) => assert!(attempt.lease_until > now(), "{before:?}"),
        }
    }
}

#[test]
fn a_review_keeps_the_moment_it_opened_until_it_is_settled() {
    for (before, event, after) in steps() {
        if let (Some((_, since)), Some((_, still))) = (review_of(&before), review_of(&after)) {
            assert_eq!(since, still, "{before:?} {event:?}");
        }
        if let (None, Some((_, opened))) = (review_of(&before), review_of(&after)) {
            assert_eq!(opened, now(), "{before:?} {event:?}");
        }
    }
}

#[test]
fn an_unreadable_sheet_and_an_empty_one_before_the_settle_time_open_no_other_review() {
    for (before, event, after) in steps() {
        let WriteEvent::LookedUp { finding, started_at, settle_seconds } = &event else { continue };
        let WriteState::Uncertain { attempt, .. } = &before.state else {
            if review_of(&before).is_some() {
                assert_eq!(after.state.as_str(), "confirmed");
                continue;
            }
            // Sent off again by a person: only a look that shows no row lets it be appended.
            assert!(before.is_looked_for_first() && *finding != Finding::None, "{before:?} {event:?}");
            let reason = review_of(&after).map(|(reason, _)| reason);
            let expected = match finding {
                Finding::OneDiffers { .. } => Some(WriteReview::RowDiffers),
                Finding::Several { .. } => Some(WriteReview::SeveralRows),
                _ => None,
            };
            assert_eq!((reason, after.lookups), (expected, before.lookups + 1));
            continue;
        };
        let (was, is) = (review_of(&before), review_of(&after));
        let settled = *started_at >= attempt.at.plus_seconds(*settle_seconds);
        match finding {
            Finding::None if !settled => assert_eq!(was, is, "{before:?} {event:?}"),
            Finding::Unreadable(_) if was.is_some() => assert_eq!(was, is, "{before:?} {event:?}"),
            Finding::Unreadable(_) => {
                let a_day = now().seconds_since(attempt.at) >= 86_400;
                assert_eq!(is.map(|(reason, _)| reason), a_day.then_some(WriteReview::SheetUnreadable));
            }
            Finding::None => {
                let reason = is.map(|(reason, _)| reason);
                let misplaced = matches!(was, Some((WriteReview::MisplacedRow, _)));
                let expected = if misplaced { WriteReview::MisplacedRow } else { WriteReview::NoMatchingRow };
                assert_eq!(reason, Some(expected), "{before:?} {event:?}");
            }
            Finding::Several { .. } => {
                assert_eq!(is.map(|(reason, _)| reason), Some(WriteReview::SeveralRows));
            }
            Finding::OneDiffers { .. } => {
                assert_eq!(is.map(|(reason, _)| reason), Some(WriteReview::RowDiffers));
            }
            Finding::OneEqual { .. } => assert_eq!(after.state.as_str(), "confirmed"),
        }
        assert_eq!(after.lookups, before.lookups + 1);
    }
}

#[test]
fn a_busy_or_halted_sheet_costs_no_try_and_a_busy_one_is_left_alone_for_a_minute() {
    let mut seen = 0;
    for (before, event, after) in steps() {
        let WriteEvent::NotApplied { reason, jitter_seconds } = &event else { continue };
        let tries_before = match &before.state {
            WriteState::Attempting { .. } => before.attempts.saturating_sub(1),
            _ => before.attempts,
        };
        let due_at = record_with(&after).due().map(|(_, due_at)| due_at);
        match reason {
            NotApplied::Busy { retry_after_seconds, .. } => {
                seen += 1;
                // As long as Google asks, within reason, and never less than a minute.
                let asked = match retry_after_seconds {
                    Some(300) => 300,
                    Some(86_400) => 3_600,
                    Some(_) | None => BUSY_PAUSE_SECONDS,
                };
                let pause = asked + (*jitter_seconds).min(BUSY_JITTER_SECONDS);
                assert_eq!(due_at, Some(now().plus_seconds(pause).up_to_second()));
                assert_eq!(after.attempts, tries_before);
            }
            NotApplied::Halt(_) => {
                assert_eq!(due_at, Some(now().plus_seconds(HALT_PAUSE_SECONDS).up_to_second()));
                assert_eq!(after.attempts, tries_before);
            }
            NotApplied::TryAgain(_) => {
                assert_eq!(after.attempts, tries_before + 1);
                assert_eq!(due_at.is_none(), after.attempts >= WRITE_TRIES_MAX, "{before:?}");
                assert_eq!(review_of(&after).is_some(), due_at.is_none());
            }
            NotApplied::CellAlone(_) => {
                assert_eq!(review_of(&after), Some((turned_away_for_good(before.lookups), now())));
            }
            NotApplied::CellInCompany(_) if after.attempts >= WRITE_TRIES_MAX => {
                assert_eq!(review_of(&after), Some((turned_away_for_good(before.lookups), now())));
            }
            NotApplied::CellInCompany(_) => {
                assert!(due_at.is_some_and(|due_at| due_at <= now()), "each goes alone at once");
                assert!(after.goes_alone());
            }
        }
    }
    assert!(seen > 0);
}

#[test]
fn tries_that_did_not_leave_are_bounded_to_about_a_day() {
    let mut record = recorded();
    let mut now = at(0);
    let mut tries = 0;
    while let Some((DueStep::Append, due_at)) = record.due() {
        now = now.max(due_at);
        let claim = WriteEvent::Claimed { token: token("ours"), lease_seconds: LEASE_SECONDS };
        record = record.write_after(&claim, now, &By::Writer).expect("a due record can be claimed");
        let refused =
            WriteEvent::NotApplied { reason: NotApplied::TryAgain(cause("refused")), jitter_seconds: 0 };
        record = record.write_after(&refused, now, &By::Writer).expect("a claimed record can be turned away");
        tries += 1;
        assert!(tries <= WRITE_TRIES_MAX, "for ever");
    }
    assert_eq!(tries, WRITE_TRIES_MAX);
    assert_eq!(record.reviews()[0].reason, ReviewReason::Write(WriteReview::WriteRefused));
    let hours = now.seconds_since(at(0)) / 3_600;
    assert!((20..=28).contains(&hours), "{hours} hours");
}

#[test]
fn a_sheet_that_stays_halted_for_a_month_loses_no_record_to_a_review() {
    let mut record = recorded();
    let mut now = at(0);
    for _ in 0..30 * 24 * 60 {
        let (_, due_at) = record.due().expect("a halted record waits for the machine");
        now = now.max(due_at);
        let halted =
            WriteEvent::NotApplied { reason: NotApplied::Halt(cause("no_such_tab")), jitter_seconds: 0 };
        record = record.write_after(&halted, now, &By::Writer).expect("a due record can be put off");
    }
    assert!(record.reviews().is_empty());
    assert_eq!(record.write.attempts, 0);
    assert_eq!(record.history.entries().len(), 2, "one line for the month");
}

/// The words of the table, the index, the metrics and the runbook.
#[test]
fn the_reasons_for_a_review_are_those_of_the_table() {
    let words = ReviewReason::ALL.map(ReviewReason::as_str);
    assert_eq!(
        words,
        [
            "no_matching_row",
            "several_rows",
            "row_differs",
            "misplaced_row",
            "write_refused",
            "sheet_unreadable",
            "ack_uncertain",
            "conflict",
        ]
    );
}

/// A doorbell may ring twice; the second ring meets a record that is put off already.
#[test]
fn a_doubled_ring_does_not_put_off_a_record_again() {
    let halted = WriteEvent::NotApplied { reason: NotApplied::TryAgain(cause("refused")), jitter_seconds: 0 };
    let once = recorded().write_after(&halted, at(1), &By::Writer).expect("it was due");
    assert!(once.write_after(&halted, at(2), &By::Writer).is_err());
}

#[test]
fn a_recorded_submission_can_be_claimed_at_once() {
    let claim = WriteEvent::Claimed { token: token("ours"), lease_seconds: LEASE_SECONDS };
    let record = recorded();
    assert!(
        record.write_after(&claim, at(0), &By::Writer).is_ok(),
        "due {:?}, now {:?}",
        record.due(),
        at(0)
    );
}

#[test]
fn a_write_event_touches_the_acknowledgement_only_from_none_to_pending_and_only_with_evidence() {
    let mut started = 0;
    for (before, event, after) in steps() {
        let record = record_with(&before);
        let next = record.write_after(&event, now(), &By::Writer).expect("the write allows it");
        let confirmed = matches!(after.state, WriteState::Confirmed { .. });
        assert_eq!(next.write, after);
        match (&next.acknowledgement, confirmed) {
            (Some(Acknowledgement { state, attempts: 0, moved_to: None }), true) => {
                assert_eq!(state.as_str(), "pending");
                started += 1;
            }
            (None, false) => {}
            (other, _) => panic!("{before:?} {event:?}: the acknowledgement became {other:?}"),
        }
        assert_eq!(next.version, record.version + 1);
        assert_eq!(next.submission, record.submission);
        let entry = next.history.entries().last().expect("a history");
        assert_eq!((entry.step.as_str(), entry.to.as_deref()), (event.as_str(), Some(after.state.as_str())));
    }
    assert!(started > 0);
    // One that stands already, however it came there, is never set back to the start.
    for acknowledgement in acknowledgements() {
        for (before, event, _) in steps().into_iter().step_by(37) {
            let record = Record { acknowledgement: Some(acknowledgement.clone()), ..record_with(&before) };
            let next = record.write_after(&event, now(), &By::Writer).expect("the write allows it");
            assert_eq!(next.acknowledgement, record.acknowledgement, "{before:?} {event:?}");
        }
    }
}
