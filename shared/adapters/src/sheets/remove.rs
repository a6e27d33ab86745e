//! The removal of one row: the one change by which Docket takes anything out of a sheet, for the operator's canary, and for a
//! customer who asks to be forgotten.
//!
//! Google deletes a row by its number, not by what stands in it, and people sort, insert and delete meanwhile. So the row
//! is found by its reference and read with its neighbours right before, and the sheet is looked at again right after: what
//! stands there counts, not what was answered. The deletion is sent once; an answer that is lost is settled by the look.

use std::collections::HashMap;
use std::time::Duration;

use docket_domain::outcome::sheets::{classify_failed_read, quoted};
use docket_domain::outcome::{Exchange, NotApplied};
use docket_domain::ports::Clock;
use docket_domain::reference::Reference;
use docket_domain::row::{Row, cell_is_reference, judge};
use docket_domain::status::{Cause, Finding};
use serde_json::{Value, json};

use super::GoogleSheet;
use crate::http::{Call, Deadline};

/// Where a row stands, and what stands around it.
#[derive(Clone, PartialEq, Eq)]
pub struct Place {
    sheet_id: u64,
    /// One-based; never 1, which is the header.
    row: u32,
    range: String,
    reference: String,
    /// Columns A to F of it.
    cells: Vec<Value>,
    /// How many rows carry it.
    times: usize,
    /// Every filled cell of the reference column but ours, and how often it stands there.
    others: HashMap<String, usize>,
    /// Columns A to F of the rows above and below.
    neighbours: [Vec<Value>; 2],
}

/// Neighbours are customers' words: even `{:?}` shows only where it is.
impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Place({})", self.range)
    }
}

impl Place {
    /// In A1 notation.
    #[must_use]
    pub fn range(&self) -> &str {
        &self.range
    }

    /// What stands in columns A to F: a customer's words.
    #[must_use]
    pub fn cells(&self) -> &[Value] {
        &self.cells
    }

    /// How many rows carry the reference.
    #[must_use]
    pub fn times(&self) -> usize {
        self.times
    }
}

/// What is known of a deletion from its answer alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deletion {
    Answered,
    /// Nothing was deleted, for sure.
    NotApplied(NotApplied),
    /// It may have been carried out, or may still be.
    Unknown(Cause),
}

/// What stands in the sheet after a deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct After {
    /// One row fewer carries our reference.
    pub gone: bool,
    /// Both neighbours and every other filled cell of the reference column are there as before.
    pub others_are_there: bool,
    /// References that fewer rows carry than before, in order. Cells that hold something else are not named.
    pub missing: Vec<Reference>,
}

impl<C: Clock> GoogleSheet<C> {
    /// Finds the row and reads it with its neighbours; changes nothing.
    ///
    /// # Errors
    /// What was found instead of exactly one row that is equal, and nothing was learned counts as that too.
    pub async fn place(&self, row: &Row) -> Result<Place, Finding> {
        let deadline = Deadline::in_ms(self.read_timeout_ms);
        let unreadable = |reason: NotApplied| Finding::Unreadable(reason.cause());
        let sheet_id = self.sheet_id(deadline).await.map_err(unreadable)?;
        let column = self.read_reference_column(deadline).await.map_err(unreadable)?;
        let reference = row.cells()[0].clone();
        let number = match places(&column, &reference)[..] {
            [] => return Err(Finding::None),
            [only] => only,
            ref several => return Err(Finding::Several { rows: several.len() }),
        };
        let range = format!("{}!A{number}:F{number}", quoted(self.address.tab()));
        let [above, ours, below] = self.around(number, deadline).await.map_err(unreadable)?;
        if !ours.first().is_some_and(|cell| cell_is_reference(cell, &reference)) {
            return Err(Finding::Unreadable(Cause::new("row_moved")));
        }
        match judge(row, &[(range.clone(), ours.clone())]) {
            Finding::OneEqual { .. } => Ok(Place {
                sheet_id,
                row: number,
                range,
                cells: ours,
                others: others(&column, &reference),
                reference,
                times: 1,
                neighbours: [above, below],
            }),
            other @ (Finding::OneDiffers { .. }
            | Finding::Several { .. }
            | Finding::None
            | Finding::Unreadable(_)) => Err(other),
        }
    }

    /// The last row that carries this reference, whatever else stands in it; none when there is none.
    ///
    /// # Errors
    /// Why nothing was learned.
    pub async fn last_place(&self, reference: &Reference) -> Result<Option<Place>, NotApplied> {
        let deadline = Deadline::in_ms(self.read_timeout_ms);
        let sheet_id = self.sheet_id(deadline).await?;
        let column = self.read_reference_column(deadline).await?;
        let rows = places(&column, reference.as_str());
        let Some(&row) = rows.last() else { return Ok(None) };
        let [above, ours, below] = self.around(row, deadline).await?;
        if !ours.first().is_some_and(|cell| cell_is_reference(cell, reference.as_str())) {
            return Err(super::read::unusable("row_moved"));
        }
        Ok(Some(Place {
            sheet_id,
            row,
            range: format!("{}!A{row}:F{row}", quoted(self.address.tab())),
            reference: reference.as_str().to_owned(),
            cells: ours,
            times: rows.len(),
            others: others(&column, reference.as_str()),
            neighbours: [above, below],
        }))
    }

    /// Deletes the row at this place, in one request that is never repeated. `place` must have been read just now.
    pub async fn delete(&self, place: &Place) -> Deletion {
        let deadline = Deadline::in_ms(self.append_timeout_ms);
        let url = self.address.batch_update();
        // Zero-based, and the end is not part of it (Sheets API v4, DimensionRange).
        let range = json!({
            "sheetId": place.sheet_id,
            "dimension": "ROWS",
            "startIndex": place.row - 1,
            "endIndex": place.row,
        });
        let body = json!({"requests": [{"deleteDimension": {"range": range}}]});
        let least = Duration::from_millis(self.append_timeout_ms / 2);
        match self.authorized(|| Call::post_json(url.clone(), &body), least, deadline).await {
            Err(reason) => Deletion::NotApplied(reason),
            Ok(Exchange::Answered { status: 200..=299, .. }) => Deletion::Answered,
            Ok(Exchange::Lost(cause)) => Deletion::Unknown(cause),
            Ok(exchange @ (Exchange::NotSent(_) | Exchange::Answered { .. })) => {
                refused_or_unknown(&exchange)
            }
        }
    }

    /// Looks at what a deletion left behind; changes nothing.
    ///
    /// # Errors
    /// Why nothing was learned.
    pub async fn look_after(&self, place: &Place) -> Result<After, NotApplied> {
        let deadline = Deadline::in_ms(self.read_timeout_ms);
        let column = self.read_reference_column(deadline).await?;
        let now = others(&column, &place.reference);
        let gone = places(&column, &place.reference).len() < place.times;
        let fewer: Vec<&String> = place
            .others
            .iter()
            .filter(|(cell, times)| now.get(*cell).is_none_or(|seen| seen < times))
            .map(|(cell, _)| cell)
            .collect();
        let mut missing: Vec<Reference> =
            fewer.iter().filter_map(|cell| cell.trim_matches('"').trim().parse().ok()).collect();
        missing.sort();
        // Where it is gone, the one below stands in its place; otherwise nothing has moved.
        let at = if gone { [place.row - 1, place.row] } else { [place.row - 1, place.row + 1] };
        let rows = self.read_runs(&[at[0]..=at[1]], deadline).await?;
        let at_row = |number| rows.iter().find(|(row, _)| *row == number).map(|(_, cells)| cells);
        // Where nothing stood, nothing can be missing: the next enquiry may have come there meanwhile.
        let stands = |(row, cells): (&u32, &Vec<Value>)| cells.is_empty() || at_row(*row) == Some(cells);
        let stand = at.iter().zip(&place.neighbours).all(stands);
        Ok(After { gone, others_are_there: fewer.is_empty() && stand, missing })
    }

    /// The row above, the row itself, the row below.
    async fn around(&self, row: u32, deadline: Deadline) -> Result<[Vec<Value>; 3], NotApplied> {
        let rows = self.read_runs(&[row - 1..=row + 1], deadline).await?;
        let cells: Vec<Vec<Value>> = rows.into_iter().map(|(_, cells)| cells).collect();
        cells.try_into().map_err(|_| super::read::unusable("unreadable_answer"))
    }
}

/// Only Google's own refusal, or a request that did not leave, proves that nothing was deleted.
fn refused_or_unknown(exchange: &Exchange) -> Deletion {
    match (exchange, classify_failed_read(exchange)) {
        (Exchange::Answered { .. }, NotApplied::TryAgain(cause)) => Deletion::Unknown(cause),
        (_, reason) => Deletion::NotApplied(reason),
    }
}

/// One-based numbers of the rows that carry the reference.
fn places(column: &[Value], reference: &str) -> Vec<u32> {
    (1..).zip(column).filter(|(_, cell)| cell_is_reference(cell, reference)).map(|(row, _)| row).collect()
}

fn others(column: &[Value], reference: &str) -> HashMap<String, usize> {
    let mut counted = HashMap::new();
    let filled = |cell: &&Value| !cell.is_null() && **cell != "" && !cell_is_reference(cell, reference);
    for cell in column.iter().filter(filled) {
        *counted.entry(cell.to_string()).or_default() += 1;
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, body: &str) -> Exchange {
        Exchange::Answered { status, retry_after_seconds: None, body: body.as_bytes().to_vec() }
    }

    #[test]
    fn only_googles_own_refusal_proves_that_nothing_was_deleted() {
        let refusal = r#"{"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}}"#;
        let halt = NotApplied::Halt(Cause::new("permission_denied"));
        assert_eq!(refused_or_unknown(&answered(403, refusal)), Deletion::NotApplied(halt));
        let not_sent = Exchange::NotSent(Cause::new("connect"));
        assert!(matches!(refused_or_unknown(&not_sent), Deletion::NotApplied(_)));
        assert!(matches!(refused_or_unknown(&answered(429, "")), Deletion::NotApplied(_)));
        for (status, body) in [(403, "<html>"), (500, refusal), (503, ""), (408, refusal), (302, "")] {
            assert!(matches!(refused_or_unknown(&answered(status, body)), Deletion::Unknown(_)), "{status}");
        }
    }

    #[test]
    fn every_other_reference_counts_as_often_as_it_stands_there() {
        let column = [json!("reference"), json!("DK-1"), json!(""), json!("DK-2 "), json!("DK-1"), json!(7)];
        assert_eq!(places(&column, "DK-2"), [4]);
        assert_eq!(places(&column, "DK-1"), [2, 5]);
        let others = others(&column, "DK-2");
        assert_eq!((others.len(), others["\"DK-1\""], others["7"]), (3, 2, 1));
    }
}
