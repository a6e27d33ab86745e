//! "What an answer means: Sheets write", line by line, for one row and for several.

use docket_domain::outcome::sheets::{
    A1Range, classify_append, classify_failed_read, header_is_ours, quoted,
};
use docket_domain::outcome::{AppendOutcome, Exchange, NotApplied};
use docket_domain::row::HEADER;
use serde_json::{Value, json};

use super::samples::cause;

const HTML: &str = "<!DOCTYPE html><html><title>Error 502 (Server Error)!!1</title></html>";
const ROW_COUNTS: [usize; 3] = [1, 2, 200];

fn answered(status: u16, body: &str) -> Exchange {
    Exchange::Answered { status, retry_after_seconds: None, body: body.as_bytes().to_vec() }
}

fn meaning(status: u16, body: &str, rows: usize) -> AppendOutcome {
    classify_append(&answered(status, body), "Intake", rows)
}

fn updated(range: &str, rows: usize) -> String {
    json!({
        "spreadsheetId": "x",
        "tableRange": "Intake!A1:F1",
        "updates": {
            "spreadsheetId": "x",
            "updatedRange": range,
            "updatedRows": rows,
            "updatedColumns": 6,
            "updatedCells": 6 * rows,
        },
    })
    .to_string()
}

fn google(code: u16, message: &str) -> String {
    json!({"error": {"code": code, "message": message, "status": "WHATEVER"}}).to_string()
}

#[test]
fn an_answer_that_names_exactly_our_rows_is_applied() {
    for (tab, range, rows, first, last) in [
        ("Sheet1", "Sheet1!A2:F2", 1, "'Sheet1'!A2:F2", "'Sheet1'!A2:F2"),
        ("Intake", "'Intake'!A2:F2", 1, "'Intake'!A2:F2", "'Intake'!A2:F2"),
        ("Jon's", "'Jon''s'!A2:F2", 1, "'Jon''s'!A2:F2", "'Jon''s'!A2:F2"),
        ("Now!", "'Now!'!A7:F8", 2, "'Now!'!A7:F7", "'Now!'!A8:F8"),
        ("a!b", "a!b!A7:F7", 1, "'a!b'!A7:F7", "'a!b'!A7:F7"),
        ("'", "''''!A2:F2", 1, "''''!A2:F2", "''''!A2:F2"),
        ("'q'", "'''q'''!A2:F2", 1, "'''q'''!A2:F2", "'''q'''!A2:F2"),
        ("CRM26", "'CRM26'!A2:F2", 1, "'CRM26'!A2:F2", "'CRM26'!A2:F2"),
        ("Adv/Ent1", "'Adv/Ent1'!A2:F2", 1, "'Adv/Ent1'!A2:F2", "'Adv/Ent1'!A2:F2"),
        ("Été 🌞", "'Été 🌞'!A2:F2", 1, "'Été 🌞'!A2:F2", "'Été 🌞'!A2:F2"),
        ("Intake", "Intake!A1000:F1199", 200, "'Intake'!A1000:F1000", "'Intake'!A1199:F1199"),
    ] {
        for status in [200, 201, 204, 299] {
            let outcome = classify_append(&answered(status, &updated(range, rows)), tab, rows);
            let AppendOutcome::Applied(appended) = outcome else { panic!("{range}: {outcome:?}") };
            assert_eq!((appended.range_of(0).as_str(), appended.range_of(rows - 1).as_str()), (first, last));
        }
    }
}

#[test]
fn an_answer_that_names_another_place_is_misplaced() {
    for (range, rows, sent) in [
        // Other columns.
        ("'Intake'!D3:I3", 1, 1),
        ("Intake!B2:G2", 1, 1),
        ("Intake!A2:G2", 1, 1),
        ("Intake!A2:E2", 1, 1),
        ("Intake!A2", 1, 1),
        ("Intake!AA2:AF2", 1, 1),
        // Another tab, also one whose name only looks alike.
        ("Other!A2:F2", 1, 1),
        ("Intake2!A2:F2", 1, 1),
        ("'Intake '!A2:F2", 1, 1),
        ("'''Intake'''!A2:F2", 1, 1),
        ("intake!A2:F2", 1, 1),
        // Another number of rows, by the range or by the count.
        ("Intake!A2:F2", 1, 2),
        ("Intake!A2:F3", 2, 1),
        ("Intake!A2:F2", 2, 1),
        ("Intake!A2:F3", 1, 2),
        ("Intake!A2:F4", 2, 2),
        ("Intake!A3:F2", 1, 1),
        // Over the header.
        ("Intake!A1:F1", 1, 1),
        ("Intake!A0:F0", 1, 1),
        // Not a place that can be read: whatever it is, it is not ours.
        ("", 1, 1),
        ("Intake", 1, 1),
        ("Intake!", 1, 1),
        ("Intake!A:F", 1, 1),
        ("Intake!2:2", 1, 1),
        ("Intake!a2:f2", 1, 1),
        ("Intake!A2:F2:F2", 1, 1),
        ("Intake!$A$2:$F$2", 1, 1),
        ("Intake!A99999999999:F99999999999", 1, 1),
        ("A2:F2", 1, 1),
    ] {
        let outcome = meaning(200, &updated(range, rows), sent);
        assert_eq!(outcome, AppendOutcome::Misplaced { range: range.to_owned() }, "{sent} sent");
    }
}

#[test]
fn a_foreign_range_is_shown_bounded_and_without_control_characters() {
    let AppendOutcome::Misplaced { range } =
        meaning(200, &updated(&format!("x\n\u{1b}{}", "y".repeat(500)), 1), 1)
    else {
        panic!("it names no place of ours")
    };
    assert_eq!(range, format!("x{}", "y".repeat(119)));
}

#[test]
fn success_alone_is_not_success() {
    let cut = &updated("Intake!A2:F2", 1)[..60];
    for body in [
        "",
        "{}",
        "[]",
        "null",
        "\"ok\"",
        HTML,
        cut,
        r#"{"spreadsheetId":"x"}"#,
        r#"{"updates":{}}"#,
        r#"{"updates":null}"#,
        r#"{"updates":{"updatedRows":0}}"#,
        r#"{"updates":{"updatedRows":1}}"#,
        r#"{"updates":{"updatedRange":"Intake!A2:F2"}}"#,
        r#"{"updates":{"updatedRange":7,"updatedRows":1}}"#,
        r#"{"updates":{"updatedRange":"Intake!A2:F2","updatedRows":"1"}}"#,
        r#"{"updates":{"updatedRange":"Intake!A2:F2","updatedRows":0}}"#,
        r#"{"updates":{"updatedRange":"Other!A2:F2","updatedRows":0}}"#,
    ] {
        for rows in ROW_COUNTS {
            let outcome = meaning(200, body, rows);
            assert!(matches!(outcome, AppendOutcome::Unknown(_)), "{body}: {outcome:?}");
        }
    }
    let not_utf8 = Exchange::Answered { status: 200, retry_after_seconds: None, body: vec![0xff, 0xfe, 0] };
    assert!(matches!(classify_append(&not_utf8, "Intake", 1), AppendOutcome::Unknown(_)));
}

#[test]
fn what_did_not_leave_is_tried_again_and_what_may_have_arrived_is_unknown() {
    for rows in ROW_COUNTS {
        let not_sent = Exchange::NotSent(cause("connection_refused"));
        assert_eq!(
            classify_append(&not_sent, "Intake", rows),
            AppendOutcome::NotApplied(NotApplied::TryAgain(cause("connection_refused")))
        );
        let lost = Exchange::Lost(cause("timeout"));
        assert_eq!(classify_append(&lost, "Intake", rows), AppendOutcome::Unknown(cause("timeout")));
    }
}

#[test]
fn googles_own_refusals_stop_the_sheet_and_name_the_cause() {
    for (status, message, expected) in [
        (400, "Unable to parse range: 'Intake'!A1", "no_such_tab"),
        (400, "Range ('CRM'!A1) exceeds grid limits. Max rows: 1000, max columns: 26", "beyond_the_grid"),
        (400, "You are trying to edit a protected cell or object. Please contact …", "protected_range"),
        (
            400,
            "This action would increase the number of cells in the workbook above the limit of 10000000 cells.",
            "workbook_full",
        ),
        (400, "This operation is not supported for this document", "not_a_google_sheet"),
        (400, "Something that nobody has seen yet", "http_400"),
        (400, "", "http_400"),
        (401, "Request had invalid authentication credentials.", "unauthenticated"),
        (403, "The caller does not have permission", "permission_denied"),
        (404, "Requested entity was not found.", "spreadsheet_not_found"),
        (413, "Request payload size exceeds the limit", "request_too_large"),
    ] {
        for rows in ROW_COUNTS {
            assert_eq!(
                meaning(status, &google(status, message), rows),
                AppendOutcome::NotApplied(NotApplied::Halt(cause(expected))),
                "{status} {message}"
            );
        }
    }
}

#[test]
fn a_refused_cell_is_its_own_rows_fault_and_in_company_nobodys_yet() {
    for message in [
        "Your input contains more than the maximum of 50000 characters in a single cell.",
        "Invalid values[1][2]: struct_value { }",
    ] {
        let body = google(400, message);
        assert_eq!(
            meaning(400, &body, 1),
            AppendOutcome::NotApplied(NotApplied::CellAlone(cause("cell_refused")))
        );
        for rows in [2, 200] {
            let outcome = meaning(400, &body, rows);
            assert!(
                matches!(outcome, AppendOutcome::NotApplied(NotApplied::CellInCompany(_))),
                "{rows} rows: {outcome:?}"
            );
        }
    }
}

#[test]
fn too_many_requests_are_a_pause_in_whatever_words() {
    let quota = json!({"error": {"code": 429, "message": "Quota exceeded for quota metric 'Write requests'",
        "status": "RESOURCE_EXHAUSTED", "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "RATE_LIMIT_EXCEEDED", "metadata": {"quota_limit": "WriteRequestsPerMinutePerUser"}}]}})
    .to_string();
    for rows in ROW_COUNTS {
        for body in ["", "{", HTML, &quota, &google(429, "x")] {
            assert_eq!(
                meaning(429, body, rows),
                AppendOutcome::NotApplied(NotApplied::Busy {
                    cause: cause("http_429"),
                    retry_after_seconds: None
                }),
                "{body}"
            );
        }
        for body in [
            json!({"error": {"code": 403, "errors": [{"reason": "userRateLimitExceeded"}]}}),
            json!({"error": {"code": 403, "errors": [{"domain": "x"}, {"reason": "rateLimitExceeded"}]}}),
            json!({"error": {"code": 403, "details": [{"reason": "RATE_LIMIT_EXCEEDED", "metadata": {}}]}}),
        ] {
            assert_eq!(
                meaning(403, &body.to_string(), rows),
                AppendOutcome::NotApplied(NotApplied::Busy {
                    cause: cause("rate_limit_403"),
                    retry_after_seconds: None
                })
            );
        }
    }
}

#[test]
fn every_other_status_is_unknown_in_whatever_words() {
    let others =
        [100, 301, 302, 304, 307, 308, 402, 405, 406, 408, 409, 410, 411, 412, 418, 421, 425, 431, 451];
    for status in others.into_iter().chain(500..600) {
        for rows in ROW_COUNTS {
            for body in ["", HTML, "{", &google(status, "Unable to parse range"), &updated("Intake!A2:F2", 1)]
            {
                assert_eq!(
                    meaning(status, body, rows),
                    AppendOutcome::Unknown(cause(&format!("http_{status}"))),
                    "{body}"
                );
            }
        }
    }
}

#[test]
fn a_refusal_in_words_that_are_not_googles_proves_nothing() {
    for status in [400, 401, 403, 404, 413] {
        let other_code = google(status + 1, "x");
        for body in [
            "",
            HTML,
            "{",
            "{}",
            "[]",
            r#"{"error":"invalid_grant"}"#,
            r#"{"error":{}}"#,
            r#"{"error":{"message":"Bad Request"}}"#,
            r#"{"message":"Forbidden"}"#,
            &other_code,
            &google(status, "x")[..20],
        ] {
            for rows in ROW_COUNTS {
                let outcome = meaning(status, body, rows);
                assert_eq!(outcome, AppendOutcome::Unknown(cause(&format!("http_{status}"))), "{body}");
            }
        }
    }
}

#[test]
fn a_read_that_failed_says_why_and_never_that_the_row_is_absent() {
    use NotApplied as N;
    for (exchange, expected) in [
        (Exchange::NotSent(cause("dns")), N::TryAgain(cause("dns"))),
        (Exchange::Lost(cause("timeout")), N::TryAgain(cause("timeout"))),
        (answered(200, HTML), N::TryAgain(cause("unreadable_answer"))),
        (answered(500, ""), N::TryAgain(cause("http_500"))),
        (answered(403, HTML), N::TryAgain(cause("http_403"))),
        (answered(429, ""), N::Busy { cause: cause("http_429"), retry_after_seconds: None }),
        (answered(400, &google(400, "Unable to parse range: x")), N::Halt(cause("no_such_tab"))),
        (answered(401, &google(401, "x")), N::Halt(cause("unauthenticated"))),
        (answered(403, &google(403, "x")), N::Halt(cause("permission_denied"))),
        (answered(404, &google(404, "x")), N::Halt(cause("spreadsheet_not_found"))),
    ] {
        assert_eq!(classify_failed_read(&exchange), expected, "{exchange:?}");
    }
}

#[test]
fn only_the_six_names_in_their_order_are_our_header() {
    let ours: Vec<Value> = HEADER.iter().map(|name| json!(name)).collect();
    assert!(header_is_ours(&ours));
    let with_more: Vec<Value> = ours.iter().cloned().chain([json!("notes"), json!(7)]).collect();
    assert!(header_is_ours(&with_more), "columns to the right are the business's own");
    for changed in 0..HEADER.len() {
        for other in [json!("x"), json!(""), json!(null), json!(7), json!("Reference")] {
            let mut cells = ours.clone();
            cells[changed] = other;
            assert!(!header_is_ours(&cells), "{cells:?}");
        }
        assert!(!header_is_ours(&ours[..changed]));
    }
    let mut swapped = ours.clone();
    swapped.swap(2, 3);
    assert!(!header_is_ours(&swapped));
    let shifted: Vec<Value> = [json!("")].into_iter().chain(ours).collect();
    assert!(!header_is_ours(&shifted), "somebody inserted a column");
}

proptest::proptest! {
    #[test]
    fn a_tab_of_any_name_is_found_again_in_a_range(tab in "\\PC{1,40}", row in 2_u32..10_000_000) {
        let range = format!("{}!A{row}:F{row}", quoted(&tab));
        let parsed = A1Range::parse(&range).expect("a range of ours");
        proptest::prop_assert_eq!(&parsed.tab, &tab);
        proptest::prop_assert_eq!(parsed.rows, (row, row));
        let outcome = classify_append(&answered(200, &updated(&range, 1)), &tab, 1);
        proptest::prop_assert!(matches!(outcome, AppendOutcome::Applied(_)));
    }

    #[test]
    fn no_answer_of_any_kind_is_taken_for_applied_or_refused_by_accident(
        status in 100_u16..600,
        body in proptest::collection::vec(proptest::num::u8::ANY, 0..200),
    ) {
        let exchange = Exchange::Answered { status, retry_after_seconds: None, body };
        let outcome = classify_append(&exchange, "Intake", 1);
        let expected = if status == 429 { "busy" } else { "unknown" };
        let is = match outcome {
            AppendOutcome::Unknown(_) => "unknown",
            AppendOutcome::NotApplied(NotApplied::Busy { .. }) => "busy",
            _ => "more",
        };
        proptest::prop_assert_eq!(is, expected);
    }
}
