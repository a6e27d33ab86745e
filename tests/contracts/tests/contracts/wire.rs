//! What the wire promises: calls arrive as they were sent and are logged, and every failure is done on the socket.

mod faults;
mod plain_client;
mod plans;
mod sockets;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use docket_world::clock::TurnedClock;
use docket_world::exchange::{Answer, Fake, Request};
use docket_world::wire::{Backend, Gate, Side, Wire};

use plain_client::{exchange, post};

const NOW_MS: i64 = 1_767_323_045_000;

/// Keeps what it saw and gives one and the same answer.
struct Recorder {
    answer: Answer,
    takes: Duration,
    seen: Mutex<Vec<Request>>,
}

impl Recorder {
    fn answering(answer: Answer) -> Arc<Self> {
        Arc::new(Self { answer, takes: Duration::ZERO, seen: Mutex::default() })
    }

    fn saying(body: &str) -> Arc<Self> {
        Self::answering(Answer::Reply {
            status: 200,
            headers: vec![("x-from".to_owned(), "the fake".to_owned())],
            body: body.as_bytes().to_vec(),
        })
    }

    fn slow(takes: Duration) -> Arc<Self> {
        let answer = Answer::Reply { status: 200, headers: Vec::new(), body: Vec::new() };
        Arc::new(Self { answer, takes, seen: Mutex::default() })
    }

    fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }
}

impl Fake for Recorder {
    fn answer(&self, request: Request) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>> {
        Box::pin(async move {
            tokio::time::sleep(self.takes).await;
            self.seen.lock().unwrap().push(request);
            self.answer.clone()
        })
    }
}

fn new_wire() -> Wire {
    Wire::new(TurnedClock::at(NOW_MS))
}

async fn sheets_gate(wire: &Wire, fake: &Arc<Recorder>) -> Gate {
    wire.gate("writer", Side::Sheets, Backend::Fake(fake.clone())).await
}

#[tokio::test]
async fn a_call_reaches_the_other_side_as_it_was_sent_and_is_logged() {
    let clock = TurnedClock::at(NOW_MS);
    let wire = Wire::new(clock.clone());
    let fake = Recorder::saying("fine");
    let gate = sheets_gate(&wire, &fake).await;
    clock.turn(7);
    let path = "/v4/spreadsheets/S/values/%27Adv%2FEnt1%27%21A1:append?valueInputOption=RAW&x=%20";
    let heard = exchange(&gate.url(), &post(path, "X-Twice: a\r\nX-Twice: b\r\n", "{\"values\":[]}")).await;

    assert_eq!((heard.status, heard.body.as_str()), (Some(200), "fine"));
    assert!(heard.head.contains("x-from: the fake"), "{}", heard.head);
    let seen = &fake.seen()[0];
    assert_eq!(seen.method, "POST");
    assert_eq!(seen.path, "/v4/spreadsheets/S/values/%27Adv%2FEnt1%27%21A1:append");
    assert_eq!(seen.query, "valueInputOption=RAW&x=%20");
    assert_eq!(seen.body, b"{\"values\":[]}");
    let twice: Vec<_> = seen.headers.iter().filter(|(name, _)| name == "x-twice").collect();
    assert_eq!(twice.len(), 2);

    let call = &wire.calls()[0];
    assert_eq!((call.number, call.worker.as_str(), call.side), (0, "writer", Side::Sheets));
    assert_eq!((call.operation.as_str(), call.at_ms), ("append", NOW_MS + 7));
    assert_eq!(call.http_version, "HTTP/1.1");
    assert_eq!(call.request_line(), format!("POST {path} HTTP/1.1"));
    assert_eq!(call.header("host"), Some("the-other-side.test"));
    assert_eq!(call.json()["values"], serde_json::json!([]));
}

#[tokio::test]
async fn operations_have_the_names_by_which_plans_speak_of_them() {
    let wire = new_wire();
    let fake = Recorder::saying("");
    let cases = [
        (Side::DynamoDb, "POST / HTTP/1.1\r\nX-Amz-Target: DynamoDB_20120810.UpdateItem", "UpdateItem"),
        (Side::Sqs, "POST / HTTP/1.1\r\nX-Amz-Target: AmazonSQS.SendMessage", "SendMessage"),
        (Side::Sqs, "POST / HTTP/1.1", "other"),
        (Side::Sheets, "POST /v4/spreadsheets/S/values/%27A%27%21A1:append HTTP/1.1", "append"),
        (Side::Sheets, "GET /v4/spreadsheets/S/values/%27A%27%21A1%3AF1 HTTP/1.1", "read"),
        (Side::Sheets, "GET /v4/spreadsheets/S/values:batchGet?ranges=A HTTP/1.1", "batch_read"),
        (Side::Sheets, "GET /v4/spreadsheets/S HTTP/1.1", "other"),
        (Side::Token, "POST /token HTTP/1.1", "token"),
        (Side::Telegram, "POST /bot123:abc/sendMessage HTTP/1.1", "sendMessage"),
    ];
    for (side, head, operation) in cases {
        let gate = wire.gate("worker", side, Backend::Fake(fake.clone())).await;
        let request = format!("{head}\r\nHost: the-other-side.test\r\nContent-Length: 0\r\n\r\n");
        exchange(&gate.url(), &request).await;
        assert_eq!(wire.calls().last().unwrap().operation, operation, "{head}");
        wire.clear_log();
    }
}

#[tokio::test]
async fn calls_are_counted_over_all_gates_in_the_order_of_arrival() {
    let wire = new_wire();
    let fake = Recorder::saying("");
    let sheets = sheets_gate(&wire, &fake).await;
    let telegram = wire.gate("acknowledger", Side::Telegram, Backend::Fake(fake.clone())).await;
    exchange(&sheets.url(), &post("/v4/spreadsheets/S/values/A:append", "", "")).await;
    exchange(&telegram.url(), &post("/bot1:a/sendMessage", "", "")).await;
    exchange(&sheets.url(), &post("/v4/spreadsheets/S/values/A:append", "", "")).await;

    let numbers = |calls: Vec<docket_world::wire::Call>| -> Vec<usize> {
        calls.iter().map(|call| call.number).collect()
    };
    assert_eq!(numbers(wire.calls()), [0, 1, 2]);
    assert_eq!(numbers(wire.calls_of("writer", Side::Sheets)), [0, 2]);
    assert_eq!(wire.count(Side::Sheets, "append"), 2);
    wire.clear_log();
    exchange(&telegram.url(), &post("/bot1:a/sendMessage", "", "")).await;
    assert_eq!(numbers(wire.calls()), [0]);
}

#[tokio::test]
async fn an_engine_gets_the_request_with_all_its_headers() {
    let behind = new_wire();
    let fake = Recorder::saying("from the engine");
    let engine = behind.gate("engine", Side::DynamoDb, Backend::Fake(fake.clone())).await;
    let wire = new_wire();
    let gate = wire.gate("writer", Side::DynamoDb, Backend::Engine { url: engine.url() }).await;
    let headers = "X-Amz-Target: DynamoDB_20120810.GetItem\r\nAuthorization: AWS4-HMAC-SHA256 x\r\n";
    for _ in 0..2 {
        let heard = exchange(&gate.url(), &post("/?a=b", headers, "{}")).await;
        assert_eq!((heard.status, heard.body.as_str()), (Some(200), "from the engine"));
        assert!(heard.head.contains("x-from: the fake"), "{}", heard.head);
    }
    let seen = &fake.seen()[1];
    let header =
        |name: &str| seen.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str());
    assert_eq!(header("host"), Some("the-other-side.test"));
    assert_eq!(header("authorization"), Some("AWS4-HMAC-SHA256 x"));
    assert_eq!(header("x-amz-target"), Some("DynamoDB_20120810.GetItem"));
    assert_eq!((seen.query.as_str(), seen.body.as_slice()), ("a=b", b"{}".as_slice()));
}

#[tokio::test]
async fn a_broken_engine_is_named_and_does_not_look_like_a_fault() {
    let wire = new_wire();
    let gate = wire.gate("writer", Side::Sqs, Backend::Engine { url: "http://127.0.0.1:1".to_owned() }).await;
    let heard = exchange(&gate.url(), &post("/", "", "")).await;
    assert_eq!(heard.status, Some(502));
    assert!(heard.body.contains("http://127.0.0.1:1 did not answer"), "{}", heard.body);
}
