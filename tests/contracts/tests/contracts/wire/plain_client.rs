//! A client that speaks HTTP by hand, so that a test sees the bytes and the end of a connection as they are.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a server may be silent before it counts as silent for good.
const SILENCE: Duration = Duration::from_millis(500);

/// What came back on a connection.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) status: Option<u16>,
    /// Status line and headers.
    pub(crate) head: String,
    pub(crate) body: String,
    /// Whether the answer came whole; else the connection was closed before, or fell silent.
    pub(crate) end: End,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    Whole,
    Closed,
    Silent,
}

pub(crate) fn post(path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: the-other-side.test\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    )
}

pub(crate) async fn connect(url: &str) -> TcpStream {
    TcpStream::connect(url.strip_prefix("http://").unwrap()).await.unwrap()
}

/// Sends a request on a connection of its own.
pub(crate) async fn exchange(url: &str, request: &str) -> Heard {
    exchange_on(&mut connect(url).await, request).await
}

/// Sends a request on this connection and reads the answer to its end.
pub(crate) async fn exchange_on(stream: &mut TcpStream, request: &str) -> Heard {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    let end = loop {
        let mut some = [0; 4096];
        match timeout(SILENCE, stream.read(&mut some)).await {
            Err(_) => break End::Silent,
            Ok(Ok(0) | Err(_)) => break End::Closed,
            Ok(Ok(count)) => bytes.extend_from_slice(&some[..count]),
        }
        if is_whole(&bytes) {
            break End::Whole;
        }
    };
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Heard { status, head: head.to_owned(), body: body.to_owned(), end }
}

fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let announced = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    announced.and_then(|length| length.parse().ok()) == Some(body.len())
}
