//! How connections behave: the ways in which an answer does not arrive, and that nothing else is harmed by them.

use std::time::Duration;

use docket_world::exchange::Answer;
use docket_world::wire::{Backend, Fault};
use docket_world::wire::{Plan, Side};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::plain_client::{End, connect, exchange, exchange_on, post};
use super::{Recorder, new_wire, sheets_gate};

#[tokio::test]
async fn a_hang_up_closes_the_connection_without_a_byte() {
    let fake = Recorder::answering(Answer::HangUp);
    let gate = sheets_gate(&new_wire(), &fake).await;
    let heard = exchange(&gate.url(), &post("/", "", "{}")).await;
    assert_eq!((heard.end, heard.head.as_str()), (End::Closed, ""));
    assert_eq!(fake.seen().len(), 1);
}

#[tokio::test]
async fn a_half_answer_announces_the_whole_and_breaks_off() {
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    let half =
        |sent| Answer::Half { status: 200, headers: headers.clone(), body: b"{\"ok\":true}".to_vec(), sent };
    for (sent, arrives) in [(5, "{\"ok\""), (0, "")] {
        let gate = sheets_gate(&new_wire(), &Recorder::answering(half(sent))).await;
        let heard = exchange(&gate.url(), &post("/", "", "{}")).await;
        assert_eq!(heard.status, Some(200));
        assert!(heard.head.contains("content-length: 11"), "{}", heard.head);
        assert!(heard.head.contains("content-type: application/json"), "{}", heard.head);
        assert_eq!((heard.body.as_str(), heard.end), (arrives, End::Closed));
    }
}

#[tokio::test]
async fn no_answer_leaves_the_connection_open() {
    let gate = sheets_gate(&new_wire(), &Recorder::answering(Answer::Never)).await;
    let heard = exchange(&gate.url(), &post("/", "", "{}")).await;
    assert_eq!((heard.end, heard.head.as_str()), (End::Silent, ""));
}

#[tokio::test]
async fn one_connection_serves_call_after_call_until_a_hang_up_and_then_a_new_one_does() {
    let wire = new_wire();
    let gate = sheets_gate(&wire, &Recorder::saying("fine")).await;
    wire.set_plan(Plan::at(2, Fault::LoseAnswer));
    let mut stream = connect(&gate.url()).await;
    for _ in 0..2 {
        assert_eq!(exchange_on(&mut stream, &post("/", "", "{}")).await.body, "fine");
    }
    assert_eq!(exchange_on(&mut stream, &post("/", "", "{}")).await.end, End::Closed);
    assert_eq!(exchange(&gate.url(), &post("/", "", "{}")).await.body, "fine");
    assert_eq!(wire.calls().len(), 4);
}

#[tokio::test]
async fn a_call_that_hangs_does_not_hold_up_the_others() {
    let wire = new_wire();
    let gate = sheets_gate(&wire, &Recorder::saying("fine")).await;
    wire.set_plan(Plan::at(0, Fault::Hang));
    let mut hanging = connect(&gate.url()).await;
    hanging.write_all(post("/", "", "{}").as_bytes()).await.unwrap();
    while wire.calls().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(exchange(&gate.url(), &post("/", "", "{}")).await.body, "fine");
}

#[tokio::test]
async fn a_request_that_arrived_is_carried_out_although_its_client_left() {
    let wire = new_wire();
    let fake = Recorder::slow(Duration::from_millis(60));
    let gate = sheets_gate(&wire, &fake).await;
    let mut stream = connect(&gate.url()).await;
    stream.write_all(post("/", "", "{}").as_bytes()).await.unwrap();
    while wire.calls().is_empty() {
        tokio::task::yield_now().await;
    }
    drop(stream);
    let applied = async {
        while fake.seen().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), applied).await.unwrap();
}

#[tokio::test]
async fn half_a_request_is_no_call() {
    let wire = new_wire();
    let fake = Recorder::saying("fine");
    let gate = sheets_gate(&wire, &fake).await;
    let mut stream = connect(&gate.url()).await;
    let request = post("/", "", "{\"values\":[]}");
    stream.write_all(&request.as_bytes()[..request.len() - 4]).await.unwrap();
    drop(stream);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!((wire.calls().len(), fake.seen().len()), (0, 0));
}

#[tokio::test]
async fn a_dropped_gate_closes_its_connections_and_takes_no_more() {
    let wire = new_wire();
    let gate = wire.gate("writer", Side::Sheets, Backend::Fake(Recorder::saying("fine"))).await;
    let url = gate.url();
    let mut stream = connect(&url).await;
    exchange_on(&mut stream, &post("/", "", "{}")).await;
    drop(gate);
    assert_eq!(stream.read(&mut [0; 16]).await.unwrap_or(0), 0);
    let address = url.strip_prefix("http://").unwrap();
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}
