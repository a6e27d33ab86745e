//! What becomes of sent values, and how much fits.

use serde_json::json;

use super::{ANCHOR, RAW, RAW_INSERT, ROW, assert_refused, sheet};

#[test]
fn raw_stores_strings_unparsed() {
    let words = [
        "=HYPERLINK(\"http://x.test\",\"y\")",
        "=1+1",
        "+49 30 0000",
        "-5 apples",
        "@all",
        "'quoted'",
        "\t=1",
        "007",
        "0049300000",
        "1/2",
        "2026-03-01",
        "TRUE",
        "1e5",
        "12345678901234567890",
        "٣٤",
        "-1002000000001",
        "l1\nl2\u{2028}l4\tend \"q\" 👩‍👩‍👧",
    ];
    for text in words {
        let sheet = sheet();
        sheet.append(ANCHOR, RAW_INSERT, &json!([[text]]));
        assert_eq!(sheet.values("Intake!A2"), json!([[text]]));
    }
}

#[test]
fn user_entered_does_what_typing_does() {
    for (text, stored) in [
        ("=HYPERLINK(\"http://x.test\",\"y\")", json!("y")),
        ("=1+1", json!(2)),
        ("=SOMETHING()", json!("#ERROR!")),
        ("+49 30 0000", json!("#ERROR!")),
        ("-5 apples", json!("-5 apples")),
        ("'quoted'", json!("quoted'")),
        ("007", json!(7)),
        ("1/2", json!(46_024)),
        ("2026-03-01", json!(46_082)),
        ("TRUE", json!(true)),
        ("1e5", json!(100_000)),
        ("12345678901234567890", json!(12_345_678_901_234_567_890.0)),
        ("plain", json!("plain")),
    ] {
        let sheet = sheet();
        sheet.append(ANCHOR, "valueInputOption=USER_ENTERED", &json!([[text]]));
        assert_eq!(sheet.values("Intake!A2"), json!([[stored]]), "{text}");
    }
}

#[test]
fn cells_take_strings_numbers_booleans_and_nulls_only() {
    let sheet = sheet();
    assert_refused(
        sheet.append(ANCHOR, RAW, &json!([["a", {}]])),
        400,
        "INVALID_ARGUMENT",
        "Invalid values[0][1]",
    );
    assert_refused(sheet.append(ANCHOR, RAW, &json!([[["a"]]])), 400, "INVALID_ARGUMENT", "list_value");
    let (_, answer) = sheet.append(ANCHOR, RAW, &json!([[1, true, null, "x"]]));
    assert_eq!(answer["updates"]["updatedCells"], 3);
    assert_eq!(sheet.values("Intake!A2:F2"), json!([[1, true, "", "x"]]));
}

#[test]
fn a_cell_takes_fifty_thousand_characters_and_not_one_more() {
    let sheet = sheet();
    assert_eq!(sheet.append(ANCHOR, RAW_INSERT, &json!([["x".repeat(50_000)]])).0, 200);
    let refused = sheet.append(ANCHOR, RAW_INSERT, &json!([["x".repeat(50_001)]]));
    let words = "Your input contains more than the maximum of 50000 characters in a single cell.";
    assert_refused(refused, 400, "INVALID_ARGUMENT", words);
}

#[test]
fn ten_million_cells_are_the_end_and_inserted_rows_use_them_up() {
    let sheet = sheet();
    sheet.sheets.set_cell_limit(1001 * 26);
    assert_eq!(sheet.append_row().0, 200);
    let words = "above the limit of 26026 cells";
    assert_refused(sheet.append_row(), 400, "INVALID_ARGUMENT", words);
    assert_eq!(sheet.append(ANCHOR, RAW, &json!([ROW])).0, 200, "overwriting takes rows that are there");
    assert_eq!(sheet.rows().len(), 3);
}
