//! Every shape of an acknowledgement meets every event.

use std::collections::BTreeSet;

use docket_domain::limits::HALT_PAUSE_SECONDS;
use docket_domain::outcome::NotSent;
use docket_domain::status::{
    AckEvent, AckOrder, AckState, Acknowledgement, By, ConflictEvent, DueStep, Evidence, Record,
    ReviewReason, Wait, Write, WriteReview, WriteState,
};
use docket_domain::submission::ChatId;

use super::samples::{
    LEASE_SECONDS, ack_events, acknowledgements, at, cause, conflict, now, range, recorded, token, why,
};

fn steps() -> Vec<(Acknowledgement, AckEvent, Acknowledgement)> {
    let events = ack_events();
    let mut steps = Vec::new();
    for before in acknowledgements() {
        for event in &events {
            if let Ok(after) = before.after(event, now()) {
                steps.push((before.clone(), event.clone(), after));
            }
        }
    }
    steps
}

fn written(acknowledgement: &Acknowledgement) -> Record {
    let state = WriteState::Confirmed { evidence: Evidence::AppendAnswer { range: range() } };
    Record {
        write: Write { state, attempts: 1, lookups: 0 },
        acknowledgement: Some(acknowledgement.clone()),
        ..recorded()
    }
}

#[test]
fn the_arrows_between_states_are_those_of_the_picture() {
    let arrows: BTreeSet<String> = steps()
        .iter()
        .map(|(before, event, after)| {
            format!("{} --{}--> {}", before.state.as_str(), event.as_str(), after.state.as_str())
        })
        .collect();
    insta::assert_snapshot!(arrows.into_iter().collect::<Vec<_>>().join("\n"), @r"
    attempting --ack_accepted--> confirmed
    attempting --ack_chat_moved--> pending
    attempting --ack_chat_moved--> refused
    attempting --ack_lease_ran_out--> uncertain
    attempting --ack_not_sent--> pending
    attempting --ack_refused--> refused
    attempting --ack_unknown--> uncertain
    pending --ack_claimed--> attempting
    uncertain --ordered_leave--> abandoned
    uncertain --ordered_seen--> confirmed
    uncertain --ordered_send_again--> pending
    ");
}

#[test]
fn a_message_is_sent_only_from_a_pending_acknowledgement_that_is_due() {
    for (before, event, after) in steps() {
        let AckState::Attempting { attempt } = &after.state else { continue };
        let AckState::Pending { due_at, .. } = &before.state else {
            panic!("{event:?} led from {before:?} to a send")
        };
        assert!(*due_at <= now() && matches!(event, AckEvent::Claimed { .. }), "{before:?} {event:?}");
        assert!(attempt.lease_until >= now().plus_seconds(LEASE_SECONDS));
    }
}

#[test]
fn an_uncertain_message_is_repeated_only_by_an_operators_order() {
    let mut repeated = 0;
    for (before, event, after) in steps() {
        if matches!(before.state, AckState::Uncertain { .. })
            && matches!(after.state, AckState::Pending { .. })
        {
            assert!(matches!(event, AckEvent::Ordered(AckOrder::SendAgain { .. })), "{before:?} {event:?}");
            repeated += 1;
        }
    }
    assert!(repeated > 0);
}

#[test]
fn an_acknowledgement_is_over_or_due_or_in_review_and_never_two_of_them() {
    for (before, event, after) in steps() {
        let record = written(&after);
        let over = matches!(
            after.state,
            AckState::Confirmed { .. } | AckState::Refused { .. } | AckState::Abandoned
        );
        let kinds = [over, record.due().is_some(), !record.reviews().is_empty()];
        assert_eq!(
            kinds.iter().filter(|kind| **kind).count(),
            1,
            "{before:?} {event:?} {after:?}: {kinds:?}"
        );
        assert_eq!(record.finished(), over);
        if let Some((step, due_at)) = record.due() {
            assert_eq!(step, DueStep::Acknowledge);
            assert!(due_at >= now().whole_second(), "{before:?} {event:?}");
        }
        for review in record.reviews() {
            assert_eq!(review.reason, ReviewReason::AckUncertain);
        }
    }
}

#[test]
fn an_acknowledgement_never_changes_the_write() {
    for (before, event, after) in steps() {
        let record = written(&before);
        let next = record.acknowledgement_after(&event, now(), &By::Acknowledger).expect("it allows it");
        assert_eq!((&next.write, next.acknowledgement.as_ref()), (&record.write, Some(&after)));
        assert_eq!((&next.submission, next.version), (&record.submission, record.version + 1));
    }
}

#[test]
fn nothing_is_acknowledged_before_the_write_is_confirmed() {
    for event in ack_events() {
        let refused = recorded().acknowledgement_after(&event, now(), &By::Acknowledger);
        assert_eq!(refused.map_err(|error| error.state), Err("none"), "{event:?}");
    }
}

#[test]
fn too_many_messages_and_a_wrong_token_cost_no_try_and_the_pause_is_the_one_that_was_named() {
    let attempting =
        acknowledgements().into_iter().filter(|a| matches!(a.state, AckState::Attempting { .. }));
    for before in attempting {
        for retry_after_seconds in [1, 901, 90_000] {
            let busy = AckEvent::NotSent(NotSent::Busy { retry_after_seconds });
            let after = before.after(&busy, now()).expect("turned away");
            let due_at = now().plus_seconds(retry_after_seconds).up_to_second();
            assert_eq!(after.state, AckState::Pending { due_at, cause: Some(cause("http_429")) });
            assert_eq!(after.attempts, before.attempts.saturating_sub(1));
        }
        let halt = AckEvent::NotSent(NotSent::Halt(cause("http_401")));
        let after = before.after(&halt, now()).expect("turned away");
        let due_at = now().plus_seconds(HALT_PAUSE_SECONDS).up_to_second();
        assert_eq!(after.state, AckState::Pending { due_at, cause: Some(cause("http_401")) });
        assert_eq!(after.attempts, before.attempts.saturating_sub(1));
    }
}

#[test]
fn a_pause_of_any_length_is_a_moment() {
    let attempting = written(&acknowledgements().remove(0));
    let claimable = Acknowledgement {
        state: AckState::Pending { due_at: at(0), cause: None },
        attempts: 0,
        moved_to: None,
    };
    let record = Record { acknowledgement: Some(claimable), ..attempting };
    let claim = AckEvent::Claimed { token: token("ours"), lease_seconds: LEASE_SECONDS };
    let claimed = record.acknowledgement_after(&claim, at(1), &By::Acknowledger).expect("due");
    for retry_after_seconds in [9_300_000_000_000_000, i64::MAX as u64, u64::MAX] {
        let busy = AckEvent::NotSent(NotSent::Busy { retry_after_seconds });
        let next = claimed.acknowledgement_after(&busy, at(2), &By::Acknowledger).expect("turned away");
        assert_eq!(
            next.due().map(|(_, due_at)| due_at.to_string()),
            Some("9999-12-31T23:59:59.999Z".to_owned())
        );
    }
}

#[test]
fn a_chat_that_moved_is_followed_once() {
    let (first, second) = (ChatId(-1_002_000_000_009), ChatId(-1_002_000_000_010));
    let start = Acknowledgement {
        state: AckState::Pending { due_at: at(0), cause: None },
        attempts: 0,
        moved_to: None,
    };
    let claim = AckEvent::Claimed { token: token("ours"), lease_seconds: LEASE_SECONDS };
    let claimed = start.after(&claim, at(0)).expect("due");
    let moved = claimed.after(&AckEvent::Moved { to: first }, at(1)).expect("moved");
    assert_eq!((moved.moved_to, moved.state.as_str()), (Some(first), "pending"));
    let again = moved.after(&claim, at(1)).expect("due at once");
    let refused = again.after(&AckEvent::Moved { to: second }, at(2)).expect("moved again");
    assert_eq!((refused.moved_to, refused.state.as_str()), (Some(first), "refused"));
}

#[test]
fn an_operator_who_orders_another_message_keeps_the_chat_it_moved_to() {
    let uncertain = acknowledgements()
        .into_iter()
        .find(|a| matches!(a.state, AckState::Uncertain { .. }) && a.moved_to.is_some())
        .expect("such a shape");
    let order = AckEvent::Ordered(AckOrder::SendAgain { why: why() });
    let next = uncertain.after(&order, now()).expect("it is in review");
    assert_eq!((next.moved_to, next.attempts), (uncertain.moved_to, 0));
    let claim = AckEvent::Claimed { token: token("ours"), lease_seconds: LEASE_SECONDS };
    assert!(next.after(&claim, now()).is_ok(), "due at once");
}

#[test]
fn a_message_that_only_a_person_saw_has_no_id() {
    let uncertain = acknowledgements().into_iter().find(|a| matches!(a.state, AckState::Uncertain { .. }));
    let order = AckEvent::Ordered(AckOrder::Seen { why: why() });
    let next = uncertain.expect("such a shape").after(&order, now()).expect("it is in review");
    assert_eq!(next.state, AckState::Confirmed { message_id: None });
}

#[test]
fn a_conflict_keeps_the_first_content_and_is_open_until_a_person_closes_it() {
    let record = recorded();
    let arrived = ConflictEvent::Arrived(conflict("Thirteen chairs", at(5)));
    let open = record.conflict_after(&arrived, at(5), &By::Webhook).expect("another content");
    assert_eq!(open.submission, record.submission);
    assert_eq!((&open.write, &open.acknowledgement), (&record.write, &record.acknowledgement));
    assert_eq!(
        open.reviews().iter().map(|r| (r.reason, r.since)).collect::<Vec<_>>(),
        [(ReviewReason::Conflict, at(5))]
    );
    let other = ConflictEvent::Arrived(conflict("Fourteen chairs", at(9)));
    let both = open.conflict_after(&other, at(9), &By::Webhook).expect("a third content");
    assert_eq!((both.conflicts.len(), both.conflict_review), (2, Some(at(5))));

    let close = ConflictEvent::KeepFirst { why: why() };
    let operator = By::Operator("arn:aws:iam::1:user/ann".to_owned());
    let closed = both.conflict_after(&close, at(20), &operator).expect("open");
    assert_eq!((closed.conflict_review, closed.conflicts.len()), (None, 2));
    assert!(closed.conflict_after(&close, at(21), &operator).is_err(), "nothing is open");
    assert_eq!(closed.history.entries().last().and_then(|entry| entry.why.clone()), Some(why()));
}

#[test]
fn a_record_may_wait_for_a_person_and_a_machine_at_once_and_lists_the_write_first() {
    let record = recorded();
    let arrived = ConflictEvent::Arrived(conflict("Thirteen chairs", at(5)));
    let open = record.conflict_after(&arrived, at(5), &By::Webhook).expect("another content");
    assert!(open.due().is_some() && !open.finished(), "the first content is still written");

    let uncertain = acknowledgements().into_iter().find(|a| matches!(a.state, AckState::Uncertain { .. }));
    let both = written(&uncertain.expect("such a shape"));
    let both = both.conflict_after(&arrived, at(5), &By::Webhook).expect("another content");
    let reasons: Vec<ReviewReason> = both.reviews().iter().map(|review| review.reason).collect();
    assert_eq!(reasons, [ReviewReason::AckUncertain, ReviewReason::Conflict]);

    let wait = Wait::Review { reason: WriteReview::WriteRefused, since: at(1) };
    let refused = Write { state: WriteState::Pending { wait, cause: None }, attempts: 100, lookups: 0 };
    let refused = Record { write: refused, ..open };
    let reasons: Vec<ReviewReason> = refused.reviews().iter().map(|review| review.reason).collect();
    assert_eq!(reasons, [ReviewReason::Write(WriteReview::WriteRefused), ReviewReason::Conflict]);
}

#[test]
fn a_redelivered_conflict_does_not_open_again_what_a_person_closed() {
    let arrived = ConflictEvent::Arrived(conflict("Thirteen chairs", at(5)));
    let open = recorded().conflict_after(&arrived, at(5), &By::Webhook).expect("another content");
    let close = ConflictEvent::KeepFirst { why: why() };
    let closed = open.conflict_after(&close, at(20), &By::Operator("ann".to_owned())).expect("open");
    assert!(closed.conflict_after(&arrived, at(30), &By::Webhook).is_err());
}

#[test]
fn conflicts_are_bounded_and_the_review_opens_even_for_one_that_is_not_kept() {
    let mut record = recorded();
    for n in 0..50 {
        let arrived = ConflictEvent::Arrived(conflict(&format!("{n} chairs"), at(n)));
        record = record.conflict_after(&arrived, at(n), &By::Webhook).expect("another content");
    }
    assert_eq!(record.conflicts.len(), 10);
    assert_eq!(record.conflicts[0].summary.as_str(), "0 chairs");
    let close = ConflictEvent::KeepFirst { why: why() };
    let closed = record.conflict_after(&close, at(60), &By::Operator("ann".to_owned())).expect("open");
    let arrived = ConflictEvent::Arrived(conflict("99 chairs", at(70)));
    let again = closed.conflict_after(&arrived, at(70), &By::Webhook).expect("a content not seen");
    assert_eq!(again.conflict_review, Some(at(70)));
}
