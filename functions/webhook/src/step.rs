//! One update, from what is stored of its chat to the reply.
//!
//! The decision is the domain's; here it is carried out in an order that survives a crash after every line.

use docket_domain::catalog::Catalog;
use docket_domain::intake::{self, Bot, Decision, Press, Update, button::Verb};
use docket_domain::limits::ROUND_MS;
use docket_domain::metric::Metric;
use docket_domain::moment::Moment;
use docket_domain::ports::{
    Applied, Clock, Confirmed, Conversations, Doorbell, Meter, NotRung, Saved, StoreError, Submissions,
};
use docket_domain::reference::Reference;
use docket_domain::reply::{self, Reply};
use docket_domain::status::{By, Conflict, ConflictEvent, DueStep, Record, WriteState};
use docket_domain::submission::{ChatId, Submission};

/// Times an update is decided anew because another one of its chat was faster.
const TRIES_MAX: usize = 8;

/// Our own side failed: Telegram must deliver the update again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failed {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Ring(#[from] NotRung),
    #[error("other updates of the chat were faster, too often")]
    Contended,
    #[error("no time left")]
    OutOfTime,
}

/// The webhook's surroundings.
#[derive(Debug)]
pub struct Webhook<S, V, D, C, M> {
    pub submissions: S,
    pub conversations: V,
    pub write_queue: D,
    pub clock: C,
    pub meter: M,
    pub bot: Bot,
    pub catalog: Catalog,
}

impl<S: Submissions, V: Conversations, D: Doorbell, C: Clock, M: Meter> Webhook<S, V, D, C, M> {
    /// Decides about an update and carries the decision out.
    ///
    /// # Errors
    /// Our own side failed, and nothing was said; the same update delivered again completes what was begun.
    pub async fn answer(&self, update: &Update, deadline: Moment) -> Result<Reply, Failed> {
        for _ in 0..TRIES_MAX {
            let now = self.clock.now();
            if now.plus_millis(ROUND_MS) > deadline {
                return Err(Failed::OutOfTime);
            }
            let seen = self.conversations.load(update.chat_id()).await?;
            match intake::decide(&self.bot, &self.catalog, &seen, update, now) {
                Decision::Answer(reply) => return Ok(reply),
                Decision::Keep { next, reply } => {
                    match self.conversations.save(update.chat_id(), &seen, &next, now).await? {
                        Saved::Ours => return Ok(reply),
                        Saved::Lost => {}
                    }
                }
                Decision::Confirm { next, submission, press } => {
                    // The submission and the end of its draft are stored together: a Cancel at the same moment finds
                    // either the draft or the submission, never both.
                    let confirmed = self.conversations.confirm(&seen, &next, &submission, now).await;
                    let Some(confirmed) = self.readable(&submission.reference, confirmed)? else {
                        return Ok(intake::being_checked(&self.catalog, &press, &submission.reference));
                    };
                    match confirmed {
                        Confirmed::Stored => return self.stored(&submission, &press).await,
                        Confirmed::Exists(record) => {
                            let reply = self.existing(*record, &submission, &press, now).await?;
                            // The draft ends here too. Another update that was faster has ended it, or begun another.
                            let _: Saved =
                                self.conversations.save(update.chat_id(), &seen, &next, now).await?;
                            return Ok(reply);
                        }
                        Confirmed::Lost => {}
                    }
                }
                Decision::Recall { press } => return self.recall(&press).await,
                Decision::Status { reference } => return self.status(&reference, update.chat_id()).await,
            }
        }
        Err(Failed::Contended)
    }

    async fn stored(&self, submission: &Submission, press: &Press) -> Result<Reply, Failed> {
        let reference = &submission.reference;
        self.meter.record(Metric::Recorded, 1.0);
        tracing::info!(%reference, step = "confirm", outcome = "recorded", "a submission was recorded");
        // Stored before ringing: a crash here leaves a record that is due, which the sweeper finds.
        self.ring(reference).await?;
        Ok(intake::received(&self.catalog, press, reference))
    }

    /// A submission of this reference is there already: the same one, or another content.
    async fn existing(
        &self,
        record: Record,
        submission: &Submission,
        press: &Press,
        now: Moment,
    ) -> Result<Reply, Failed> {
        let reference = &submission.reference;
        // Whoever asked to be forgotten is not remembered by a message that came again.
        if record.erased_at.is_some() {
            return Ok(intake::expired(&self.catalog, press));
        }
        if record.submission.fingerprint == submission.fingerprint {
            return self.replayed(&record, press).await;
        }
        self.keep_conflict(record, submission, now).await?;
        self.meter.record(Metric::Conflicted, 1.0);
        tracing::warn!(%reference, step = "confirm", outcome = "conflict", "another content arrived under a reference");
        Ok(intake::conflict(&self.catalog, press, reference))
    }

    async fn keep_conflict(
        &self,
        mut record: Record,
        submission: &Submission,
        now: Moment,
    ) -> Result<(), Failed> {
        let conflict = Conflict {
            at: now,
            request_type: submission.request_type.clone(),
            summary: submission.summary.clone(),
            fingerprint: submission.fingerprint.clone(),
        };
        for _ in 0..TRIES_MAX {
            // A redelivered Confirm brings nothing new: what a person closed stays closed.
            if record.conflicts.iter().any(|known| known.fingerprint == conflict.fingerprint) {
                return Ok(());
            }
            let event = ConflictEvent::Arrived(conflict.clone());
            let Ok(next) = record.conflict_after(&event, now, &By::Webhook) else { return Ok(()) };
            match self.submissions.apply(&record, &next, now).await? {
                Applied::Ours => {
                    self.meter.record(Metric::ReviewOpened, 1.0);
                    return Ok(());
                }
                Applied::Lost(Some(current)) => record = *current,
                Applied::Lost(None) => return Err(Failed::Contended),
            }
        }
        Err(Failed::Contended)
    }

    /// A pressed card that is not the open one: perhaps its enquiry is recorded already.
    async fn recall(&self, press: &Press) -> Result<Reply, Failed> {
        let Verb::Card { reference, short, .. } = &press.verb else {
            return Ok(intake::expired(&self.catalog, press));
        };
        let Some(found) = self.readable(reference, self.submissions.get(reference).await)? else {
            return Ok(intake::being_checked(&self.catalog, press, reference));
        };
        match found {
            Some(record)
                if record.submission.chat_id == press.chat_id
                    && record.submission.fingerprint.short() == short =>
            {
                self.replayed(&record, press).await
            }
            Some(_) | None => Ok(intake::expired(&self.catalog, press)),
        }
    }

    async fn replayed(&self, record: &Record, press: &Press) -> Result<Reply, Failed> {
        let reference = &record.submission.reference;
        self.meter.record(Metric::Replayed, 1.0);
        tracing::info!(%reference, step = "confirm", outcome = "replay", "a submission was confirmed again");
        // The press that stored it may have died between storing and ringing, and is delivered again. A second tap is
        // another press: the first one rings, or is delivered again, or the sweeper rings.
        let ours = record.submission.was_confirmed_by(&press.callback_id);
        if ours && matches!(record.due(), Some((DueStep::Append, _))) {
            self.ring(reference).await?;
        }
        // Closed by a person without a row: nothing says "recorded" of it.
        if let WriteState::Abandoned = record.write.state {
            return Ok(intake::closed(&self.catalog, press, reference));
        }
        Ok(intake::already_recorded(&self.catalog, press, reference))
    }

    async fn status(&self, reference: &Reference, chat_id: ChatId) -> Result<Reply, Failed> {
        // Somebody else's reference is answered like one that does not exist.
        let text = match self.readable(reference, self.submissions.get(reference).await)? {
            // Whose it is cannot be read either; that it was received is all that is said of it.
            None => intake::checking(&self.catalog, reference),
            Some(Some(record)) if record.submission.chat_id == chat_id => {
                reply::status(&self.catalog, &record)
            }
            Some(Some(_) | None) => self.catalog.sentences.status_unknown.clone(),
        };
        Ok(Reply::message(chat_id, text))
    }

    /// None for a record that this release cannot read: no redelivery makes it readable, and a refusal would block its chat
    /// for a day.
    fn readable<T>(&self, reference: &Reference, read: Result<T, StoreError>) -> Result<Option<T>, Failed> {
        match read {
            Err(StoreError::Unreadable(cause)) => {
                self.meter.record(Metric::RecordUnreadable, 1.0);
                tracing::error!(%reference, step = "read", outcome = "unreadable", %cause, "a record cannot be read");
                Ok(None)
            }
            read => Ok(Some(read?)),
        }
    }

    async fn ring(&self, reference: &Reference) -> Result<(), Failed> {
        self.write_queue.ring(std::slice::from_ref(reference)).await.map_err(|error| {
            self.meter.record(Metric::RingFailed, 1.0);
            Failed::Ring(error)
        })
    }
}
