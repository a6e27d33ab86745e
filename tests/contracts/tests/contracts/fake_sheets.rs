//! The fake of Google Sheets and of its token endpoint against what is known of the real ones, one fact a test.
//!
//! Nothing here goes through Docket: requests are made by hand, answers are read as JSON.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use docket_world::clock::TurnedClock;
use docket_world::exchange::{Answer, Fake, Request};
use docket_world::sheets::{
    Behaviour, CLIENT_EMAIL, ExpiresIn, FailureBody, FakeSheets, FakeToken, Kind, On, SPREADSHEETS_SCOPE,
    signed_assertion,
};
use serde_json::{Value, json};

const NOW_MS: i64 = 1_767_323_045_000; // 2026-01-02T03:04:05Z
const HEADER: [&str; 6] = ["reference", "confirmed_at", "request_type", "summary", "contact", "chat_id"];
const ROW: [&str; 6] = ["R-1", "2026-01-02T03:04:05Z", "booking", "text", "Ann", "71"];
const ANCHOR: &str = "%27Intake%27%21A1";
const RAW_INSERT: &str = "valueInputOption=RAW&insertDataOption=INSERT_ROWS";
const RAW: &str = "valueInputOption=RAW";
const PLAIN: &str = "valueRenderOption=UNFORMATTED_VALUE";

struct Sheet {
    clock: TurnedClock,
    sheets: FakeSheets,
    token: String,
}

/// A spreadsheet with the tab `Intake` and its header.
fn sheet() -> Sheet {
    let sheet = empty_sheet();
    sheet.sheets.add_tab("Intake", &HEADER);
    sheet
}

fn empty_sheet() -> Sheet {
    let clock = TurnedClock::at(NOW_MS);
    let sheets = FakeSheets::new(clock.clone(), "sheet-1");
    let token = sheets.token().grant();
    Sheet { clock, sheets, token }
}

impl Sheet {
    fn request(&self, method: &str, path: &str, query: &str, body: &Value) -> Request {
        Request {
            method: method.to_owned(),
            path: format!("/v4/spreadsheets/sheet-1{path}"),
            query: query.to_owned(),
            headers: vec![
                ("authorization".to_owned(), format!("Bearer {}", self.token)),
                ("content-type".to_owned(), "application/json".to_owned()),
            ],
            body: if body.is_null() { Vec::new() } else { body.to_string().into_bytes() },
        }
    }

    fn append_request(&self, range: &str, query: &str, rows: &Value) -> Request {
        let body = json!({"majorDimension": "ROWS", "values": rows});
        self.request("POST", &format!("/values/{range}:append"), query, &body)
    }

    fn ask(&self, request: Request) -> Answer {
        at_once(&self.sheets, request)
    }

    fn append(&self, range: &str, query: &str, rows: &Value) -> (u16, Value) {
        reply(self.ask(self.append_request(range, query, rows)))
    }

    fn append_row(&self) -> (u16, Value) {
        self.append(ANCHOR, RAW_INSERT, &json!([ROW]))
    }

    fn read(&self, range: &str, query: &str) -> (u16, Value) {
        reply(self.ask(self.request("GET", &format!("/values/{range}"), query, &Value::Null)))
    }

    fn values(&self, range: &str) -> Value {
        self.read(range, PLAIN).1["values"].clone()
    }

    /// Where an append to `range` would land: `updates.updatedRange`.
    fn lands(&self, range: &str, query: &str) -> Value {
        self.append(range, query, &json!([ROW])).1["updates"]["updatedRange"].clone()
    }

    fn rows(&self) -> Vec<Vec<Value>> {
        self.sheets.rows("Intake")
    }
}

/// The answer of a fake that has no reason to wait.
fn at_once(fake: &impl Fake, request: Request) -> Answer {
    match pin!(fake.answer(request)).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("the fake waits"),
    }
}

fn parts(answer: Answer) -> (u16, Vec<(String, String)>, String) {
    match answer {
        Answer::Reply { status, headers, body } => (status, headers, String::from_utf8(body).unwrap()),
        other @ (Answer::HangUp | Answer::Half { .. } | Answer::Never) => {
            panic!("no whole answer: {other:?}")
        }
    }
}

fn reply(answer: Answer) -> (u16, Value) {
    let (status, headers, body) = parts(answer);
    assert!(
        headers.contains(&("content-type".to_owned(), "application/json; charset=UTF-8".to_owned())),
        "{body}"
    );
    (status, serde_json::from_str(&body).unwrap())
}

fn assert_refused((status, body): (u16, Value), code: u16, name: &str, words: &str) {
    let error = &body["error"];
    assert_eq!((status, &error["code"], &error["status"]), (code, &json!(code), &json!(name)), "{body}");
    assert!(error["message"].as_str().unwrap().contains(words), "{body}");
}

fn texts(cells: &[&str]) -> Vec<Value> {
    cells.iter().map(|cell| json!(cell)).collect()
}

// Append

#[test]
fn an_append_answers_what_was_updated_and_which_table_it_extended() {
    let sheet = sheet();
    assert_eq!(
        sheet.append_row(),
        (
            200,
            json!({
                "spreadsheetId": "sheet-1",
                "tableRange": "Intake!A1:F1",
                "updates": {
                    "spreadsheetId": "sheet-1",
                    "updatedRange": "Intake!A2:F2",
                    "updatedRows": 1,
                    "updatedColumns": 6,
                    "updatedCells": 6
                }
            })
        )
    );
    assert_eq!(sheet.rows(), [texts(&HEADER), texts(&ROW)]);
}

#[test]
fn an_append_without_a_table_writes_at_the_range_and_names_no_table() {
    let sheet = empty_sheet();
    sheet.sheets.add_tab("Intake", &[]);
    let (status, answer) = sheet.append_row();
    assert_eq!((status, answer.get("tableRange")), (200, None));
    assert_eq!(answer["updates"]["updatedRange"], "Intake!A1:F1");
}

#[test]
fn several_rows_are_appended_at_once_or_not_at_all() {
    let sheet = sheet();
    let (_, answer) = sheet.append(ANCHOR, RAW_INSERT, &json!([["a", "b"], ["c", "d", "e"]]));
    let updates = &answer["updates"];
    assert_eq!(updates["updatedRange"], "Intake!A2:C3");
    assert_eq!(
        (&updates["updatedRows"], &updates["updatedColumns"], &updates["updatedCells"]),
        (&json!(2), &json!(3), &json!(5))
    );

    let too_long = "x".repeat(50_001);
    assert_eq!(sheet.append(ANCHOR, RAW_INSERT, &json!([["good"], [too_long]])).0, 400);
    assert_eq!(sheet.rows().len(), 3);
}

#[test]
fn answers_quote_a_tab_name_only_when_it_needs_quotes() {
    for (title, path, range) in [
        ("Intake", "%27Intake%27%21A1", "Intake!A1"),
        ("Jon's", "%27Jon%27%27s%27%21A1", "'Jon''s'!A1"),
        ("Q1 Report", "%27Q1%20Report%27%21A1", "'Q1 Report'!A1"),
        ("CRM26", "%27CRM26%27%21A1", "'CRM26'!A1"),
        ("R1C1", "%27R1C1%27%21A1", "'R1C1'!A1"),
        ("RC", "%27RC%27%21A1", "'RC'!A1"),
        ("D001", "%27D001%27%21A1", "'D001'!A1"),
        ("Adv/Ent1", "%27Adv%2FEnt1%27%21A1", "'Adv/Ent1'!A1"),
        ("50% #1?", "%2750%25%20%231%3F%27%21A1", "'50% #1?'!A1"),
        ("a:append", "%27a%3Aappend%27%21A1", "'a:append'!A1"),
        ("Was! Now", "%27Was%21%20Now%27%21A1", "'Was! Now'!A1"),
        ("Été 🌞", "%27%C3%89t%C3%A9%20%F0%9F%8C%9E%27%21A1", "'Été 🌞'!A1"),
    ] {
        let sheet = empty_sheet();
        sheet.sheets.add_tab("Front", &["other data"]);
        sheet.sheets.add_tab(title, &[]);
        let (status, answer) = sheet.append(path, RAW_INSERT, &json!([["x"]]));
        assert_eq!((status, &answer["updates"]["updatedRange"]), (200, &json!(range)), "{answer}");
        assert_eq!(sheet.sheets.rows(title), [[json!("x")]]);
        assert_eq!(sheet.read(path, PLAIN).1["range"], range);
    }
}

// Table detection

#[test]
fn after_a_row_with_an_empty_cell_a_bare_tab_name_drifts_right_and_an_anchor_does_not() {
    let drifting = |range: &str| {
        let sheet = empty_sheet();
        sheet.sheets.add_tab("Sheet1", &["a", "", "c"]);
        sheet.append(range, RAW, &json!([["a", "", "c"]])).1["updates"]["updatedRange"].clone()
    };
    assert_eq!(drifting("Sheet1"), "Sheet1!C2:E2");
    assert_eq!(drifting("%27Sheet1%27%21A1"), "Sheet1!A2:C2");
}

#[test]
fn an_empty_cell_below_a_full_header_shifts_open_ranges_to_the_last_filled_cells() {
    for (range, lands) in
        [("Intake", "Intake!D3:I3"), ("Intake%21A%3AF", "Intake!D3:I3"), (ANCHOR, "Intake!A3:F3")]
    {
        let sheet = sheet();
        sheet.sheets.put_row("Intake", 2, &texts(&["R-1", "2026-01-02T03:04:05Z", "", "text", "Ann", ""]));
        assert_eq!(sheet.lands(range, RAW_INSERT), lands);
    }
}

#[test]
fn an_open_range_over_full_rows_finds_the_table() {
    for range in ["Intake", "Intake%21A%3AF", "Intake!A1:F1", "Intake!A1:F", "Intake!A:A"] {
        let sheet = sheet();
        sheet.append_row();
        assert_eq!(sheet.lands(range, RAW_INSERT), "Intake!A3:F3", "{range}");
    }
}

#[test]
fn tables_are_found_as_in_googles_guide() {
    // developers.google.com/workspace/sheets/api/guides/values: tables A1:C2 and B4:D6.
    for (range, lands) in [
        ("Sheet1", "Sheet1!B7"),
        ("B4", "Sheet1!B7"),
        ("C5:D5", "Sheet1!B7"),
        ("B2:D4", "Sheet1!B7"),
        ("A3:G10", "Sheet1!B7"),
        ("A1", "Sheet1!A3"),
        ("E4", "Sheet1!E4"),
        ("A4", "Sheet1!A4"),
    ] {
        let sheet = empty_sheet();
        sheet.sheets.add_tab("Sheet1", &["x", "y", "z"]);
        sheet.sheets.put_row("Sheet1", 2, &texts(&["x", "y", "z"]));
        for number in 4..=6 {
            sheet.sheets.put_row("Sheet1", number, &texts(&["", "x", "y", "z"]));
        }
        let (_, answer) = sheet.append(range, RAW, &json!([["new"]]));
        assert_eq!(answer["updates"]["updatedRange"], lands, "{range}: {answer}");
    }
}

#[test]
fn checkboxes_and_formulas_that_show_nothing_count_as_data() {
    let sheet = sheet();
    sheet.sheets.put_row("Intake", 2, &[json!(false)]);
    sheet.sheets.fill_with_blank_formula("Intake", 3, "A");
    assert_eq!(sheet.lands(ANCHOR, RAW_INSERT), "Intake!A4:F4");
    assert_eq!(sheet.values("Intake!A3:F3"), Value::Null);
}

#[test]
fn an_anchor_beside_a_table_is_in_no_table() {
    let sheet = sheet();
    sheet.sheets.insert_column("Intake", "A");
    assert_eq!(sheet.lands(ANCHOR, RAW_INSERT), "Intake!A1:F1");
}

#[test]
fn inserted_rows_push_down_what_overwriting_replaces() {
    let below = |query: &str| {
        let sheet = sheet();
        sheet.sheets.put_row("Intake", 3, &texts(&["", "", "", "", "", "", "", "far note"]));
        sheet.append(
            ANCHOR,
            query,
            &json!([["a", "", "", "", "", "", "", "h"], ["b", "", "", "", "", "", "", "h"]]),
        );
        sheet.rows().last().unwrap().last().unwrap().clone()
    };
    assert_eq!(below(RAW_INSERT), "far note");
    assert_eq!(below(RAW), "h");
}

#[test]
fn racing_appends_hit_the_same_row_unless_rows_are_inserted() {
    for (query, rows) in [(RAW_INSERT, 4), (RAW, 2), ("valueInputOption=RAW&insertDataOption=OVERWRITE", 2)] {
        let sheet = sheet();
        sheet.sheets.race_overwriting_appends(3);
        let waker = Context::from_waker(Waker::noop());
        let mut waker = waker;
        let requests = ["R-1", "R-2", "R-3"].map(|id| sheet.append_request(ANCHOR, query, &json!([[id]])));
        let mut racers: Vec<_> = requests.into_iter().map(|request| sheet.sheets.answer(request)).collect();
        let first: Vec<_> = racers.iter_mut().map(|racer| racer.as_mut().poll(&mut waker)).collect();
        for (racer, polled) in racers.iter_mut().zip(first) {
            let answer = match polled {
                Poll::Ready(answer) => answer,
                Poll::Pending => match racer.as_mut().poll(&mut waker) {
                    Poll::Ready(answer) => answer,
                    Poll::Pending => panic!("all have chosen their rows"),
                },
            };
            assert_eq!(reply(answer).0, 200);
        }
        assert_eq!(sheet.rows().len(), rows, "{query}");
    }
}

#[test]
fn an_overwriting_append_destroys_what_a_person_types_meanwhile() {
    for (query, survives) in [(RAW, false), (RAW_INSERT, true)] {
        let sheet = sheet();
        sheet.sheets.race_overwriting_appends(2);
        let mut append = sheet.sheets.answer(sheet.append_request(ANCHOR, query, &json!([["R-1"]])));
        let mut waker = Context::from_waker(Waker::noop());
        let _ = append.as_mut().poll(&mut waker);
        sheet.sheets.type_into_next_empty_row("Intake", &["by hand"]);
        sheet.sheets.let_go();
        let _ = append.as_mut().poll(&mut waker);
        assert_eq!(sheet.rows().contains(&texts(&["by hand"])), survives, "{query}");
        assert!(sheet.rows().contains(&texts(&["R-1"])));
    }
}

// What becomes of values

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

// Read

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

// Ranges that go wrong

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

// Limits

#[test]
fn the_sixty_first_write_within_a_minute_is_refused_without_retry_after() {
    let sheet = sheet();
    sheet.sheets.enforce_quota(true);
    for _ in 0..60 {
        assert_eq!(sheet.append_row().0, 200);
    }
    let (status, headers, body) = parts(sheet.ask(sheet.append_request(ANCHOR, RAW_INSERT, &json!([ROW]))));
    let error: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &error["error"]["status"]), (429, &json!("RESOURCE_EXHAUSTED")));
    assert_eq!(error["error"]["details"][0]["metadata"]["quota_limit"], "WriteRequestsPerMinutePerUser");
    assert!(headers.iter().all(|(name, _)| name != "retry-after"));
    assert_eq!(sheet.read(ANCHOR, PLAIN).0, 200, "reads have their own units");
    sheet.clock.turn(60_000);
    assert_eq!(sheet.append_row().0, 200);
    assert_eq!(sheet.rows().len(), 62);
}

#[test]
fn one_request_is_one_unit_however_many_rows_it_carries() {
    let sheet = sheet();
    sheet.sheets.enforce_quota(true);
    let rows: Vec<_> = (0..100).map(|_| ROW).collect();
    assert_eq!(sheet.append(ANCHOR, RAW_INSERT, &json!(rows)).0, 200);
    assert_eq!(sheet.append(ANCHOR, RAW_INSERT, &json!(rows)).0, 200);
    assert_eq!(sheet.sheets.most_writes_in_any_minute(), 2);
    assert_eq!(sheet.sheets.write_requests()[1].rows, 100);
}

#[test]
fn requests_are_recorded_as_they_arrived() {
    let sheet = sheet();
    sheet.append_row();
    sheet.clock.turn(59_999);
    sheet.append_row();
    sheet.clock.turn(60_000);
    sheet.append_row();
    sheet.read(ANCHOR, PLAIN);
    assert_eq!(sheet.sheets.most_writes_in_any_minute(), 2);
    let writes = sheet.sheets.write_requests();
    assert_eq!((writes[0].at_ms, writes[1].at_ms), (NOW_MS, NOW_MS + 59_999));
    assert_eq!(writes[0].path, format!("/v4/spreadsheets/sheet-1/values/{ANCHOR}:append"));
    assert_eq!(writes[0].query, RAW_INSERT);
    assert!(writes[0].headers.iter().any(|(name, _)| name == "authorization"));
    assert_eq!(sheet.sheets.read_requests()[0].kind, Kind::Read);
    assert_eq!(sheet.sheets.requests().len(), 4);
}

// Errors

#[test]
fn named_refusals_say_what_google_says_and_write_nothing() {
    for (behaviour, code, name, words) in [
        (Behaviour::protected_cell(), 400, "INVALID_ARGUMENT", "protected cell"),
        (Behaviour::workbook_full(), 400, "INVALID_ARGUMENT", "above the limit of 10000000 cells"),
        (
            Behaviour::office_file(),
            400,
            "FAILED_PRECONDITION",
            "This operation is not supported for this document",
        ),
        (Behaviour::unauthenticated(), 401, "UNAUTHENTICATED", "invalid authentication credentials"),
        (Behaviour::permission_denied(), 403, "PERMISSION_DENIED", "The caller does not have permission"),
        (Behaviour::scope_missing(), 403, "PERMISSION_DENIED", "insufficient authentication scopes"),
        (Behaviour::not_found(), 404, "NOT_FOUND", "Requested entity was not found."),
        (Behaviour::quota_exhausted(), 429, "RESOURCE_EXHAUSTED", "Quota exceeded"),
        (Behaviour::fails(500, FailureBody::Json), 500, "INTERNAL", ""),
        (Behaviour::fails(503, FailureBody::Json), 503, "UNAVAILABLE", ""),
    ] {
        let sheet = sheet();
        sheet.sheets.next(On::Appends, behaviour);
        assert_refused(sheet.append_row(), code, name, words);
        assert_eq!(sheet.rows().len(), 1);
        assert_eq!(sheet.append_row().0, 200, "only the next request is touched");
    }
}

#[test]
fn a_403_can_mean_a_rate_limit() {
    let sheet = sheet();
    sheet.sheets.next(On::Appends, Behaviour::user_rate_limit_exceeded());
    let (status, answer) = sheet.append_row();
    assert_eq!((status, &answer["error"]["errors"][0]["reason"]), (403, &json!("userRateLimitExceeded")));
}

#[test]
fn a_429_can_carry_retry_after_when_told_to() {
    let sheet = sheet();
    sheet.sheets.next(On::Reads, Behaviour::quota_exhausted_retry_after(60));
    let (status, headers, _) = parts(sheet.ask(sheet.request("GET", "/values/Intake", "", &Value::Null)));
    assert_eq!(status, 429);
    assert!(headers.contains(&("retry-after".to_owned(), "60".to_owned())));
}

#[test]
fn a_failure_can_follow_a_write_or_not_with_any_body() {
    for status in [408, 500, 502, 503, 504] {
        for (body, start) in
            [(FailureBody::Json, "{"), (FailureBody::Empty, ""), (FailureBody::Html, "<!DOCTYPE html>")]
        {
            for (behaviour, rows) in
                [(Behaviour::fails(status, body), 1), (Behaviour::writes_then_fails(status, body), 2)]
            {
                let sheet = sheet();
                sheet.sheets.next(On::Appends, behaviour);
                let (answered, _, text) =
                    parts(sheet.ask(sheet.append_request(ANCHOR, RAW_INSERT, &json!([ROW]))));
                assert_eq!((answered, sheet.rows().len()), (status, rows));
                assert!(text.starts_with(start) && text.is_empty() == start.is_empty(), "{text}");
            }
        }
    }
}

#[test]
fn a_connection_can_end_after_a_write_or_before_it() {
    type Ends = fn(&Answer) -> bool;
    let hang_up: Ends = |answer| matches!(answer, Answer::HangUp);
    let never: Ends = |answer| matches!(answer, Answer::Never);
    let half: Ends = |answer| matches!(answer, Answer::Half { sent: 12, body, .. } if body.len() > 12);
    for (behaviour, ends, rows) in [
        (Behaviour::hangs_up(), hang_up, 1),
        (Behaviour::writes_then_hangs_up(), hang_up, 2),
        (Behaviour::never_answers(), never, 1),
        (Behaviour::writes_then_never_answers(), never, 2),
        (Behaviour::writes_then_sends_half(12), half, 2),
    ] {
        let sheet = sheet();
        sheet.sheets.next(On::Sheets, behaviour);
        let answer = sheet.ask(sheet.append_request(ANCHOR, RAW_INSERT, &json!([ROW])));
        assert!(ends(&answer), "{answer:?}");
        assert_eq!(sheet.rows().len(), rows);
    }
}

#[test]
fn a_200_can_be_empty_cut_html_or_an_empty_object_although_the_row_is_in() {
    for (behaviour, body) in [
        (Behaviour::writes_then_answers_empty(), ""),
        (Behaviour::writes_then_answers_empty_object(), "{}"),
        (Behaviour::writes_then_answers_html(), "<!DOCTYPE html>"),
        (Behaviour::serves_body_cut_to(9), "{\n  \"sprea"),
        (
            Behaviour::writes_then_answers(200, Vec::new(), "{\"updates\":{\"updatedRows\":0}}"),
            "{\"updates\"",
        ),
    ] {
        let sheet = sheet();
        sheet.sheets.next(On::Appends, behaviour);
        let (status, _, text) = parts(sheet.ask(sheet.append_request(ANCHOR, RAW_INSERT, &json!([ROW]))));
        assert!(status == 200 && text.starts_with(&body[..body.len().min(9)]), "{text}");
        assert!(text.is_empty() || !body.is_empty());
        assert_eq!(sheet.rows().len(), 2);
    }
}

#[test]
fn rows_can_land_elsewhere_and_answers_can_name_elsewhere() {
    let sheet = sheet();
    sheet.sheets.next(On::Appends, Behaviour::writes_misplaced("Intake!D3:I3"));
    assert_eq!(sheet.append_row().1["updates"]["updatedRange"], "Intake!D3:I3");
    assert_eq!(
        sheet.values("Intake!A3:I3"),
        json!([["", "", "", ROW[0], ROW[1], ROW[2], ROW[3], ROW[4], ROW[5]]])
    );
    sheet.sheets.delete_row("Intake", 3);

    sheet.sheets.next(On::Appends, Behaviour::writes_but_names("Intake!B2:G2"));
    assert_eq!(sheet.append_row().1["updates"]["updatedRange"], "Intake!B2:G2");
    assert_eq!(sheet.values("Intake!A2:F2"), json!([ROW]));
}

#[test]
fn a_write_can_come_long_after_the_connection_is_gone() {
    for behaviour in [
        Behaviour::never_answers_and_writes_later(180_000),
        Behaviour::hangs_up_and_writes_later(180_000),
        Behaviour::fails_and_writes_later(504, FailureBody::Html, 180_000),
    ] {
        let sheet = sheet();
        sheet.sheets.next(On::Appends, behaviour);
        sheet.ask(sheet.append_request(ANCHOR, RAW_INSERT, &json!([ROW])));
        sheet.clock.turn(179_999);
        assert_eq!((sheet.rows().len(), sheet.values("Intake!A2:F2")), (1, Value::Null));
        sheet.clock.turn(1);
        assert_eq!((sheet.rows().len(), sheet.values("Intake!A2:F2")), (2, json!([ROW])));
    }
}

#[test]
fn a_written_row_can_stay_invisible_to_reads_for_a_while() {
    let sheet = sheet();
    sheet.sheets.next(On::Appends, Behaviour::writes_then_hangs_up().visible_after_ms(60_000));
    sheet.ask(sheet.append_request(ANCHOR, RAW_INSERT, &json!([ROW])));
    assert_eq!((sheet.rows().len(), sheet.values("Intake!A2:F2")), (2, Value::Null));
    sheet.clock.turn(60_000);
    assert_eq!(sheet.values("Intake!A2:F2"), json!([ROW]));

    sheet.sheets.next(On::Appends, Behaviour::serves().visible_after_reads(3));
    assert_eq!(sheet.append_row().1["updates"]["updatedRange"], "Intake!A3:F3");
    let reads: Vec<bool> = (0..4).map(|_| sheet.values("Intake!A3:F3").is_null()).collect();
    assert_eq!(reads, [true, true, true, false]);
}

#[test]
fn a_lasting_behaviour_ends_when_healed_and_single_ones_go_first() {
    let sheet = sheet();
    sheet.sheets.from_now_on(On::Appends, Behaviour::office_file());
    sheet.sheets.next(On::Appends, Behaviour::not_found());
    assert_eq!([sheet.append_row().0, sheet.append_row().0, sheet.append_row().0], [404, 400, 400]);
    assert_eq!(sheet.read(ANCHOR, PLAIN).0, 200);
    sheet.sheets.heal();
    assert_eq!(sheet.append_row().0, 200);
}

#[test]
fn a_request_refused_on_its_own_account_does_not_use_up_what_was_planned() {
    let sheet = sheet();
    sheet.sheets.next(On::Appends, Behaviour::writes_then_hangs_up());
    assert_eq!(sheet.append("Nowhere", RAW, &json!([ROW])).0, 400);
    assert!(matches!(sheet.ask(sheet.append_request(ANCHOR, RAW, &json!([ROW]))), Answer::HangUp));
}

#[test]
fn a_held_request_waits_until_it_is_let_go() {
    let sheet = sheet();
    sheet.sheets.next(On::Appends, Behaviour::serves().held().taking_ms(90_000));
    let mut append = sheet.sheets.answer(sheet.append_request(ANCHOR, RAW_INSERT, &json!([ROW])));
    let mut waker = Context::from_waker(Waker::noop());
    assert!(append.as_mut().poll(&mut waker).is_pending());
    assert_eq!((sheet.sheets.waiting(), sheet.rows().len(), sheet.clock.now_ms()), (1, 1, NOW_MS));
    sheet.sheets.let_go();
    assert!(append.as_mut().poll(&mut waker).is_ready());
    assert_eq!((sheet.sheets.waiting(), sheet.rows().len(), sheet.clock.now_ms()), (0, 2, NOW_MS + 90_000));
}

// People

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

// Tokens

fn claims() -> Value {
    let now = NOW_MS / 1000;
    json!({"iss": CLIENT_EMAIL, "scope": SPREADSHEETS_SCOPE, "aud": "https://oauth2.googleapis.com/token", "iat": now, "exp": now + 3600})
}

fn token_request(assertion: &str) -> Request {
    let form =
        format!("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion={assertion}");
    Request {
        method: "POST".to_owned(),
        path: "/token".to_owned(),
        query: String::new(),
        headers: vec![("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned())],
        body: form.into_bytes(),
    }
}

fn exchange(token: &FakeToken, claims: &Value) -> (u16, Value) {
    reply(at_once(token, token_request(&signed_assertion(claims))))
}

#[test]
fn a_signed_assertion_gets_a_token_that_opens_the_sheet() {
    let mut sheet = sheet();
    let (status, answer) = exchange(&sheet.sheets.token(), &claims());
    assert_eq!((status, &answer["expires_in"], &answer["token_type"]), (200, &json!(3599), &json!("Bearer")));
    answer["access_token"].as_str().unwrap().clone_into(&mut sheet.token);
    assert_eq!(sheet.append_row().0, 200);
    assert_eq!(sheet.sheets.token().requests()[0].kind, Kind::Token);
}

#[test]
fn requests_without_a_good_token_are_unauthenticated_and_write_nothing() {
    let mut sheet = sheet();
    let good = sheet.token.clone();
    for wrong in ["", "ya29.never-issued"] {
        wrong.clone_into(&mut sheet.token);
        assert_refused(sheet.append_row(), 401, "UNAUTHENTICATED", "");
    }
    let mut bare = sheet.append_request(ANCHOR, RAW_INSERT, &json!([ROW]));
    bare.headers.clear();
    assert_refused(reply(sheet.ask(bare)), 401, "UNAUTHENTICATED", "");
    sheet.token = good;
    sheet.clock.turn(3_598_999);
    assert_eq!(sheet.append_row().0, 200);
    sheet.clock.turn(1);
    assert_refused(sheet.append_row(), 401, "UNAUTHENTICATED", "");
    assert_eq!(sheet.rows().len(), 2);
}

#[test]
fn revoked_tokens_stop_working_and_new_ones_work() {
    let mut sheet = sheet();
    sheet.sheets.token().revoke_all();
    assert_refused(sheet.append_row(), 401, "UNAUTHENTICATED", "");
    sheet.token = sheet.sheets.token().grant();
    assert_eq!(sheet.append_row().0, 200);
}

#[test]
fn a_token_of_another_scope_is_denied() {
    let mut sheet = sheet();
    let mut claims = claims();
    claims["scope"] = json!("https://www.googleapis.com/auth/drive.metadata");
    let (_, answer) = exchange(&sheet.sheets.token(), &claims);
    answer["access_token"].as_str().unwrap().clone_into(&mut sheet.token);
    assert_refused(sheet.append_row(), 403, "PERMISSION_DENIED", "insufficient authentication scopes");
}

#[test]
fn the_life_of_a_token_is_told_as_number_string_nothing_or_zero() {
    let sheets = sheet().sheets;
    for (told, shown) in [
        (ExpiresIn::Number(60), Some(json!(60))),
        (ExpiresIn::Number(0), Some(json!(0))),
        (ExpiresIn::Text(3599), Some(json!("3599"))),
        (ExpiresIn::Missing, None),
    ] {
        sheets.token().tell_expires_in(told);
        assert_eq!(exchange(&sheets.token(), &claims()).1.get("expires_in").cloned(), shown);
    }
}

#[test]
fn skewed_clocks_and_long_lives_are_an_invalid_grant() {
    let now = NOW_MS / 1000;
    let token = sheet().sheets.token();
    for (issued, expires, status) in [
        (now, now + 3600, 200),
        (now - 299, now + 600, 200),
        (now + 299, now + 600, 200),
        (now, now + 3601, 400),
        (now + 301, now + 3600, 400),
        (now - 301, now + 600, 400),
        (now - 100, now - 1, 400),
    ] {
        let mut claims = claims();
        (claims["iat"], claims["exp"]) = (json!(issued), json!(expires));
        let (answered, body) = exchange(&token, &claims);
        assert_eq!(answered, status, "{issued} {expires}");
        assert!(answered == 200 || body["error"] == "invalid_grant");
    }
}

#[test]
fn each_claim_of_an_assertion_is_checked() {
    let token = sheet().sheets.token();
    for (claim, wrong, error) in [
        ("iss", json!("somebody@else.test"), "invalid_grant"),
        ("aud", json!("https://else.test/token"), "invalid_grant"),
        ("iat", Value::Null, "invalid_grant"),
        ("exp", json!("soon"), "invalid_grant"),
        ("scope", json!(""), "invalid_scope"),
    ] {
        let mut claims = claims();
        claims[claim] = wrong;
        let (status, body) = exchange(&token, &claims);
        assert_eq!((status, &body["error"]), (400, &json!(error)), "{claim}");
    }
}

#[test]
fn the_signature_of_an_assertion_is_verified() {
    let token = sheet().sheets.token();
    let good = signed_assertion(&claims());
    let mut other = claims();
    other["exp"] = json!(NOW_MS / 1000 + 60);
    let (signed, _) = good.rsplit_once('.').unwrap();
    let signature_of_other = signed_assertion(&other);
    let swapped = format!("{signed}.{}", signature_of_other.rsplit_once('.').unwrap().1);
    for assertion in [swapped.as_str(), signed, "", "a.b.c", &good[..good.len() - 4]] {
        let (status, body) = reply(at_once(&token, token_request(assertion)));
        assert_eq!((status, &body["error"]), (400, &json!("invalid_grant")), "{assertion}");
    }
    assert_eq!(reply(at_once(&token, token_request(&good))).0, 200);
}

#[test]
fn the_token_endpoint_wants_a_form_with_the_jwt_bearer_grant() {
    let token = sheet().sheets.token();
    let good = token_request(&signed_assertion(&claims()));
    let json_typed =
        Request { headers: vec![("content-type".to_owned(), "application/json".to_owned())], ..good.clone() };
    let no_assertion =
        Request { body: b"grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer".to_vec(), ..good.clone() };
    let other_grant = Request { body: b"grant_type=refresh_token&assertion=a.b.c".to_vec(), ..good.clone() };
    for (request, error) in [
        (json_typed, "invalid_request"),
        (no_assertion, "invalid_request"),
        (other_grant, "unsupported_grant_type"),
    ] {
        let (status, body) = reply(at_once(&token, request));
        assert_eq!((status, &body["error"]), (400, &json!(error)));
    }
}

#[test]
fn a_key_file_looks_like_googles_and_names_the_audience() {
    let token = sheet().sheets.token();
    let file: Value = serde_json::from_str(&token.service_account_json("http://127.0.0.1:1/token")).unwrap();
    assert_eq!((&file["type"], &file["client_email"]), (&json!("service_account"), &json!(CLIENT_EMAIL)));
    assert!(file["private_key"].as_str().unwrap().starts_with("-----BEGIN PRIVATE KEY-----\n"));
    let mut claims = claims();
    assert_eq!(exchange(&token, &claims).0, 400);
    claims["aud"] = file["token_uri"].clone();
    assert_eq!(exchange(&token, &claims).0, 200);
}

#[test]
fn the_token_endpoint_can_refuse_fail_and_show_pages() {
    let sheet = sheet();
    let token = sheet.sheets.token();
    token.next(Behaviour::invalid_grant());
    token.next(Behaviour::fails(500, FailureBody::Json));
    token.next(Behaviour::fails(502, FailureBody::Html));
    token.next(Behaviour::hangs_up());
    let ask = || at_once(&token, token_request(&signed_assertion(&claims())));
    assert_eq!(
        reply(ask()),
        (400, json!({"error": "invalid_grant", "error_description": "Invalid JWT Signature."}))
    );
    assert_eq!(parts(ask()).0, 500);
    assert!(parts(ask()).2.starts_with("<!DOCTYPE html>"));
    assert!(matches!(ask(), Answer::HangUp));
    assert_eq!(parts(ask()).0, 200);
    token.from_now_on(Behaviour::invalid_grant());
    assert_eq!((parts(ask()).0, parts(ask()).0, sheet.append_row().0), (400, 400, 200));
    sheet.sheets.heal();
    assert_eq!(parts(ask()).0, 200);
}
