//! Looking at what will go. Nothing is changed.

use std::collections::BTreeSet;

use docket_domain::limits::REFERENCES_PER_LOOKUP_MAX;
use docket_domain::outcome::NotApplied;
use docket_domain::ports::{Clock, Sheet as _, StoreError, Submissions, WholeSheet as _};
use docket_domain::reference::Reference;
use docket_domain::row::{Row, cell_is_chat};
use docket_domain::status::{Finding, Record};
use docket_domain::submission::ChatId;
use serde_json::Value;

use super::{Eraser, Plan, Planned, Terms, Whom, refused};
use crate::Stopped;
use crate::find::Wanted;
use crate::scan::{self, Progress};

/// Rows of the sheet read at once.
const ROWS_AT_ONCE: u32 = 2_000;

/// What was found of a person.
#[derive(Default)]
struct Found {
    /// With their words.
    live: Vec<Record>,
    /// Of which only rows may be left: erased before, or without a record.
    wordless: Vec<(Reference, Option<Record>)>,
    left: Vec<String>,
}

impl Found {
    fn take(&mut self, reference: &Reference, record: Option<Record>) {
        match record {
            Some(record) if record.erased_at.is_none() => self.live.push(record),
            gone => self.wordless.push((reference.clone(), gone)),
        }
    }
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
        let mut found = Found::default();
        match &whom {
            Whom::Reference(reference) => found.take(reference, self.submissions.get(reference).await?),
            Whom::Chat(chat) => self.find(*chat, &mut found, progress).await?,
        }
        for record in &found.live {
            let erasable = record.erasable(terms.settle, self.clock.now());
            erasable.map_err(|error| refused(&record.submission.reference, error, &self.zone))?;
        }
        let mut enquiries = self.with_words(found.live, terms).await?;
        for (reference, record) in found.wordless {
            let planned = self.without_words(reference, record, terms).await?;
            if planned.rows > 0 || planned.record.is_some() && matches!(whom, Whom::Reference(_)) {
                enquiries.push(planned);
            }
        }
        self.add_what_is_astray(&mut enquiries).await?;
        match &whom {
            Whom::Reference(reference) if enquiries.is_empty() => Err(Stopped::Refused(format!(
                "no submission has the reference {reference}, and no row in {}: docket find",
                self.place
            ))),
            Whom::Reference(_) | Whom::Chat(_) => Ok(Plan { whom, enquiries, left: found.left }),
        }
    }

    /// Everything of a chat: its records, and rows that name it, since records expire and rows do not.
    async fn find(
        &self,
        chat: ChatId,
        found: &mut Found,
        progress: &mut impl FnMut(Progress),
    ) -> Result<(), Stopped> {
        let (records, unread) = self.records_of(chat, progress).await?;
        found.live = records;
        if unread > 0 {
            found.left.push(format!(
                "{unread} records cannot be read by this release: whose they are is not known, and they stay"
            ));
        }
        for (range, reference) in self.rows_of(chat, progress).await? {
            let Some(reference) = reference else {
                found.left.push(format!("{range} names the chat, and carries no reference"));
                continue;
            };
            let known = found.live.iter().map(|record| &record.submission.reference);
            if known.chain(found.wordless.iter().map(|(known, _)| known)).any(|known| *known == reference) {
                continue;
            }
            // Its record decides whose the row is: anybody may have changed a cell.
            match self.submissions.get(&reference).await {
                Ok(Some(record)) if record.erased_at.is_none() && record.submission.chat_id != chat => {
                    found.left.push(format!(
                        "{range} names the chat, and {reference} is another customer's enquiry"
                    ));
                }
                Ok(record) => found.take(&reference, record),
                Err(StoreError::Unreadable(_)) => found.left.push(format!(
                    "{range} names the chat, and the record of {reference} cannot be read by this release"
                )),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The records of a chat that hold its words, and how many cannot be read.
    pub(super) async fn records_of(
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

    /// Where rows name the chat, each with the reference that it carries.
    async fn rows_of(
        &self,
        chat: ChatId,
        progress: &mut impl FnMut(Progress),
    ) -> Result<Vec<(String, Option<Reference>)>, Stopped> {
        let last = self.patiently(async || self.sheet.last_row().await).await?;
        let mut found = Vec::new();
        let mut first = 2;
        while first <= last {
            let end = last.min(first + ROWS_AT_ONCE - 1);
            for (number, cells) in self.patiently(async || self.sheet.rows(first, end).await).await? {
                if cells.get(5).is_some_and(|cell| cell_is_chat(cell, chat)) {
                    let reference = cells.first().and_then(Value::as_str);
                    found.push((
                        format!("row {number} of {}", self.place),
                        reference.and_then(|text| text.trim().parse().ok()),
                    ));
                }
            }
            progress(Progress { of: "rows", done: end as usize, all: Some(last as usize) });
            first = end + 1;
        }
        Ok(found)
    }

    /// Their rows are known by what the record says.
    async fn with_words(&self, records: Vec<Record>, terms: &Terms) -> Result<Vec<Planned>, Stopped> {
        let rows: Vec<Row> = records.iter().map(|record| Row::of(&record.submission)).collect();
        let mut findings = Vec::new();
        for rows in rows.chunks(REFERENCES_PER_LOOKUP_MAX) {
            findings.extend(
                self.patiently(async || {
                    let findings = self.sheet.look_up(rows).await?;
                    let unread = findings.iter().find_map(|finding| match finding {
                        Finding::Unreadable(cause) => Some(cause.clone()),
                        Finding::OneEqual { .. }
                        | Finding::OneDiffers { .. }
                        | Finding::Several { .. }
                        | Finding::None => None,
                    });
                    unread.map_or(Ok(findings), |cause| Err(NotApplied::TryAgain(cause)))
                })
                .await?,
            );
        }
        let mut enquiries = Vec::new();
        for (record, finding) in records.into_iter().zip(findings) {
            let (rows, seen, certain) = match finding {
                Finding::OneEqual { range } => (1, format!("one row that says the same, at {range}"), true),
                Finding::OneDiffers { range } => {
                    (1, format!("one row that says something else, at {range}"), false)
                }
                Finding::Several { rows } => (rows, format!("{rows} rows"), false),
                Finding::None | Finding::Unreadable(_) => (0, "no row".to_owned(), true),
            };
            let reference = record.submission.reference.clone();
            self.certainly_theirs(&reference, &seen, certain, terms)?;
            let record = Some(record);
            enquiries.push(Planned { reference, record, rows, seen, shown: None, astray: Vec::new() });
        }
        Ok(enquiries)
    }

    async fn without_words(
        &self,
        reference: Reference,
        record: Option<Record>,
        terms: &Terms,
    ) -> Result<Planned, Stopped> {
        let shown = self.last_place(&reference).await?;
        if let (Some(record), Some(_)) = (&record, &shown) {
            record
                .erasable(terms.settle, self.clock.now())
                .map_err(|error| refused(&reference, error, &self.zone))?;
        }
        let rows = shown.as_ref().map_or(0, docket_adapters::sheets::Place::times);
        let seen = match rows {
            0 => "no row".to_owned(),
            1 if record.is_some() => "one row, whose record holds no words any more".to_owned(),
            1 => "one row, whose record has expired".to_owned(),
            rows => format!("{rows} rows"),
        };
        self.certainly_theirs(&reference, &seen, rows <= 1, terms)?;
        Ok(Planned { reference, record, rows, seen, shown, astray: Vec::new() })
    }

    fn certainly_theirs(
        &self,
        reference: &Reference,
        seen: &str,
        certain: bool,
        terms: &Terms,
    ) -> Result<(), Stopped> {
        if certain || terms.all_rows {
            return Ok(());
        }
        Err(Stopped::Refused(format!(
            "nothing of {reference} was erased: in {}, {seen}. Look whose they are; --all-rows takes them too",
            self.place
        )))
    }

    /// One pass over the tab for all of them.
    async fn add_what_is_astray(&self, enquiries: &mut [Planned]) -> Result<(), Stopped> {
        let all: BTreeSet<Reference> = enquiries.iter().map(|planned| planned.reference.clone()).collect();
        if all.is_empty() {
            return Ok(());
        }
        let mut astray = self.patiently(async || self.sheet.astray(&all).await).await?;
        for planned in enquiries {
            planned.astray = astray.remove(&planned.reference).unwrap_or_default();
        }
        Ok(())
    }
}
