//! Ranges and requests that go wrong.

use serde_json::{Value, json};

use super::{ANCHOR, PLAIN, RAW, RAW_INSERT, ROW, assert_refused, empty_sheet, parts, reply, sheet};

#[test]
fn a_bare_name_that_looks_like_a_cell_is_a_cell_of_the_first_tab() {
    for (name, cell) in [("R1C1", "Front!A2"), ("RC", "Front!A2"), ("D001", "Front!D1"), ("X26", "Front!X26")]
    {
        let sheet = empty_sheet();
        sheet.sheets.add_tab("Front", &["other data"]);
        sheet.sheets.add_tab(name, &[]);
        let (_, answer) = sheet.append(name, RAW, &json!([["lost"]]));
        assert_eq!(answer["updates"]["updatedRange"], cell, "{name}");
        assert!(sheet.sheets.rows(name).is_empty());
    }
}

#[test]
fn a_range_outside_of_the_grid_is_refused() {
    let sheet = empty_sheet();
    sheet.sheets.add_tab("Front", &[]);
    sheet.sheets.add_tab("CRM26", &[]);
    let words = "Range ('Front'!CRM26) exceeds grid limits. Max rows: 1000, max columns: 26";
    assert_refused(sheet.append("CRM26", RAW, &json!([["lost"]])), 400, "INVALID_ARGUMENT", words);
    assert_refused(sheet.read("CRM26", PLAIN), 400, "INVALID_ARGUMENT", words);
    let words = "Range ('Front'!A2000:F2000) exceeds grid limits";
    assert_refused(sheet.read("Front!A2000:F2000", PLAIN), 400, "INVALID_ARGUMENT", words);
}

#[test]
fn a_range_that_names_no_tab_or_no_cells_cannot_be_parsed() {
    let sheet = sheet();
    sheet.sheets.rename_tab("Intake", "Renamed");
    for (path, words) in [
        (ANCHOR, "Unable to parse range: 'Intake'!A1"),
        ("Intake", "Unable to parse range: Intake"),
        ("%27Renamed%21A1", "Unable to parse range: 'Renamed!A1"),
        ("Renamed%21A1%3A%5B5", "Unable to parse range: Renamed!A1:[5"),
        ("Renamed!A0", "Unable to parse range: Renamed!A0"),
        ("Renamed!", "Unable to parse range: Renamed!"),
    ] {
        assert_refused(sheet.append(path, RAW_INSERT, &json!([ROW])), 400, "INVALID_ARGUMENT", words);
        assert_refused(sheet.read(path, PLAIN), 400, "INVALID_ARGUMENT", words);
    }
}

#[test]
fn an_unescaped_slash_leads_to_no_api_at_all() {
    let sheet = empty_sheet();
    sheet.sheets.add_tab("Adv/Ent1", &[]);
    let (status, headers, body) = parts(sheet.ask(sheet.append_request("'Adv/Ent1'!A1", RAW, &json!([ROW]))));
    assert_eq!(status, 404);
    assert!(headers[0].1.starts_with("text/html"));
    assert!(body.starts_with("<!DOCTYPE html>"));
}

#[test]
fn malformed_requests_are_refused_and_write_nothing() {
    let sheet = sheet();
    let refused = |request| assert_refused(reply(sheet.ask(request)), 400, "INVALID_ARGUMENT", "");
    let mut cut = sheet.append_request(ANCHOR, RAW, &json!([ROW]));
    cut.body.truncate(20);
    refused(cut);
    refused(sheet.append_request(ANCHOR, "", &json!([ROW])));
    refused(sheet.append_request(ANCHOR, "valueInputOption=raw", &json!([ROW])));
    refused(sheet.append_request(ANCHOR, "valueInputOption=RAW&insertDataOption=INSERT", &json!([ROW])));
    refused(sheet.append_request(ANCHOR, "valueInputOption=RAW&inserDataOption=INSERT_ROWS", &json!([ROW])));
    refused(sheet.append_request("%FF", RAW, &json!([ROW])));
    refused(sheet.append_request(ANCHOR, RAW, &json!(["not a row"])));
    refused(sheet.request("POST", &format!("/values/{ANCHOR}:append"), RAW, &json!({"rows": [ROW]})));
    refused(sheet.request("GET", &format!("/values/{ANCHOR}"), "valueRenderOption=PLAIN", &Value::Null));
    refused(sheet.request("POST", ":batchUpdate", "", &json!({"requests": []})));
    assert_eq!(sheet.rows().len(), 1);
}

#[test]
fn another_spreadsheet_is_not_found() {
    let sheet = sheet();
    let mut request = sheet.request("GET", "", "", &Value::Null);
    request.path = "/v4/spreadsheets/sheet-2".to_owned();
    assert_refused(reply(sheet.ask(request)), 404, "NOT_FOUND", "Requested entity was not found.");
}
