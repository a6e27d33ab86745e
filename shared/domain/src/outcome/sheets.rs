//! What the answer to an append means, and what the answer to a read means.

use serde_json::Value;

use super::Exchange;
use super::google_error::GoogleError;
use crate::cause::Cause;
use crate::row::HEADER;

/// Nothing was applied, for sure. The next step differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotApplied {
    /// The request did not get there: later again, bounded.
    TryAgain(Cause),
    /// Too many requests: at least a minute later, and not before Google itself said, no try counted.
    Busy { cause: Cause, retry_after_seconds: Option<u64> },
    /// A refusal that every row would meet: the sheet stops until somebody mends it.
    Halt(Cause),
    /// This one row's content was refused.
    CellAlone(Cause),
    /// The content of one of several rows was refused, and not said of which.
    CellInCompany(Cause),
}

impl NotApplied {
    #[must_use]
    pub fn cause(&self) -> Cause {
        match self {
            Self::TryAgain(cause)
            | Self::Busy { cause, .. }
            | Self::Halt(cause)
            | Self::CellAlone(cause)
            | Self::CellInCompany(cause) => cause.clone(),
        }
    }

    /// The cause that a record remembers until its row has travelled alone.
    pub(crate) fn cell_in_company() -> Cause {
        Cause::new("cell_refused_in_company")
    }
}

/// Where the rows of one append went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    tab: String,
    first_row: u32,
}

impl Appended {
    /// The A1 range of the `index`th row that was sent.
    #[must_use]
    pub fn range_of(&self, index: usize) -> String {
        let row = u64::from(self.first_row) + index as u64;
        format!("{}!A{row}:F{row}", self.tab)
    }
}

/// What is known after an append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppendOutcome {
    /// Our tab, columns A to F, as many rows as sent.
    Applied(Appended),
    /// Applied, and somewhere else than asked: the sheet stops.
    Misplaced {
        range: String,
    },
    NotApplied(NotApplied),
    Unknown(Cause),
}

/// Classifies the answer to the append of `rows` rows to `tab`.
#[must_use]
pub fn classify_append(exchange: &Exchange, tab: &str, rows: usize) -> AppendOutcome {
    match exchange {
        Exchange::NotSent(cause) => AppendOutcome::NotApplied(NotApplied::TryAgain(cause.clone())),
        Exchange::Lost(cause) => AppendOutcome::Unknown(cause.clone()),
        Exchange::Answered { status: 200..=299, body, .. } => read_applied(body, tab, rows),
        Exchange::Answered { status, body, retry_after_seconds } => {
            match refusal(*status, body, *retry_after_seconds) {
                Some(NotApplied::CellAlone(_)) if rows > 1 => {
                    AppendOutcome::NotApplied(NotApplied::CellInCompany(NotApplied::cell_in_company()))
                }
                Some(reason) => AppendOutcome::NotApplied(reason),
                None => AppendOutcome::Unknown(Cause::new(format!("http_{status}"))),
            }
        }
    }
}

/// Why a read, which changes nothing and may be repeated, gave no table.
#[must_use]
pub fn classify_failed_read(exchange: &Exchange) -> NotApplied {
    match exchange {
        Exchange::NotSent(cause) | Exchange::Lost(cause) => NotApplied::TryAgain(cause.clone()),
        Exchange::Answered { status: 200..=299, .. } => NotApplied::TryAgain(Cause::new("unreadable_answer")),
        Exchange::Answered { status, body, retry_after_seconds } => {
            refusal(*status, body, *retry_after_seconds)
                .unwrap_or_else(|| NotApplied::TryAgain(Cause::new(format!("http_{status}"))))
        }
    }
}

/// An answer that proves that nothing was applied; none for every other one.
fn refusal(status: u16, body: &[u8], retry_after_seconds: Option<u64>) -> Option<NotApplied> {
    let busy = |cause: &str| Some(NotApplied::Busy { cause: Cause::new(cause), retry_after_seconds });
    if status == 429 {
        return busy("http_429");
    }
    // Only Google's own words prove that Google refused: a page of some front between us proves nothing.
    let error = GoogleError::parse(status, body)?;
    let halt = |cause: &str| Some(NotApplied::Halt(Cause::new(cause)));
    match status {
        400 if error.says("50000 characters") || error.says("Invalid values[") => {
            Some(NotApplied::CellAlone(Cause::new("cell_refused")))
        }
        400 if error.says("Unable to parse range") => halt("no_such_tab"),
        400 if error.says("exceeds grid limits") => halt("beyond_the_grid"),
        400 if error.says("protected") => halt("protected_range"),
        400 if error.says("limit of 10000000 cells") => halt("workbook_full"),
        400 if error.says("not supported for this document") => halt("not_a_google_sheet"),
        400 if error.says("delete all non-frozen rows") => halt("only_row_left"),
        400 => halt("http_400"),
        401 => halt("unauthenticated"),
        403 if error.is_rate_limit() => busy("rate_limit_403"),
        403 => halt("permission_denied"),
        404 => halt("spreadsheet_not_found"),
        413 => halt("request_too_large"),
        _ => None,
    }
}

/// Reads `updates` of an append's answer: success alone proves nothing, only the range does.
fn read_applied(body: &[u8], tab: &str, rows: usize) -> AppendOutcome {
    #[derive(serde::Deserialize)]
    struct Answer {
        updates: Updates,
    }
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Updates {
        updated_range: String,
        updated_rows: usize,
    }
    let Ok(answer) = serde_json::from_slice::<Answer>(body) else {
        return AppendOutcome::Unknown(Cause::new("unreadable_answer"));
    };
    // Success without a row, as behind a filter: that names no place where a row could be, right or wrong.
    if answer.updates.updated_rows == 0 {
        return AppendOutcome::Unknown(Cause::new("no_row_updated"));
    }
    let misplaced = || AppendOutcome::Misplaced { range: shown(&answer.updates.updated_range) };
    let Some(range) = A1Range::parse(&answer.updates.updated_range) else {
        return misplaced();
    };
    let (first_row, last_row) = range.rows;
    let rows_named = (u64::from(last_row) + 1).saturating_sub(u64::from(first_row));
    let ours = range.tab == tab
        && range.columns == ("A".into(), "F".into())
        // Row 1 holds the header.
        && first_row > 1
        && rows_named == rows as u64
        && answer.updates.updated_rows == rows;
    if ours { AppendOutcome::Applied(Appended { tab: quoted(tab), first_row }) } else { misplaced() }
}

/// A range out of a foreign answer, fit to be shown: bounded and without control characters.
fn shown(range: &str) -> String {
    range.chars().filter(|c| !c.is_control()).take(120).collect()
}

/// A tab's name as A1 notation wants it: always quoted, inner quotes doubled, so that `CRM26` is never a cell.
#[must_use]
pub fn quoted(tab: &str) -> String {
    format!("'{}'", tab.replace('\'', "''"))
}

/// A rectangle in A1 notation with its tab, as answers name it: needless quotes dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct A1Range {
    pub tab: String,
    pub columns: (String, String),
    /// One-based, first and last.
    pub rows: (u32, u32),
}

impl A1Range {
    /// `Sheet1!A2:F2`, `'Jon''s'!A2:F2`, `Sheet1!A2`. Split at the last `!`, since a tab's name may hold one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (tab, cells) = text.rsplit_once('!')?;
        let tab = match tab.strip_prefix('\'').and_then(|inner| inner.strip_suffix('\'')) {
            Some(inner) => inner.replace("''", "'"),
            None => tab.to_owned(),
        };
        let (first, last) = cells.split_once(':').unwrap_or((cells, cells));
        let (first_column, first_row) = split_cell(first)?;
        let (last_column, last_row) = split_cell(last)?;
        Some(Self { tab, columns: (first_column, last_column), rows: (first_row, last_row) })
    }
}

fn split_cell(cell: &str) -> Option<(String, u32)> {
    let digits = cell.find(|c: char| c.is_ascii_digit())?;
    let (column, row) = cell.split_at(digits);
    let letters = !column.is_empty() && column.bytes().all(|b| b.is_ascii_uppercase());
    letters.then(|| row.parse().ok()).flatten().map(|row| (column.to_owned(), row))
}

/// Whether row 1, columns A to F, holds exactly the six expected names.
#[must_use]
pub fn header_is_ours(cells: &[Value]) -> bool {
    cells.len() >= HEADER.len()
        && HEADER
            .iter()
            .zip(cells)
            .all(|(expected, cell)| cell.as_str().is_some_and(|text| text.trim() == *expected))
}
