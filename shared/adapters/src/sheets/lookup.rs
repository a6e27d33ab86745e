//! The look at the sheet: which rows carry our references, and whether they say what we wrote.
//!
//! Rows are found by their reference, never by a row number that was kept: people sort, insert and delete. The
//! reference column is read once for all; then the single hits are read. Whatever makes that picture doubtful (another
//! header, a clipped range, a row that moved between the two reads) is "unreadable", which is not "absent".

use std::collections::HashMap;
use std::ops::RangeInclusive;

use docket_domain::outcome::NotApplied;
use docket_domain::outcome::sheets::quoted;
use docket_domain::ports::Clock;
use docket_domain::row::{HEADER, Row, cell_is_reference, judge};
use docket_domain::status::{Cause, Finding};
use serde_json::Value;

use super::GoogleSheet;
use super::layout::{HEADER_CELLS, check_header};
use super::read::{Block, unusable};
use super::url::Major;
use crate::http::Deadline;

/// Row numbers, one-based, by reference.
type Places<'a> = HashMap<&'a str, Vec<u32>>;
/// What single hits hold, by row number.
type Contents = HashMap<u32, Result<Vec<Value>, Cause>>;

impl<C: Clock> GoogleSheet<C> {
    pub(super) async fn look_up_by(
        &self,
        rows: &[Row],
        deadline: Deadline,
    ) -> Result<Vec<Finding>, NotApplied> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let column = match self.read_reference_column(deadline).await {
            Ok(column) => column,
            Err(reason) => {
                if matches!(reason, NotApplied::Halt(_)) {
                    self.layout.doubt();
                }
                return Err(reason);
            }
        };
        let places = find(rows, &column);
        let contents = self.read_single_hits(&places, deadline).await;
        Ok(rows.iter().map(|row| conclude(row, &places, &contents, self.address.tab())).collect())
    }

    /// Column A from its first cell to its last filled one.
    pub(super) async fn read_reference_column(&self, deadline: Deadline) -> Result<Vec<Value>, NotApplied> {
        let cells = [HEADER_CELLS.to_owned(), "A:A".to_owned()];
        // By columns: of a long sheet the answer is half as large as by rows.
        let blocks = self.read(&cells, Major::Columns, deadline).await?;
        let [header, column] = <[Block; 2]>::try_from(blocks).map_err(|_| unusable("unreadable_answer"))?;
        check_header(&header, self.address.tab())?;
        whole_column(column, self.address.tab()).ok_or_else(|| unusable("reference_column_unreadable"))
    }

    /// Rows that carry one of the references, where only one does: of several it is enough to know how many.
    async fn read_single_hits(&self, places: &Places<'_>, deadline: Deadline) -> Contents {
        let singles =
            places.values().filter_map(|rows| if let [only] = rows[..] { Some(only) } else { None });
        let mut contents = Contents::new();
        for runs in runs(singles.collect()).chunks(self.address.ranges_per_request()) {
            match self.read_runs(runs, deadline).await {
                Ok(rows) => contents.extend(rows.into_iter().map(|(row, cells)| (row, Ok(cells)))),
                Err(reason) => {
                    let rows = runs.iter().cloned().flatten();
                    contents.extend(rows.map(|row| (row, Err(reason.cause()))));
                }
            }
        }
        contents
    }

    /// The cells of each row, A to F. The header comes along: a column moved since the first read would make every row
    /// look different.
    pub(super) async fn read_runs(
        &self,
        runs: &[RangeInclusive<u32>],
        deadline: Deadline,
    ) -> Result<Vec<(u32, Vec<Value>)>, NotApplied> {
        let cells: Vec<String> = std::iter::once(HEADER_CELLS.to_owned())
            .chain(runs.iter().map(|run| format!("A{}:F{}", run.start(), run.end())))
            .collect();
        let mut blocks = self.read(&cells, Major::Rows, deadline).await?.into_iter();
        let header = blocks.next().ok_or_else(|| unusable("unreadable_answer"))?;
        check_header(&header, self.address.tab())?;
        let mut rows = Vec::new();
        for (block, run) in blocks.zip(runs) {
            let fits = block.lists.len() <= run.clone().count();
            if !block.begins_at(self.address.tab(), "A", *run.start()) || !fits {
                return Err(unusable("unreadable_answer"));
            }
            // Blank rows at the end are left out of an answer.
            let lists = block.lists.into_iter().chain(std::iter::repeat_with(Vec::new));
            rows.extend(run.clone().zip(lists));
        }
        Ok(rows)
    }
}

/// Neighbours together: the rows of one append are one range, so one request reads them all.
fn runs(mut rows: Vec<u32>) -> Vec<RangeInclusive<u32>> {
    rows.sort_unstable();
    let mut runs: Vec<RangeInclusive<u32>> = Vec::new();
    for row in rows {
        match runs.last_mut() {
            Some(run) if *run.end() + 1 == row => *run = *run.start()..=row,
            Some(_) | None => runs.push(row..=row),
        }
    }
    runs
}

/// None unless the block is column A of our tab from row 1 on. Its first cell is the header that was just seen: an empty
/// column under it is a contradiction, not an empty sheet.
fn whole_column(block: Block, tab: &str) -> Option<Vec<Value>> {
    let of_column_a = block.begins_at(tab, "A", 1) && block.range.columns.1 == "A";
    let [column] = <[Vec<Value>; 1]>::try_from(block.lists).ok()?;
    let fits = u64::from(block.range.rows.1) >= column.len() as u64;
    let headed = column.first().is_some_and(|cell| cell_is_reference(cell, HEADER[0]));
    (of_column_a && fits && headed).then_some(column)
}

/// In which rows each reference stands.
fn find<'a>(rows: &'a [Row], column: &[Value]) -> Places<'a> {
    let mut places: Places<'a> = rows.iter().map(|row| (reference(row), Vec::new())).collect();
    for (number, cell) in (1..).zip(column) {
        // The same comparison as `cell_is_reference`, by one lookup instead of one comparison a reference.
        if let Some(places) = cell.as_str().and_then(|text| places.get_mut(text.trim())) {
            places.push(number);
        }
    }
    places
}

fn conclude(row: &Row, places: &Places<'_>, contents: &Contents, tab: &str) -> Finding {
    let range = |number: &u32| format!("{}!A{number}:F{number}", quoted(tab));
    match places.get(reference(row)).map_or(&[][..], Vec::as_slice) {
        [only] => match contents.get(only) {
            Some(Ok(cells)) if cells.first().is_some_and(|cell| cell_is_reference(cell, reference(row))) => {
                judge(row, &[(range(only), cells.clone())])
            }
            // Somebody sorted, inserted or deleted rows between the two reads.
            Some(Ok(_)) => Finding::Unreadable(Cause::new("row_moved")),
            Some(Err(cause)) => Finding::Unreadable(cause.clone()),
            None => Finding::Unreadable(Cause::new("row_not_read")),
        },
        none_or_several => {
            let hits: Vec<_> = none_or_several.iter().map(|number| (range(number), Vec::new())).collect();
            judge(row, &hits)
        }
    }
}

fn reference(row: &Row) -> &str {
    &row.cells()[0]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::read::tests::block;
    use super::*;

    #[test]
    fn neighbours_are_read_as_one_range() {
        assert_eq!(runs(vec![9, 3, 2, 4, 7]), [2..=4, 7..=7, 9..=9]);
        assert!(runs(Vec::new()).is_empty());
    }

    #[test]
    fn a_column_counts_only_when_it_is_ours_from_its_first_cell_on() {
        let column = |range: &str, lists: Value| whole_column(block(range, &lists), "Intake");
        let cells = json!([["reference", "DK-1", 7, null, "", true]]);
        assert_eq!(column("Intake!A1:A1000", cells.clone()).map(|cells| cells.len()), Some(6));
        assert!(column("Intake!A1", json!([["reference"]])).is_some());
        for (range, lists) in [
            ("Intake!A2:A1000", cells.clone()),
            ("Other!A1:A1000", cells.clone()),
            ("Intake!B1:B1000", cells.clone()),
            ("Intake!A1:F1000", cells.clone()),
            ("Intake!A1:A5", cells),
            ("Intake!A1:A1000", json!([])),
            ("Intake!A1:A1000", json!([["DK-1"]])),
            ("Intake!A1:A1000", json!([["reference"], ["DK-1"]])),
        ] {
            assert!(column(range, lists.clone()).is_none(), "{range} {lists}");
        }
    }
}
