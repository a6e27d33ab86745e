//! Looking for a reference where it does not belong: an append whose answer named another place has put it there, and the
//! reference column does not tell.

use std::collections::{BTreeMap, BTreeSet};

use docket_domain::outcome::NotApplied;
use docket_domain::outcome::sheets::quoted;
use docket_domain::ports::Clock;
use docket_domain::reference::Reference;
use serde_json::Value;

use super::GoogleSheet;
use super::layout::{HEADER_CELLS, check_header};
use super::read::{Block, unusable};
use super::url::Major;
use crate::http::Deadline;

/// Of one read, the empty ones too. A workbook of ten million cells takes fifty reads, fewer than Google allows a minute.
const CELLS_PER_READ_MAX: u64 = 200_000;

impl<C: Clock> GoogleSheet<C> {
    pub(super) async fn read_whole_tab_for(
        &self,
        references: &BTreeSet<Reference>,
    ) -> Result<BTreeMap<Reference, Vec<String>>, NotApplied> {
        let grid = self.grid(Deadline::in_ms(self.read_timeout_ms)).await?;
        let last_column = letters(grid.column_count.max(1));
        let rows_per_read = (CELLS_PER_READ_MAX / grid.column_count.max(1)).max(1);
        let tab = quoted(self.address.tab());
        let mut places: BTreeMap<Reference, Vec<String>> = BTreeMap::new();
        let mut first = 1;
        while first <= grid.row_count {
            let last = grid.row_count.min(first + rows_per_read - 1);
            let cells = [HEADER_CELLS.to_owned(), format!("A{first}:{last_column}{last}")];
            let blocks = self.read(&cells, Major::Rows, Deadline::in_ms(self.read_timeout_ms)).await?;
            let [header, block] =
                <[Block; 2]>::try_from(blocks).map_err(|_| unusable("unreadable_answer"))?;
            check_header(&header, self.address.tab())?;
            if !block.begins_at(self.address.tab(), "A", u32::try_from(first).unwrap_or(u32::MAX)) {
                return Err(unusable("unreadable_answer"));
            }
            for (row, cells) in (first..).zip(&block.lists) {
                for (column, reference) in beside_the_first(cells) {
                    if let Some(reference) = references.get(&reference) {
                        places.entry(reference.clone()).or_default().push(format!("{tab}!{column}{row}"));
                    }
                }
            }
            first = last + 1;
        }
        Ok(places)
    }
}

/// The references in a row but for its first cell, each with its column.
fn beside_the_first(cells: &[Value]) -> impl Iterator<Item = (String, Reference)> + '_ {
    (1..)
        .zip(cells)
        .skip(1)
        .filter_map(|(column, cell)| Some((column, cell.as_str()?.trim().parse().ok()?)))
        .map(|(column, reference)| (letters(column), reference))
}

/// The name of a column, the first is 1: A to Z, AA, AB …
fn letters(mut column: u64) -> String {
    let mut name = Vec::new();
    while column > 0 {
        let digit = u8::try_from((column - 1) % 26).unwrap_or(0);
        name.push(char::from(b'A' + digit));
        column = (column - 1) / 26;
    }
    name.into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_are_named_as_in_a_sheet() {
        for (column, name) in
            [(1, "A"), (26, "Z"), (27, "AA"), (52, "AZ"), (53, "BA"), (702, "ZZ"), (703, "AAA")]
        {
            assert_eq!(letters(column), name);
        }
    }

    #[test]
    fn a_reference_in_its_own_column_is_not_astray() {
        let ours = "DK-8M4T-K2QX-7RZ9";
        let cells =
            [json!(ours), json!(7), json!(format!(" {ours} ")), json!(null), json!("DK-12"), json!(ours)];
        let found: Vec<String> = beside_the_first(&cells).map(|(column, _)| column).collect();
        assert_eq!(found, ["C", "F"]);
    }
}
