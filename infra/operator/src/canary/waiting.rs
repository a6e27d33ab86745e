//! Waiting for what the functions do: one look after another, bounded, and at an end at once when waiting is of no use.
//!
//! The table is asked once a second. The sheet is asked more rarely: its readings are counted by the minute, and the writer
//! needs them too.

use docket_domain::moment::Moment;
use docket_domain::ports::{Clock, Conversations, Sheet as _, StoreError, Submissions};
use docket_domain::reference::Reference;
use docket_domain::row::Row;
use docket_domain::status::{AckState, Cause, Finding, Record, WriteState};

use super::Canary;
use super::chat::SUMMARY;
use super::report::Failed;
use crate::answers::meaning;

const TABLE_PAUSE_MS: u64 = 1_000;
const SHEET_PAUSE_MS: u64 = 5_000;

/// What one look showed.
enum Look<T> {
    There(T, String),
    /// Why not; the sentence that ends the step when the time is over.
    NotYet(Failed),
}

impl<S: Submissions, V: Conversations, G: Clock, C: Clock> Canary<S, V, G, C> {
    /// The record, stored as we wrote it.
    pub(super) async fn stored(
        &self,
        reference: &Reference,
        end: Moment,
    ) -> Result<(Record, String), Failed> {
        self.wait_for_record(reference, end, |record| {
            if record.submission.chat_id != self.chat || record.submission.summary.as_str() != SUMMARY {
                return Err(Failed::refused("something else is stored under this reference"));
            }
            Ok(Look::There(record, "stored".into()))
        })
        .await
    }

    pub(super) async fn written(&self, reference: &Reference, end: Moment) -> Result<((), String), Failed> {
        self.wait_for_record(reference, end, |record| match &record.write.state {
            WriteState::Confirmed { evidence } => Ok(Look::There((), format!("confirmed by {evidence}"))),
            WriteState::Abandoned => Err(Failed::refused("a person gave the write up")),
            state @ (WriteState::Pending { .. }
            | WriteState::Attempting { .. }
            | WriteState::Uncertain { .. }) => {
                needs_nobody(&record)?;
                Ok(not_yet(format!(
                    "the write is still {}: look at the writer's log and the write queue",
                    state.as_str()
                )))
            }
        })
        .await
    }

    async fn found(&self, row: &Row) -> Finding {
        match self.sheet.look_up(std::slice::from_ref(row)).await {
            Ok(findings) => {
                findings.into_iter().next().unwrap_or_else(|| Finding::Unreadable(Cause::new("row_not_read")))
            }
            Err(reason) => Finding::Unreadable(reason.cause()),
        }
    }

    /// Exactly one row that says the same.
    pub(super) async fn one_equal_row(&self, row: &Row, end: Moment) -> Result<((), String), Failed> {
        self.wait(end, SHEET_PAUSE_MS, async || match self.found(row).await {
            Finding::OneEqual { range } => Ok(Look::There((), format!("one equal row, {range}"))),
            Finding::None => Ok(not_yet("no row has the reference, although the write is confirmed".into())),
            Finding::OneDiffers { range } => {
                Err(Failed::refused(format!("the row at {range} says something else")))
            }
            Finding::Several { rows } => Err(Failed::refused(format!("{rows} rows have the reference"))),
            Finding::Unreadable(cause) => {
                Ok(Look::NotYet(Failed::unreachable(format!("the sheet cannot be read: {cause}"))))
            }
        })
        .await
    }

    /// The record, with the message that the customer was sent.
    pub(super) async fn acknowledged(
        &self,
        reference: &Reference,
        end: Moment,
    ) -> Result<(Record, String), Failed> {
        self.wait_for_record(reference, end, |record| {
            let state = record.acknowledgement.as_ref().map(|ack| &ack.state);
            match state {
                Some(AckState::Confirmed { message_id }) => {
                    let found = message_id.map_or("sent, and Telegram named no message".to_owned(), |id| {
                        format!("sent as message {id}")
                    });
                    Ok(Look::There(record.clone(), found))
                }
                Some(AckState::Refused { cause }) => Err(Failed::refused(format!(
                    "Telegram refuses the chat ({cause}): OPERATOR_CHAT must have started the bot, and not blocked it"
                ))),
                Some(AckState::Abandoned) => Err(Failed::refused("a person gave the message up")),
                Some(AckState::Pending { .. } | AckState::Attempting { .. } | AckState::Uncertain { .. }) | None => {
                    needs_nobody(&record)?;
                    let state = state.map_or("not begun", AckState::as_str);
                    Ok(not_yet(format!(
                        "the acknowledgement is still {state}: look at the acknowledger's log and the acknowledge queue"
                    )))
                }
            }
        })
        .await
    }

    async fn wait_for_record<T>(
        &self,
        reference: &Reference,
        end: Moment,
        judge: impl Fn(Record) -> Result<Look<T>, Failed>,
    ) -> Result<(T, String), Failed> {
        self.wait(end, TABLE_PAUSE_MS, async || match self.submissions.get(reference).await {
            Ok(Some(record)) => judge(record),
            Ok(None) => Ok(not_yet("no record is stored, although the webhook said so".into())),
            Err(StoreError::Unreadable(cause)) => {
                Err(Failed::refused(format!("the record cannot be read by this release: {cause}")))
            }
            Err(error) => Ok(Look::NotYet(error.into())),
        })
        .await
    }

    /// Looks at least once, and a last time when the time is over.
    async fn wait<T>(
        &self,
        end: Moment,
        pause_ms: u64,
        look: impl AsyncFn() -> Result<Look<T>, Failed>,
    ) -> Result<(T, String), Failed> {
        loop {
            let is_last = self.clock.now() >= end;
            match look().await? {
                Look::There(value, found) => return Ok((value, found)),
                Look::NotYet(failed) if is_last => return Err(failed),
                Look::NotYet(_) => self.clock.pause_ms(pause_ms).await,
            }
        }
    }
}

fn not_yet<T>(found: String) -> Look<T> {
    Look::NotYet(Failed::refused(found))
}

/// What waits for a person is not waited for.
fn needs_nobody(record: &Record) -> Result<(), Failed> {
    match record.reviews().first() {
        None => Ok(()),
        Some(review) => Err(Failed::refused(format!(
            "it needs a person: {}, {}",
            review.reason.as_str(),
            meaning(review.reason)
        ))),
    }
}
