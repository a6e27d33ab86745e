//! Our row, and what is made of the rows that a look at the sheet brings back: "What a lookup means", from the cells
//! to the state.

use docket_domain::row::{HEADER, Row, cell_is_reference, judge};
use docket_domain::status::{By, Finding, Record, WriteEvent};
use docket_domain::submission::{ChatId, Contact, Submission};
use serde_json::{Value, json};

use super::samples::{LEASE_SECONDS, SETTLE_SECONDS, at, cause, recorded, submission, summary, token};

fn read(row: &Row) -> Vec<Value> {
    row.cells().iter().map(|cell| json!(cell)).collect()
}

/// The record after a look that found these rows, so many seconds after the attempt.
fn looked(hits: &[(String, Vec<Value>)], seconds: i64) -> Record {
    let claim = WriteEvent::Claimed { token: token("ours"), lease_seconds: LEASE_SECONDS };
    let unknown = WriteEvent::Unknown { cause: cause("timeout"), settle_seconds: SETTLE_SECONDS };
    let look = WriteEvent::LookedUp {
        finding: judge(&Row::of(&submission()), hits),
        started_at: at(seconds),
        settle_seconds: SETTLE_SECONDS,
    };
    recorded()
        .write_after(&claim, at(0), &By::Writer)
        .and_then(|record| record.write_after(&unknown, at(25), &By::Writer))
        .and_then(|record| record.write_after(&look, at(seconds), &By::Writer))
        .expect("claimed, lost, looked up")
}

fn stands(record: &Record) -> String {
    match record.reviews().first() {
        Some(review) => format!("{}, review {}", record.write.state.as_str(), review.reason.as_str()),
        None => record.write.state.as_str().to_owned(),
    }
}

#[test]
fn our_row_is_six_strings_in_the_headers_order_and_none_is_empty() {
    insta::assert_snapshot!(serde_json::to_string(&Row::of(&submission())).expect("JSON"), @r#"
    ["DK-PTAG-5YZB-F1CB","2026-03-01T09:15:00Z","A quote","Twelve chairs","Ann","7"]
    "#);
    let nameless = Submission { contact: Contact::of_user("", None, None), ..submission() };
    let cells = Row::of(&nameless);
    assert_eq!(cells.cells()[4], "-");
    assert_eq!(cells.cells().len(), HEADER.len());
    assert!(cells.cells().iter().all(|cell| !cell.is_empty()));
}

#[test]
fn what_looks_like_a_number_a_date_or_a_formula_stays_the_same_string() {
    for text in
        ["007", "0049300000", "1/2", "2026-03-01", "TRUE", "1e5", "12345678901234567890", "٣٤", "=1+1", "'q'"]
    {
        let chat_id = ChatId(-1_002_000_000_001);
        let row = Row::of(&Submission { summary: summary(text), chat_id, ..submission() });
        let sent = serde_json::to_value(&row).expect("JSON");
        assert_eq!((&sent[3], &sent[5]), (&json!(text), &json!("-1002000000001")));
        let Value::Array(cells) = sent else { panic!("a row is an array") };
        assert!(row.equals(&cells));
        // A sheet that made a number of it holds another content.
        let mut coerced = cells;
        coerced[3] = json!(7);
        assert!(!row.equals(&coerced));
    }
}

#[test]
fn what_was_read_back_decides_what_the_write_becomes() {
    let ours = read(&Row::of(&submission()));
    let changed = |column: usize, cell: Value| {
        let mut cells = ours.clone();
        cells[column] = cell;
        cells
    };
    let hit = |row: u32, cells: &[Value]| (format!("'Intake'!A{row}:F{row}"), cells.to_vec());
    for (hits, seconds, expected) in [
        (vec![hit(2, &ours)], 61, "confirmed"),
        (vec![hit(2, &ours)], 4_000, "confirmed"),
        // More cells to the right are the business's own.
        (vec![hit(2, &[ours.clone(), vec![json!("done"), json!(true)]].concat())], 61, "confirmed"),
        (vec![hit(2, &changed(3, json!("Twelve chairs \r\n")))], 61, "confirmed"),
        (vec![hit(2, &changed(3, json!("Twelve tables")))], 61, "uncertain, review row_differs"),
        (vec![hit(2, &changed(1, json!(46_082.385)))], 61, "uncertain, review row_differs"),
        (vec![hit(2, &ours[..4])], 61, "uncertain, review row_differs"),
        (vec![hit(2, &ours), hit(9, &ours)], 61, "uncertain, review several_rows"),
        (vec![hit(2, &ours), hit(9, &changed(3, json!("x")))], 61, "uncertain, review several_rows"),
        (vec![], 61, "uncertain"),
        (vec![], 299, "uncertain"),
        (vec![], 300, "uncertain, review no_matching_row"),
    ] {
        assert_eq!(stands(&looked(&hits, seconds)), expected, "{hits:?} after {seconds} s");
    }
}

#[test]
fn an_equal_row_is_evidence_with_the_place_where_it_was_seen() {
    let hit = ("'Intake'!A7:F7".to_owned(), read(&Row::of(&submission())));
    assert_eq!(
        judge(&Row::of(&submission()), std::slice::from_ref(&hit)),
        Finding::OneEqual { range: hit.0.clone() }
    );
    let record = looked(&[hit], 61);
    let evidence = record.history.entries().last().and_then(|entry| entry.evidence.clone());
    assert_eq!(evidence.as_deref(), Some("read_back 'Intake'!A7:F7"));
}

#[test]
fn only_a_cell_that_says_exactly_the_reference_is_a_hit() {
    let reference = submission().reference;
    let text = reference.as_str();
    for hit in [json!(text), json!(format!(" {text}\n"))] {
        assert!(cell_is_reference(&hit, text), "{hit}");
    }
    for other in [
        json!(""),
        json!(null),
        json!(7),
        json!(true),
        json!(text.to_lowercase()),
        json!(&text[..16]),
        json!(format!("{text}0")),
        json!(format!("see {text}")),
        json!([text]),
    ] {
        assert!(!cell_is_reference(&other, text), "{other}");
    }
}
