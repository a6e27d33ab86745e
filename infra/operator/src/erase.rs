//! `docket erase`: a person's request to be forgotten. Their rows go first, then their words in the record, then what was
//! written in the chat and never confirmed.
//!
//! In this order, since the record tells which rows are theirs: whatever is broken off is repeated, and finds less to do. What
//! will go is shown before anything does. Backups and the spreadsheet's version history keep what they keep, each for its time.

use std::collections::BTreeSet;

use docket_adapters::dynamodb::{DynamoConversations, DynamoSubmissions};
use docket_adapters::sheets::{GoogleSheet, Place};
use docket_domain::outcome::NotApplied;
use docket_domain::ports::{Applied, Clock, Sheet as _, StoreError, Submissions, WholeSheet as _};
use docket_domain::reference::Reference;
use docket_domain::row::{Row, cell_is_chat};
use docket_domain::status::{By, Finding, NotErasable, Record, Settle};
use docket_domain::submission::ChatId;
use serde_json::Value;

use crate::Stopped;
use crate::cure::by_google;
use crate::find::Wanted;
use crate::removal::{self, LOOKS_MAX, PAUSE_MS};
use crate::scan::{self, Progress};
use crate::visible::visible;

/// Rows of the sheet read at once.
const ROWS_AT_ONCE: u32 = 2_000;

/// The surroundings.
#[derive(Debug)]
pub struct Eraser<G, C> {
    pub submissions: DynamoSubmissions,
    pub conversations: DynamoConversations,
    pub sheet: GoogleSheet<G>,
    /// Where that is, for whoever reads what will go.
    pub place: String,
    pub clock: C,
    pub by: By,
}

/// Whose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whom {
    Reference(Reference),
    /// All their enquiries, and what they are writing.
    Chat(ChatId),
}

/// How it is ordered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Terms {
    pub settle: Option<Settle>,
    pub why: String,
    /// Also copies, and rows that say something else than the record: they may be somebody else's.
    pub all_rows: bool,
}

/// What will go of one enquiry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    pub reference: Reference,
    /// None: it was forgotten long ago, and its rows are there still.
    pub record: Option<Record>,
    /// How many rows carry the reference.
    pub rows: usize,
    /// What they are, in words.
    pub seen: String,
    /// Cells that hold the reference elsewhere on the tab: these are a person's to clear.
    pub astray: Vec<String>,
}

/// What went of one enquiry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gone {
    pub reference: Reference,
    /// What was said of each row that was deleted.
    pub rows: Vec<String>,
    pub astray: Vec<String>,
}

/// What will go of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub whom: Whom,
    pub enquiries: Vec<Planned>,
    /// Enquiries that this release cannot read, and whose they are it cannot say.
    pub unread: usize,
}

/// A machine must be done with an enquiry first, or a person decide.
fn refused(reference: &Reference, error: NotErasable) -> Stopped {
    let next = match error {
        NotErasable::UnderWay { .. } => "erase it afterwards",
        NotErasable::Unsettled => {
            "say how it is to be left: --settle abandoned, or --settle recorded by your own word"
        }
        NotErasable::NotAppended => "--settle abandoned",
    };
    Stopped::Refused(format!("nothing of {reference} was erased: {error}; {next}"))
}

impl<G: Clock, C: Clock> Eraser<G, C> {
    /// Looks at what will go; changes nothing.
    ///
    /// # Errors
    /// There is nothing of theirs, something of it cannot be erased now, or a side could not be reached.
    pub async fn plan(
        &self,
        whom: Whom,
        terms: &Terms,
        progress: &mut impl FnMut(Progress),
    ) -> Result<Plan, Stopped> {
        let (records, rows_of, unread) = match &whom {
            Whom::Reference(reference) => {
                let record = self.submissions.get(reference).await?;
                (record.into_iter().collect(), BTreeSet::from([reference.clone()]), 0)
            }
            Whom::Chat(chat) => {
                let (records, unread) = self.records_of(*chat, progress).await?;
                (records, self.rows_of(*chat, progress).await?, unread)
            }
        };
        let mut enquiries = Vec::new();
        for record in &records {
            let reference = &record.submission.reference;
            record
                .erased(terms.settle, &terms.why, self.clock.now(), &self.by)
                .map_err(|error| refused(reference, error))?;
            enquiries.push(self.planned(reference.clone(), Some(record.clone()), terms).await?);
        }
        for reference in rows_of {
            if records.iter().any(|record| record.submission.reference == reference) {
                continue;
            }
            // Erased before, or expired: only rows are left.
            let planned = self.planned(reference, None, terms).await?;
            if planned.rows > 0 || !planned.astray.is_empty() {
                enquiries.push(planned);
            }
        }
        match &whom {
            Whom::Reference(reference) if enquiries.is_empty() => Err(Stopped::Refused(format!(
                "no submission has the reference {reference}, and no row in {}: docket find",
                self.place
            ))),
            Whom::Reference(_) | Whom::Chat(_) => Ok(Plan { whom, enquiries, unread }),
        }
    }

    async fn records_of(
        &self,
        chat: ChatId,
        progress: &mut impl FnMut(Progress),
    ) -> Result<(Vec<Record>, usize), Stopped> {
        let wanted = Wanted { chat: Some(chat), ..Wanted::default() };
        let (mut records, mut unread) = (Vec::new(), 0);
        scan::records(&self.submissions, &self.clock, &mut None, progress, |read| {
            match read {
                Ok(record) if wanted.fits(&record) => records.push(record),
                Ok(_) => {}
                Err(_) => unread += 1,
            }
            true
        })
        .await?;
        Ok((records, unread))
    }

    /// References whose rows name the chat: records expire, rows do not.
    async fn rows_of(
        &self,
        chat: ChatId,
        progress: &mut impl FnMut(Progress),
    ) -> Result<BTreeSet<Reference>, Stopped> {
        let stopped = |reason: NotApplied| self.unread(&reason);
        let last = self.sheet.last_row().await.map_err(stopped)?;
        let mut references = BTreeSet::new();
        let mut first = 2;
        while first <= last {
            let end = last.min(first + ROWS_AT_ONCE - 1);
            for (_, cells) in self.sheet.rows(first, end).await.map_err(stopped)? {
                let reference =
                    cells.first().and_then(Value::as_str).and_then(|text| text.trim().parse().ok());
                if let Some(reference) = reference
                    && cells.get(5).is_some_and(|cell| cell_is_chat(cell, chat))
                {
                    references.insert(reference);
                }
            }
            progress(Progress { of: "rows", done: end as usize, all: Some(last as usize) });
            first = end + 1;
        }
        Ok(references)
    }

    async fn planned(
        &self,
        reference: Reference,
        record: Option<Record>,
        terms: &Terms,
    ) -> Result<Planned, Stopped> {
        let rows = self.last_place(&reference).await?.as_ref().map_or(0, Place::times);
        let astray = self.sheet.astray(&reference).await.map_err(|reason| self.unread(&reason))?;
        let (seen, certain) = self.seen(record.as_ref(), rows).await?;
        if !certain && !terms.all_rows {
            return Err(Stopped::Refused(format!(
                "nothing of {reference} was erased: in {}, {seen}. Look whose they are; --all-rows takes them too",
                self.place
            )));
        }
        Ok(Planned { reference, record, rows, seen, astray })
    }

    /// What the rows are, and whether they are certainly theirs.
    async fn seen(&self, record: Option<&Record>, rows: usize) -> Result<(String, bool), Stopped> {
        let Some(record) = record.filter(|record| record.erased_at.is_none() && rows == 1) else {
            let certain = rows == 0 || (rows == 1 && record.is_none());
            let what = match rows {
                0 => "no row".to_owned(),
                1 => "one row, whose record holds no words any more".to_owned(),
                rows => format!("{rows} rows"),
            };
            return Ok((what, certain));
        };
        let row = Row::of(&record.submission);
        let looked = self.sheet.look_up(std::slice::from_ref(&row)).await;
        let findings = looked.map_err(|reason| self.unread(&reason))?;
        Ok(match findings.into_iter().next() {
            Some(Finding::OneEqual { range }) => (format!("one row that says the same, at {range}"), true),
            Some(Finding::OneDiffers { range }) => {
                (format!("one row that says something else, at {range}"), false)
            }
            Some(Finding::Several { .. } | Finding::None | Finding::Unreadable(_)) | None => {
                ("rows that move while they are read".to_owned(), false)
            }
        })
    }

    /// Carries the plan out, one enquiry after the other; `gone` hears of each. `waits` hears it when something takes minutes.
    ///
    /// # Errors
    /// What was not erased, and why; it is safe to repeat.
    pub async fn carry_out(
        &self,
        plan: Plan,
        terms: &Terms,
        mut gone: impl FnMut(Gone),
        mut waits: impl FnMut(&str),
    ) -> Result<(), Stopped> {
        for planned in plan.enquiries {
            let reference = planned.reference;
            let rows = self.delete_rows(&reference, planned.rows, &mut waits).await?;
            // Where they stand now that rows were deleted.
            let astray = if planned.astray.is_empty() {
                Vec::new()
            } else {
                self.sheet.astray(&reference).await.map_err(|reason| self.unread(&reason))?
            };
            if let Some(record) = planned.record {
                self.forget(record, terms).await?;
            }
            gone(Gone { reference, rows, astray });
        }
        if let Whom::Chat(chat) = plan.whom {
            self.conversations.erase(chat).await.map_err(|error| match error {
                StoreError::NotApplied(cause) | StoreError::OutcomeUnknown(cause) => Stopped::by_aws(
                    "the enquiries are erased, and what is being written in the chat perhaps not: repeat this",
                    &cause,
                ),
                error @ StoreError::Unreadable(_) => error.into(),
            })?;
        }
        Ok(())
    }

    /// From the last one up, each looked for anew.
    async fn delete_rows(
        &self,
        reference: &Reference,
        planned: usize,
        waits: &mut impl FnMut(&str),
    ) -> Result<Vec<String>, Stopped> {
        let mut deleted = Vec::new();
        while let Some(place) = self.last_place(reference).await? {
            if deleted.len() == planned {
                return Err(Stopped::Refused(format!(
                    "{reference} has more rows than were shown: somebody copied one meanwhile; repeat this"
                )));
            }
            deleted.push(removal::delete(&self.sheet, &self.clock, &place, &mut *waits).await?);
        }
        Ok(deleted)
    }

    /// Nothing was learned while rows moved, so that is tried again.
    async fn last_place(&self, reference: &Reference) -> Result<Option<Place>, Stopped> {
        let mut looks = 1;
        loop {
            match self.sheet.last_place(reference).await {
                Ok(place) => return Ok(place),
                Err(NotApplied::TryAgain(_)) if looks < LOOKS_MAX => {
                    looks += 1;
                    self.clock.pause_ms(PAUSE_MS).await;
                }
                Err(reason) => return Err(self.unread(&reason)),
            }
        }
    }

    fn unread(&self, reason: &NotApplied) -> Stopped {
        by_google(&format!("{} could not be read", self.place), reason, self.sheet.account())
    }

    /// Takes the words out of the record, if it is still the one that was shown.
    async fn forget(&self, seen: Record, terms: &Terms) -> Result<(), Stopped> {
        let reference = seen.submission.reference.clone();
        let now = self.clock.now();
        let next = seen
            .erased(terms.settle, &terms.why, now, &self.by)
            .map_err(|error| refused(&reference, error))?;
        match self.submissions.apply(&seen, &next, now).await {
            Ok(Applied::Ours) => Ok(()),
            Ok(Applied::Lost(_)) => Err(Stopped::Refused(format!(
                "the rows of {reference} are erased, and its record changed meanwhile: repeat this"
            ))),
            Err(StoreError::NotApplied(cause) | StoreError::OutcomeUnknown(cause)) => Err(Stopped::by_aws(
                &format!("the rows of {reference} are erased, and its record perhaps not: repeat this"),
                &cause,
            )),
            Err(error @ StoreError::Unreadable(_)) => Err(error.into()),
        }
    }
}

impl Plan {
    /// What a person reads before they agree.
    #[must_use]
    pub fn page(&self, place: &str) -> String {
        let mut lines = vec![format!("To be erased, in {place} (whole rows) and in the tables:")];
        for Planned { reference, record, seen, astray, .. } in &self.enquiries {
            let of = record.as_ref().map_or_else(
                || "its record is gone or erased".to_owned(),
                |record| {
                    let submission = &record.submission;
                    format!(
                        "of {}, {}, {}",
                        submission.confirmed_at,
                        visible(&submission.request_type),
                        visible(submission.contact.as_str())
                    )
                },
            );
            lines.push(format!("  {reference}  {of}: {}", visible(seen)));
            if !astray.is_empty() {
                lines.push(format!("    left to you, delete them by hand: {}", visible(&astray.join(", "))));
            }
            let misplaced = record.iter().flat_map(|record| record.history.entries());
            for why in
                misplaced.filter(|entry| entry.step == "append_misplaced").filter_map(|e| e.why.as_deref())
            {
                lines.push(format!("    a row of it was misplaced ({}): look there too", visible(why)));
            }
        }
        if self.enquiries.is_empty() {
            lines.push("  no enquiry".into());
        }
        if let Whom::Chat(chat) = &self.whom {
            lines.push(format!("  what is being written in chat {chat}, and what Docket remembers of it"));
        }
        if self.unread > 0 {
            lines.push(format!(
                "  {} records cannot be read by this release: whose they are is not known, and they stay",
                self.unread
            ));
        }
        lines.join("\n")
    }

    /// Whether something of theirs will be left all the same.
    #[must_use]
    pub fn leaves_something(&self) -> bool {
        self.unread > 0 || self.enquiries.iter().any(|planned| !planned.astray.is_empty())
    }
}

/// What went.
#[must_use]
pub fn page(gone: &[Gone]) -> String {
    let mut lines: Vec<String> = gone.iter().map(Gone::page).collect();
    if gone.is_empty() {
        lines.push("No enquiry was found; what was being written in the chat is gone.".into());
    }
    lines.push(
        "The spreadsheet's version history, other spreadsheets, the tables' recovery of 35 days and the chat itself keep what \
         they have."
            .into(),
    );
    lines.join("\n")
}

impl Gone {
    #[must_use]
    pub fn page(&self) -> String {
        let mut lines = vec![format!("{}: erased", self.reference)];
        lines.extend(self.rows.iter().map(|row| format!("  {}", visible(row))));
        if !self.astray.is_empty() {
            lines.push(format!("  left to you, delete them by hand: {}", visible(&self.astray.join(", "))));
        }
        lines.join("\n")
    }
}
