//! `docket erase`: a person's request to be forgotten. Their rows go first, then their words in the record, then what was
//! written in the chat and never confirmed.
//!
//! In this order, since the record tells which rows are theirs: whatever is broken off is repeated, and finds less to do. What
//! will go is shown before anything does. Backups and the spreadsheet's version history keep what they keep, each for its time.

use docket_adapters::dynamodb::{DynamoConversations, DynamoSubmissions};
use docket_adapters::sheets::{GoogleSheet, Place};
use docket_domain::outcome::NotApplied;
use docket_domain::ports::{Applied, Clock, StoreError, Submissions, WholeSheet as _};
use docket_domain::reference::Reference;
use docket_domain::status::{By, NotErasable, Record, Settle};
use docket_domain::submission::ChatId;

use crate::Stopped;
use crate::cure::by_google;
use crate::find::Wanted;
use crate::removal::{self, LOOKS_MAX, PAUSE_MS};
use crate::scan::{self, Progress};
use crate::visible::visible;

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    pub settle: Option<Settle>,
    pub why: String,
}

/// What will go of one enquiry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    pub record: Record,
    /// In A1 notation, the last one; and how many there are.
    pub rows: usize,
    /// Cells that hold the reference elsewhere: these are a person's to clear.
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
        let (records, unread) = match &whom {
            Whom::Reference(reference) => (vec![crate::show(&self.submissions, reference).await?], 0),
            Whom::Chat(chat) => self.of_chat(*chat, progress).await?,
        };
        let mut enquiries = Vec::new();
        for record in records {
            let reference = &record.submission.reference;
            record
                .erased(terms.settle, &terms.why, self.clock.now(), &self.by)
                .map_err(|error| refused(reference, error))?;
            let rows = self.last_place(reference).await?.as_ref().map_or(0, Place::times);
            let astray = self.sheet.astray(reference).await.map_err(|reason| self.unread(&reason))?;
            enquiries.push(Planned { record, rows, astray });
        }
        Ok(Plan { whom, enquiries, unread })
    }

    async fn of_chat(
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

    /// Carries the plan out, one enquiry after the other.
    ///
    /// # Errors
    /// What was not erased, and why; it is safe to repeat.
    pub async fn carry_out(&self, plan: Plan, terms: &Terms) -> Result<Vec<Gone>, Stopped> {
        let mut gone = Vec::new();
        for planned in plan.enquiries {
            let reference = planned.record.submission.reference.clone();
            let rows = self.delete_rows(&reference, planned.rows).await?;
            // Where they stand now that rows below were deleted.
            let astray = if planned.astray.is_empty() {
                Vec::new()
            } else {
                self.sheet.astray(&reference).await.map_err(|reason| self.unread(&reason))?
            };
            self.forget(planned.record, terms).await?;
            gone.push(Gone { reference, rows, astray });
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
        Ok(gone)
    }

    /// From the last one up, each looked for anew.
    async fn delete_rows(&self, reference: &Reference, planned: usize) -> Result<Vec<String>, Stopped> {
        let mut deleted = Vec::new();
        while let Some(place) = self.last_place(reference).await? {
            if deleted.len() == planned {
                return Err(Stopped::Refused(format!(
                    "{reference} has more rows than were shown: somebody copied one meanwhile; repeat this"
                )));
            }
            deleted.push(removal::delete(&self.sheet, &self.clock, &place).await?);
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

    /// Takes the words out of the record, if it is still the one that was shown, or only its conflicts grew.
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
        let mut lines = vec![format!("To be erased, in {place} and in the tables:")];
        for Planned { record, rows, astray } in &self.enquiries {
            let submission = &record.submission;
            lines.push(format!(
                "  {}  of {}, {}, {}: {rows} rows, and the record's words",
                submission.reference,
                submission.confirmed_at,
                visible(&submission.request_type),
                visible(submission.contact.as_str()),
            ));
            if !astray.is_empty() {
                lines.push(format!("    left to you, delete them by hand: {}", visible(&astray.join(", "))));
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
    let mut lines = Vec::new();
    for Gone { reference, rows, astray } in gone {
        lines.push(format!("{reference}: erased"));
        lines.extend(rows.iter().map(|row| format!("  {}", visible(row))));
        if !astray.is_empty() {
            lines.push(format!("  left to you, delete them by hand: {}", visible(&astray.join(", "))));
        }
    }
    lines.push(
        "The spreadsheet's version history, the tables' recovery of 35 days and the chat itself keep what they have."
            .into(),
    );
    lines.join("\n")
}
