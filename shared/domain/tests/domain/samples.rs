//! One submission, its record, and every shape that a write and an acknowledgement can have.

use docket_domain::moment::Moment;
use docket_domain::outcome::{NotApplied, NotSent};
use docket_domain::reference::Reference;
use docket_domain::status::{
    AckEvent, AckOrder, AckState, Acknowledgement, Attempt, AttemptToken, Cause, Conflict, Evidence, Finding,
    Record, Wait, Write, WriteEvent, WriteOrder, WriteReview, WriteState,
};
use docket_domain::submission::{ChatId, Contact, Fingerprint, Submission, Summary};

pub(crate) const LEASE_SECONDS: u64 = 120;
pub(crate) const SETTLE_SECONDS: u64 = 300;

/// So many seconds after 2026-03-01T09:15:00.123Z: never a whole second, as in life.
pub(crate) fn at(seconds: i64) -> Moment {
    Moment::from_millis(1_772_356_500_123 + seconds * 1_000)
}

pub(crate) fn cause(word: &str) -> Cause {
    Cause::new(word)
}

pub(crate) fn token(name: &str) -> AttemptToken {
    AttemptToken(name.to_owned())
}

pub(crate) fn why() -> String {
    "seen by me".to_owned()
}

pub(crate) fn range() -> String {
    "'Intake'!A2:F2".to_owned()
}

pub(crate) fn summary(text: &str) -> Summary {
    Summary::clean(text).expect("a summary that has words")
}

pub(crate) fn submission() -> Submission {
    let (request_type, summary, chat_id) = ("A quote", summary("Twelve chairs"), ChatId(7));
    Submission {
        reference: Reference::derive(99, chat_id.0, 12),
        request_type: request_type.to_owned(),
        fingerprint: Fingerprint::of(request_type, &summary, chat_id),
        summary,
        chat_id,
        contact: Contact::of_user("Ann", None, None),
        confirmed_at: at(0).whole_second(),
        origin: "telegram/99/7/12".to_owned(),
    }
}

pub(crate) fn recorded() -> Record {
    Record::recorded(submission(), at(0))
}

pub(crate) fn conflict(text: &str, now: Moment) -> Conflict {
    let summary = summary(text);
    Conflict {
        at: now,
        request_type: "A quote".to_owned(),
        fingerprint: Fingerprint::of("A quote", &summary, ChatId(7)),
        summary,
    }
}

pub(crate) const WRITE_REVIEWS: [WriteReview; 6] = [
    WriteReview::NoMatchingRow,
    WriteReview::SeveralRows,
    WriteReview::RowDiffers,
    WriteReview::MisplacedRow,
    WriteReview::WriteRefused,
    WriteReview::SheetUnreadable,
];

/// The moment at which events meet the shapes below.
pub(crate) fn now() -> Moment {
    at(100_000)
}

fn attempt(started_seconds_ago: i64, lease_left_seconds: i64) -> Attempt {
    Attempt {
        token: token("theirs"),
        at: at(100_000 - started_seconds_ago),
        lease_until: at(100_000 + lease_left_seconds),
    }
}

/// Due long ago, a second ago, now, and not yet.
fn dues() -> Vec<Wait<WriteReview>> {
    [0, 99_999, 100_000, 100_001, 200_000].map(|seconds| Wait::Due(at(seconds))).to_vec()
}

fn waits() -> Vec<Wait<WriteReview>> {
    let reviews = WRITE_REVIEWS.map(|reason| Wait::Review { reason, since: at(50_000) });
    dues().into_iter().chain(reviews).collect()
}

/// Every shape of a write.
pub(crate) fn writes() -> Vec<Write> {
    let mut states = vec![WriteState::Abandoned];
    for wait in waits() {
        for cause in [None, Some(cause("http_429")), Some(cause("cell_refused_in_company"))] {
            states.push(WriteState::Pending { wait: wait.clone(), cause });
        }
        // Just now; before the settle time; after it; a day ago.
        for ago in [0, 25, 299, 300, 301, 86_399, 86_400, 99_000] {
            states.push(WriteState::Uncertain {
                attempt: attempt(ago, 120 - ago),
                wait: wait.clone(),
                cause: cause("timeout"),
            });
        }
    }
    for (ago, left) in [(0, 120), (119, 1), (120, 0), (121, -1), (90_000, -80_000)] {
        states.push(WriteState::Attempting { attempt: attempt(ago, left) });
    }
    for evidence in [
        Evidence::AppendAnswer { range: range() },
        Evidence::ReadBack { range: range() },
        Evidence::Operator { why: why() },
    ] {
        states.push(WriteState::Confirmed { evidence });
    }
    let with_counts = |state: WriteState| {
        [(0, 0), (1, 0), (99, 2), (100, 3), (101, 40)].map(|(attempts, lookups)| Write {
            state: state.clone(),
            attempts,
            lookups,
        })
    };
    states.into_iter().flat_map(with_counts).collect()
}

/// Every kind of event that may meet a write at [`now`].
pub(crate) fn write_events() -> Vec<WriteEvent> {
    let mut events = vec![
        WriteEvent::Claimed { token: token("ours"), lease_seconds: LEASE_SECONDS },
        WriteEvent::LeaseRanOut,
        WriteEvent::Applied { range: range() },
        WriteEvent::Misplaced { range: "'Intake'!D3:I3".to_owned() },
    ];
    for reason in not_applied() {
        for jitter_seconds in [0, 7, 1_000_000] {
            events.push(WriteEvent::NotApplied { reason: reason.clone(), jitter_seconds });
        }
    }
    for settle_seconds in [10, SETTLE_SECONDS] {
        events.push(WriteEvent::Unknown { cause: cause("timeout"), settle_seconds });
        for finding in findings() {
            for seconds in [99_700, 99_998, 100_000] {
                events.push(WriteEvent::LookedUp {
                    finding: finding.clone(),
                    started_at: at(seconds),
                    settle_seconds,
                });
            }
        }
    }
    events.extend(write_orders().map(WriteEvent::Ordered));
    events
}

pub(crate) fn not_applied() -> [NotApplied; 8] {
    [
        NotApplied::TryAgain(cause("refused")),
        NotApplied::Busy { cause: cause("http_429"), retry_after_seconds: None },
        NotApplied::Busy { cause: cause("http_429"), retry_after_seconds: Some(5) },
        NotApplied::Busy { cause: cause("http_429"), retry_after_seconds: Some(300) },
        NotApplied::Busy { cause: cause("http_429"), retry_after_seconds: Some(86_400) },
        NotApplied::Halt(cause("no_such_tab")),
        NotApplied::CellAlone(cause("cell_refused")),
        NotApplied::CellInCompany(cause("cell_refused_in_company")),
    ]
}

pub(crate) fn findings() -> [Finding; 5] {
    [
        Finding::OneEqual { range: range() },
        Finding::OneDiffers { range: range() },
        Finding::Several { rows: 2 },
        Finding::None,
        Finding::Unreadable(cause("http_503")),
    ]
}

pub(crate) fn write_orders() -> [WriteOrder; 3] {
    [
        WriteOrder::Recorded { why: why() },
        WriteOrder::AppendAgain { why: why() },
        WriteOrder::Abandon { why: why() },
    ]
}

/// Every shape of an acknowledgement.
pub(crate) fn acknowledgements() -> Vec<Acknowledgement> {
    let mut states = vec![
        AckState::Confirmed { message_id: Some(77) },
        AckState::Confirmed { message_id: None },
        AckState::Refused { cause: cause("http_403") },
        AckState::Abandoned,
    ];
    for seconds in [0, 99_999, 100_000, 100_001, 200_000] {
        for cause in [None, Some(cause("http_401"))] {
            states.push(AckState::Pending { due_at: at(seconds), cause });
        }
    }
    for (ago, left) in [(0, 120), (119, 1), (120, 0), (121, -1)] {
        states.push(AckState::Attempting { attempt: attempt(ago, left) });
        states.push(AckState::Uncertain {
            attempt: attempt(ago, left),
            cause: cause("timeout"),
            review_since: at(99_000),
        });
    }
    let with_counts = |state: AckState| {
        [(0, None), (1, None), (50, Some(ChatId(-1_002_000_000_009)))]
            .map(|(attempts, moved_to)| Acknowledgement { state: state.clone(), attempts, moved_to })
    };
    states.into_iter().flat_map(with_counts).collect()
}

/// Every kind of event that may meet an acknowledgement.
pub(crate) fn ack_events() -> Vec<AckEvent> {
    let mut events = vec![
        AckEvent::Claimed { token: token("ours"), lease_seconds: LEASE_SECONDS },
        AckEvent::LeaseRanOut,
        AckEvent::Accepted { message_id: Some(77) },
        AckEvent::Accepted { message_id: None },
        AckEvent::Refused { cause: cause("http_403") },
        AckEvent::Moved { to: ChatId(-1_002_000_000_009) },
        AckEvent::Unknown { cause: cause("timeout") },
    ];
    events.extend(not_sent().map(AckEvent::NotSent));
    events.extend(ack_orders().map(AckEvent::Ordered));
    events
}

pub(crate) fn not_sent() -> [NotSent; 3] {
    [
        NotSent::TryAgain(cause("refused")),
        NotSent::Busy { retry_after_seconds: 90_000 },
        NotSent::Halt(cause("http_401")),
    ]
}

pub(crate) fn ack_orders() -> [AckOrder; 3] {
    [AckOrder::Seen { why: why() }, AckOrder::SendAgain { why: why() }, AckOrder::Leave { why: why() }]
}
