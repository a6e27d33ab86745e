//! A workbook: tabs, their cells, and what people do to them by hand.
//!
//! Rows below the last filled one are not stored; `row_count` and `column_count` are the size that Google shows and
//! charges for. A row may be hidden from readers for a while: an answer was given, and reads are still stale.

use serde_json::Value;

use super::cell::Cell;

/// Rows and columns of a tab that nobody has resized.
const NEW_ROWS: usize = 1000;
const NEW_COLUMNS: usize = 26;

/// Until when readers do not see a row that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    /// Milliseconds since the epoch.
    Until(i64),
    /// This many reads of the tab still miss it.
    ForReads(u32),
}

#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    pub(super) cells: Vec<Cell>,
    pub(super) hidden: Option<Hidden>,
}

impl Row {
    fn of(cells: Vec<Cell>) -> Self {
        Self { cells, hidden: None }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Tab {
    pub(super) sheet_id: usize,
    pub(super) title: String,
    pub(super) rows: Vec<Row>,
    pub(super) row_count: usize,
    pub(super) column_count: usize,
    pub(super) frozen_rows: usize,
    /// Somebody protected all of it, and our account is not among the editors.
    pub(super) protected: bool,
}

impl Tab {
    pub(super) fn is_filled(&self, row: usize, column: usize) -> bool {
        self.rows.get(row).and_then(|row| row.cells.get(column)).is_some_and(Option::is_some)
    }

    pub(super) fn is_blank_row(&self, row: usize) -> bool {
        self.rows.get(row).is_none_or(|row| row.cells.iter().all(Option::is_none))
    }

    /// The number of rows down to the last one that holds anything.
    pub(super) fn filled_rows(&self) -> usize {
        (0..self.rows.len()).rev().find(|row| !self.is_blank_row(*row)).map_or(0, |row| row + 1)
    }

    pub(super) fn put(&mut self, row: usize, column: usize, cell: Cell) {
        self.reach(row, column);
        let cells = &mut self.rows[row].cells;
        if cells.len() <= column {
            cells.resize(column + 1, None);
        }
        cells[column] = cell;
    }

    pub(super) fn put_row(&mut self, row: usize, cells: Vec<Cell>) {
        self.reach(row, cells.len().saturating_sub(1));
        self.rows[row] = Row::of(cells);
    }

    pub(super) fn insert_rows(&mut self, at: usize, count: usize) {
        if at < self.rows.len() {
            self.rows.splice(at..at, std::iter::repeat_with(Row::default).take(count));
        }
        self.row_count += count;
    }

    pub(super) fn delete_row(&mut self, row: usize) {
        if row < self.rows.len() {
            self.rows.remove(row);
        }
        self.row_count -= 1;
    }

    pub(super) fn insert_column(&mut self, column: usize) {
        for row in &mut self.rows {
            if column < row.cells.len() {
                row.cells.insert(column, None);
            }
        }
        self.column_count += 1;
    }

    /// Ascending, the header stays where it is; blanks go last, as in the menu "sort sheet".
    pub(super) fn sort_by_column(&mut self, column: usize) {
        let key = |row: &Row| match row.cells.get(column) {
            Some(Some(Value::Number(number))) => (0, number.as_f64().unwrap_or_default(), String::new()),
            Some(Some(Value::String(text))) => (1, 0.0, text.to_lowercase()),
            Some(Some(other)) => (2, 0.0, other.to_string()),
            Some(None) | None => (3, 0.0, String::new()),
        };
        if let Some(body) = self.rows.get_mut(1..) {
            body.sort_by(|left, right| key(left).partial_cmp(&key(right)).expect("cells hold no NaN"));
        }
    }

    /// Stores rows down to `row` and lets the grid grow to hold this cell.
    pub(super) fn reach(&mut self, row: usize, column: usize) {
        if self.rows.len() <= row {
            self.rows.resize_with(row + 1, Row::default);
        }
        self.row_count = self.row_count.max(row + 1);
        self.column_count = self.column_count.max(column + 1);
    }
}

/// One spreadsheet document.
#[derive(Debug, Clone)]
pub(super) struct Workbook {
    pub(super) spreadsheet_id: String,
    pub(super) tabs: Vec<Tab>,
    /// Cells over all tabs, empty ones too.
    pub(super) cell_limit: usize,
    /// The longest cell that an append may bring, in UTF-16 units.
    pub(super) cell_characters: usize,
    /// Ids of developer metadata in use.
    pub(super) metadata: Vec<i64>,
    /// Our account may look and not touch.
    pub(super) viewer_only: bool,
}

impl Workbook {
    pub(super) fn add_tab(&mut self, title: &str, header: Vec<Cell>) {
        let sheet_id = self.tabs.iter().map(|tab| tab.sheet_id + 1).max().unwrap_or(0);
        self.tabs.push(Tab {
            sheet_id,
            title: title.to_owned(),
            rows: vec![Row::of(header)],
            row_count: NEW_ROWS,
            column_count: NEW_COLUMNS,
            frozen_rows: 0,
            protected: false,
        });
    }

    pub(super) fn titles(&self) -> Vec<&str> {
        self.tabs.iter().map(|tab| tab.title.as_str()).collect()
    }

    pub(super) fn tab(&mut self, title: &str) -> Option<&mut Tab> {
        self.tabs.iter_mut().find(|tab| tab.title == title)
    }

    /// Cells that count towards the limit.
    pub(super) fn size(&self) -> usize {
        self.tabs.iter().map(|tab| tab.row_count * tab.column_count).sum()
    }
}
