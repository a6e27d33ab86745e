//! `docket audit`: the whole sheet beside the whole table.
//!
//! It changes nothing. Sheet and table are read one after the other while people and functions work on, so whatever does not
//! fit is looked at once more before it is reported. Of each row only a digest is kept: a hundred thousand of them fit into a
//! few megabytes, and nobody's words stay in memory.

use std::collections::HashMap;

use docket_adapters::dynamodb::DynamoSubmissions;
use docket_adapters::sheets::GoogleSheet;
use docket_domain::moment::Moment;
use docket_domain::outcome::NotApplied;
use docket_domain::ports::{Clock, Sheet as _, Submissions as _};
use docket_domain::reference::Reference;
use docket_domain::row::{Row, RowDigest, digest_of_cells};
use docket_domain::status::{Finding, Record, WriteState};
use serde_json::{Value, json};

use crate::Stopped;
use crate::cure::by_google;
use crate::scan::{Progress, records};
use crate::visible::visible;

/// Rows asked for at once.
const ROWS_AT_ONCE: u32 = 2_000;
/// Rows looked for at once, as the writer does.
const LOOKS_AT_ONCE: usize = 200;

/// What does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The record is confirmed, and no row carries its reference.
    RowGone,
    /// More than one row carries it.
    Copies,
    /// Its only row says something else.
    RowDiffers,
    /// The record is not confirmed, and a row is there.
    RowUnexpected,
    /// A row carries a reference that the table does not know, though its record would not have expired yet.
    NoRecord,
    /// The record cannot be read by this release.
    RecordUnreadable,
}

impl Kind {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RowGone => "row_gone",
            Self::Copies => "copies",
            Self::RowDiffers => "row_differs",
            Self::RowUnexpected => "row_unexpected",
            Self::NoRecord => "no_record",
            Self::RecordUnreadable => "record_unreadable",
        }
    }
}

/// One thing that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oddity {
    pub kind: Kind,
    /// As it stands in sheet or table.
    pub reference: String,
    /// Rows that carry it.
    pub rows: usize,
    /// State of the write, where there is a record.
    pub state: Option<&'static str>,
}

/// The whole audit.
#[derive(Debug, Default)]
pub struct Report {
    pub rows: usize,
    pub records: usize,
    /// Rows of somebody else's, without a reference of ours.
    pub foreign_rows: usize,
    /// Rows whose records have expired, as they should.
    pub expired: usize,
    /// Confirmed, with exactly one equal row.
    pub equal: usize,
    /// Whose write nobody has settled yet: what stands in the sheet of them is not judged here.
    pub unsettled: usize,
    pub oddities: Vec<Oddity>,
}

/// What the sheet holds under one reference.
struct Seen {
    rows: usize,
    digest: Option<RowDigest>,
    confirmed_at: Option<Moment>,
}

/// Compares sheet and table.
///
/// # Errors
/// One of them cannot be read, so nothing can be said of the whole.
pub async fn audit<G: Clock, C: Clock>(
    submissions: &DynamoSubmissions,
    sheet: &GoogleSheet<G>,
    clock: &C,
    retention_days: u64,
    mut progress: impl FnMut(Progress),
) -> Result<Report, Stopped> {
    let mut report = Report::default();
    let mut sheet_holds = read_sheet(sheet, &mut report, &mut progress).await?;
    let mut doubtful = Vec::new();
    records(submissions, clock, &mut None, &mut progress, |read| {
        report.records += 1;
        match read {
            Err(unread) => {
                let rows = sheet_holds.remove(&unread.reference).map_or(0, |seen| seen.rows);
                report.oddities.push(Oddity {
                    kind: Kind::RecordUnreadable,
                    reference: visible(&unread.reference),
                    rows,
                    state: None,
                });
            }
            Ok(record) => {
                let seen = sheet_holds.remove(record.submission.reference.as_str());
                report.unsettled += usize::from(matches!(
                    record.write.state,
                    WriteState::Attempting { .. } | WriteState::Uncertain { .. }
                ));
                match oddity(&record, seen.as_ref()) {
                    Some(_) => doubtful.push(record.submission.reference.clone()),
                    None => report.equal += usize::from(is_confirmed(&record)),
                }
            }
        }
        true
    })
    .await?;
    for looked in doubtful.chunks(LOOKS_AT_ONCE) {
        look_again(submissions, sheet, looked, &mut report).await?;
    }
    let now = clock.now();
    for (reference, seen) in sheet_holds {
        // Recorded while the table was read, or expired long ago.
        let known = match reference.parse::<Reference>() {
            Ok(reference) => submissions.get(&reference).await?.is_some(),
            Err(_) => false,
        };
        let old = seen.confirmed_at.is_some_and(|at| now.seconds_since(at) >= retention_days * 86_400);
        if known {
            continue;
        }
        if old {
            report.expired += 1;
        } else {
            report.oddities.push(Oddity { kind: Kind::NoRecord, reference, rows: seen.rows, state: None });
        }
    }
    report.oddities.sort_by(|a, b| (a.kind, &a.reference).cmp(&(b.kind, &b.reference)));
    Ok(report)
}

async fn read_sheet<G: Clock>(
    sheet: &GoogleSheet<G>,
    report: &mut Report,
    progress: &mut impl FnMut(Progress),
) -> Result<HashMap<String, Seen>, Stopped> {
    let stopped = |reason: NotApplied| unreadable(sheet, &reason);
    let last = sheet.last_row().await.map_err(stopped)?;
    let mut holds: HashMap<String, Seen> = HashMap::new();
    let mut first = 2;
    while first <= last {
        let end = last.min(first + ROWS_AT_ONCE - 1);
        for (_, cells) in sheet.rows(first, end).await.map_err(stopped)? {
            report.rows += usize::from(!cells.is_empty());
            let Some(name) = cells.first().and_then(Value::as_str).map(str::trim) else {
                report.foreign_rows += usize::from(!cells.is_empty());
                continue;
            };
            if name.parse::<Reference>().is_err() {
                report.foreign_rows += 1;
                continue;
            }
            let seen =
                holds.entry(name.to_owned()).or_insert(Seen { rows: 0, digest: None, confirmed_at: None });
            seen.rows += 1;
            seen.digest = digest_of_cells(&cells);
            seen.confirmed_at = cells.get(1).and_then(Value::as_str).and_then(Moment::parse);
        }
        progress(Progress { of: "rows", done: end as usize, all: Some(last as usize) });
        first = end + 1;
    }
    Ok(holds)
}

/// Once more, with the record and the sheet as they are now.
async fn look_again<G: Clock>(
    submissions: &DynamoSubmissions,
    sheet: &GoogleSheet<G>,
    references: &[Reference],
    report: &mut Report,
) -> Result<(), Stopped> {
    let mut found = Vec::new();
    for reference in references {
        // One that is gone meanwhile has expired or was a canary.
        if let Some(record) = submissions.get(reference).await? {
            found.push(record);
        }
    }
    let rows: Vec<Row> = found.iter().map(|record| Row::of(&record.submission)).collect();
    let findings = sheet.look_up(&rows).await.map_err(|reason| unreadable(sheet, &reason))?;
    for (record, finding) in found.iter().zip(findings) {
        let seen = match finding {
            Finding::None => None,
            Finding::OneEqual { .. } => {
                Some(Seen { rows: 1, digest: Some(Row::of(&record.submission).digest()), confirmed_at: None })
            }
            Finding::OneDiffers { .. } => Some(Seen { rows: 1, digest: None, confirmed_at: None }),
            Finding::Several { rows } => Some(Seen { rows, digest: None, confirmed_at: None }),
            Finding::Unreadable(cause) => {
                return Err(Stopped::Unreachable(format!(
                    "the sheet changed while it was read ({cause}); try again"
                )));
            }
        };
        match oddity(record, seen.as_ref()) {
            Some(oddity) => report.oddities.push(oddity),
            None => report.equal += usize::from(is_confirmed(record)),
        }
    }
    Ok(())
}

fn is_confirmed(record: &Record) -> bool {
    matches!(record.write.state, WriteState::Confirmed { .. }) && record.erased_at.is_none()
}

/// What does not fit between a record and what the sheet holds under its reference.
fn oddity(record: &Record, seen: Option<&Seen>) -> Option<Oddity> {
    let rows = seen.map_or(0, |seen| seen.rows);
    let kind = match (&record.write.state, seen) {
        // Its row went with its customer's words.
        _ if record.erased_at.is_some() => {
            seen?;
            Kind::RowUnexpected
        }
        // Under work, or in review already: what is seen of it now proves nothing new.
        (WriteState::Attempting { .. } | WriteState::Uncertain { .. }, _) => return None,
        (WriteState::Confirmed { .. }, None) => Kind::RowGone,
        (WriteState::Pending { .. } | WriteState::Abandoned, None) => return None,
        (WriteState::Confirmed { .. } | WriteState::Pending { .. } | WriteState::Abandoned, Some(seen))
            if seen.rows > 1 =>
        {
            Kind::Copies
        }
        (WriteState::Confirmed { .. }, Some(seen))
            if seen.digest == Some(Row::of(&record.submission).digest()) =>
        {
            return None;
        }
        (WriteState::Confirmed { .. }, Some(_)) => Kind::RowDiffers,
        (WriteState::Pending { .. } | WriteState::Abandoned, Some(_)) => Kind::RowUnexpected,
    };
    Some(Oddity {
        kind,
        reference: record.submission.reference.to_string(),
        rows,
        state: Some(record.write.state.as_str()),
    })
}

fn unreadable<G: Clock>(sheet: &GoogleSheet<G>, reason: &NotApplied) -> Stopped {
    by_google("the sheet cannot be read", reason, &visible(sheet.account()))
}

impl Report {
    #[must_use]
    pub fn json(&self) -> Value {
        let oddities: Vec<Value> = self
            .oddities
            .iter()
            .map(|odd| {
                json!({"kind": odd.kind.as_str(), "reference": odd.reference, "rows": odd.rows, "state": odd.state})
            })
            .collect();
        json!({
            "rows": self.rows,
            "foreign_rows": self.foreign_rows,
            "records": self.records,
            "equal": self.equal,
            "expired": self.expired,
            "unsettled": self.unsettled,
            "oddities": oddities,
        })
    }

    /// With a header line.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut lines = vec!["kind,reference,rows,state".to_owned()];
        lines.extend(self.oddities.iter().map(|odd| {
            let state = odd.state.unwrap_or_default();
            format!("{},{},{},{state}", odd.kind.as_str(), odd.reference, odd.rows)
        }));
        lines.join("\n")
    }

    #[must_use]
    pub fn page(&self) -> String {
        let mut lines = vec![format!(
            "{} rows ({} of somebody else's, {} of expired records), {} records, {} of them confirmed with one equal row.",
            self.rows, self.foreign_rows, self.expired, self.records, self.equal
        )];
        if self.unsettled > 0 {
            lines.push(format!(
                "{} of the records wait for a settled write and were not compared: docket reviews.",
                self.unsettled
            ));
        }
        if self.oddities.is_empty() {
            let what = if self.unsettled > 0 { "Everything else fits." } else { "Everything fits." };
            lines.push(what.into());
        }
        for odd in &self.oddities {
            let state = odd.state.map(|state| format!(", write {state}")).unwrap_or_default();
            lines.push(format!("{:<18}{:<19} {} rows{state}", odd.kind.as_str(), odd.reference, odd.rows));
        }
        lines.join("\n")
    }
}
