//! Appending and reading: what the calls do to a workbook and what they answer.

use serde_json::{Map, Value, json};

use super::call::{Append, Read, transposed};
use super::cell::{self, Render};
use super::grid::{Hidden, Tab, Workbook};
use super::range::{self, Area};
use super::refusal::Refusal;
use super::table::{self, Place};

/// The tab (its number) and the place that this append would write to now.
pub(super) fn choose_place(workbook: &Workbook, append: &Append) -> Result<(usize, Place), Refusal> {
    let (number, area) = find(workbook, &append.range)?;
    Ok((number, table::find_place(&workbook.tabs[number], area)))
}

/// Writes all rows of an append at `place`, or refuses and writes none. Answers Google's JSON.
pub(super) fn write(
    workbook: &mut Workbook,
    append: &Append,
    (number, place): (usize, Place),
    hidden: Option<Hidden>,
    now_ms: i64,
) -> Result<Value, Refusal> {
    if workbook.viewer_only {
        return Err(Refusal::permission_denied());
    }
    if workbook.tabs[number].protected {
        return Err(Refusal::protected());
    }
    let count = append.rows.len();
    let width = append.rows.iter().map(Vec::len).max().unwrap_or(0);
    let tab = &workbook.tabs[number];
    // Inserted rows make the tab longer even when blank rows lie below: a workbook fills up that way.
    let grown_rows =
        if append.insert_rows { tab.row_count + count } else { tab.row_count.max(place.row + count) };
    let grown_columns = tab.column_count.max(place.column + width);
    let size = workbook.size() - tab.row_count * tab.column_count + grown_rows * grown_columns;
    if size > workbook.cell_limit && size > workbook.size() {
        return Err(Refusal::workbook_full(workbook.cell_limit));
    }

    let spreadsheet_id = workbook.spreadsheet_id.clone();
    let tab = &mut workbook.tabs[number];
    if append.insert_rows {
        tab.insert_rows(place.row, count);
    }
    let year = cell::year_of(now_ms);
    let mut written = 0;
    for (down, cells) in append.rows.iter().enumerate() {
        for (across, value) in cells.iter().enumerate().filter(|(_, value)| !value.is_null()) {
            tab.put(place.row + down, place.column + across, cell::stored(value, append.input, year));
            written += 1;
        }
        tab.reach(place.row + down, place.column);
        tab.rows[place.row + down].hidden = hidden;
    }
    let area = Area {
        top: place.row,
        left: place.column,
        bottom: Some(place.row + count.saturating_sub(1)),
        right: Some(place.column + width.saturating_sub(1)),
    };
    let mut updates = Map::new();
    updates.insert("spreadsheetId".to_owned(), json!(spreadsheet_id));
    updates.insert("updatedRange".to_owned(), json!(range::display(&tab.title, area)));
    for (name, number) in [("updatedRows", count), ("updatedColumns", width), ("updatedCells", written)] {
        // Zeroes are left out, as everywhere in Google's JSON.
        if number > 0 {
            updates.insert(name.to_owned(), json!(number));
        }
    }
    let mut answer = json!({"spreadsheetId": spreadsheet_id, "updates": updates});
    if let Some(table) = place.table {
        answer["tableRange"] = json!(range::display(&tab.title, table));
    }
    Ok(answer)
}

/// Answers each range of a read, then lets rows that were hidden for so many reads come nearer to the light.
pub(super) fn read(workbook: &mut Workbook, read: &Read, now_ms: i64) -> Result<Vec<Value>, Refusal> {
    let found = read.ranges.iter().map(|range| find(workbook, range)).collect::<Result<Vec<_>, _>>()?;
    let answers =
        found.iter().map(|(number, area)| read_area(&workbook.tabs[*number], *area, read, now_ms)).collect();
    for (number, tab) in workbook.tabs.iter_mut().enumerate() {
        if found.iter().any(|(read, _)| *read == number) {
            count_read(tab);
        }
    }
    Ok(answers)
}

/// `{"spreadsheetId","properties","sheets":[{"properties"}]}`
pub(super) fn describe(workbook: &Workbook) -> Value {
    let sheets: Vec<Value> = workbook
        .tabs
        .iter()
        .enumerate()
        .map(|(index, tab)| {
            let mut sheet = json!({"properties": {
                "sheetId": tab.sheet_id,
                "title": tab.title,
                "index": index,
                "sheetType": "GRID",
                "gridProperties": {"rowCount": tab.row_count, "columnCount": tab.column_count}
            }});
            if tab.frozen_rows > 0 {
                sheet["properties"]["gridProperties"]["frozenRowCount"] = json!(tab.frozen_rows);
            }
            if tab.protected {
                // `requestingUserCanEdit` is false, and so it is left out.
                sheet["protectedRanges"] =
                    json!([{"protectedRangeId": 1, "range": {"sheetId": tab.sheet_id}}]);
            }
            sheet
        })
        .collect();
    json!({
        "spreadsheetId": workbook.spreadsheet_id,
        "properties": {"title": "Enquiries", "locale": "en_US", "timeZone": "Etc/UTC"},
        "sheets": sheets
    })
}

/// All rows of a tab, trimmed as in an answer, those too that reads still miss.
pub(super) fn rows_of(tab: &Tab) -> Vec<Vec<Value>> {
    trimmed(
        tab.rows
            .iter()
            .map(|row| row.cells.iter().map(|cell| cell::shown(cell, Render::Unformatted)).collect()),
    )
}

pub(super) fn find(workbook: &Workbook, text: &str) -> Result<(usize, Area), Refusal> {
    let (number, area) = range::parse(text, &workbook.titles())?;
    let tab = &workbook.tabs[number];
    if area.top >= tab.row_count || area.left >= tab.column_count {
        return Err(Refusal::invalid(&format!(
            "Range ({}) exceeds grid limits. Max rows: {}, max columns: {}",
            range::display_quoted(&tab.title, area),
            tab.row_count,
            tab.column_count
        )));
    }
    Ok((number, area))
}

fn read_area(tab: &Tab, area: Area, read: &Read, now_ms: i64) -> Value {
    let bottom = area.bottom.unwrap_or(usize::MAX).min(tab.row_count - 1);
    let right = area.right.unwrap_or(usize::MAX).min(tab.column_count - 1);
    let visible = tab.rows.iter().filter(|row| match row.hidden {
        None => true,
        Some(Hidden::Until(until_ms)) => now_ms >= until_ms,
        Some(Hidden::ForReads(left)) => left == 0,
    });
    let rows = visible.skip(area.top).take(bottom - area.top + 1).map(|row| {
        let cells = row.cells.iter().skip(area.left).take(right - area.left + 1);
        cells.map(|cell| cell::shown(cell, read.render)).collect()
    });
    let mut values = trimmed(rows);
    if read.columns_first {
        let columns = transposed(&values).into_iter();
        values = trimmed(columns.map(|column| column.into_iter().map(blank_for_null).collect()));
    }
    let clipped = Area { bottom: Some(bottom), right: Some(right), ..area };
    let mut answer = json!({
        "range": range::display(&tab.title, clipped),
        "majorDimension": if read.columns_first { "COLUMNS" } else { "ROWS" },
    });
    if !values.is_empty() {
        answer["values"] = json!(values);
    }
    answer
}

fn blank_for_null(value: Value) -> Value {
    if value.is_null() { Value::from("") } else { value }
}

/// Cuts empty cells at the end of each row, then empty rows at the end.
fn trimmed(rows: impl Iterator<Item = Vec<Value>>) -> Vec<Vec<Value>> {
    let mut rows: Vec<Vec<Value>> = rows
        .map(|mut row| {
            row.truncate(row.iter().rposition(|cell| *cell != "").map_or(0, |last| last + 1));
            row
        })
        .collect();
    rows.truncate(rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1));
    rows
}

fn count_read(tab: &mut Tab) {
    for row in &mut tab.rows {
        row.hidden = match row.hidden {
            Some(Hidden::ForReads(left)) if left > 1 => Some(Hidden::ForReads(left - 1)),
            Some(Hidden::ForReads(_)) | None => None,
            Some(Hidden::Until(until_ms)) => Some(Hidden::Until(until_ms)),
        };
    }
}
