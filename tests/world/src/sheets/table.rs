//! Where an append goes: the "table" that Google finds from the range of the request.
//!
//! A single cell is an anchor: the table is the block of cells around it, gaps inside included. Any wider range is
//! searched for its last data, and there only cells without a gap between them count as one table. So a row with an
//! empty cell in the middle shifts the next append to the right, and only for who gave a wide range:
//! after `["a","","c"]` a bare tab name wrote at C2, and `A1` wrote at A2.

use super::grid::Tab;
use super::range::Area;

/// The place an append writes to, and the table it extends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) row: usize,
    pub(super) column: usize,
    pub(super) table: Option<Area>,
}

/// A block of cells, all ends inclusive.
#[derive(Clone, Copy)]
struct Block {
    top: usize,
    left: usize,
    bottom: usize,
    right: usize,
}

pub(super) fn find_place(tab: &Tab, area: Area) -> Place {
    let table = if area.is_one_cell() { around(tab, area.top, area.left) } else { last_in(tab, area) };
    match table {
        Some(Block { top, left, bottom, right }) => Place {
            row: bottom + 1,
            column: left,
            table: Some(Area { top, left, bottom: Some(bottom), right: Some(right) }),
        },
        // Nothing to extend: the range's own first cell, even where that splits other people's data.
        None => Place { row: area.top, column: area.left, table: None },
    }
}

/// The block that holds this cell. An empty cell beside a table is in no table; one in a gap of it is.
fn around(tab: &Tab, row: usize, column: usize) -> Option<Block> {
    if tab.is_filled(row, column) {
        return Some(grown(tab, row, column));
    }
    let rows = row.saturating_sub(1)..=row + 1;
    let neighbours =
        rows.flat_map(|row| (column.saturating_sub(1)..=column + 1).map(move |column| (row, column)));
    neighbours
        .filter(|(row, column)| tab.is_filled(*row, *column))
        .map(|(row, column)| grown(tab, row, column))
        .find(|block| {
            (block.top..=block.bottom).contains(&row) && (block.left..=block.right).contains(&column)
        })
}

/// Grows from one filled cell until blank rows and columns, or the edges, surround the block.
fn grown(tab: &Tab, row: usize, column: usize) -> Block {
    let mut block = Block { top: row, left: column, bottom: row, right: column };
    let in_row = |block: &Block, row: usize| {
        (block.left.saturating_sub(1)..=block.right + 1).any(|column| tab.is_filled(row, column))
    };
    let in_column = |block: &Block, column: usize| {
        (block.top.saturating_sub(1)..=block.bottom + 1).any(|row| tab.is_filled(row, column))
    };
    loop {
        let before = (block.top, block.left, block.bottom, block.right);
        while in_row(&block, block.bottom + 1) {
            block.bottom += 1;
        }
        while block.top > 0 && in_row(&block, block.top - 1) {
            block.top -= 1;
        }
        while in_column(&block, block.right + 1) {
            block.right += 1;
        }
        while block.left > 0 && in_column(&block, block.left - 1) {
            block.left -= 1;
        }
        if before == (block.top, block.left, block.bottom, block.right) {
            return block;
        }
    }
}

/// The last run of filled cells in the last row of the range that holds any, with what lies above and below it.
fn last_in(tab: &Tab, area: Area) -> Option<Block> {
    let last_row = area.bottom.unwrap_or(usize::MAX).min(tab.filled_rows().checked_sub(1)?);
    let last_column = area.right.unwrap_or(usize::MAX).min(tab.column_count.saturating_sub(1));
    let in_area = |row: usize| (area.left..=last_column).rev().find(|column| tab.is_filled(row, *column));
    let (row, mut right) = (area.top..=last_row).rev().find_map(|row| Some((row, in_area(row)?)))?;
    let mut left = right;
    while tab.is_filled(row, right + 1) {
        right += 1;
    }
    while left > 0 && tab.is_filled(row, left - 1) {
        left -= 1;
    }
    let touches = |row: usize| (left..=right).any(|column| tab.is_filled(row, column));
    let mut block = Block { top: row, left, bottom: row, right };
    while touches(block.bottom + 1) {
        block.bottom += 1;
    }
    while block.top > 0 && touches(block.top - 1) {
        block.top -= 1;
    }
    Some(block)
}
