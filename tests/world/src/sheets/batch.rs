//! `spreadsheets.batchUpdate`, all or nothing, with the few requests that setting a sheet up needs; and `values.update`.

use serde_json::{Value, json};

use super::call::Update;
use super::cell;
use super::grid::{Tab, Workbook};
use super::refusal::Refusal;
use super::values;

/// Carries out every request, or none of them and answers why.
pub(super) fn batch_update(workbook: &mut Workbook, requests: &[Value]) -> Result<Value, Refusal> {
    if requests.is_empty() {
        return Err(Refusal::invalid("Must specify at least one request."));
    }
    if workbook.viewer_only {
        return Err(Refusal::permission_denied());
    }
    let mut changed = workbook.clone();
    let mut replies = Vec::new();
    for (number, request) in requests.iter().enumerate() {
        let reply = carry_out(&mut changed, request)
            .map_err(|why| Refusal::invalid(&format!("Invalid requests[{number}].{why}")))?;
        replies.push(reply);
    }
    *workbook = changed;
    Ok(json!({"spreadsheetId": workbook.spreadsheet_id, "replies": replies}))
}

fn carry_out(workbook: &mut Workbook, request: &Value) -> Result<Value, String> {
    let fields = request.as_object().ok_or("request: not an object")?;
    let Some((name, request)) = fields.iter().next().filter(|_| fields.len() == 1) else {
        return Err("request: exactly one kind is expected".into());
    };
    match name.as_str() {
        "addSheet" => add_sheet(workbook, &request["properties"]),
        "deleteDimension" => delete_rows(workbook, &request["range"]).map(|()| json!({})),
        "createDeveloperMetadata" => create_metadata(workbook, &request["developerMetadata"]),
        "deleteDeveloperMetadata" => {
            let id = request["dataFilter"]["developerMetadataLookup"]["metadataId"].as_i64();
            let before = workbook.metadata.len();
            workbook.metadata.retain(|known| Some(*known) != id);
            let deleted = before - workbook.metadata.len();
            Ok(json!({"deleteDeveloperMetadata": {"deletedDeveloperMetadata": vec![json!({}); deleted]}}))
        }
        other => Err(format!("{other}: this fake does not imitate it")),
    }
}

fn add_sheet(workbook: &mut Workbook, properties: &Value) -> Result<Value, String> {
    let title = properties["title"].as_str().unwrap_or_default();
    // Names differ for people, so letter case alone makes no other name.
    if workbook.tabs.iter().any(|tab| tab.title.eq_ignore_ascii_case(title)) {
        return Err(format!(
            "addSheet: A sheet with the name \"{title}\" already exists. Please enter another name."
        ));
    }
    workbook.add_tab(title, Vec::new());
    let tab = workbook.tabs.last_mut().expect("it was just added");
    let named = |name: &str| {
        properties["gridProperties"][name].as_u64().and_then(|number| usize::try_from(number).ok())
    };
    tab.row_count = named("rowCount").unwrap_or(tab.row_count);
    tab.column_count = named("columnCount").unwrap_or(tab.column_count);
    tab.frozen_rows = named("frozenRowCount").unwrap_or(0);
    let (sheet_id, title) = (tab.sheet_id, tab.title.clone());
    if workbook.size() > workbook.cell_limit {
        return Err(format!("addSheet: {}", Refusal::above_the_limit(workbook.cell_limit)));
    }
    Ok(json!({"addSheet": {"properties": {"sheetId": sheet_id, "title": title}}}))
}

fn delete_rows(workbook: &mut Workbook, range: &Value) -> Result<(), String> {
    let number = |name: &str| range[name].as_u64().and_then(|number| usize::try_from(number).ok());
    let tab =
        by_id(workbook, number("sheetId").unwrap_or(0)).ok_or("deleteDimension: No grid with that id")?;
    let (Some(start), Some(end), true) =
        (number("startIndex"), number("endIndex"), range["dimension"] == "ROWS")
    else {
        return Err("deleteDimension: this fake deletes rows with a start and an end".into());
    };
    if end > tab.row_count || start >= end {
        return Err(format!(
            "deleteDimension: Cannot delete a row that doesn't exist. Tried to delete row index {start} but there are only {} \
             rows.",
            tab.row_count
        ));
    }
    if tab.frozen_rows > 0 && end - start >= tab.row_count - tab.frozen_rows && start >= tab.frozen_rows {
        return Err("deleteDimension: Sorry, it is not possible to delete all non-frozen rows.".into());
    }
    if tab.protected {
        return Err("deleteDimension: You are trying to edit a protected cell or object.".into());
    }
    for _ in start..end {
        tab.delete_row(start);
    }
    Ok(())
}

fn by_id(workbook: &mut Workbook, sheet_id: usize) -> Option<&mut Tab> {
    workbook.tabs.iter_mut().find(|tab| tab.sheet_id == sheet_id)
}

fn create_metadata(workbook: &mut Workbook, metadata: &Value) -> Result<Value, String> {
    let id = metadata["metadataId"].as_i64().ok_or("createDeveloperMetadata: this fake wants an id")?;
    if workbook.metadata.contains(&id) {
        return Err("createDeveloperMetadata: Developer metadata with that ID already exists".into());
    }
    workbook.metadata.push(id);
    Ok(json!({"createDeveloperMetadata": {"developerMetadata": metadata}}))
}

/// Overwrites the cells that are named, and no others.
pub(super) fn update(workbook: &mut Workbook, update: &Update, now_ms: i64) -> Result<Value, Refusal> {
    if workbook.viewer_only {
        return Err(Refusal::permission_denied());
    }
    let (number, area) = values::find(workbook, &update.range)?;
    let spreadsheet_id = workbook.spreadsheet_id.clone();
    let tab = &mut workbook.tabs[number];
    if tab.protected {
        return Err(Refusal::protected());
    }
    let year = cell::year_of(now_ms);
    let mut written = 0;
    for (down, cells) in update.rows.iter().enumerate() {
        for (across, value) in cells.iter().enumerate().filter(|(_, value)| !value.is_null()) {
            tab.put(area.top + down, area.left + across, cell::stored(value, update.input, year));
            written += 1;
        }
    }
    Ok(json!({"spreadsheetId": spreadsheet_id, "updatedRange": update.range, "updatedCells": written}))
}
