//! The sparse indexes follow the states, and the wire shows what each worker touches.

use docket_domain::moment::Moment;
use docket_domain::ports::Submissions as _;
use docket_domain::status::{
    AckEvent, AckOrder, AttemptToken, By, Cause, DueStep, Finding, Record, ReviewReason, WriteEvent,
    WriteOrder, WriteReview,
};
use docket_world::wire::Side;

use super::{Item, Store, claimed, later, number, submission, text};

impl Store {
    /// Everything listed in either index at a moment when all is due.
    async fn listed(&self) -> Vec<&'static str> {
        let mut listed = Vec::new();
        for step in DueStep::ALL {
            let due = self.submissions.due(step, later(1_000_000), 100).await.unwrap();
            listed.extend(due.iter().map(|_| step.as_str()));
        }
        for reason in ReviewReason::ALL {
            let open = self.submissions.reviews(reason, 100).await.unwrap();
            listed.extend(open.iter().map(|_| reason.as_str()));
        }
        listed
    }

    async fn wrote(&self, seen: &Record, event: WriteEvent, at: u64) -> Record {
        let next = seen.write_after(&event, later(at), &By::Writer).unwrap();
        self.stored(seen, &next, later(at)).await
    }

    async fn acknowledged(&self, seen: &Record, event: AckEvent, at: u64) -> Record {
        let next = seen.acknowledgement_after(&event, later(at), &By::Acknowledger).unwrap();
        self.stored(seen, &next, later(at)).await
    }
}

#[tokio::test]
async fn a_record_is_listed_exactly_where_somebody_must_look() {
    let store = Store::open("indexes").await;
    let why = || "by hand".to_owned();
    let record = store.recorded(1).await;
    assert_eq!(store.listed().await, ["append"]);

    let record = store.stored(&record, &claimed(&record, "token-1", later(10)), later(10)).await;
    assert_eq!(store.listed().await, ["lookup"]);

    let unknown = WriteEvent::Unknown { cause: Cause::new("timeout"), settle_seconds: 300 };
    let record = store.wrote(&record, unknown, 20).await;
    assert_eq!(store.listed().await, ["lookup"]);

    let none = WriteEvent::LookedUp { finding: Finding::None, started_at: later(400), settle_seconds: 300 };
    let record = store.wrote(&record, none, 401).await;
    assert_eq!(store.listed().await, ["no_matching_row"]);
    let open = store.submissions.reviews(ReviewReason::Write(WriteReview::NoMatchingRow), 9).await.unwrap();
    assert_eq!(open[0].0, record.submission.reference);
    assert_eq!(open[0].1.since, later(401).whole_second());

    let again = WriteEvent::Ordered(WriteOrder::AppendAgain { why: why() });
    let record = store.wrote(&record, again, 500).await;
    assert_eq!(store.listed().await, ["append"]);

    let record = store.stored(&record, &claimed(&record, "token-2", later(510)), later(510)).await;
    let record = store.wrote(&record, WriteEvent::Applied { range: "'Intake'!A2:F2".into() }, 511).await;
    assert_eq!(store.listed().await, ["acknowledge"]);
    assert!(!store.item(&record.submission.reference).await.contains_key("expires_at"));

    let claim = AckEvent::Claimed { token: AttemptToken("token-3".into()), lease_seconds: 120 };
    let record = store.acknowledged(&record, claim, 520).await;
    assert_eq!(store.listed().await, ["acknowledge"]);

    let record = store.acknowledged(&record, AckEvent::Unknown { cause: Cause::new("timeout") }, 530).await;
    assert_eq!(store.listed().await, ["ack_uncertain"]);

    let record = store.acknowledged(&record, AckEvent::Ordered(AckOrder::Seen { why: why() }), 540).await;
    assert_eq!(store.listed().await, Vec::<&str>::new());
    let item = store.item(&record.submission.reference).await;
    assert_eq!(item["expires_at"], number(later(540).up_to_second().seconds() + 365 * 86_400));
    for gone in ["due_at", "due_shard", "review", "review_since", "write_review", "ack_review", "ack_attempt"]
    {
        assert!(!item.contains_key(gone), "{gone}");
    }
}

#[tokio::test]
async fn what_is_due_comes_in_order_and_never_early() {
    let store = Store::open("due").await;
    for chat_id in 1..=12 {
        let record = store.recorded(chat_id).await;
        // Due one after the other, the last recorded first.
        let claim = claimed(&record, "token", later(100 - u64::try_from(chat_id).unwrap()));
        store.stored(&record, &claim, later(100)).await;
    }
    let lease_end = |chat_id: u64| later(100 - chat_id + 120).up_to_second();
    let due = store.submissions.due(DueStep::LookUp, lease_end(7), 100).await.unwrap();
    assert_eq!(
        due.iter().map(|(_, at)| *at).collect::<Vec<_>>(),
        (7..=12).rev().map(lease_end).collect::<Vec<_>>()
    );

    let first = store.submissions.due(DueStep::LookUp, later(1_000), 2).await.unwrap();
    assert_eq!(first[0].0, submission(12, "words").reference);
    assert_eq!(first.len(), 2);
    assert_eq!(store.submissions.due(DueStep::LookUp, later(1_000), 0).await, Ok(vec![]));
    assert_eq!(store.submissions.due(DueStep::Append, later(1_000), 9).await, Ok(vec![]));

    let just_before = Moment::from_millis(lease_end(12).millis() - 1);
    assert_eq!(store.submissions.due(DueStep::LookUp, just_before, 9).await, Ok(vec![]));
}

#[tokio::test]
async fn an_index_entry_that_cannot_be_read_does_not_hide_those_behind_it() {
    let store = Store::open("index-damaged").await;
    for n in 0..5 {
        let entry = Item::from([
            ("reference".to_owned(), text(&format!("not a reference {n}"))),
            ("due_shard".to_owned(), text("append")),
            ("due_at".to_owned(), number(n)),
        ]);
        store.put(&store.tables.submissions, entry).await;
    }
    let record = store.recorded(1).await;
    let due = store.submissions.due(DueStep::Append, later(60), 1).await.unwrap();
    assert_eq!(due[0].0, record.submission.reference);
    // One page after the other: each page asked for one more.
    assert!(store.calls("Query") >= 6, "{}", store.calls("Query"));
}

#[tokio::test]
async fn the_acknowledgers_update_carries_no_attribute_of_the_write() {
    let store = Store::open("rule-10").await;
    let record = store.recorded(1).await;
    let record = store.stored(&record, &claimed(&record, "token-1", later(10)), later(10)).await;
    let record = store.wrote(&record, WriteEvent::Applied { range: "'Intake'!A2:F2".into() }, 11).await;

    store.wire.clear_log();
    let claim = AckEvent::Claimed { token: AttemptToken("token-2".into()), lease_seconds: 120 };
    let record = store.acknowledged(&record, claim, 20).await;
    store.acknowledged(&record, AckEvent::Accepted { message_id: Some(77) }, 21).await;

    let updates: Vec<_> =
        store.wire.calls().into_iter().filter(|call| call.operation == "UpdateItem").collect();
    assert_eq!(updates.len(), 2);
    for update in updates {
        assert_eq!(update.side, Side::DynamoDb);
        let names = update.json()["ExpressionAttributeNames"].as_object().unwrap().clone();
        assert!(names.values().any(|name| name == "ack_state"));
        assert!(names.values().all(|name| !name.as_str().unwrap().starts_with("write_")), "{names:?}");
    }
}
