//! What an answer to an append means, line by line, for one record and for five in one request.
//!
//! The table of the design, shown from the outside: what the record says afterwards, what is in the sheet, who was told,
//! and how often Google was asked.

use std::collections::BTreeSet;

use docket_world::sheets::{Behaviour, FailureBody, On};
use docket_world::wire::{Fault, Plan, Side};
use docket_world::world::write_event;
use docket_world::{Tampering, World};
use serde_json::{Value, json};

use crate::write_side::*;

const JSON: &str = "application/json; charset=UTF-8";

fn header(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn refusal(status: u16, name: &str, message: &str) -> Behaviour {
    let body = json!({"error": {"code": status, "message": message, "status": name}}).to_string();
    Behaviour::answers(status, vec![header("content-type", JSON)], &body)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_names_our_rows_confirms_each_of_them() {
    each(ALONE_AND_IN_COMPANY, |count| async move {
        let mut world = world().await;
        let references = world.record_enquiries(count).await;
        world.work().await;
        for (row, reference) in (2..).zip(&references) {
            let record = world.record(reference).await;
            assert_eq!(known(&record), "confirmed append_answer");
            let history = record.history.entries().to_vec();
            let proved = history.iter().find_map(|entry| entry.evidence.clone()).unwrap();
            assert_eq!(proved, format!("append_answer 'Intake'!A{row}:F{row}"));
        }
        assert_eq!((appends(&world), world.rows().len()), (1, count));
        each_is_written_once(&mut world, &references).await;
        world.check_rules().await;
    })
    .await;
}

/// What comes back and says nothing of what became of the rows.
#[derive(Clone)]
struct Unsaid {
    behaviour: Behaviour,
    /// Whether the rows are there all the same.
    written: bool,
    /// Whether the client has to give up waiting.
    waits: bool,
}

fn unsaid(behaviour: Behaviour, written: bool) -> Unsaid {
    Unsaid { behaviour, written, waits: false }
}

/// The 5xx that follow a write, with each body they were seen with, and those that do not.
fn server_failures() -> Vec<(String, Unsaid)> {
    let mut cases = Vec::new();
    for status in [408, 409, 500, 502, 503, 504] {
        for body in [FailureBody::Json, FailureBody::Empty, FailureBody::Html] {
            let written = Behaviour::writes_then_fails(status, body);
            cases.push((format!("{status} {body:?}, written"), unsaid(written, true)));
            let not = Behaviour::fails(status, body);
            cases.push((format!("{status} {body:?}, not written"), unsaid(not, false)));
        }
    }
    cases
}

/// 200 with a body that names no row, and statuses that nobody promised.
fn odd_answers() -> Vec<(String, Unsaid)> {
    let page = "<!DOCTYPE html><title>Sign in</title>";
    let (json_type, html_type) = (header("content-type", JSON), header("content-type", "text/html"));
    let elsewhere = header("location", "/v4/spreadsheets/elsewhere/values/A1:append");
    let mut answers = vec![
        ("200, empty", 200, json_type.clone(), String::new()),
        ("200, {}", 200, json_type.clone(), "{}".into()),
        ("200, only the spreadsheet", 200, json_type.clone(), json!({"spreadsheetId": "x"}).to_string()),
        ("200, empty updates", 200, json_type.clone(), json!({"updates": {}}).to_string()),
        ("200, no rows", 200, json_type.clone(), json!({"updates": {"updatedRows": 0}}).to_string()),
        ("200, a page", 200, html_type.clone(), page.into()),
        ("200, cut", 200, json_type.clone(), r#"{"updates":{"updatedRange":"Intake!A2:F2","upd"#.into()),
        ("200, a range and no rows", 200, json_type, zero_rows().to_string()),
        ("204", 204, html_type.clone(), String::new()),
        ("418", 418, html_type.clone(), page.into()),
        ("501", 501, html_type.clone(), String::new()),
    ];
    for status in [400, 401, 403, 404, 413] {
        answers.push(("a refusal that is not Google's", status, html_type.clone(), page.into()));
    }
    for status in [301, 302, 303, 307, 308] {
        answers.push(("a redirect", status, elsewhere.clone(), String::new()));
    }
    let mut cases = Vec::new();
    for (name, status, header, body) in answers {
        let written = Behaviour::writes_then_answers(status, vec![header.clone()], &body);
        cases.push((format!("{name} ({status}), written"), unsaid(written, true)));
        if status == 200 {
            let not = Behaviour::answers(status, vec![header], &body);
            cases.push((format!("{name} ({status}), not written"), unsaid(not, false)));
        }
    }
    cases
}

fn zero_rows() -> Value {
    json!({"spreadsheetId": "x", "updates": {"updatedRange": "Intake!A2:F2", "updatedRows": 0}})
}

/// Connections that break once the request has left, and answers that never come.
fn broken_exchanges() -> Vec<(String, Unsaid)> {
    let waits = |behaviour, written| Unsaid { behaviour, written, waits: true };
    let cases = [
        ("hung up, written", unsaid(Behaviour::writes_then_hangs_up(), true)),
        ("hung up, not written", unsaid(Behaviour::hangs_up(), false)),
        ("half an answer", unsaid(Behaviour::writes_then_sends_half(40), true)),
        ("not a byte of the body", unsaid(Behaviour::writes_then_sends_half(0), true)),
        ("a body cut short", unsaid(Behaviour::serves_body_cut_to(60), true)),
        ("no answer, written", waits(Behaviour::writes_then_never_answers(), true)),
        ("no answer, not written", waits(Behaviour::never_answers(), false)),
    ];
    cases.map(|(name, case)| (name.to_owned(), case)).into()
}

/// Nothing is concluded, nothing is said, nothing is sent again; then the sheet itself tells.
async fn the_sheet_is_asked_and_nothing_is_sent_again(Named { count, is, .. }: Named<Unsaid>) {
    let mut world = if is.waits { impatient_world().await } else { world().await };
    let references = world.record_enquiries(count).await;
    world.sheets.next(On::Appends, is.behaviour);
    world.poll_writer().await;
    all_are(&world, &references, "uncertain").await;
    assert_eq!(world.rows().len(), if is.written { count } else { 0 });
    nobody_is_told(&world, &references).await;

    world.settle().await;
    assert_eq!(appends(&world), 1, "an unknown append was sent again");
    let elsewhere = |path: &str| path.contains("elsewhere");
    assert!(!world.sheets.requests().iter().any(|seen| elsewhere(&seen.path)), "a redirect was followed");
    if is.written {
        all_are(&world, &references, "confirmed read_back").await;
        each_is_written_once(&mut world, &references).await;
        world.check_rules().await;
        return;
    }
    all_are(&world, &references, "uncertain, review no_matching_row").await;
    nobody_is_told(&world, &references).await;
    world.check_rules().await;
    for reference in &references {
        world.order(reference, append_again()).await;
    }
    each_is_written_once(&mut world, &references).await;
    world.check_rules_but_for(&ordered(&references)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_failure_is_unknown_whether_the_rows_were_written_or_not() {
    let cases = alone_and_in_company(server_failures());
    assert_eq!(cases.len(), 2 * 36);
    each(cases, the_sheet_is_asked_and_nothing_is_sent_again).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_names_no_row_is_unknown_and_a_redirect_is_not_followed() {
    each(alone_and_in_company(odd_answers()), the_sheet_is_asked_and_nothing_is_sent_again).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_after_the_request_left_is_unknown() {
    each(alone_and_in_company(broken_exchanges()), the_sheet_is_asked_and_nothing_is_sent_again).await;
}

/// Where rows can land, or be said to have landed, that is not their place.
fn other_places(count: usize) -> Vec<Named<Behaviour>> {
    let last = |first: usize| first + count - 1;
    let named = |name: &str, is| Named { name: name.into(), count, is };
    let mut cases = vec![
        named("other columns", Behaviour::writes_misplaced(&format!("Intake!D3:I{}", last(3)))),
        named("beside the header", Behaviour::writes_misplaced(&format!("Intake!G1:L{}", last(1)))),
        named("another tab", Behaviour::writes_misplaced(&format!("Other!A2:F{}", last(2)))),
    ];
    for (name, range) in [
        ("said to be one column further", format!("Intake!B2:G{}", last(2))),
        ("said to be too narrow", format!("Intake!A2:E{}", last(2))),
        ("said to be too wide", format!("Intake!A2:G{}", last(2))),
        ("said to be in another tab", format!("Other!A2:F{}", last(2))),
        ("said to be too many", format!("Intake!A2:F{}", last(3))),
        ("said to be too few", format!("Intake!A2:F{}", if count == 1 { 1 } else { last(1) })),
        ("said to be in the header's row", format!("Intake!A1:F{}", last(1))),
        ("said to be nowhere", "somewhere".into()),
    ] {
        cases.push(named(name, Behaviour::writes_but_names(&range)));
    }
    cases
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_in_another_place_stop_the_sheet_until_a_person_has_looked() {
    each(ALONE_AND_IN_COMPANY.into_iter().flat_map(other_places), |Named { count, is, .. }| async move {
        let mut world = world().await;
        world.sheets.add_tab("Other", &["some", "other", "columns", "of", "another", "team"]);
        let misplaced = world.record_enquiries(count).await;
        world.sheets.next(On::Appends, is);
        world.work().await;
        all_are(&world, &misplaced, "uncertain, review misplaced_row").await;
        assert!(is_said_to_have_stopped(&world));

        // At most one misplaced append ever: not for what comes after, and not by a process that remembers nothing.
        let later = world.record_enquiries(3).await;
        world.run_minutes(2).await;
        world.restart();
        world.run_minutes(2).await;
        all_are(&world, &later, "pending misplaced_row_in_review").await;
        assert_eq!(appends(&world), 1);
        assert!(is_said_to_have_stopped(&world));
        assert_eq!(world.dead_letters().await, Vec::<String>::new());
        nobody_is_told(&world, &misplaced).await;
        world.check_rules().await;

        // All of them must be looked after; then it goes on.
        for reference in &misplaced {
            all_are(&world, &later, "pending misplaced_row_in_review").await;
            world.order(reference, recorded()).await;
            if reference != misplaced.last().unwrap() {
                a_minute_later(&mut world).await;
            }
        }
        world.settle().await;
        all_are(&world, &misplaced, "confirmed operator").await;
        all_are(&world, &later, "confirmed append_answer").await;
        each_is_written_once(&mut world, &later).await;
        assert_eq!(appends(&world), 2);
        assert!(!is_said_to_have_stopped(&world));
        world.check_rules().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sheet_stops_at_once_even_while_the_index_of_reviews_does_not_know_yet() {
    let mut world = world().await;
    let misplaced = world.record_enquiries(1).await;
    world.sheets.next(On::Appends, Behaviour::writes_misplaced("Intake!D3:I3"));
    world.work().await;
    // What the index has not taken up yet is not found there.
    let listed = world.damage_record(&misplaced[0], "review").await;
    let later = world.record_enquiries(2).await;
    world.work().await;
    all_are(&world, &later, "pending misplaced_row_in_review").await;
    assert_eq!(appends(&world), 1);
    world.repair_record(&misplaced[0], "review", listed).await;
    world.order(&misplaced[0], recorded()).await;
    world.settle().await;
    each_is_written_once(&mut world, &later).await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sheet_stops_even_when_nobody_could_keep_that_the_row_was_misplaced() {
    let mut world = world().await;
    let misplaced = world.record_enquiries(1).await;
    world.sheets.next(On::Appends, Behaviour::writes_misplaced("Intake!D3:I3"));
    // The claim is kept, the marking fails for good.
    let marking = Plan::at_operation("writer", Side::DynamoDb, "UpdateItem", 2, Fault::Answer500Before);
    world.wire.set_plan(marking.times(9));
    world.poll_writer().await;
    assert_eq!(known(&world.record(&misplaced[0]).await), "attempting");
    world.wire.heal();

    // Neither the record nor the index says it: the process that saw it does.
    let later = world.record_enquiries(3).await;
    let answer = world.invoke_writer(write_event(&later), world.deadline()).await;
    assert_eq!(answer, Some(json!({"batchItemFailures": []})));
    all_are(&world, &later, "pending misplaced_row_in_review").await;
    assert_eq!(appends(&world), 1);
    assert!(is_said_to_have_stopped(&world));
    // The lease runs out, the sheet is read back, and the row is not in its place: a person's review.
    world.run_minutes(20).await;
    all_are(&world, &misplaced, "uncertain, review no_matching_row").await;
    all_are(&world, &later, "pending misplaced_row_in_review").await;
    assert_eq!(appends(&world), 1);
    nobody_is_told(&world, &misplaced).await;

    world.order(&misplaced[0], recorded()).await;
    world.settle().await;
    each_is_written_once(&mut world, &later).await;
    assert_eq!(appends(&world), 2);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_misplaced_row_that_a_person_removed_is_appended_again_by_order_only() {
    let mut world = world().await;
    let references = world.record_enquiries(1).await;
    world.sheets.next(On::Appends, Behaviour::writes_misplaced("Intake!D3:I3"));
    world.work().await;
    world.sheets.put_row("Intake", 3, &[]);
    world.run_minutes(10).await;
    all_are(&world, &references, "uncertain, review misplaced_row").await;
    assert_eq!(appends(&world), 1);

    world.order(&references[0], append_again()).await;
    each_is_written_once(&mut world, &references).await;
    all_are(&world, &references, "confirmed append_answer").await;
    world.check_rules_but_for(&ordered(&references)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_rows_together_never_go_astray_for_a_header_that_was_seen_a_while_ago() {
    let mut world = world().await;
    let before = world.record_enquiries(1).await;
    world.settle().await;
    // Ten seconds after the header was seen; Google would follow the table to its new columns.
    world.turn_seconds(10);
    world.sheets.insert_column("Intake", "A");
    let later = world.record_enquiries(5).await;
    world.sheets.next(On::Appends, Behaviour::writes_misplaced("Intake!B3:G7"));
    world.work().await;
    all_are(&world, &later, "pending header_mismatch").await;
    assert_eq!(appends(&world), 1);

    world.sheets.heal();
    for (number, row) in (1..).zip(world.sheets.rows("Intake")) {
        world.sheets.put_row("Intake", number, &row[1..]);
    }
    each_is_written_once(&mut world, &later).await;
    world.check_rules_but_for(&rows_touched(&before)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blank_column_inserted_before_ours_lets_at_most_one_append_astray() {
    let mut world = world().await;
    let before = world.record_enquiries(1).await;
    world.settle().await;
    world.sheets.insert_column("Intake", "A");
    // The header was seen a moment ago: this one append nobody could have held back.
    let astray = world.record_enquiries(1).await;
    world.sheets.next(On::Appends, Behaviour::writes_misplaced("Intake!B3:G3"));
    world.work().await;
    all_are(&world, &astray, "uncertain, review misplaced_row").await;

    let later = world.record_enquiries(5).await;
    world.run_minutes(3).await;
    world.order(&astray[0], recorded()).await;
    world.run_minutes(3).await;
    // The person closed the review and left the column: the header itself holds the sheet back.
    all_are(&world, &later, "pending header_mismatch").await;
    assert_eq!(appends(&world), 2);

    let rows = world.sheets.rows("Intake");
    for (number, row) in (1..).zip(rows) {
        world.sheets.put_row("Intake", number, &row[1..]);
    }
    each_is_written_once(&mut world, &later).await;
    assert_eq!(appends(&world), 3);
    world.check_rules_but_for(&rows_touched(&before)).await;
}

// ---- Not applied: later again ------------------------------------------------------------------------------------------

/// Why no request got there.
#[derive(Debug, Clone, Copy)]
enum Nobody {
    RefusesTcp,
    HasNoSuchName,
    SpeaksTls,
    GivesTokensBecauseItRefusesTcp,
    GivesTokensBecauseItFails,
    GivesTokensBecauseItAnswersAPage,
    GivesTokensBecauseItIsBusy,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_never_left_is_not_applied_and_goes_later() {
    let all = [
        (Nobody::RefusesTcp, "connect"),
        (Nobody::HasNoSuchName, "name_resolution"),
        (Nobody::SpeaksTls, "tls"),
        (Nobody::GivesTokensBecauseItRefusesTcp, "token_connect"),
        (Nobody::GivesTokensBecauseItFails, "token_http_500"),
        (Nobody::GivesTokensBecauseItAnswersAPage, "token_unreadable_answer"),
        (Nobody::GivesTokensBecauseItIsBusy, "token_http_429"),
    ];
    let cases = all.map(|(nobody, cause)| (format!("{nobody:?}"), (nobody, cause)));
    let cases = alone_and_in_company(cases);
    each(cases, |Named { count, is: (nobody, cause), .. }| async move {
        let mut world = world().await;
        // A process that has appended before, and whose token has ended since.
        let first = world.record_enquiries(1).await;
        world.settle().await;
        let references = world.record_enquiries(count).await;
        match nobody {
            Nobody::RefusesTcp => world.refuse_connections("writer", Side::Sheets, true).await,
            // A top-level domain that is kept from existing (RFC 6761).
            Nobody::HasNoSuchName => {
                world.deploy(|settings| settings.sheets_endpoint = Some("http://docket.invalid".into()));
            }
            Nobody::SpeaksTls => {
                let over_tls = world.url("writer", Side::Sheets).replace("http://", "https://");
                world.deploy(|settings| settings.sheets_endpoint = Some(over_tls));
            }
            Nobody::GivesTokensBecauseItRefusesTcp => {
                world.turn_seconds(3_600);
                world.refuse_connections("writer", Side::Token, true).await;
            }
            Nobody::GivesTokensBecauseItFails => {
                world.turn_seconds(3_600);
                world.sheets.token().from_now_on(Behaviour::fails(500, FailureBody::Json));
            }
            Nobody::GivesTokensBecauseItAnswersAPage => {
                world.turn_seconds(3_600);
                world.sheets.token().from_now_on(Behaviour::answers(200, vec![], "<html>"));
            }
            Nobody::GivesTokensBecauseItIsBusy => {
                world.turn_seconds(3_600);
                world.sheets.token().from_now_on(Behaviour::answers(429, vec![], ""));
            }
        }
        let now = world.now();
        world.work().await;
        all_are(&world, &references, &format!("pending {cause}")).await;
        for reference in &references {
            let (_, due) = world.record(reference).await.due().unwrap();
            assert!(due > now, "tried again at once");
        }
        world.run_minutes(5).await;
        all_are(&world, &references, &format!("pending {cause}")).await;
        assert_eq!((appends(&world), world.rows().len()), (1, 1));
        assert_eq!(world.dead_letters().await, Vec::<String>::new());
        world.check_rules().await;

        world.sheets.heal();
        world.refuse_connections("writer", Side::Sheets, false).await;
        world.refuse_connections("writer", Side::Token, false).await;
        world.deploy(|settings| settings.sheets_endpoint = None);
        each_is_written_once(&mut world, &[first, references].concat()).await;
        assert_eq!(appends(&world), 2);
        world.check_rules().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tcp_refused_between_claim_and_append_counts_one_try_each() {
    each(ALONE_AND_IN_COMPANY, |count| async move {
        let mut world = world().await;
        world.record_enquiries(1).await;
        world.settle().await;
        // The header was seen a moment ago and the token is good: the append itself meets the closed door.
        let references = world.record_enquiries(count).await;
        world.refuse_connections("writer", Side::Sheets, true).await;
        world.work().await;
        all_are(&world, &references, "pending connect").await;
        for reference in &references {
            let record = world.record(reference).await;
            assert_eq!(record.write.attempts, 1);
            assert!(record.history.entries().iter().any(|entry| entry.step == "claimed"));
        }
        world.refuse_connections("writer", Side::Sheets, false).await;
        each_is_written_once(&mut world, &references).await;
        world.check_rules().await;
    })
    .await;
}

// ---- Refusals ----------------------------------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn googles_own_refusal_stops_the_sheet_and_every_record_goes_once_it_is_mended() {
    let full =
        "This action would increase the number of cells in the workbook above the limit of 10000000 cells.";
    let cases = [
        ("400", refusal(400, "INVALID_ARGUMENT", "Something new."), "http_400", 1),
        (
            "400 no such tab",
            refusal(400, "INVALID_ARGUMENT", "Unable to parse range: 'Intake'!A1"),
            "no_such_tab",
            1,
        ),
        (
            "400 grid",
            refusal(400, "INVALID_ARGUMENT", "Range ('Intake'!A1) exceeds grid limits."),
            "beyond_the_grid",
            1,
        ),
        ("400 full", refusal(400, "INVALID_ARGUMENT", full), "workbook_full", 1),
        ("400 protected", Behaviour::protected_cell(), "protected_range", 1),
        ("400 xlsx", Behaviour::office_file(), "not_a_google_sheet", 1),
        // Once with the token at hand, once with a fresh one, and no more.
        ("401", Behaviour::unauthenticated(), "unauthenticated", 2),
        ("403", Behaviour::permission_denied(), "permission_denied", 1),
        ("403 scope", Behaviour::scope_missing(), "permission_denied", 1),
        ("404", Behaviour::not_found(), "spreadsheet_not_found", 1),
        ("413", refusal(413, "FAILED_PRECONDITION", "Request payload is too large."), "request_too_large", 1),
    ]
    .map(|(name, behaviour, cause, posts)| (name, (behaviour, cause, posts)));
    let cases = alone_and_in_company(cases);
    each(cases, |Named { count, is: (behaviour, cause, posts), .. }| async move {
        let mut world = world().await;
        let references = world.record_enquiries(count).await;
        world.sheets.from_now_on(On::Appends, behaviour);
        world.work().await;
        all_are(&world, &references, &format!("pending {cause}")).await;
        assert_eq!(appends(&world), posts);
        assert!(is_said_to_have_stopped(&world));
        for reference in &references {
            assert_eq!(world.record(reference).await.write.attempts, 0, "a halt is not the record's fault");
        }
        world.run_minutes(4).await;
        all_are(&world, &references, &format!("pending {cause}")).await;
        assert_eq!(world.dead_letters().await, Vec::<String>::new());
        assert_eq!(world.rows().len(), 0);
        world.check_rules().await;

        world.sheets.heal();
        each_is_written_once(&mut world, &references).await;
        all_are(&world, &references, "confirmed append_answer").await;
        assert!(!is_said_to_have_stopped(&world));
        world.check_rules().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_401_costs_a_fresh_token_and_one_more_post() {
    each(ALONE_AND_IN_COMPANY, |count| async move {
        let mut world = world().await;
        let references = world.record_enquiries(count).await;
        world.sheets.next(On::Appends, Behaviour::unauthenticated());
        world.work().await;
        all_are(&world, &references, "confirmed append_answer").await;
        assert_eq!((appends(&world), world.sheets.token().requests().len()), (2, 2));
        let calls = append_calls(&world);
        let bearer = |number: usize| calls[number].header("authorization").unwrap().to_owned();
        assert_ne!(bearer(0), bearer(1), "the refused token was used again");
        each_is_written_once(&mut world, &references).await;
        world.check_rules().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_sheet_is_left_alone_for_a_minute_and_costs_no_try() {
    let cases = [
        ("429", Behaviour::quota_exhausted()),
        ("429 with Retry-After", Behaviour::quota_exhausted_retry_after(60)),
        ("429 with a page", Behaviour::answers(429, vec![], "<html>Too many requests</html>")),
        ("403 that means slower", Behaviour::user_rate_limit_exceeded()),
    ];
    each(alone_and_in_company(cases), |Named { count, is, .. }| async move {
        let mut world = world().await;
        let references = world.record_enquiries(count).await;
        world.sheets.from_now_on(On::Appends, is);
        let turned_away_at = world.now();
        world.work().await;
        for reference in &references {
            let record = world.record(reference).await;
            assert!(["pending http_429", "pending rate_limit_403"].contains(&known(&record).as_str()));
            assert_eq!(record.write.attempts, 0);
            let pause = record.due().unwrap().1.seconds_since(turned_away_at);
            assert!((60..=91).contains(&pause), "{pause} s");
        }
        assert!(!is_said_to_have_stopped(&world), "busy is not broken");
        // 90 seconds of it, with a ring for each record every ten.
        for _ in 0..9 {
            world.turn_seconds(10);
            world.sweep().await;
            world.ring_for_the_write(&references).await;
            world.work().await;
        }
        assert!(appends(&world) <= 2, "{} requests in 90 s", appends(&world));
        assert_eq!(world.dead_letters().await, Vec::<String>::new());
        world.sheets.heal();
        each_is_written_once(&mut world, &references).await;
        all_are(&world, &references, "confirmed append_answer").await;
        for reference in &references {
            assert_eq!(world.record(reference).await.write.attempts, 1);
        }
        world.check_rules().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_sheet_that_asks_for_more_than_a_minute_is_left_alone_for_so_long() {
    let mut world = world().await;
    let references = world.record_enquiries(2).await;
    world.sheets.next(On::Appends, Behaviour::quota_exhausted_retry_after(300));
    let turned_away_at = world.now();
    world.work().await;
    for reference in &references {
        let pause = world.record(reference).await.due().unwrap().1.seconds_since(turned_away_at);
        assert!((300..=331).contains(&pause), "{pause} s");
    }
    world.run_minutes(4).await;
    assert_eq!(appends(&world), 1);
    each_is_written_once(&mut world, &references).await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_were_turned_away_together_do_not_all_come_back_together() {
    let mut pauses = BTreeSet::new();
    for _ in 0..8 {
        let mut world = world().await;
        let references = world.record_enquiries(1).await;
        world.sheets.next(On::Appends, Behaviour::quota_exhausted());
        let turned_away_at = world.now();
        world.work().await;
        pauses.insert(world.record(&references[0]).await.due().unwrap().1.seconds_since(turned_away_at));
        world.settle().await;
        world.check_rules().await;
    }
    // One of 31 pauses, eight times the same: once in 27 billion runs.
    assert!(pauses.len() > 1, "{pauses:?}");
}

// ---- A cell that Google does not take ----------------------------------------------------------------------------------

/// Cells longer than this are refused in these scenarios; an enquiry can never hold what Google really refuses.
const CELL_UNITS: usize = 100;

#[tokio::test(flavor = "multi_thread")]
async fn a_record_whose_cell_is_refused_is_a_persons_matter() {
    let mut world = world().await;
    world.sheets.set_cell_characters(CELL_UNITS);
    let long = "x".repeat(CELL_UNITS + 1);
    let bad = world.record_words(&[&long]).await;
    world.work().await;
    all_are(&world, &bad, "pending cell_refused, review write_refused").await;
    assert!(!is_said_to_have_stopped(&world), "it concerns this record alone");
    world.run_minutes(5).await;
    assert_eq!(appends(&world), 1);
    world.check_rules().await;

    world.sheets.set_cell_characters(50_000);
    world.order(&bad[0], append_again()).await;
    each_is_written_once(&mut world, &bad).await;
    assert_eq!(world.rows()[0][3], json!(long), "cut or changed");
    world.check_rules_but_for(&ordered(&bad)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cell_refused_in_company_leaves_the_others_written_and_only_itself_in_review() {
    let long = "x".repeat(CELL_UNITS + 1);
    each([(5, vec![2]), (5, vec![0, 4]), (25, vec![0, 11, 24]), (2, vec![0, 1])], |(count, bad)| {
        let long = long.clone();
        async move {
            let mut world = world().await;
            world.sheets.set_cell_characters(CELL_UNITS);
            let words: Vec<&str> = (0..count)
                .map(|number| if bad.contains(&number) { long.as_str() } else { "short" })
                .collect();
            let references = world.record_words(&words).await;
            world.settle().await;
            let mut good = Vec::new();
            let mut refused = Vec::new();
            for (number, reference) in references.iter().enumerate() {
                if bad.contains(&number) { &mut refused } else { &mut good }.push(reference.clone());
            }
            all_are(&world, &refused, "pending cell_refused, review write_refused").await;
            if !good.is_empty() {
                each_is_written_once(&mut world, &good).await;
            }
            assert_eq!(world.rows().len(), good.len());
            assert!(!is_said_to_have_stopped(&world));
            // One request for all, then one for each; never more than a minute's quota.
            assert_eq!(appends(&world), 1 + count);
            assert!(world.sheets.most_writes_in_any_minute() < 60);
            world.check_rules().await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_invocation_sends_few_rows_off_alone_however_they_came_to_that() {
    const EACH: usize = 12;
    let mut world = world().await;
    let words = |short: usize, long: usize| -> Vec<String> {
        (0..EACH).map(|number| "x".repeat(if number == 5 { long } else { short })).collect()
    };
    let recorded = async |world: &mut World, words: Vec<String>| {
        world.record_words(&words.iter().map(String::as_str).collect::<Vec<_>>()).await
    };
    // Refused, every one of them, and sent off again by an operator; one is refused still.
    world.sheets.set_cell_characters(100);
    let again = recorded(&mut world, words(101, 201)).await;
    world.settle().await;
    all_are(&world, &again, "pending cell_refused, review write_refused").await;
    world.sheets.set_cell_characters(150);
    for reference in &again {
        world.order(reference, append_again()).await;
    }
    // And as many new ones, of which one is refused.
    let new = recorded(&mut world, words(10, 201)).await;
    world.turn_seconds(60);
    let (mut most, mut invocations) = (0, 0);
    while world.records().await.iter().any(|record| record.due().is_some()) {
        let before = appends(&world);
        world.sweep().await;
        world.poll_writer().await;
        world.poll_acknowledger().await;
        most = most.max(appends(&world) - before);
        world.turn_seconds(60);
        invocations += 1;
        assert!(invocations < 30, "{}", world.picture().await);
    }
    // Both companies, and ten alone.
    assert!((10..=12).contains(&most), "{most} requests of one invocation");
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for (number, reference) in again.iter().enumerate().chain(new.iter().enumerate()) {
        if number == 5 { &mut bad } else { &mut good }.push(reference.clone());
    }
    each_is_written_once(&mut world, &good).await;
    for reference in &bad {
        let review = &world.record(reference).await.reviews()[0];
        assert!(matches!(review.reason.as_str(), "write_refused" | "no_matching_row"), "{review:?}");
        assert_eq!(world.rows_of(reference), 0);
    }
    world.check_rules_but_for(&ordered(&again)).await;
}

// ---- Tokens ------------------------------------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_kept_only_for_as_long_as_its_life_was_told() {
    use docket_world::sheets::ExpiresIn;
    // Ten appends within one minute.
    each(
        [
            ("as Google tells it", ExpiresIn::Number(3_599), true),
            ("as a string", ExpiresIn::Text(3_599), true),
            ("missing", ExpiresIn::Missing, false),
            ("zero", ExpiresIn::Number(0), false),
            ("zero as a string", ExpiresIn::Text(0), false),
        ],
        |(_, told, kept)| async move {
            let mut world = world().await;
            world.sheets.token().tell_expires_in(told);
            let mut references = Vec::new();
            for _ in 0..10 {
                references.extend(world.record_enquiries(1).await);
                world.poll_writer().await;
            }
            assert_eq!(appends(&world), 10);
            let fetched = world.sheets.token().requests().len();
            if kept {
                assert_eq!(fetched, 1, "one token serves many appends");
            } else {
                assert!(fetched >= 10, "a token of unknown life was kept: {fetched}");
            }
            // A good while later a process that kept a dead token would meet 401 for ever.
            world.turn_seconds(2 * 3_600);
            references.extend(world.record_enquiries(1).await);
            world.poll_writer().await;
            assert_eq!(appends(&world), 11, "no append met a 401");
            each_is_written_once(&mut world, &references).await;
            world.check_rules().await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_are_refused_stop_the_sheet_before_anything_is_claimed() {
    each(ALONE_AND_IN_COMPANY, |count| async move {
        let mut world = world().await;
        let references = world.record_enquiries(count).await;
        world.sheets.token().from_now_on(Behaviour::invalid_grant());
        world.work().await;
        world.run_minutes(3).await;
        all_are(&world, &references, "pending credentials_refused").await;
        assert!(is_said_to_have_stopped(&world));
        assert_eq!(appends(&world), 0);
        for reference in &references {
            let record = world.record(reference).await;
            assert!(!record.history.entries().iter().any(|entry| entry.step == "claimed"));
        }
        world.sheets.heal();
        each_is_written_once(&mut world, &references).await;
        world.check_rules_but_for(&Tampering::default()).await;
    })
    .await;
}
