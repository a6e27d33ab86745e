//! What Docket needs of the outside world. Each trait has a real implementation, and a test one or a faked other side.
//!
//! An error says what its caller may do next. "Already there", "somebody else was faster" and "unknown" are outcomes,
//! not errors.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;

use crate::intake::{Conversation, Stored};
use crate::moment::Moment;
use crate::outcome::{AppendOutcome, NotApplied, SendOutcome};
use crate::reference::Reference;
use crate::row::Row;
use crate::status::{Cause, DueStep, Finding, OpenReview, Record, ReviewReason};
use crate::submission::{ChatId, Submission};

/// Why the store gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Nothing was changed: safe to repeat.
    #[error("the store changed nothing: {0}")]
    NotApplied(Cause),
    /// The change may have been made: read before anything else.
    #[error("the store may have changed: {0}")]
    OutcomeUnknown(Cause),
    /// What is stored cannot be read by this release; it stays as it is.
    #[error("a stored item cannot be read: {0}")]
    Unreadable(Cause),
}

/// What became of a conditional change of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    /// It is stored, by this call or by an earlier try of it.
    Ours,
    /// The record had changed since it was read; this change has no effect. What stands there now, if anything does.
    Lost(Option<Box<Record>>),
}

/// What became of the removal of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removed {
    /// It is not there any more.
    Gone,
    /// It is there, and may not be removed: it changed since it was read, or is not finished.
    Kept(Box<Record>),
}

/// The records.
pub trait Submissions: Send + Sync {
    /// Reads one record, consistently.
    fn get(&self, reference: &Reference) -> impl Future<Output = Result<Option<Record>, StoreError>> + Send;

    /// Stores `next` if the record is still `seen`.
    fn apply(
        &self,
        seen: &Record,
        next: &Record,
        now: Moment,
    ) -> impl Future<Output = Result<Applied, StoreError>> + Send;

    /// Removes the record if it is still `seen`, its write and its acknowledgement are confirmed, and no review is open.
    fn remove(&self, seen: &Record) -> impl Future<Output = Result<Removed, StoreError>> + Send;

    /// References due for `step` by `now`, the longest due first. Eventually consistent: a hint, never a fact.
    fn due(
        &self,
        step: DueStep,
        now: Moment,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(Reference, Moment)>, StoreError>> + Send;

    /// Records listed for review under `reason`, oldest first. Eventually consistent.
    fn reviews(
        &self,
        reason: ReviewReason,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(Reference, OpenReview)>, StoreError>> + Send;
}

/// What a person was told of open reviews. Kept beside the record and no part of it: an order that was decided before an alert
/// is not too late after it.
pub trait Alerts: Send + Sync {
    /// Notes that a person is told now of what is owed since `owed_at`; false when that was noted already, or when nothing is
    /// open any more.
    fn note(
        &self,
        reference: &Reference,
        owed_at: Moment,
        now: Moment,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Takes back what was noted at that moment: nobody was told.
    fn take_back(
        &self,
        reference: &Reference,
        noted_at: Moment,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// What became of a change of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Saved {
    Ours,
    /// Another update of the same chat was faster: read again, decide again.
    Lost,
}

/// What became of a Confirm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confirmed {
    /// The submission is stored, and the draft is gone with it.
    Stored,
    /// Another update of the same chat was faster; nothing was stored.
    Lost,
    /// A submission with this reference exists; the draft stays as it was.
    Exists(Box<Record>),
}

/// The conversations, one a chat.
pub trait Conversations: Send + Sync {
    /// Reads a chat's conversation, consistently.
    fn load(&self, chat_id: ChatId) -> impl Future<Output = Result<Stored, StoreError>> + Send;

    /// Stores `next` if the conversation is still `seen`.
    fn save(
        &self,
        chat_id: ChatId,
        seen: &Stored,
        next: &Conversation,
        now: Moment,
    ) -> impl Future<Output = Result<Saved, StoreError>> + Send;

    /// Stores the submission and the conversation without its draft, both or neither, if the conversation is still
    /// `seen` and the reference is new.
    fn confirm(
        &self,
        seen: &Stored,
        next: &Conversation,
        submission: &Submission,
        now: Moment,
    ) -> impl Future<Output = Result<Confirmed, StoreError>> + Send;
}

/// A ring that was not heard for sure; the sweeper rings again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} of {of} rings failed: {cause}", missed.len())]
pub struct NotRung {
    pub missed: Vec<Reference>,
    pub of: usize,
    pub cause: Cause,
}

/// One queue. A ring carries a reference and no order: what to do is decided from the record.
pub trait Doorbell: Send + Sync {
    fn ring(&self, references: &[Reference]) -> impl Future<Output = Result<(), NotRung>> + Send;
}

/// The sheet of one deployment.
pub trait Sheet: Send + Sync {
    /// Makes sure that a token can be had and that the tab's header is ours, reading it when it is not known to be. For
    /// several rows it must have been seen just now: what goes astray, goes astray together.
    fn ready(&self, rows: usize) -> impl Future<Output = Result<(), NotApplied>> + Send;

    /// Appends all rows in one request, at most once.
    fn append(&self, rows: &[Row]) -> impl Future<Output = AppendOutcome> + Send;

    /// Looks for each row by its reference and compares it, all in one look. One finding a row, in order; or why the sheet
    /// taught nothing about any of them.
    fn look_up(&self, rows: &[Row]) -> impl Future<Output = Result<Vec<Finding>, NotApplied>> + Send;

    /// The name by which answers and alarms call the tab.
    fn tab(&self) -> &str;
}

/// The sheet as the operator looks at it, cell by cell.
pub trait WholeSheet: Sheet {
    /// In which cells of the tab, beside those of the reference column, each of these references stands, in A1 notation; those
    /// that stand nowhere else are left out. One pass for all of them; or why nothing was learned.
    fn astray(
        &self,
        references: &BTreeSet<Reference>,
    ) -> impl Future<Output = Result<BTreeMap<Reference, Vec<String>>, NotApplied>> + Send;
}

/// The way to the customer.
pub trait Messenger: Send + Sync {
    /// Sends one message, at most once.
    fn send(&self, chat_id: ChatId, text: &str) -> impl Future<Output = SendOutcome> + Send;
}

/// Time, attempt tokens and chance: what a pure decision is given.
pub trait Clock: Send + Sync {
    fn now(&self) -> Moment;
    /// Returns after so much of this clock's time.
    fn pause_ms(&self, milliseconds: u64) -> impl Future<Output = ()> + Send;
}

/// Metrics. Names, units and dimensions live in [`crate::metric`].
pub trait Meter: Send + Sync {
    fn record(&self, metric: crate::metric::Metric, value: f64);
}

impl<M: Meter + ?Sized> Meter for std::sync::Arc<M> {
    fn record(&self, metric: crate::metric::Metric, value: f64) {
        (**self).record(metric, value);
    }
}
