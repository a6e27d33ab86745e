//! Where an append lands and what it answers.

use std::task::{Context, Poll, Waker};

use docket_world::exchange::Fake;
use serde_json::{Value, json};

use super::{ANCHOR, HEADER, PLAIN, RAW, RAW_INSERT, ROW, empty_sheet, reply, sheet, texts};

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
        let mut waker = Context::from_waker(Waker::noop());
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
        let answered = append.as_mut().poll(&mut waker).is_ready();
        sheet.sheets.type_into_next_empty_row("Intake", &["by hand"]);
        sheet.sheets.let_go();
        assert!(answered || append.as_mut().poll(&mut waker).is_ready());
        assert_eq!(sheet.rows().contains(&texts(&["by hand"])), survives, "{query}");
        assert!(sheet.rows().contains(&texts(&["R-1"])));
    }
}
