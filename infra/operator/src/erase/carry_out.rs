//! Carrying the plan out, one enquiry after the other.

use std::collections::BTreeSet;

use docket_adapters::sheets::Place;
use docket_domain::limits::GOOGLE_PROCESSING_SECONDS_MAX;
use docket_domain::moment::Moment;
use docket_domain::ports::{Applied, Clock, StoreError, Submissions, WholeSheet as _};
use docket_domain::row::Row;
use docket_domain::status::{Record, ReviewReason, WriteReview, WriteState};
use docket_domain::submission::ChatId;

use super::{Eraser, Gone, Plan, Planned, Terms, Whom, refused};
use crate::Stopped;
use crate::removal;

/// From the last look before a deletion until it has left.
const SENDING_SECONDS_MAX: u64 = 20;
/// Looking, sending a deletion, and the time for which Google may work on it.
const REMOVAL_SECONDS_MAX: u64 = GOOGLE_PROCESSING_SECONDS_MAX + SENDING_SECONDS_MAX + 40;
/// Enquiries erased without a pause between them.
const AT_ONCE: usize = 3;
/// About nine requests each, of sixty a minute that the writer shares.
const PAUSE_BETWEEN_MS: u64 = 12_000;

impl<G: Clock, C: Clock> Eraser<G, C> {
    /// Carries the plan out; `gone` hears of each enquiry.
    ///
    /// # Errors
    /// What was not erased, and why; it is safe to repeat.
    pub async fn carry_out(
        &self,
        plan: Plan,
        terms: &Terms,
        mut gone: impl FnMut(Gone),
    ) -> Result<(), Stopped> {
        if let Whom::Chat(chat) = plan.whom {
            // First: a card that is confirmed while rows are deleted would become one more enquiry.
            self.forget_conversation(chat, "nothing of the enquiries was erased").await?;
        }
        for (number, planned) in plan.enquiries.into_iter().enumerate() {
            if number >= AT_ONCE {
                self.clock.pause_ms(PAUSE_BETWEEN_MS).await;
            }
            gone(self.erase(planned, terms).await?);
        }
        if let Whom::Chat(chat) = plan.whom {
            self.forget_conversation(chat, "the enquiries are erased").await?;
            self.nothing_came_meanwhile(chat).await?;
        }
        Ok(())
    }

    async fn erase(&self, planned: Planned, terms: &Terms) -> Result<Gone, Stopped> {
        let (reference, mut record) = (planned.reference.clone(), planned.record.clone());
        let rows = self.delete_rows(&planned, &mut record, terms).await?;
        // Where they stand now that rows were deleted.
        let astray = if planned.astray.is_empty() {
            Vec::new()
        } else {
            let one = BTreeSet::from([reference.clone()]);
            let mut found = self.patiently(async || self.sheet.astray(&one).await).await?;
            found.remove(&reference).unwrap_or_default()
        };
        let mut left: Vec<String> =
            astray.iter().map(|cell| format!("{cell} holds the reference: delete it by hand")).collect();
        left.extend(planned.elsewhere());
        if rows.is_empty() {
            left.extend(self.missing_row(&planned));
        }
        if let Some(record) = record {
            self.forget(&record, rows.len(), terms).await?;
        }
        Ok(Gone { reference, rows, astray, left })
    }

    /// From the last one up, each looked for anew. Afterwards `record` is as it is stored then.
    async fn delete_rows(
        &self,
        planned: &Planned,
        record: &mut Option<Record>,
        terms: &Terms,
    ) -> Result<Vec<String>, Stopped> {
        let reference = &planned.reference;
        let mut deleted = Vec::new();
        if planned.rows > 0
            && let Some(seen) = record
        {
            // Stored before the first deletion: a crash here leaves a record on which nobody acts, and that says who began.
            *seen = self.begin(seen, terms).await?;
        }
        while let Some(place) = self.last_place(reference).await? {
            if deleted.len() == planned.rows {
                return Err(Stopped::Refused(format!(
                    "{reference} has more rows than were shown: somebody copied one meanwhile; repeat this"
                )));
            }
            if let Some(seen) = record
                && self.is_late_for(seen)
            {
                // What was read is old by then, and reading anew may take minutes too.
                *seen = self.go_on(seen, terms).await?;
                continue;
            }
            if !terms.all_rows && !planned.is_shown_by(&place) {
                return Err(Stopped::Refused(format!(
                    "nothing of {reference} was erased: what stands at {} is not what was shown; repeat this",
                    place.range()
                )));
            }
            deleted.push(removal::delete(&self.sheet, &self.clock, &place, &self.zone, self.says).await?);
        }
        Ok(deleted)
    }

    /// The claim: until the deletion is over nobody else deletes, and no machine does anything about it.
    async fn begin(&self, seen: &Record, terms: &Terms) -> Result<Record, Stopped> {
        let now = self.clock.now();
        let next = seen
            .erasure_begun(terms.settle, &terms.why, until(now), now, &self.by)
            .map_err(|error| refused(&seen.submission.reference, error, &self.zone))?;
        let so_far = format!("nothing of {} was erased", seen.submission.reference);
        self.keep(seen, next, &so_far, &so_far).await
    }

    /// Whether a deletion that is sent now might outlast the claim.
    fn is_late_for(&self, claimed: &Record) -> bool {
        let over = self.clock.now().plus_seconds(GOOGLE_PROCESSING_SECONDS_MAX + SENDING_SECONDS_MAX);
        claimed.erasing_until.is_none_or(|until| until < over)
    }

    async fn go_on(&self, claimed: &Record, terms: &Terms) -> Result<Record, Stopped> {
        let now = self.clock.now();
        let next = claimed.erasure_goes_on(&terms.why, until(now), now, &self.by);
        let so_far = format!("perhaps not all rows of {} were deleted", claimed.submission.reference);
        self.keep(claimed, next, &so_far, &so_far).await
    }

    /// Takes the words out of the record, if it is still the one that was begun.
    async fn forget(&self, seen: &Record, rows: usize, terms: &Terms) -> Result<(), Stopped> {
        let reference = &seen.submission.reference;
        let rows = u64::try_from(rows).unwrap_or(u64::MAX);
        let next = seen
            .erased(terms.settle, &terms.why, rows, self.clock.now(), &self.by)
            .map_err(|error| refused(reference, error, &self.zone))?;
        let so_far = format!("the rows of {reference} are erased");
        self.keep(seen, next, &so_far, &format!("{so_far}, and its record perhaps not")).await.map(drop)
    }

    /// Stores `next` in place of what was seen. `so_far` is what was done before, and `perhaps` what is known without an answer.
    async fn keep(
        &self,
        seen: &Record,
        next: Record,
        so_far: &str,
        perhaps: &str,
    ) -> Result<Record, Stopped> {
        match self.submissions.apply(seen, &next, self.clock.now()).await {
            Ok(Applied::Ours) => Ok(next),
            Ok(Applied::Lost(_)) => {
                Err(Stopped::Refused(format!("{so_far}, and its record changed meanwhile: repeat this")))
            }
            Err(StoreError::NotApplied(cause) | StoreError::OutcomeUnknown(cause)) => {
                Err(Stopped::by_aws(&format!("{perhaps}: repeat this"), &cause))
            }
            Err(error @ StoreError::Unreadable(_)) => Err(error.into()),
        }
    }

    /// `so_far` is what was done before.
    async fn forget_conversation(&self, chat: ChatId, so_far: &str) -> Result<(), Stopped> {
        self.conversations.erase(chat).await.map_err(|error| match error {
            StoreError::NotApplied(cause) | StoreError::OutcomeUnknown(cause) => Stopped::by_aws(
                &format!("{so_far}, and what is being written in the chat perhaps not: repeat this"),
                &cause,
            ),
            error @ StoreError::Unreadable(_) => error.into(),
        })
    }

    /// What was confirmed between the look and the deletion of the conversation is one more enquiry.
    async fn nothing_came_meanwhile(&self, chat: ChatId) -> Result<(), Stopped> {
        let (records, _) = self.records_of(chat, &mut |_| ()).await?;
        if records.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = records.iter().map(|record| record.submission.reference.as_str()).collect();
        Err(Stopped::Refused(format!(
            "what was shown is erased, and {} came meanwhile: repeat this",
            names.join(", ")
        )))
    }

    /// A row that nobody found may stand where this command does not look.
    fn missing_row(&self, planned: &Planned) -> Option<String> {
        match planned.live().map(|record| &record.write.state) {
            Some(WriteState::Confirmed { evidence }) => Some(format!(
                "no row of it was found in {}, and the record says {evidence}: look where it went",
                self.place
            )),
            Some(
                WriteState::Pending { .. }
                | WriteState::Attempting { .. }
                | WriteState::Uncertain { .. }
                | WriteState::Abandoned,
            )
            | None => None,
        }
    }
}

fn until(now: Moment) -> Moment {
    now.plus_seconds(REMOVAL_SECONDS_MAX).up_to_second()
}

impl Planned {
    /// Whether the row at this place still says what its record says, or what it said when it was shown.
    fn is_shown_by(&self, place: &Place) -> bool {
        match (self.live(), &self.shown) {
            (Some(record), _) => Row::of(&record.submission).equals(place.cells()),
            (None, Some(shown)) => shown.cells() == place.cells(),
            (None, None) => false,
        }
    }

    /// Whether nothing is appended while it is open.
    pub(super) fn stops_the_sheet(&self) -> bool {
        let misplaced = ReviewReason::Write(WriteReview::MisplacedRow);
        self.live().is_some_and(|record| record.is_in_review(misplaced))
    }

    /// Other places in which a row of it was seen.
    pub(super) fn elsewhere(&self) -> Vec<String> {
        let entries = self.live().into_iter().flat_map(|record| record.history.entries());
        entries
            .filter(|entry| entry.step == "append_misplaced")
            .filter_map(|entry| entry.why.as_ref())
            .map(|why| format!("a row of it was misplaced ({why}): look there too"))
            .collect()
    }
}
