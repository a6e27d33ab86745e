//! The client alone: what it concludes, and that it never asks twice.

use docket_adapters::http::{Call, Deadline, Http};
use docket_domain::outcome::Exchange;
use docket_domain::status::Cause;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::other_side::{Act, OtherSide, nobody};

async fn exchange(url: String, body: &str) -> Exchange {
    let http = Http::new(1_500).expect("a client");
    http.exchange(Call::post_json(url, &json!({"text": body})), Deadline::in_ms(1_500)).await
}

async fn against(act: Act, body: &str) -> (Exchange, usize) {
    let other = OtherSide::start(move |_| act.clone()).await;
    let exchange = exchange(other.url(), body).await;
    (exchange, other.seen("").await.len())
}

fn not_sent(word: &str) -> Exchange {
    Exchange::NotSent(Cause::new(word))
}

fn is_lost(exchange: &Exchange, words: &[&str]) -> bool {
    matches!(exchange, Exchange::Lost(cause) if words.contains(&cause.0.as_str()))
}

#[tokio::test]
async fn no_connection_means_not_sent() {
    assert_eq!(exchange(nobody().await, "x").await, not_sent("connect"));
    assert_eq!(exchange("http://docket.invalid".into(), "x").await, not_sent("name_resolution"));
    // Answers a TLS greeting with plain HTTP.
    let plain = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("https://{}", plain.local_addr().expect("an address"));
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = plain.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
            open.push(stream);
        }
    });
    assert_eq!(exchange(url, "x").await, not_sent("tls"));
    // Closes upon a TLS greeting.
    let mute = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("https://{}", mute.local_addr().expect("an address"));
    tokio::spawn(async move { while mute.accept().await.is_ok() {} });
    assert!(matches!(exchange(url, "x").await, Exchange::NotSent(_)));
    // Never answers a TLS greeting.
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("https://{}", silent.local_addr().expect("an address"));
    assert_eq!(exchange(url, "x").await, not_sent("connect_timeout"));
}

#[tokio::test]
async fn whatever_breaks_after_the_first_byte_is_lost_and_never_sent_again() {
    let large = "x".repeat(8_000_000);
    let (in_the_middle, count) = against(Act::CloseInTheMiddle, &large).await;
    assert!(is_lost(&in_the_middle, &["reset", "cut"]), "{in_the_middle:?}");
    assert_eq!(count, 1);

    let (after_all, count) = against(Act::CloseAfterAll, "x").await;
    assert!(is_lost(&after_all, &["reset", "cut"]), "{after_all:?}");
    assert_eq!(count, 1);

    for status in [200, 429, 503] {
        let (half, count) = against(Act::HalfAnAnswer { status, body: "{\"ok\":true}".into() }, "x").await;
        assert!(is_lost(&half, &["reset", "cut"]), "{half:?}");
        assert_eq!(count, 1);
    }

    let (hangs, count) = against(Act::Hang, "x").await;
    assert!(is_lost(&hangs, &["timeout"]), "{hangs:?}");
    assert_eq!(count, 1);

    let (too_large, count) = against(Act::json(200, "x".repeat(1_000_001)), "x").await;
    assert!(is_lost(&too_large, &["answer_too_large"]));
    assert_eq!(count, 1);
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let headers = "location: /elsewhere\r\n".to_owned();
        let (exchange, count) = against(Act::Answer { status, headers, body: String::new() }, "x").await;
        assert_eq!(exchange, Exchange::Answered { status, retry_after_seconds: None, body: Vec::new() });
        assert_eq!(count, 1);
    }
}

#[tokio::test]
async fn an_answer_comes_whole_with_its_retry_after() {
    let act = Act::Answer { status: 429, headers: "Retry-After: 17\r\n".into(), body: "{}".into() };
    let (exchange, count) = against(act, "x").await;
    assert_eq!(
        exchange,
        Exchange::Answered { status: 429, retry_after_seconds: Some(17), body: b"{}".to_vec() }
    );
    assert_eq!(count, 1);
}

#[tokio::test]
async fn two_calls_use_two_connections() {
    let other = OtherSide::start(|_| Act::json(200, "{}")).await;
    let http = Http::new(1_500).expect("a client");
    for _ in 0..2 {
        http.exchange(Call::get(other.url()), Deadline::in_ms(1_500)).await;
    }
    let seen = other.seen("").await;
    assert_eq!(seen.iter().map(|seen| seen.connection).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(other.connections(), 2);
}

#[tokio::test]
async fn only_http_1_1_is_offered() {
    let other = OtherSide::start(|_| Act::json(200, "{}")).await;
    exchange(other.url(), "x").await;
    let seen = other.seen("").await;
    assert!(seen[0].line.ends_with(" HTTP/1.1"), "{seen:?}");
    assert!(!seen[0].headers.contains("upgrade") && !seen[0].headers.contains("http2"), "{seen:?}");

    // The names of the protocols stand in clear in a TLS greeting.
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("https://{}", listener.local_addr().expect("an address"));
    let greeting = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut bytes = vec![0; 8_192];
        let length = stream.read(&mut bytes).await.expect("a greeting");
        bytes.truncate(length);
        bytes
    });
    exchange(url, "x").await;
    let greeting = greeting.await.expect("a greeting");
    let offers = |name: &[u8]| greeting.windows(name.len()).any(|bytes| bytes == name);
    assert!(offers(b"\x08http/1.1") && !offers(b"\x02h2"));
}
