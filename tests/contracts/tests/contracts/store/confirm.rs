//! The Confirm: submission and draft change together or not at all, and exactly one of several presses wins.

use docket_domain::intake::{Card, ConfirmedMessage, Conversation, Draft, DraftStep, Stored};
use docket_domain::ports::{Confirmed, Conversations as _, Saved, StoreError, Submissions as _};
use docket_domain::status::{Cause, Record};
use docket_domain::submission::{ChatId, Submission};
use docket_world::wire::{Fault, Plan, Side};
use futures::future::join_all;

use super::{FOR_GOOD, Store, WORKER, later, now, submission};

const CHAT: i64 = -1_002_000_000_001;

fn card(words: &str) -> Conversation {
    let summary = submission(CHAT, words).summary;
    let step = DraftStep::Card(Card { request_type: "Repair".into(), message_id: 7, summary });
    Conversation {
        draft: Some(Draft { id: 5, sender_id: 7, expires_at: later(86_400), step }),
        confirmed: vec![],
    }
}

fn without_draft(submission: &Submission) -> Conversation {
    let confirmed = ConfirmedMessage { message_id: 7, reference: submission.reference.clone() };
    Conversation { draft: None, confirmed: vec![confirmed] }
}

impl Store {
    /// A chat that looks at a card.
    async fn with_card(&self) -> Stored {
        let chat_id = ChatId(CHAT);
        assert_eq!(
            self.conversations.save(chat_id, &Stored::Absent, &card("words"), now()).await,
            Ok(Saved::Ours)
        );
        self.conversations.load(chat_id).await.unwrap()
    }

    async fn confirm(&self, seen: &Stored, submission: &Submission) -> Result<Confirmed, StoreError> {
        self.conversations.confirm(seen, &without_draft(submission), submission, now()).await
    }

    async fn conversation(&self) -> Stored {
        self.conversations.load(ChatId(CHAT)).await.unwrap()
    }

    async fn holds_the_draft(&self) -> bool {
        matches!(self.conversation().await, Stored::Present { conversation, .. } if conversation.draft.is_some())
    }
}

#[tokio::test]
async fn a_confirm_stores_the_submission_and_ends_the_draft() {
    let store = Store::open("confirm").await;
    let (seen, ours) = (store.with_card().await, submission(CHAT, "words"));
    assert_eq!(store.confirm(&seen, &ours).await, Ok(Confirmed::Stored));
    assert_eq!(store.get(&ours.reference).await, Record::recorded(ours.clone(), now()));
    let conversation = without_draft(&ours);
    assert_eq!(store.conversation().await, Stored::Present { version: 2, conversation });
}

#[tokio::test]
async fn a_reference_that_exists_is_given_back_and_nothing_changes() {
    let store = Store::open("exists").await;
    let (seen, first) = (store.with_card().await, submission(CHAT, "words"));
    store.confirm(&seen, &first).await.unwrap();
    let record = store.get(&first.reference).await;

    // Both conditions fail: the submission's answer counts.
    assert_eq!(store.confirm(&seen, &first).await, Ok(Confirmed::Exists(Box::new(record.clone()))));

    // Only the submission's fails: a card of the same message came up again, with other words.
    let open = store.conversation().await;
    let chat_id = ChatId(CHAT);
    store.conversations.save(chat_id, &open, &card("other words"), now()).await.unwrap();
    let other = submission(CHAT, "other words");
    assert_eq!(other.reference, first.reference);
    let seen = store.conversation().await;
    let Ok(Confirmed::Exists(existing)) = store.confirm(&seen, &other).await else { panic!("it exists") };
    assert_eq!(*existing, record);
    assert_ne!(existing.submission.fingerprint, other.fingerprint);
    assert!(store.holds_the_draft().await);
    assert_eq!(store.get(&first.reference).await, record);
}

#[tokio::test]
async fn a_draft_that_moved_on_is_not_confirmed() {
    let store = Store::open("moved-on").await;
    let (seen, ours) = (store.with_card().await, submission(CHAT, "words"));
    store.conversations.save(ChatId(CHAT), &seen, &card("newer words"), now()).await.unwrap();
    assert_eq!(store.confirm(&seen, &ours).await, Ok(Confirmed::Lost));
    assert_eq!(store.confirm(&Stored::Absent, &ours).await, Ok(Confirmed::Lost));
    assert_eq!(store.submissions.get(&ours.reference).await, Ok(None));
}

#[tokio::test]
async fn of_confirm_and_cancel_pressed_together_exactly_one_wins() {
    let (mut confirms, mut cancels) = (0, 0);
    for round in 0..24 {
        let store = Store::open(&format!("cancel-{round}")).await;
        let (seen, ours) = (store.with_card().await, submission(CHAT, "words"));
        let cancelled = Conversation::default();
        let confirm = store.confirm(&seen, &ours);
        let cancel = store.conversations.save(ChatId(CHAT), &seen, &cancelled, now());
        // One after the other, in both orders; then together, in both orders of leaving.
        let (confirmed, saved) = match round {
            0 => (confirm.await, cancel.await),
            1 => {
                let saved = cancel.await;
                (confirm.await, saved)
            }
            round if round % 2 == 0 => futures::join!(confirm, cancel),
            _ => {
                let (saved, confirmed) = futures::join!(cancel, confirm);
                (confirmed, saved)
            }
        };
        let stored = store.submissions.get(&ours.reference).await.unwrap().is_some();
        match (confirmed.unwrap(), saved.unwrap()) {
            (Confirmed::Stored, Saved::Lost) => {
                confirms += 1;
                assert!(stored);
            }
            (Confirmed::Lost, Saved::Ours) => {
                cancels += 1;
                assert!(!stored);
            }
            both => panic!("both or neither: {both:?}"),
        }
        assert!(!store.holds_the_draft().await);
    }
    // Both did occur.
    assert!(confirms > 0 && cancels > 0, "{confirms} confirms and {cancels} cancels won");
}

#[tokio::test]
async fn a_double_tap_stores_one_submission() {
    let store = Store::open("double-tap").await;
    let (seen, ours) = (store.with_card().await, submission(CHAT, "words"));
    let taps = join_all((0..8).map(|_| store.confirm(&seen, &ours))).await;
    let record = store.get(&ours.reference).await;
    let mut stored = 0;
    for tap in taps {
        match tap.unwrap() {
            Confirmed::Stored => stored += 1,
            Confirmed::Exists(existing) => assert_eq!(*existing, record),
            Confirmed::Lost => panic!("the reference exists: a replay, not a race"),
        }
    }
    assert_eq!((stored, store.references().await), (1, 1));
}

#[tokio::test]
async fn our_own_confirm_is_recognised_however_its_answer_is_lost() {
    for (prefix, fault, times) in [
        ("confirm-lost", Fault::LoseAnswer, 1),
        ("confirm-500", Fault::Answer500After, 1),
        ("confirm-hang", Fault::ApplyThenHang, 1),
        ("confirm-for-good", Fault::LoseAnswer, FOR_GOOD),
        ("confirm-500-for-good", Fault::Answer500After, FOR_GOOD),
        ("confirm-conflict", Fault::TransactionConflict, 3),
    ] {
        let store = Store::open(prefix).await;
        let (seen, ours) = (store.with_card().await, submission(CHAT, "words"));
        store.fail("TransactWriteItems", fault, times);
        let outcome = store.confirm(&seen, &ours).await;
        assert_eq!(outcome, Ok(Confirmed::Stored), "{}", store.wire.plan_to_string());
        assert_eq!(store.get(&ours.reference).await, Record::recorded(ours, now()));
        assert!(!store.holds_the_draft().await);
    }
}

#[tokio::test]
async fn the_sdks_own_repetitions_carry_one_token_and_ours_another() {
    let store = Store::open("token").await;
    let (seen, ours) = (store.with_card().await, submission(CHAT, "words"));
    let lost = Plan::at_operation(WORKER, Side::DynamoDb, "TransactWriteItems", 2, Fault::LoseAnswer);
    let busy =
        Plan::at_operation(WORKER, Side::DynamoDb, "TransactWriteItems", 1, Fault::TransactionConflict);
    store.wire.set_plan(lost.and(busy));
    assert_eq!(store.confirm(&seen, &ours).await, Ok(Confirmed::Stored));
    let calls = store.wire.calls();
    let tokens: Vec<_> = calls
        .iter()
        .filter(|call| call.operation == "TransactWriteItems")
        .map(|call| call.json()["ClientRequestToken"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(tokens.len(), 3);
    assert_ne!(tokens[0], tokens[1]);
    assert_eq!(tokens[1], tokens[2]);
}

#[tokio::test]
async fn a_confirm_says_what_it_does_not_know() {
    let store = Store::open("confirm-unknown").await;
    let (seen, ours) = (store.with_card().await, submission(CHAT, "words"));
    store.fail("TransactWriteItems", Fault::FailBefore, FOR_GOOD);
    let outcome = store.confirm(&seen, &ours).await;
    assert!(matches!(outcome, Err(StoreError::OutcomeUnknown(_))), "{outcome:?}");

    store.fail("TransactWriteItems", Fault::TransactionConflict, FOR_GOOD);
    assert_eq!(
        store.confirm(&seen, &ours).await,
        Err(StoreError::NotApplied(Cause::new("TransactionConflict")))
    );
    store.fail("TransactWriteItems", Fault::Throttle, FOR_GOOD);
    assert!(matches!(store.confirm(&seen, &ours).await, Err(StoreError::NotApplied(_))));
    assert_eq!(store.references().await, 0);
    assert!(store.holds_the_draft().await);

    store.wire.set_plan(Plan::outage(Side::DynamoDb, Fault::LoseAnswer));
    assert!(matches!(store.confirm(&seen, &ours).await, Err(StoreError::OutcomeUnknown(_))));
}

#[tokio::test]
async fn a_confirm_whose_answers_are_lost_while_a_cancel_was_faster_is_lost() {
    let store = Store::open("lost-and-cancelled").await;
    let (seen, ours) = (store.with_card().await, submission(CHAT, "words"));
    store.conversations.save(ChatId(CHAT), &seen, &Conversation::default(), now()).await.unwrap();
    store.fail("TransactWriteItems", Fault::LoseAnswer, FOR_GOOD);
    assert_eq!(store.confirm(&seen, &ours).await, Ok(Confirmed::Lost));
    assert_eq!(store.references().await, 0);
}
