//! Many at once: one wins, and the others have no effect and learn what stands there.

use docket_domain::ports::{Applied, Submissions as _};
use docket_domain::status::{By, Conflict, ConflictEvent, WriteEvent};
use docket_domain::submission::Fingerprint;
use futures::future::join_all;

use super::{Store, claimed, later, shared, submission, text};

#[tokio::test]
async fn of_64_who_claim_one_record_one_wins_and_the_others_see_the_winner() {
    let store = Store::open("racers").await;
    let seen = store.recorded(1).await;
    let claims: Vec<_> = (0..64).map(|n| claimed(&seen, &format!("token-{n}"), later(60))).collect();

    let outcomes = join_all(claims.iter().map(|next| store.submissions.apply(&seen, next, later(60)))).await;

    let stored = store.get(&seen.submission.reference).await;
    let mut winners = 0;
    for (claim, outcome) in claims.iter().zip(outcomes) {
        match outcome.unwrap() {
            Applied::Ours => {
                winners += 1;
                assert_eq!(claim, &stored);
            }
            Applied::Lost(current) => assert_eq!(current.as_deref(), Some(&stored)),
        }
    }
    assert_eq!(winners, 1);
}

#[tokio::test]
async fn a_change_decided_from_an_older_version_has_no_effect() {
    let store = Store::open("lost-update").await;
    let seen = store.recorded(1).await;
    let first = store.stored(&seen, &claimed(&seen, "first", later(60)), later(60)).await;

    let conflict = Conflict {
        at: later(61),
        request_type: "Order".into(),
        summary: submission(1, "other words").summary,
        fingerprint: Fingerprint::of("Order", &submission(1, "other words").summary, seen.submission.chat_id),
    };
    let stale = seen.conflict_after(&ConflictEvent::Arrived(conflict), later(61), &By::Webhook).unwrap();
    let outcome = store.submissions.apply(&seen, &stale, later(61)).await.unwrap();

    assert_eq!(outcome, Applied::Lost(Some(Box::new(first.clone()))));
    assert_eq!(store.get(&seen.submission.reference).await, first);
}

#[tokio::test]
async fn a_deleted_record_does_not_come_back_in_half() {
    let store = Store::open("deleted").await;
    let seen = store.recorded(1).await;
    let client = shared().await.dynamodb_client();
    let reference = text(seen.submission.reference.as_str());
    client
        .delete_item()
        .table_name(&store.tables.submissions)
        .key("reference", reference)
        .send()
        .await
        .unwrap();

    let outcome =
        store.submissions.apply(&seen, &claimed(&seen, "late", later(60)), later(60)).await.unwrap();

    assert_eq!(outcome, Applied::Lost(None));
    assert_eq!(store.submissions.get(&seen.submission.reference).await, Ok(None));
    assert_eq!(store.references().await, 0);
}

#[tokio::test]
async fn chat_ids_of_64_bits_come_back_to_the_last_digit() {
    let store = Store::open("chat-ids").await;
    for chat_id in [9_007_199_254_740_993, -1_002_000_000_001, 4_503_599_627_370_495, -5, i64::MAX, i64::MIN]
    {
        let seen = store.recorded(chat_id).await;
        let record = store.stored(&seen, &claimed(&seen, "token", later(60)), later(60)).await;
        let applied = WriteEvent::Applied { range: "'Intake'!A2:F2".into() };
        let next = record.write_after(&applied, later(61), &By::Writer).unwrap();
        let record = store.stored(&record, &next, later(61)).await;
        assert_eq!(record.submission.chat_id.0, chat_id);
    }
}
