//! What setting a sheet up needs of Google: `batchUpdate` all or nothing, `values.update`, who may edit.

use docket_world::sheets::{Behaviour, FailureBody, On};
use serde_json::{Value, json};

use super::{HEADER, RAW, Sheet, assert_refused, reply, sheet};

fn batch(sheet: &Sheet, requests: &Value) -> (u16, Value) {
    let request = sheet.request("POST", "", "", &json!({"requests": requests}));
    let request =
        docket_world::exchange::Request { path: format!("{}:batchUpdate", request.path), ..request };
    reply(sheet.ask(request))
}

fn tabs(sheet: &Sheet) -> Value {
    reply(sheet.ask(sheet.request("GET", "", "", &Value::Null))).1["sheets"].clone()
}

fn mark(id: i64) -> Value {
    json!({"createDeveloperMetadata": {"developerMetadata": {
        "metadataId": id, "metadataKey": "k", "location": {"spreadsheet": true}, "visibility": "PROJECT",
    }}})
}

#[test]
fn a_tab_is_added_once_whatever_the_case_of_its_name() {
    let sheet = sheet();
    let add = |title: &str| json!([{"addSheet": {"properties": {"title": title, "gridProperties": {"frozenRowCount": 1}}}}]);
    let (status, body) = batch(&sheet, &add("New"));
    assert_eq!((status, &body["replies"][0]["addSheet"]["properties"]["title"]), (200, &json!("New")));
    assert_eq!(tabs(&sheet)[1]["properties"]["gridProperties"]["frozenRowCount"], 1);
    assert_refused(batch(&sheet, &add("new")), 400, "INVALID_ARGUMENT", "already exists");
}

#[test]
fn a_tab_is_as_large_as_it_was_asked_for_and_does_not_fit_into_a_full_workbook() {
    let sheet = sheet();
    let add = |title: &str, rows: u64| json!([{"addSheet": {"properties": {"title": title, "gridProperties": {"rowCount": rows, "columnCount": 10}}}}]);
    sheet.sheets.set_cell_limit(1000 * 26 + 50 * 10);
    let words = "above the limit of 26500 cells";
    assert_refused(batch(&sheet, &add("New", 51)), 400, "INVALID_ARGUMENT", words);
    assert_eq!(tabs(&sheet).as_array().unwrap().len(), 1);
    assert_eq!(batch(&sheet, &add("New", 50)).0, 200);
    assert_eq!(tabs(&sheet)[1]["properties"]["gridProperties"], json!({"rowCount": 50, "columnCount": 10}));
    // What needs no cell is carried out as ever.
    assert_eq!(batch(&sheet, &json!([mark(7)])).0, 200);
}

#[test]
fn a_batch_of_which_one_request_is_refused_changes_nothing() {
    let sheet = sheet();
    assert_eq!(batch(&sheet, &json!([mark(7)])).0, 200);
    let both = json!([{"addSheet": {"properties": {"title": "New"}}}, mark(7)]);
    assert_refused(batch(&sheet, &both), 400, "INVALID_ARGUMENT", "with that ID already exists");
    assert_eq!(tabs(&sheet).as_array().unwrap().len(), 1);
    let away = json!([{"deleteDeveloperMetadata": {"dataFilter": {"developerMetadataLookup": {"metadataId": 7}}}}, mark(7)]);
    assert_eq!(batch(&sheet, &away).0, 200, "an id that was taken away is free again");
    assert_refused(batch(&sheet, &json!([])), 400, "INVALID_ARGUMENT", "at least one request");
}

#[test]
fn cells_are_overwritten_where_they_are_named_and_nowhere_else() {
    let sheet = sheet();
    sheet.append_row();
    let body = json!({"majorDimension": "ROWS", "values": [["=1+1", "x"]]});
    let (status, body) = reply(sheet.ask(sheet.request("PUT", "/values/%27Intake%27%21B1", RAW, &body)));
    assert_eq!((status, &body["updatedCells"]), (200, &json!(2)));
    assert_eq!(sheet.rows()[0][..4], [HEADER[0], "=1+1", "x", HEADER[3]].map(Value::from));
    assert_eq!(sheet.rows()[1][0], "R-1");
}

#[test]
fn rows_are_deleted_by_their_places() {
    let sheet = sheet();
    for _ in 0..3 {
        sheet.append_row();
    }
    sheet.sheets.put_row("Intake", 3, &[json!("the one")]);
    let range = json!({"sheetId": 0, "dimension": "ROWS", "startIndex": 2, "endIndex": 3});
    assert_eq!(batch(&sheet, &json!([{"deleteDimension": {"range": range}}])).0, 200);
    assert_eq!(sheet.rows().len(), 3);
    assert!(sheet.rows().iter().all(|row| row[0] != "the one"));
}

#[test]
fn a_deletion_can_come_long_after_the_connection_is_gone_and_takes_whatever_stands_there_by_then() {
    for behaviour in [
        Behaviour::never_answers_and_writes_later(180_000),
        Behaviour::hangs_up_and_writes_later(180_000),
        Behaviour::fails_and_writes_later(503, FailureBody::Html, 180_000),
    ] {
        let sheet = sheet();
        sheet.sheets.put_row("Intake", 2, &[json!("the one")]);
        sheet.sheets.put_row("Intake", 3, &[json!("another")]);
        sheet.sheets.next(On::Changes, behaviour);
        let range = json!({"sheetId": 0, "dimension": "ROWS", "startIndex": 1, "endIndex": 2});
        sheet.ask(sheet.request(
            "POST",
            ":batchUpdate",
            "",
            &json!({"requests": [{"deleteDimension": {"range": range}}]}),
        ));
        sheet.sheets.insert_row("Intake", 2);
        sheet.sheets.put_row("Intake", 2, &[json!("newly there")]);
        sheet.clock.turn(179_999);
        assert_eq!(sheet.rows().len(), 4);
        sheet.clock.turn(1);
        assert_eq!(sheet.rows()[1..], [[json!("the one")], [json!("another")]]);
    }
}

#[test]
fn a_row_that_cannot_be_deleted_is_refused_and_the_whole_batch_with_it() {
    let sheet = sheet();
    sheet.append_row();
    let delete = |start: u64, end: u64| {
        let range = json!({"sheetId": 0, "dimension": "ROWS", "startIndex": start, "endIndex": end});
        json!({"deleteDimension": {"range": range}})
    };
    let rows = sheet.rows();
    sheet.sheets.set_grid("Intake", 2, 6);
    for beyond in [delete(2, 3), delete(1, 3), delete(1, 1)] {
        let both = json!([{"addSheet": {"properties": {"title": "New"}}}, beyond]);
        assert_refused(
            batch(&sheet, &both),
            400,
            "INVALID_ARGUMENT",
            "Cannot delete a row that doesn't exist",
        );
    }
    let elsewhere = json!({"sheetId": 7, "dimension": "ROWS", "startIndex": 1, "endIndex": 2});
    let elsewhere = json!([{"deleteDimension": {"range": elsewhere}}]);
    assert_refused(batch(&sheet, &elsewhere), 400, "INVALID_ARGUMENT", "No grid with that id");
    sheet.sheets.protect("Intake", true);
    assert_refused(batch(&sheet, &json!([delete(1, 2)])), 400, "INVALID_ARGUMENT", "protected cell");
    sheet.sheets.protect("Intake", false);
    sheet.sheets.share_for_viewing_only(true);
    assert_refused(batch(&sheet, &json!([delete(1, 2)])), 403, "PERMISSION_DENIED", "permission");
    sheet.sheets.share_for_viewing_only(false);
    assert_eq!((sheet.rows(), tabs(&sheet).as_array().unwrap().len()), (rows, 1));
    assert_eq!(batch(&sheet, &json!([delete(1, 2)])).0, 200);
    assert_eq!(sheet.rows().len(), 1);
}

#[test]
fn the_only_row_below_a_frozen_header_is_not_deleted() {
    let sheet = sheet();
    let add =
        json!([{"addSheet": {"properties": {"title": "New", "gridProperties": {"frozenRowCount": 1}}}}]);
    let sheet_id = batch(&sheet, &add).1["replies"][0]["addSheet"]["properties"]["sheetId"].clone();
    sheet.sheets.put_row("New", 2, &[json!("the one")]);
    sheet.sheets.set_grid("New", 2, 6);
    let range = json!({"sheetId": sheet_id, "dimension": "ROWS", "startIndex": 1, "endIndex": 2});
    let delete = json!([{"deleteDimension": {"range": range}}]);
    assert_refused(batch(&sheet, &delete), 400, "INVALID_ARGUMENT", "delete all non-frozen rows");
    sheet.sheets.set_grid("New", 3, 6);
    assert_eq!(batch(&sheet, &delete).0, 200);
}

#[test]
fn who_may_only_look_is_refused_every_change_and_may_read() {
    let sheet = sheet();
    sheet.sheets.share_for_viewing_only(true);
    assert_refused(batch(&sheet, &json!([mark(1)])), 403, "PERMISSION_DENIED", "permission");
    assert_refused(sheet.append_row(), 403, "PERMISSION_DENIED", "permission");
    assert_eq!(sheet.read("%27Intake%27%21A1:F1", "").0, 200);
}

#[test]
fn a_protected_tab_says_so_and_a_field_that_is_false_is_left_out() {
    let sheet = sheet();
    assert_eq!(tabs(&sheet)[0].get("protectedRanges"), None);
    sheet.sheets.protect("Intake", true);
    let protection = tabs(&sheet)[0]["protectedRanges"][0].clone();
    assert!(protection["protectedRangeId"].is_number() && protection.get("requestingUserCanEdit").is_none());
    assert_refused(sheet.append_row(), 400, "INVALID_ARGUMENT", "protected cell");
}
