//! One connection: requests read off a socket, answers put onto it.
//!
//! It owns the ways in which an answer can fail to arrive. Each is truly done on the socket, because what is being
//! tested is what the worker's own HTTP client makes of it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_LENGTH, HeaderMap, HeaderName};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::Sleep;

use super::gate::{Door, is_of_one_connection};
use crate::exchange::{Answer, Request};

/// Long enough for the first half to leave the socket before the connection is closed behind it.
const BEFORE_THE_CUT: Duration = Duration::from_millis(20);

pub(super) async fn serve(stream: TcpStream, door: Arc<Door>) {
    // A small answer must leave at once; a failure to ask for that only costs time.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let door = Arc::clone(&door);
        async move {
            let http_version = format!("{:?}", request.version());
            let request = read(request).await?;
            speak(door.answer(http_version, request).await).await
        }
    });
    // The gate dates answers by the turned clock; a real date would look like skew.
    let mut connection = http1::Builder::new();
    connection.auto_date_header(false);
    // An error here is a hang-up that was ordered, or a client that left: both are in the log already.
    let _ = connection.serve_connection(TokioIo::new(stream), service).await;
}

async fn read(request: hyper::Request<Incoming>) -> Result<Request, HungUp> {
    let (parts, body) = request.into_parts();
    // The client left in the middle of its request: the other side saw none of it, and the log has none of it.
    let body = body.collect().await.map_err(|_| HungUp)?.to_bytes().to_vec();
    Ok(Request {
        method: parts.method.as_str().to_owned(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: headers_of(&parts.headers),
        body,
    })
}

pub(super) fn headers_of(headers: &HeaderMap) -> Vec<(String, String)> {
    let text =
        |(name, value): (&HeaderName, &hyper::header::HeaderValue)| (name.as_str().to_owned(), lossy(value));
    headers.iter().map(text).collect()
}

fn lossy(value: &hyper::header::HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

async fn speak(answer: Answer) -> Result<hyper::Response<AnswerBody>, HungUp> {
    match answer {
        Answer::Reply { status, headers, body } => {
            respond(status, headers, AnswerBody { rest: Bytes::from(body), cut: None }, None)
        }
        Answer::Half { status, headers, mut body, sent } => {
            let announced = body.len();
            body.truncate(sent);
            let cut = Some(Box::pin(tokio::time::sleep(BEFORE_THE_CUT)));
            respond(status, headers, AnswerBody { rest: Bytes::from(body), cut }, Some(announced))
        }
        // An error from the service makes hyper close the connection with nothing written.
        Answer::HangUp => Err(HungUp),
        Answer::Never => std::future::pending().await,
    }
}

fn respond(
    status: u16,
    headers: Vec<(String, String)>,
    body: AnswerBody,
    announced: Option<usize>,
) -> Result<hyper::Response<AnswerBody>, HungUp> {
    let mut response = hyper::Response::builder().status(status);
    for (name, value) in headers {
        let name = HeaderName::try_from(name).map_err(|_| HungUp)?;
        if !is_of_one_connection(&name) {
            response = response.header(name, value);
        }
    }
    if let Some(announced) = announced {
        response = response.header(CONTENT_LENGTH, announced);
    }
    response.body(body).map_err(|_| HungUp)
}

/// An answer's body: whole, or cut off after `rest`.
struct AnswerBody {
    rest: Bytes,
    /// The wait before the connection is closed in the middle of the body.
    cut: Option<Pin<Box<Sleep>>>,
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = HungUp;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HungUp>>> {
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.rest)))));
        }
        match &mut self.cut {
            None => Poll::Ready(None),
            Some(wait) => wait.as_mut().poll(context).map(|()| Some(Err(HungUp))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.cut.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match self.cut {
            None => SizeHint::with_exact(self.rest.len() as u64),
            Some(_) => SizeHint::default(),
        }
    }
}

/// Makes hyper close the connection where it stands.
#[derive(Debug)]
struct HungUp;

impl fmt::Display for HungUp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the connection is closed on purpose")
    }
}

impl std::error::Error for HungUp {}
