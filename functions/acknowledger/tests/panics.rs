//! A panic over one record costs that record's ring and nothing else: the others of its batch are told as ever.
//!
//! Nothing in production panics on purpose, so the table and Telegram stand here as ports that do.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use acknowledger::Acknowledger;
use docket_adapters::lambda::Function as _;
use docket_domain::limits::{FUNCTION_TIMEOUT_SECONDS, LEASE_SECONDS};
use docket_domain::metric::Metric;
use docket_domain::moment::Moment;
use docket_domain::outcome::SendOutcome;
use docket_domain::ports::{Alerts, Applied, Clock, Messenger, Meter, Removed, StoreError, Submissions};
use docket_domain::reference::Reference;
use docket_domain::status::{AttemptToken, By, DueStep, OpenReview, Record, ReviewReason, WriteEvent};
use docket_domain::submission::{ChatId, Contact, Fingerprint, Submission, Summary};
use serde_json::{Value, json};

/// Where a panic strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Panics {
    /// While the record is read.
    Reading,
    /// While the claim is stored.
    Claiming,
    /// While the message is under way.
    Sending,
    /// While Telegram's answer is kept.
    Keeping,
}

/// Strikes once, at one chat.
struct Trap(Mutex<Option<(Panics, ChatId)>>);

impl Trap {
    fn passes(&self, at: Panics, chat_id: ChatId) {
        let strikes = self.0.lock().unwrap().take_if(|trap| *trap == (at, chat_id)).is_some();
        assert!(!strikes, "struck while {at:?}");
    }
}

/// The table, conditional on what was seen as the real one is.
struct Table<'a> {
    records: Mutex<HashMap<Reference, Record>>,
    trap: &'a Trap,
}

/// No review is open here.
impl Alerts for Table<'_> {
    async fn note(&self, _: &Reference, _: Moment, _: Moment) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn take_back(&self, _: &Reference, _: Moment) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Submissions for Table<'_> {
    async fn get(&self, reference: &Reference) -> Result<Option<Record>, StoreError> {
        let record = self.records.lock().unwrap().get(reference).cloned();
        if let Some(record) = &record {
            self.trap.passes(Panics::Reading, record.submission.chat_id);
        }
        Ok(record)
    }

    async fn apply(&self, seen: &Record, next: &Record, _now: Moment) -> Result<Applied, StoreError> {
        let claims = next.acknowledgement.as_ref().is_some_and(|ack| ack.state.as_str() == "attempting");
        let at = if claims { Panics::Claiming } else { Panics::Keeping };
        self.trap.passes(at, seen.submission.chat_id);
        let mut records = self.records.lock().unwrap();
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

/// Telegram, which counts what it delivered.
struct Telegram<'a> {
    sent: Mutex<Vec<ChatId>>,
    trap: &'a Trap,
}

impl Messenger for &Telegram<'_> {
    async fn send(&self, chat_id: ChatId, _text: &str) -> SendOutcome {
        self.trap.passes(Panics::Sending, chat_id);
        self.sent.lock().unwrap().push(chat_id);
        SendOutcome::Accepted { message_id: Some(chat_id.0) }
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

/// An enquiry whose row is known to be there.
fn written(chat_id: i64, now: Moment) -> Record {
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
    let claim = WriteEvent::Claimed { token: AttemptToken("by-hand".into()), lease_seconds: LEASE_SECONDS };
    let applied = WriteEvent::Applied { range: format!("'Intake'!A{chat_id}:F{chat_id}") };
    let record = Record::recorded(submission, now).write_after(&claim, now, &By::Writer).unwrap();
    record.write_after(&applied, now, &By::Writer).unwrap()
}

/// One message a record, called by its chat.
fn event<'a>(records: impl IntoIterator<Item = &'a Record>) -> Value {
    let message = |record: &Record| {
        let body = json!({"v": 1, "reference": record.submission.reference}).to_string();
        json!({"messageId": format!("message-{}", record.submission.chat_id), "body": body})
    };
    json!({"Records": records.into_iter().map(message).collect::<Vec<Value>>()})
}

#[tokio::test]
async fn a_record_that_panics_comes_again_alone_and_the_other_two_are_told() {
    for at in [Panics::Reading, Panics::Claiming, Panics::Sending, Panics::Keeping] {
        for struck in [1, 2, 3] {
            let trap = Trap(Mutex::new(Some((at, ChatId(struck)))));
            let turned = Turned(AtomicI64::new(1_772_356_500_000));
            let clock = &turned;
            let records: Vec<Record> = (1..=3).map(|chat_id| written(chat_id, clock.now())).collect();
            let table = records.iter().map(|record| (record.submission.reference.clone(), record.clone()));
            let telegram = Telegram { sent: Mutex::default(), trap: &trap };
            let acknowledger = Acknowledger {
                submissions: Table { records: Mutex::new(table.collect()), trap: &trap },
                messenger: &telegram,
                clock,
                meter: Uncounted,
                timing: Default::default(),
                catalog: Default::default(),
                pace: Default::default(),
                operator_chat: None,
            };
            let deadline = || clock.now().plus_seconds(FUNCTION_TIMEOUT_SECONDS);
            let state = |record: &Record| {
                let records = acknowledger.submissions.records.lock().unwrap();
                records[&record.submission.reference].acknowledgement.as_ref().unwrap().state.as_str()
            };

            let answer = acknowledger.handle(event(&records), deadline()).await.unwrap();
            assert!(trap.0.lock().unwrap().is_none(), "nothing panicked while {at:?}");
            let returned = format!("message-{struck}");
            assert_eq!(answer, json!({"batchItemFailures": [{"itemIdentifier": returned}]}), "{at:?}");
            for record in records.iter().filter(|record| record.submission.chat_id.0 != struck) {
                assert_eq!(state(record), "confirmed", "{at:?} at {struck}");
            }

            // Its ring comes again when its lease is over: by the same process, which lives on.
            clock.pause_ms((LEASE_SECONDS + 1) * 1_000).await;
            let own = records.iter().filter(|record| record.submission.chat_id.0 == struck);
            let answer = acknowledger.handle(event(own.clone()), deadline()).await.unwrap();
            assert_eq!(answer, json!({"batchItemFailures": []}), "{at:?} at {struck}");
            // What may have been sent is a person's matter; what was never claimed is sent now.
            let (ending, told) = match at {
                Panics::Reading | Panics::Claiming => ("confirmed", 1),
                Panics::Sending => ("uncertain", 0),
                Panics::Keeping => ("uncertain", 1),
            };
            assert_eq!(own.map(state).collect::<Vec<_>>(), [ending], "{at:?} at {struck}");
            let sent = telegram.sent.lock().unwrap();
            for chat_id in 1..=3 {
                let wanted = if chat_id == struck { told } else { 1 };
                let times = sent.iter().filter(|chat| chat.0 == chat_id).count();
                assert_eq!(times, wanted, "{chat_id} was told, {at:?} at {struck}");
            }
        }
    }
}
