//! Items that this release cannot read: told by the name of what is wrong, and left as they are.

use docket_domain::ports::{StoreError, Submissions as _};
use docket_domain::status::Cause;

use super::{Store, claimed, later, number, text};

#[tokio::test]
async fn a_half_filled_item_is_not_read_and_not_overwritten() {
    let store = Store::open("half").await;
    let seen = store.recorded(1).await;
    let whole = store.item(&seen.submission.reference).await;
    for (name, value, cause) in [
        ("write_state", None, "missing:write_state"),
        ("due_at", None, "missing:due_at"),
        ("due_shard", None, "contradiction:due_shard"),
        ("write_attempts", Some(text("0")), "malformed:write_attempts"),
        ("write_state", Some(text("confirmed")), "missing:write_evidence"),
        ("ack_state", Some(text("pending")), "missing:ack_attempts"),
        ("expires_at", Some(number(1)), "contradiction:expires_at"),
    ] {
        let mut item = whole.clone();
        match value {
            Some(value) => item.insert(name.to_owned(), value),
            None => item.remove(name),
        };
        store.put(&store.tables.submissions, item.clone()).await;
        let read = store.submissions.get(&seen.submission.reference).await;
        assert_eq!(read, Err(StoreError::Unreadable(Cause::new(cause))));
        assert_eq!(store.item(&seen.submission.reference).await, item);
    }
}

#[tokio::test]
async fn a_change_that_meets_an_unreadable_item_says_so() {
    let store = Store::open("meets").await;
    let seen = store.recorded(1).await;
    let mut item = store.item(&seen.submission.reference).await;
    item.insert("version".to_owned(), number(2));
    item.remove("summary");
    store.put(&store.tables.submissions, item).await;
    let outcome = store.submissions.apply(&seen, &claimed(&seen, "ours", later(60)), later(60)).await;
    assert_eq!(outcome, Err(StoreError::Unreadable(Cause::new("missing:summary"))));
}
