//! A panic in the middle of a batch returns all of its rings, and the same process answers the next event. The records tell
//! how far it got: what may have reached the sheet is read back, never appended again.
//!
//! Nothing in production panics on purpose, so the sheet and the queue stand here as ports that do.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use docket_adapters::lambda::Function as _;
use docket_domain::limits::{FUNCTION_TIMEOUT_SECONDS, LEASE_SECONDS, SETTLE_SECONDS};
use docket_domain::metric::Metric;
use docket_domain::moment::Moment;
use docket_domain::outcome::sheets::classify_append;
use docket_domain::outcome::{AppendOutcome, Exchange, NotApplied};
use docket_domain::ports::{
    Applied, Clock, Doorbell, Meter, NotRung, Removed, Sheet, StoreError, Submissions,
};
use docket_domain::reference::Reference;
use docket_domain::row::Row;
use docket_domain::status::{DueStep, Finding, OpenReview, Record, ReviewReason};
use docket_domain::submission::{ChatId, Contact, Fingerprint, Submission, Summary};
use serde_json::{Value, json};
use writer::Writer;

const TAB: &str = "Intake";

/// Where a panic strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Panics {
    /// While the sheet is asked whether it is fit.
    Asking,
    /// Before the rows reach the sheet.
    Appending,
    /// When they are in it.
    Appended,
    /// While the sheet is read back.
    LookingUp,
    /// While the acknowledger is rung for.
    Ringing,
}

/// Strikes once each.
struct Traps(Mutex<Vec<Panics>>);

impl Traps {
    fn passes(&self, at: Panics) {
        let strikes = self.0.lock().unwrap().extract_if(.., |trap| *trap == at).next().is_some();
        assert!(!strikes, "struck while {at:?}");
    }
}

/// The table, conditional on what was seen as the real one is.
#[derive(Default)]
struct Table(Mutex<HashMap<Reference, Record>>);

impl Submissions for Table {
    async fn get(&self, reference: &Reference) -> Result<Option<Record>, StoreError> {
        Ok(self.0.lock().unwrap().get(reference).cloned())
    }

    async fn apply(&self, seen: &Record, next: &Record, _now: Moment) -> Result<Applied, StoreError> {
        let mut records = self.0.lock().unwrap();
        let stored = records.get(&seen.submission.reference);
        if stored != Some(seen) {
            return Ok(Applied::Lost(stored.cloned().map(Box::new)));
        }
        records.insert(next.submission.reference.clone(), next.clone());
        Ok(Applied::Ours)
    }

    async fn remove(&self, seen: &Record) -> Result<Removed, StoreError> {
        panic!("{} was to be removed", seen.submission.reference)
    }

    async fn due(&self, _: DueStep, _: Moment, _: usize) -> Result<Vec<(Reference, Moment)>, StoreError> {
        Ok(Vec::new())
    }

    async fn reviews(&self, _: ReviewReason, _: usize) -> Result<Vec<(Reference, OpenReview)>, StoreError> {
        Ok(Vec::new())
    }
}

/// The sheet: its rows below the header.
struct Rows<'a> {
    rows: Mutex<Vec<Row>>,
    traps: &'a Traps,
}

impl Sheet for &Rows<'_> {
    async fn ready(&self, _rows: usize) -> Result<(), NotApplied> {
        self.traps.passes(Panics::Asking);
        Ok(())
    }

    async fn append(&self, rows: &[Row]) -> AppendOutcome {
        self.traps.passes(Panics::Appending);
        let first = {
            let mut all = self.rows.lock().unwrap();
            all.extend_from_slice(rows);
            all.len() - rows.len() + 2
        };
        self.traps.passes(Panics::Appended);
        let range = format!("{TAB}!A{first}:F{}", first + rows.len() - 1);
        let body = json!({"updates": {"updatedRange": range, "updatedRows": rows.len()}}).to_string();
        let answered = Exchange::Answered { status: 200, retry_after_seconds: None, body: body.into_bytes() };
        classify_append(&answered, TAB, rows.len())
    }

    async fn look_up(&self, rows: &[Row]) -> Result<Vec<Finding>, NotApplied> {
        self.traps.passes(Panics::LookingUp);
        let all = self.rows.lock().unwrap();
        let find = |row: &Row| match all.iter().position(|there| there == row) {
            Some(place) => Finding::OneEqual { range: format!("{TAB}!A{0}:F{0}", place + 2) },
            None => Finding::None,
        };
        Ok(rows.iter().map(find).collect())
    }

    fn tab(&self) -> &str {
        TAB
    }
}

struct Bell<'a>(&'a Traps);

impl Doorbell for Bell<'_> {
    async fn ring(&self, _: &[Reference]) -> Result<(), NotRung> {
        self.0.passes(Panics::Ringing);
        Ok(())
    }
}

struct Turned(AtomicI64);

impl Clock for &Turned {
    fn now(&self) -> Moment {
        Moment::from_millis(self.0.load(Ordering::SeqCst))
    }

    async fn pause_ms(&self, milliseconds: u64) {
        self.0.fetch_add(i64::try_from(milliseconds).unwrap(), Ordering::SeqCst);
    }
}

struct Uncounted;

impl Meter for Uncounted {
    fn record(&self, _: Metric, _: f64) {}
}

fn recorded(chat_id: i64, now: Moment) -> Record {
    let (chat, summary) = (ChatId(chat_id), Summary::clean("New gutters, please.").unwrap());
    let submission = Submission {
        reference: Reference::derive(1, chat_id, 1),
        request_type: "A quote".into(),
        fingerprint: Fingerprint::of("A quote", &summary, chat),
        summary,
        chat_id: chat,
        contact: Contact::of_user("Ann", None, None),
        confirmed_at: now.whole_second(),
        origin: format!("telegram/1/{chat_id}/1"),
    };
    Record::recorded(submission, now)
}

fn event(records: &[Record]) -> Value {
    let message = |record: &Record| {
        let body = json!({"v": 1, "reference": record.submission.reference}).to_string();
        json!({
            "messageId": format!("message-{}", record.submission.chat_id),
            "body": body,
            "attributes": {"MessageGroupId": "sheet"},
        })
    };
    json!({"Records": records.iter().map(message).collect::<Vec<Value>>()})
}

#[tokio::test]
async fn a_panic_returns_every_ring_and_the_next_event_is_answered_without_a_second_row() {
    // Where it strikes, and how many rows there are in the end: nobody appends blindly what was claimed.
    for (strikes, rows_each) in [
        (vec![Panics::Asking], 1),
        (vec![Panics::Appending], 0),
        (vec![Panics::Appended], 1),
        (vec![Panics::Appended, Panics::LookingUp], 1),
        (vec![Panics::Ringing], 1),
    ] {
        let traps = Traps(Mutex::new(strikes.clone()));
        let turned = Turned(AtomicI64::new(1_772_356_500_000));
        let clock = &turned;
        let records: Vec<Record> = (1..=3).map(|chat_id| recorded(chat_id, clock.now())).collect();
        let table = records.iter().map(|record| (record.submission.reference.clone(), record.clone()));
        let sheet = Rows { rows: Mutex::default(), traps: &traps };
        let writer = Writer {
            submissions: Table(Mutex::new(table.collect())),
            sheet: &sheet,
            acknowledge_queue: Bell(&traps),
            clock,
            meter: Uncounted,
            timing: Default::default(),
            pace: Default::default(),
            misplaced: Default::default(),
        };
        let all_of_them: Vec<Value> = records
            .iter()
            .map(|record| json!({"itemIdentifier": format!("message-{}", record.submission.chat_id)}))
            .collect();
        let mut struck = 0;
        let mut answered = 0;
        // Rung for at once, and again after each minute, until whatever could be settled is.
        for _ in 0..=(LEASE_SECONDS + SETTLE_SECONDS) / 60 + 2 {
            let left = traps.0.lock().unwrap().len();
            let deadline = clock.now().plus_seconds(FUNCTION_TIMEOUT_SECONDS);
            let answer = writer.handle(event(&records), deadline).await.unwrap();
            if traps.0.lock().unwrap().len() < left {
                assert_eq!(answer, json!({"batchItemFailures": all_of_them}), "{strikes:?}");
                struck += 1;
            } else {
                assert_eq!(answer, json!({"batchItemFailures": []}), "{strikes:?}");
                answered += 1;
            }
            clock.pause_ms(60_000).await;
        }
        assert!(struck == strikes.len() && answered > 0, "{strikes:?}: {struck} panics");
        for record in &records {
            let stored = writer.submissions.get(&record.submission.reference).await.unwrap().unwrap();
            let row = Row::of(&record.submission);
            let rows = sheet.rows.lock().unwrap().iter().filter(|there| **there == row).count();
            assert_eq!(rows, rows_each, "{strikes:?}");
            let reviews: Vec<&str> = stored.reviews().iter().map(|review| review.reason.as_str()).collect();
            match rows {
                1 => assert_eq!((stored.write.state.as_str(), reviews), ("confirmed", vec![]), "{strikes:?}"),
                _ => assert_eq!(reviews, ["no_matching_row"], "{strikes:?}"),
            }
        }
    }
}
