//! Records for the tests of this room: one in every state, with every kind of fact.

use docket_domain::moment::Moment;
use docket_domain::reference::Reference;
use docket_domain::status::{
    AckState, Acknowledgement, Attempt, AttemptToken, By, Cause, Conflict, ConflictEvent, Evidence, Record,
    ReviewReason, Settle, Wait, Write, WriteState,
};
use docket_domain::submission::{ChatId, Contact, Fingerprint, Submission, Summary};

/// Not a whole second, so that rounding shows.
pub(super) fn now() -> Moment {
    Moment::from_millis(1_772_356_500_123)
}

fn due() -> Moment {
    now().plus_seconds(60).up_to_second()
}

pub(super) fn submission(summary: &str, chat_id: i64) -> Submission {
    let summary = Summary::clean(summary).expect("has words");
    Submission {
        reference: Reference::derive(99, chat_id, 7),
        request_type: "Repair".into(),
        fingerprint: Fingerprint::of("Repair", &summary, ChatId(chat_id)),
        summary,
        chat_id: ChatId(chat_id),
        contact: Contact::of_user("Ann", None, Some("ann")),
        confirmed_at: now().whole_second(),
        origin: format!("telegram/99/{chat_id}/7"),
    }
}

pub(super) fn fresh() -> Record {
    Record::recorded(submission("=1+1\n\"words\" 😀", -1_002_000_000_001), now())
}

pub(super) fn attempt() -> Attempt {
    Attempt {
        token: AttemptToken("token-1".into()),
        at: now(),
        lease_until: now().plus_seconds(120).up_to_second(),
    }
}

pub(super) fn conflict(summary: &str) -> Conflict {
    let summary = Summary::clean(summary).expect("has words");
    let fingerprint = Fingerprint::of("Order", &summary, ChatId(-1_002_000_000_001));
    Conflict { at: now(), request_type: "Order".into(), summary, fingerprint }
}

fn write_states() -> Vec<WriteState> {
    let mut waits = vec![Wait::Due(due())];
    waits.extend(ReviewReason::ALL.into_iter().filter_map(|reason| match reason {
        ReviewReason::Write(reason) => Some(Wait::Review { reason, since: now() }),
        ReviewReason::AckUncertain | ReviewReason::Conflict => None,
    }));
    let mut states = vec![WriteState::Attempting { attempt: attempt() }, WriteState::Abandoned];
    for wait in waits {
        for cause in [None, Some(Cause::new("http_429"))] {
            states.push(WriteState::Pending { wait: wait.clone(), cause });
        }
        states.push(WriteState::Uncertain { attempt: attempt(), wait, cause: Cause::new("timeout") });
    }
    states
}

pub(super) fn ack_states() -> Vec<AckState> {
    vec![
        AckState::Pending { due_at: due(), cause: None },
        AckState::Pending { due_at: due(), cause: Some(Cause::new("connect")) },
        AckState::Attempting { attempt: attempt() },
        AckState::Uncertain { attempt: attempt(), cause: Cause::new("timeout"), review_since: now() },
        AckState::Confirmed { message_id: Some(9_007_199_254_740_993) },
        AckState::Confirmed { message_id: None },
        AckState::Refused { cause: Cause::new("blocked") },
        AckState::Abandoned,
    ]
}

/// The write confirmed, and the acknowledgement in `state`.
pub(super) fn confirmed(evidence: Evidence, state: AckState, moved_to: Option<ChatId>) -> Record {
    Record {
        write: Write { state: WriteState::Confirmed { evidence }, attempts: 1, lookups: 2 },
        acknowledgement: Some(Acknowledgement { state, attempts: 3, moved_to }),
        version: 9_007_199_254_740_993,
        ..fresh()
    }
}

pub(super) fn evidence() -> Vec<Evidence> {
    vec![
        Evidence::AppendAnswer { range: "'Intake'!A2:F2".into() },
        Evidence::ReadBack { range: "'Intake'!A2:F2".into() },
        Evidence::Operator { why: "seen by hand".into() },
    ]
}

/// A record in every state, each also with a conflict that waits for a person and with one that is closed.
pub(super) fn every_state() -> Vec<Record> {
    let mut records: Vec<Record> = write_states()
        .into_iter()
        .map(|state| Record { write: Write { state, attempts: 4, lookups: 5 }, ..fresh() })
        .collect();
    for evidence in evidence() {
        for state in ack_states() {
            for moved_to in [None, Some(ChatId(-1_002_000_000_009))] {
                records.push(confirmed(evidence.clone(), state.clone(), moved_to));
            }
        }
    }
    // Given up, and the customer told so.
    for state in ack_states() {
        records.push(Record {
            write: Write { state: WriteState::Abandoned, attempts: 4, lookups: 5 },
            words: Some("Please send it again, in fewer words.".into()),
            ..confirmed(evidence().remove(0), state, None)
        });
    }
    let conflicts = records.iter().flat_map(|record| {
        let arrived = ConflictEvent::Arrived(conflict("other words"));
        let open = record.conflict_after(&arrived, now(), &By::Webhook).expect("possible");
        let keep = ConflictEvent::KeepFirst { why: "the first".into() };
        let closed = open.conflict_after(&keep, now(), &By::Operator("ann".into())).expect("possible");
        [open, closed]
    });
    let conflicts: Vec<Record> = conflicts.collect();
    records.extend(conflicts);
    // Its customer about to be forgotten, and forgotten, wherever that is possible.
    let by = By::Operator("ann".into());
    let settle = Some(Settle::Abandoned);
    let until = now().plus_seconds(240).up_to_second();
    let begun: Vec<Record> = records
        .iter()
        .filter_map(|record| record.erasure_begun(settle, "asked", until, now(), &by).ok())
        .collect();
    let erased: Vec<Record> =
        begun.iter().filter_map(|record| record.erased(settle, "asked", 2, now(), &by).ok()).collect();
    records.extend(begun);
    records.extend(erased);
    records
}
