//! The Sheets client on the wire: which requests, how many, and what each way of failing means for the rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use docket_adapters::aws::Caller;
use docket_adapters::clock::SystemClock;
use docket_adapters::config::Environment;
use docket_adapters::sheets::{Credentials, GoogleSheet, SheetSettings};
use docket_domain::moment::Moment;
use docket_domain::outcome::{AppendOutcome, NotApplied};
use docket_domain::ports::Sheet as _;
use docket_domain::reference::Reference;
use docket_domain::row::{HEADER, Row};
use docket_domain::status::{Cause, Finding};
use docket_domain::submission::{ChatId, Contact, Fingerprint, Submission, Summary};
use serde_json::{Value, json};

use crate::other_side::{Act, OtherSide, nobody};

/// A throw-away key that opens nothing anywhere.
const TEST_KEY: &str = include_str!("../../../../tests/world/src/sheets/test_only_key.pem");

fn credentials(token_uri: &str) -> Credentials {
    let file = json!({
        "type": "service_account", "client_email": "docket@example.org", "private_key": TEST_KEY, "token_uri": token_uri,
    });
    Credentials::parse(&file.to_string(), &caller()).expect("a good key file")
}

fn caller() -> Caller {
    let pairs = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"];
    let environment = Environment::of(pairs.map(|name| (name.to_owned(), "hidden-role".to_owned())));
    Caller::of_function(&environment).expect("a role")
}

fn sheet(endpoint: &str, token_uri: &str, tab: &str) -> GoogleSheet<SystemClock> {
    let settings = SheetSettings {
        endpoint: endpoint.to_owned(),
        spreadsheet_id: "1aB-c_D".to_owned(),
        tab: tab.to_owned(),
        credentials: credentials(token_uri),
        append_timeout_ms: 1_500,
        read_timeout_ms: 1_500,
    };
    GoogleSheet::new(settings, SystemClock).expect("a client")
}

fn row(number: i64, summary: &str) -> Row {
    let summary = Summary::clean(summary).expect("a summary");
    let chat_id = ChatId(-1_002_000_000_001);
    Row::of(&Submission {
        reference: Reference::derive(99, 7, number),
        request_type: "007".into(),
        fingerprint: Fingerprint::of("007", &summary, chat_id),
        summary,
        chat_id,
        contact: Contact::clean(""),
        confirmed_at: Moment::from_seconds(1_772_356_500),
        origin: String::new(),
    })
}

fn token(number: usize) -> Act {
    Act::json(200, json!({"access_token": format!("ya29.hidden-{number}"), "expires_in": 3599}))
}

fn header(tab: &str) -> Value {
    json!({"range": format!("{tab}!A1:F1"), "majorDimension": "ROWS", "values": [HEADER]})
}

fn applied(tab: &str, rows: &str) -> Act {
    let updates = json!({"updatedRange": format!("{tab}!{rows}"), "updatedRows": 1, "updatedColumns": 6});
    Act::json(200, json!({"spreadsheetId": "1aB-c_D", "updates": updates}))
}

/// A Google that gives tokens, has our header, and acts so upon an append.
async fn google(
    append: impl Fn(usize) -> Act + Send + Sync + 'static,
) -> (OtherSide, GoogleSheet<SystemClock>) {
    let (tokens, appends) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let other = OtherSide::start(move |line| {
        if line.starts_with("POST /token ") {
            token(tokens.fetch_add(1, Ordering::SeqCst))
        } else if line.starts_with("GET ") {
            Act::json(200, json!({"valueRanges": [header("Intake")]}))
        } else {
            append(appends.fetch_add(1, Ordering::SeqCst))
        }
    })
    .await;
    let sheet = sheet(&other.url(), &format!("{}/token", other.url()), "Intake");
    (other, sheet)
}

fn google_error(code: u16, message: &str) -> Act {
    Act::json(code, json!({"error": {"code": code, "message": message, "status": "X"}}))
}

fn halt(word: &str) -> NotApplied {
    NotApplied::Halt(Cause::new(word))
}

#[tokio::test]
async fn an_append_is_one_post_of_six_strings_to_the_quoted_tab() {
    let (other, sheet) = google(|n| applied("Intake", &format!("A{0}:F{0}", n + 2))).await;
    for n in [0, 1] {
        let outcome = sheet.append(&[row(n, "=1+1\n'q' \u{1f600}")]).await;
        let AppendOutcome::Applied(place) = outcome else { panic!("{outcome:?}") };
        assert_eq!(place.range_of(0), format!("'Intake'!A{0}:F{0}", n + 2));
    }
    let appends = other.seen("append").await;
    assert_eq!(appends.len(), 2);
    assert_eq!(
        appends[0].line,
        "POST /v4/spreadsheets/1aB-c_D/values/%27Intake%27%21A1:append?valueInputOption=RAW&insertDataOption=INSERT_ROWS \
         HTTP/1.1"
    );
    assert!(appends[0].headers.contains("authorization: bearer ya29.hidden-0"));
    let body: Value = serde_json::from_str(&appends[0].body).expect("JSON");
    let reference = Reference::derive(99, 7, 0);
    let cells =
        [reference.as_str(), "2026-03-01T09:15:00Z", "007", "=1+1\n'q' \u{1f600}", "-", "-1002000000001"];
    assert_eq!(body, json!({"majorDimension": "ROWS", "values": [cells]}));
    // One token and one look at the header serve both.
    assert_eq!(other.seen("POST /token").await.len(), 1);
    let reads = other.seen("GET").await;
    assert_eq!(reads.len(), 1);
    assert!(
        reads[0].line.contains("values:batchGet?") && reads[0].line.contains("ranges=%27Intake%27%21A1%3AF1")
    );
    assert_eq!(other.connections(), 4);
    assert!(!format!("{sheet:?}").contains("hidden"));
}

#[tokio::test]
async fn odd_tab_names_arrive_as_one_path_segment() {
    for (tab, range) in [
        ("Adv/Ent1", "%27Adv%2FEnt1%27%21A1"),
        ("50% #1?", "%2750%25%20%231%3F%27%21A1"),
        ("a:append", "%27a%3Aappend%27%21A1"),
    ] {
        let other = OtherSide::start(move |line| match line {
            line if line.contains("/token") => token(0),
            line if line.starts_with("GET") => {
                Act::json(200, json!({"valueRanges": [header(&format!("'{tab}'"))]}))
            }
            _ => applied(&format!("'{tab}'"), "A2:F2"),
        })
        .await;
        let sheet = sheet(&other.url(), &format!("{}/token", other.url()), tab);
        let outcome = sheet.append(&[row(1, "x")]).await;
        assert!(matches!(outcome, AppendOutcome::Applied(_)), "{tab} {outcome:?}");
        let seen = other.seen("append?").await;
        assert!(seen[0].line.contains(&format!("/values/{range}:append?")), "{seen:?}");
    }
}

#[tokio::test]
async fn an_answer_that_does_not_arrive_leaves_the_rows_unknown_and_is_not_asked_for_again() {
    let whole = json!({"updates": {"updatedRange": "Intake!A2:F2", "updatedRows": 1}}).to_string();
    for act in [
        Act::CloseInTheMiddle,
        Act::CloseAfterAll,
        Act::HalfAnAnswer { status: 200, body: whole },
        Act::Hang,
        Act::json(200, ""),
        Act::json(500, "<html>"),
        google_error(503, "The service is currently unavailable."),
        Act::json(302, ""),
        Act::json(401, "<html>"),
    ] {
        // One row is sent in one piece; of many, more than a socket takes at once, the end is still to be sent when the
        // connection goes.
        for count in [1, 200] {
            let told = act.clone();
            let (other, sheet) = google(move |_| told.clone()).await;
            let rows: Vec<Row> = (0..count).map(|n| row(n, &"x".repeat(3_000))).collect();
            let outcome = sheet.append(&rows).await;
            assert!(matches!(outcome, AppendOutcome::Unknown(_)), "{act:?} of {count}: {outcome:?}");
            assert_eq!(other.seen("append").await.len(), 1, "{act:?} of {count}");
        }
    }
}

#[tokio::test]
async fn nobody_there_means_not_applied() {
    let (other, _) = google(|_| Act::Hang).await;
    let away = sheet(&nobody().await, &format!("{}/token", other.url()), "Intake");
    assert_eq!(
        away.append(&[row(1, "x")]).await,
        AppendOutcome::NotApplied(NotApplied::TryAgain(Cause::new("connect")))
    );
    let tokenless = sheet(&other.url(), &format!("{}/token", nobody().await), "Intake");
    let no_token = NotApplied::TryAgain(Cause::new("token_connect"));
    assert_eq!(tokenless.ready(1).await, Err(no_token.clone()));
    assert_eq!(tokenless.append(&[row(1, "x")]).await, AppendOutcome::NotApplied(no_token.clone()));
    assert_eq!(tokenless.look_up(&[row(1, "x")]).await, Err(no_token));
    let plain_tls = sheet(&other.https_url(), &format!("{}/token", other.url()), "Intake");
    let refused = plain_tls.append(&[row(1, "x")]).await;
    assert!(matches!(refused, AppendOutcome::NotApplied(NotApplied::TryAgain(_))), "{refused:?}");
    assert_eq!(other.seen("append").await.len(), 0);
}

#[tokio::test]
async fn a_401_is_answered_with_a_fresh_token_once_and_then_halts() {
    let (other, sheet) =
        google(|n| if n == 0 { google_error(401, "x") } else { applied("Intake", "A2:F2") }).await;
    assert!(matches!(sheet.append(&[row(1, "x")]).await, AppendOutcome::Applied(_)));
    let appends = other.seen("append").await;
    assert_eq!(appends.len(), 2);
    assert!(appends[0].headers.contains("hidden-0") && appends[1].headers.contains("hidden-1"));

    let (other, sheet) = google(|_| google_error(401, "x")).await;
    assert_eq!(sheet.append(&[row(1, "x")]).await, AppendOutcome::NotApplied(halt("unauthenticated")));
    assert_eq!(other.seen("append").await.len(), 2);
}

#[tokio::test]
async fn a_token_of_unknown_life_is_used_once() {
    for told in
        [json!({}), json!({"expires_in": 0}), json!({"expires_in": "soon"}), json!({"expires_in": 60})]
    {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let other = OtherSide::start(move |line| {
            let number = if line.contains("/token") { counted.fetch_add(1, Ordering::SeqCst) } else { 0 };
            let mut grant = told.clone();
            grant["access_token"] = json!(format!("ya29.{number}"));
            if line.contains("/token") { Act::json(200, grant) } else { applied("Intake", "A2:F2") }
        })
        .await;
        let sheet = sheet(&other.url(), &format!("{}/token", other.url()), "Intake");
        // The header is not ours here: each `ready` reads it again, with another token.
        for round in 1..=3 {
            assert!(sheet.ready(1).await.is_err());
            assert_eq!(asked.load(Ordering::SeqCst), round);
        }
    }
}

#[tokio::test]
async fn a_bad_key_halts_and_a_troubled_token_endpoint_does_not() {
    for (act, expected) in [
        (Act::json(400, json!({"error": "invalid_grant"})), halt("credentials_refused")),
        (
            Act::json(429, ""),
            NotApplied::Busy { cause: Cause::new("token_http_429"), retry_after_seconds: None },
        ),
        (Act::json(503, ""), NotApplied::TryAgain(Cause::new("token_http_503"))),
        (Act::CloseAfterAll, NotApplied::TryAgain(Cause::new("token_cut"))),
    ] {
        let other = OtherSide::start(move |_| act.clone()).await;
        let sheet = sheet(&other.url(), &format!("{}/token", other.url()), "Intake");
        assert_eq!(sheet.ready(1).await, Err(expected));
        assert_eq!(other.seen("").await.len(), 1);
    }
}

#[tokio::test]
async fn another_header_halts_and_nothing_is_appended_until_it_is_mended() {
    let mended = Arc::new(AtomicUsize::new(0));
    let state = Arc::clone(&mended);
    let other = OtherSide::start(move |line| {
        let mut cells = HEADER;
        if state.load(Ordering::SeqCst) == 0 {
            cells.swap(2, 3);
        }
        match line {
            line if line.contains("/token") => token(0),
            line if line.starts_with("GET") => {
                let header = json!({"range": "Intake!A1:F1", "values": [cells]});
                let column = json!({"range": "Intake!A1:A9", "values": [["reference"]]});
                let looks = line.contains("A%3AA");
                Act::json(
                    200,
                    json!({"valueRanges": if looks { vec![header, column] } else { vec![header] }}),
                )
            }
            _ => applied("Intake", "D3:I3"),
        }
    })
    .await;
    let sheet = sheet(&other.url(), &format!("{}/token", other.url()), "Intake");
    assert_eq!(sheet.ready(1).await, Err(halt("header_mismatch")));
    assert_eq!(sheet.append(&[row(1, "x")]).await, AppendOutcome::NotApplied(halt("header_mismatch")));
    assert_eq!(sheet.look_up(&[row(1, "x")]).await, Err(halt("header_mismatch")));
    assert!(other.seen("append").await.is_empty());

    mended.store(1, Ordering::SeqCst);
    assert_eq!(sheet.ready(1).await, Ok(()));
    let misplaced = AppendOutcome::Misplaced { range: "Intake!D3:I3".into() };
    assert_eq!(sheet.append(&[row(1, "x")]).await, misplaced);
    // A misplaced row casts doubt on the header: it is read again before anything else is appended.
    mended.store(0, Ordering::SeqCst);
    assert_eq!(sheet.append(&[row(2, "x")]).await, AppendOutcome::NotApplied(halt("header_mismatch")));
    assert_eq!(other.seen("append").await.len(), 1);
}

#[tokio::test]
async fn an_append_with_all_that_belongs_to_it_ends_in_time() {
    let (other, sheet) = google(|n| if n == 0 { google_error(401, "x") } else { Act::Hang }).await;
    let started = std::time::Instant::now();
    let outcome = sheet.append(&[row(1, "x")]).await;
    assert!(matches!(outcome, AppendOutcome::Unknown(_)), "{outcome:?}");
    assert!(started.elapsed().as_millis() < 2_000);
    assert_eq!(other.seen("append").await.len(), 2);
}

/// What the sheet shows to a look, and what the look found.
async fn look(
    column: Value,
    hits: impl Fn(&str) -> Value + Send + Sync + 'static,
    rows: &[Row],
) -> Vec<Finding> {
    let other = OtherSide::start(move |line| {
        let columns: Vec<Value> = HEADER.iter().map(|name| json!([name])).collect();
        let act = match line {
            line if line.contains("/token") => return token(0),
            line if line.contains("A%3AA") => json!({"valueRanges": [
                {"range": "Intake!A1:F1", "majorDimension": "COLUMNS", "values": columns},
                column,
            ]}),
            line => hits(line),
        };
        Act::json(200, act)
    })
    .await;
    let sheet = sheet(&other.url(), &format!("{}/token", other.url()), "Intake");
    let taught_nothing =
        |reason: NotApplied| rows.iter().map(|_| Finding::Unreadable(reason.cause())).collect();
    let findings = sheet.look_up(rows).await.unwrap_or_else(taught_nothing);
    assert!(other.seen("GET").await.len() <= 2);
    findings
}

#[tokio::test]
async fn one_look_settles_many_rows_each_by_its_own_evidence() {
    let rows: Vec<Row> = (0..5).map(|n| row(n, "text")).collect();
    let reference = |n: usize| rows[n].cells()[0].clone();
    // Rows 2 to 8: 0 equal, 1 differs, 2 twice, 3 absent, 4 moves away between the reads.
    let column = json!({"range": "Intake!A1:A1000", "majorDimension": "COLUMNS", "values": [[
        "reference", reference(0), 7, reference(1), reference(2), null, reference(2), format!(" {} ", reference(4)),
    ]]});
    let (equal, mut other) = (rows[0].cells().clone(), rows[1].cells().clone());
    other[3] = "other".into();
    let hits = move |line: &str| {
        assert!(line.contains("A2%3AF2") && line.contains("A4%3AF4") && line.contains("A8%3AF8"), "{line}");
        assert!(!line.contains("A5%3AF5"), "{line}");
        json!({"valueRanges": [
            header("Intake"),
            {"range": "Intake!A2:F2", "values": [equal]},
            {"range": "Intake!A4:F4", "values": [other]},
            {"range": "Intake!A8:F8"},
        ]})
    };
    assert_eq!(
        look(column, hits, &rows).await,
        [
            Finding::OneEqual { range: "'Intake'!A2:F2".into() },
            Finding::OneDiffers { range: "'Intake'!A4:F4".into() },
            Finding::Several { rows: 2 },
            Finding::None,
            Finding::Unreadable(Cause::new("row_moved")),
        ]
    );
}

#[tokio::test]
async fn a_column_that_is_clipped_or_of_another_tab_teaches_nothing() {
    for range in ["Intake!A2:A1000", "Other!A1:A1000", "Intake!B1:B1000"] {
        let column = json!({"range": range, "values": [["reference"]]});
        let findings = look(column, |_| Value::Null, &[row(1, "x")]).await;
        assert_eq!(findings, [Finding::Unreadable(Cause::new("reference_column_unreadable"))], "{range}");
    }
}

#[tokio::test]
async fn a_second_read_that_answers_otherwise_leaves_only_its_own_rows_unreadable() {
    let rows = [row(1, "x"), row(2, "x")];
    let column = json!({"range": "Intake!A1:A9", "values": [["reference", rows[0].cells()[0]]]});
    let moved = json!({"range": "Intake!A1:F1", "values": [["", "reference"]]});
    let findings =
        look(column, move |_| json!({"valueRanges": [moved, {"range": "Intake!A2:F2"}]}), &rows).await;
    assert_eq!(findings, [Finding::Unreadable(Cause::new("header_mismatch")), Finding::None]);
}

#[tokio::test]
async fn a_failing_read_is_not_an_absent_row() {
    for (act, word) in [
        (google_error(400, "Unable to parse range: 'Intake'!A1:F1"), "no_such_tab"),
        (google_error(404, "Requested entity was not found."), "spreadsheet_not_found"),
        (google_error(403, "The caller does not have permission"), "permission_denied"),
        (google_error(429, "Quota exceeded"), "http_429"),
        (Act::json(503, "<html>"), "http_503"),
        (Act::json(200, "{\"valueRanges\":["), "unreadable_answer"),
        (Act::Hang, "timeout"),
    ] {
        let told = act.clone();
        let other =
            OtherSide::start(move |line| if line.contains("/token") { token(0) } else { told.clone() }).await;
        let sheet = sheet(&other.url(), &format!("{}/token", other.url()), "Intake");
        let taught_nothing =
            sheet.look_up(&[row(1, "x"), row(2, "x")]).await.expect_err("nothing was learned");
        assert_eq!(taught_nothing.cause(), Cause::new(word), "{act:?}");
        assert_eq!(other.seen("GET").await.len(), 1, "{act:?}");
    }
}
