//! The fake of Google Sheets and of its token endpoint against what is known of the real ones, one fact a test.
//!
//! Nothing here goes through Docket: requests are made by hand, answers are read as JSON.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod append;
mod cells;
mod failures;
mod ranges;
mod read;
mod setup;
mod tokens;
mod keyless;

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use docket_world::clock::TurnedClock;
use docket_world::exchange::{Answer, Fake, Request};
use docket_world::sheets::FakeSheets;
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
