//! One HTTP exchange, as a fake sees it: what came in, and what it does about it.
//!
//! Fakes are plain functions from a request to an answer; the gate in front of them owns the sockets. So a fake
//! can say "hang up now" or "send half of this" without knowing how that is done.

use std::future::Future;
use std::pin::Pin;

/// A request as it arrived on the wire.
#[derive(Debug, Clone)]
pub struct Request {
    /// Upper case.
    pub method: String,
    /// Raw, still percent-encoded, without the query.
    pub path: String,
    /// Raw, still percent-encoded, without the `?`; empty when there was none.
    pub query: String,
    /// Names in lower case, in the order of arrival.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// What the other side does about a request.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A whole HTTP answer.
    Reply { status: u16, headers: Vec<(String, String)>, body: Vec<u8> },
    /// The connection closes without a byte of answer.
    HangUp,
    /// Announces the whole body, sends its first `sent` bytes, closes.
    Half { status: u16, headers: Vec<(String, String)>, body: Vec<u8>, sent: usize },
    /// No answer, the connection stays open until the client gives up.
    Never,
}

/// Another side that answers requests.
pub trait Fake: Send + Sync + 'static {
    fn answer(&self, request: Request) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>>;
}
