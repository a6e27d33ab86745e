//! What a read shows and what it leaves out, also after people were at work.

use serde_json::{Value, json};

use super::{ANCHOR, PLAIN, RAW_INSERT, reply, sheet, texts};

#[test]
fn trailing_empty_rows_and_cells_are_cut_and_inner_ones_stay() {
    let sheet = sheet();
    sheet.sheets.put_row("Intake", 2, &texts(&["a", "", "c", "", ""]));
    sheet.sheets.put_row("Intake", 4, &texts(&["d"]));
    sheet.sheets.put_row("Intake", 6, &texts(&["", ""]));
    assert_eq!(sheet.values("Intake!A2:F1000"), json!([["a", "", "c"], [], ["d"]]));
}

#[test]
fn values_are_absent_when_all_is_empty() {
    let sheet = sheet();
    let (_, answer) = sheet.read("Intake!A2:A1000", PLAIN);
    assert_eq!(answer, json!({"range": "Intake!A2:A1000", "majorDimension": "ROWS"}));
}

#[test]
fn unformatted_numbers_and_booleans_are_json_and_formatted_ones_are_strings() {
    let sheet = sheet();
    sheet.sheets.put_row("Intake", 2, &[json!(7), json!(1.5), json!(true), json!("7")]);
    assert_eq!(sheet.values("Intake!A2:F2"), json!([[7, 1.5, true, "7"]]));
    for query in ["", "valueRenderOption=FORMATTED_VALUE"] {
        assert_eq!(sheet.read("Intake!A2:F2", query).1["values"], json!([["7", "1.5", "TRUE", "7"]]));
    }
}

#[test]
fn the_range_of_an_answer_is_clipped_to_the_grid() {
    let sheet = sheet();
    sheet.sheets.set_grid("Intake", 50, 8);
    for (asked, echoed) in [
        ("Intake", "Intake!A1:H50"),
        ("Intake!A1:F2000", "Intake!A1:F50"),
        ("Intake!A:A", "Intake!A1:A50"),
        ("Intake!A2:F", "Intake!A2:F50"),
        ("Intake!2:3", "Intake!A2:H3"),
        ("%27Intake%27%21B2", "Intake!B2"),
    ] {
        assert_eq!(sheet.read(asked, PLAIN).1["range"], echoed);
    }
}

#[test]
fn columns_can_be_read_instead_of_rows() {
    let sheet = sheet();
    sheet.sheets.put_row("Intake", 2, &texts(&["a", "", "c"]));
    let (_, answer) = sheet.read("Intake!A2:D4", "majorDimension=COLUMNS");
    assert_eq!(answer["majorDimension"], "COLUMNS");
    assert_eq!(answer["values"], json!([["a"], [], ["c"]]));
}

#[test]
fn a_batch_read_answers_its_ranges_in_order() {
    let sheet = sheet();
    let request = sheet.request(
        "GET",
        "/values:batchGet",
        "ranges=Intake!A1:B1&ranges=%27Intake%27!A9&majorDimension=ROWS",
        &Value::Null,
    );
    let expected = json!({"spreadsheetId": "sheet-1", "valueRanges": [
        {"range": "Intake!A1:B1", "majorDimension": "ROWS", "values": [["reference", "confirmed_at"]]},
        {"range": "Intake!A9", "majorDimension": "ROWS"},
    ]});
    assert_eq!(reply(sheet.ask(request)), (200, expected));
}

#[test]
fn the_spreadsheet_lists_its_tabs_with_their_grids() {
    let sheet = sheet();
    sheet.sheets.add_tab("Notes", &[]);
    let (_, answer) = reply(sheet.ask(sheet.request("GET", "", "fields=sheets.properties", &Value::Null)));
    assert_eq!(answer["sheets"][0]["properties"]["title"], "Intake");
    assert_eq!(answer["sheets"][1]["properties"]["sheetId"], 1);
    assert_eq!(
        answer["sheets"][1]["properties"]["gridProperties"],
        json!({"rowCount": 1000, "columnCount": 26})
    );
}

#[test]
fn people_sort_insert_and_delete_rows_under_the_api() {
    let sheet = sheet();
    for (id, word) in [("R-1", "pear"), ("R-2", "apple"), ("R-3", "fig")] {
        sheet.append(ANCHOR, RAW_INSERT, &json!([[id, "t", "k", word, "-", "1"]]));
    }
    let ids = || sheet.rows().iter().map(|row| row.first().cloned().unwrap_or_default()).collect::<Vec<_>>();
    sheet.sheets.sort_by_column("Intake", "D");
    assert_eq!(ids(), texts(&["reference", "R-2", "R-3", "R-1"]));
    sheet.sheets.delete_row("Intake", 3);
    sheet.sheets.insert_row("Intake", 2);
    assert_eq!(ids(), [json!("reference"), Value::Null, json!("R-2"), json!("R-1")]);
    sheet.sheets.set_header("Intake", &["other"]);
    assert_eq!(sheet.values("Intake!1:1"), json!([["other"]]));
}
