//! The other side: reads requests off a socket, keeps them word for word, and misbehaves as it was told to.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A request as it came, and on which connection.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) connection: usize,
    /// The first line, without its line end.
    pub(crate) line: String,
    /// Header lines in lower case.
    pub(crate) headers: String,
    pub(crate) body: String,
}

/// What to do about a request.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Answer {
        status: u16,
        headers: String,
        body: String,
    },
    /// Reads some of the body, then closes.
    CloseInTheMiddle,
    /// Reads all of the request, then closes.
    CloseAfterAll,
    /// Announces the whole answer, sends half of it, closes.
    HalfAnAnswer {
        status: u16,
        body: String,
    },
    /// Reads all and says nothing.
    Hang,
}

impl Act {
    pub(crate) fn json(status: u16, body: impl ToString) -> Self {
        Self::Answer { status, headers: "content-type: application/json\r\n".into(), body: body.to_string() }
    }
}

#[derive(Clone)]
pub(crate) struct OtherSide {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<Mutex<usize>>,
}

impl OtherSide {
    /// `act` is asked with the request's first line, once a request.
    pub(crate) async fn start(act: impl Fn(&str) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let other = Self { address, seen: Arc::default(), connections: Arc::default() };
        let (side, act) = (other.clone(), Arc::new(act));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let number = {
                    let mut connections = side.connections.lock().expect("no panic");
                    *connections += 1;
                    *connections
                };
                let (side, act) = (side.clone(), Arc::clone(&act));
                tokio::spawn(async move { side.serve(stream, number, &*act).await });
            }
        });
        other
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn https_url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Requests whose first line holds these words. Waits a moment, so that one that came twice is seen twice.
    pub(crate) async fn seen(&self, words: &str) -> Vec<Seen> {
        tokio::time::sleep(Duration::from_millis(60)).await;
        let seen = self.seen.lock().expect("no panic");
        seen.iter().filter(|seen| seen.line.contains(words)).cloned().collect()
    }

    pub(crate) fn connections(&self) -> usize {
        *self.connections.lock().expect("no panic")
    }

    /// A connection stays open after an answer, as HTTP/1.1 has it: only the client may end it.
    async fn serve(
        self,
        mut stream: TcpStream,
        connection: usize,
        act: &(dyn Fn(&str) -> Act + Send + Sync),
    ) {
        let mut bytes = Vec::new();
        loop {
            let Some(head_end) = read_until_head(&mut stream, &mut bytes).await else { return };
            let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
            let (line, headers) = head.split_once("\r\n").unwrap_or((&head, ""));
            let headers = headers.to_lowercase();
            let length: usize = headers
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"))
                .map_or(0, |length| length.trim().parse().expect("a length"));
            let act = act(line);
            let wanted = if matches!(act, Act::CloseInTheMiddle) { length / 2 } else { length };
            while bytes.len() < head_end + wanted {
                if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
                    break;
                }
            }
            let body_end = bytes.len().min(head_end + length);
            let body = String::from_utf8_lossy(&bytes[head_end..body_end]).into_owned();
            let seen = Seen { connection, line: line.to_owned(), headers, body };
            self.seen.lock().expect("no panic").push(seen);
            bytes.drain(..body_end);
            match act {
                Act::Answer { status, headers, body } => {
                    let head =
                        format!("HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\n\r\n", body.len());
                    let _ = stream.write_all((head + &body).as_bytes()).await;
                }
                Act::HalfAnAnswer { status, body } => {
                    let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n", body.len());
                    let _ = stream.write_all(head.as_bytes()).await;
                    let _ = stream.write_all(&body.as_bytes()[..body.len() / 2]).await;
                    return;
                }
                Act::CloseInTheMiddle | Act::CloseAfterAll => return,
                Act::Hang => std::future::pending().await,
            }
        }
    }
}

async fn read_until_head(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<usize> {
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            return Some(end + 4);
        }
        if stream.read_buf(bytes).await.unwrap_or(0) == 0 {
            return None;
        }
    }
}

/// An address at which nobody listens.
pub(crate) async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    format!("http://{}", listener.local_addr().expect("an address"))
}
