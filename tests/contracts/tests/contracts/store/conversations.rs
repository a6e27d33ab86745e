//! Conversations: versioned, readable or replaced, and never locked.

use aws_sdk_dynamodb::types::AttributeValue;
use docket_domain::intake::{Conversation, Draft, DraftStep, Stored};
use docket_domain::ports::{Conversations as _, Saved, StoreError};
use docket_domain::submission::ChatId;
use docket_world::engines::Item;
use docket_world::wire::{Fault, Plan, Side};
use futures::future::join_all;

use super::{FOR_GOOD, Store, later, now, number, text};

const CHAT: ChatId = ChatId(-1_002_000_000_001);

fn draft(id: i64) -> Conversation {
    let step = DraftStep::WritingSummary { request_type: "Repair".into() };
    Conversation {
        draft: Some(Draft { id, sender_id: 7, expires_at: later(86_400), step }),
        confirmed: vec![],
    }
}

async fn saved(store: &Store, seen: &Stored, next: &Conversation) -> Saved {
    store.conversations.save(CHAT, seen, next, now()).await.unwrap()
}

async fn load(store: &Store) -> Stored {
    store.conversations.load(CHAT).await.unwrap()
}

#[tokio::test]
async fn a_conversation_is_versioned_from_change_to_change() {
    let store = Store::open("versions").await;
    assert_eq!(load(&store).await, Stored::Absent);
    assert_eq!(saved(&store, &Stored::Absent, &draft(1)).await, Saved::Ours);
    let first = load(&store).await;
    assert_eq!(first, Stored::Present { version: 1, conversation: draft(1) });
    assert_eq!(saved(&store, &first, &draft(2)).await, Saved::Ours);
    let second = load(&store).await;
    assert_eq!(second, Stored::Present { version: 2, conversation: draft(2) });

    assert_eq!(saved(&store, &first, &draft(3)).await, Saved::Lost);
    assert_eq!(saved(&store, &Stored::Absent, &draft(3)).await, Saved::Lost);
    assert_eq!(load(&store).await, second);
}

#[tokio::test]
async fn of_many_updates_of_one_chat_one_wins() {
    let store = Store::open("updates").await;
    let drafts: Vec<_> = (1..=16).map(draft).collect();
    let outcomes = join_all(drafts.iter().map(|next| saved(&store, &Stored::Absent, next))).await;
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Saved::Ours).count(), 1);
    let winner = outcomes.iter().position(|outcome| *outcome == Saved::Ours).unwrap();
    assert_eq!(load(&store).await, Stored::Present { version: 1, conversation: drafts[winner].clone() });
}

#[tokio::test]
async fn whatever_stands_in_its_place_a_chat_is_never_locked() {
    let store = Store::open("never-locked").await;
    let item = |fields: &[(&str, AttributeValue)]| -> Item {
        let mut item = Item::from([("chat_id".to_owned(), number(CHAT.0))]);
        item.extend(fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        item
    };
    let json = || text(r#"{"draft":null,"confirmed":[]}"#);
    let broken = || AttributeValue::N("1.5".into());
    for (fields, version) in [
        (vec![], None),
        (vec![("garbage", text("x"))], None),
        (vec![("version", text("1")), ("schema", number(1)), ("conversation", json())], None),
        (vec![("version", broken()), ("schema", number(1)), ("conversation", json())], None),
        (vec![("version", number(-3))], None),
        (vec![("version", number(41))], Some(41)),
        (vec![("version", number(41)), ("schema", number(2)), ("conversation", json())], Some(41)),
        (
            vec![("version", number(41)), ("schema", number(1)), ("conversation", text("{\"draft\":1}"))],
            Some(41),
        ),
    ] {
        store.put(&store.tables.conversations, item(&fields)).await;
        let seen = load(&store).await;
        assert_eq!(seen, Stored::Unreadable { version }, "{fields:?}");

        assert_eq!(saved(&store, &seen, &draft(1)).await, Saved::Ours, "{fields:?}");
        let version = version.map_or(1, |version| version + 1);
        assert_eq!(load(&store).await, Stored::Present { version, conversation: draft(1) });
        // A second one who saw the same damage does not drop the draft.
        assert_eq!(saved(&store, &seen, &draft(2)).await, Saved::Lost, "{fields:?}");
    }
}

#[tokio::test]
async fn our_own_success_is_recognised_however_its_answer_is_lost() {
    for (prefix, fault, times) in [
        ("save-lost", Fault::LoseAnswer, 1),
        ("save-500", Fault::Answer500After, 1),
        ("save-hang", Fault::ApplyThenHang, 1),
        ("save-for-good", Fault::LoseAnswer, FOR_GOOD),
        ("save-conflict", Fault::TransactionConflict, 2),
    ] {
        let store = Store::open(prefix).await;
        store.fail("PutItem", fault, times);
        let outcome = saved(&store, &Stored::Absent, &draft(1)).await;
        assert_eq!(outcome, Saved::Ours, "{}", store.wire.plan_to_string());
        assert_eq!(load(&store).await, Stored::Present { version: 1, conversation: draft(1) });
    }
}

#[tokio::test]
async fn a_save_says_what_it_does_not_know() {
    let store = Store::open("save-unknown").await;
    let next = Conversation::default();
    let save = || store.conversations.save(CHAT, &Stored::Absent, &next, now());
    store.fail("PutItem", Fault::FailBefore, FOR_GOOD);
    assert!(matches!(save().await, Err(StoreError::OutcomeUnknown(_))));
    for fault in [Fault::Throttle, Fault::TransactionConflict] {
        store.fail("PutItem", fault, FOR_GOOD);
        assert!(matches!(save().await, Err(StoreError::NotApplied(_))));
    }
    assert_eq!(load(&store).await, Stored::Absent);
    store.wire.set_plan(Plan::outage(Side::DynamoDb, Fault::LoseAnswer));
    assert!(matches!(save().await, Err(StoreError::OutcomeUnknown(_))));
}
