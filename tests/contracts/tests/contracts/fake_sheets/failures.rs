//! Quota, refusals, lost answers: everything that can come back instead of the usual.

use std::task::{Context, Waker};

use docket_world::exchange::{Answer, Fake};
use docket_world::sheets::{Behaviour, FailureBody, Kind, On};
use serde_json::{Value, json};

use super::{ANCHOR, NOW_MS, PLAIN, RAW, RAW_INSERT, ROW, assert_refused, parts, sheet};

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
