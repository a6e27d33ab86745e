//! A gate: the loopback listener in front of one side, for one worker.
//!
//! It owns the order of things around a fault: what the other side sees, what the worker gets, and when the worker
//! dies. It must never answer a call that crashed, and must never take back what the other side has begun: a request
//! that arrived is carried out even when its client has gone, as with any server far away.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{CONNECTION, CONTENT_LENGTH, HeaderName, TRANSFER_ENCODING};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};

use super::call::{Call, Side};
use super::plan::Fault;
use super::{Wire, refusals, socket};
use crate::exchange::{Answer, Fake, Request};

/// What stands behind a gate.
#[derive(Clone)]
pub enum Backend {
    /// A fake in this process.
    Fake(Arc<dyn Fake>),
    /// An embedded engine that listens at this URL (`http://127.0.0.1:PORT`). Requests are passed on with all their
    /// headers, `host` included: they are signed.
    Engine {
        /// Without a path.
        url: String,
    },
}

/// A listener in front of one side for one worker. Dropping it closes the listener and all its connections.
pub struct Gate {
    address: SocketAddr,
    accepting: JoinHandle<()>,
    orders: mpsc::UnboundedSender<Refuse>,
}

/// Whether to refuse connections from now on, and whom to tell that it is so.
type Refuse = (bool, oneshot::Sender<()>);

impl Gate {
    pub(super) async fn open(wire: Wire, worker: String, side: Side, backend: Backend) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a loopback port is free");
        let address = listener.local_addr().expect("a bound listener has an address");
        let door = Arc::new(Door { wire, worker, side, behind: Behind::new(backend) });
        let (orders, ordered) = mpsc::unbounded_channel();
        Self { address, accepting: tokio::spawn(accept(listener, address, door, ordered)), orders }
    }

    /// From now on TCP refuses at this address, or takes connections again. A refused call never reaches the log.
    ///
    /// # Panics
    /// When the gate is gone.
    pub async fn refuse(&self, refuse: bool) {
        let (done, told) = oneshot::channel();
        self.orders.send((refuse, done)).expect("the gate is there");
        told.await.expect("the gate is there");
    }

    /// `http://127.0.0.1:PORT`, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // The connections live in the accepting task, so they go with it.
        self.accepting.abort();
    }
}

async fn accept(
    listener: TcpListener,
    address: SocketAddr,
    door: Arc<Door>,
    mut orders: mpsc::UnboundedReceiver<Refuse>,
) {
    let mut connections = JoinSet::new();
    let mut port = Port::Listening(listener);
    loop {
        let accepted = async {
            match &port {
                Port::Listening(listener) => listener.accept().await,
                Port::Held(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            accepted = accepted => if let Ok((stream, _)) = accepted {
                connections.spawn(socket::serve(stream, Arc::clone(&door)));
            },
            Some(_) = connections.join_next() => {}
            Some((refuse, done)) = orders.recv() => {
                port = port.turned(refuse, address);
                // Nobody waits any more when the test is over.
                let _ = done.send(());
            }
        }
    }
}

/// The gate's port: bound in either case, so that nobody else is given it meanwhile.
enum Port {
    Listening(TcpListener),
    /// Without a listener, TCP refuses.
    Held(TcpSocket),
}

impl Port {
    fn turned(self, refuse: bool, address: SocketAddr) -> Self {
        match (self, refuse) {
            (Self::Listening(listener), true) => {
                drop(listener);
                let socket = TcpSocket::new_v4().expect("a socket");
                socket.set_reuseaddr(true).expect("an option that every socket has");
                socket.bind(address).expect("the port was ours a moment ago");
                Self::Held(socket)
            }
            (Self::Held(socket), false) => {
                Self::Listening(socket.listen(1_024).expect("a bound socket listens"))
            }
            (port, _) => port,
        }
    }
}

/// What a connection needs in order to have its requests answered.
pub(super) struct Door {
    wire: Wire,
    worker: String,
    side: Side,
    behind: Behind,
}

impl Door {
    pub(super) async fn answer(self: Arc<Self>, http_version: String, request: Request) -> Answer {
        self.wire.carry_out_what_is_late().await;
        let (call, fault) = self.wire.arrive(&self.worker, self.side, http_version, request);
        // In a task of its own: when the client gives up and its connection goes, the other side works on.
        let date = self.behind.date(call.at_ms);
        let (wire, place) = (self.wire.clone(), self.wire.goes_out(&call));
        let work = tokio::spawn(async move { self.carry_out(call, fault).await });
        let mut answer = work.await.unwrap_or(Answer::HangUp);
        if let (Answer::Reply { headers, .. } | Answer::Half { headers, .. }, Some(date)) =
            (&mut answer, date)
        {
            headers.push(date);
        }
        if let Some(place) = place {
            wire.comes_back(place, &answer);
        }
        answer
    }

    /// Whoever sent it is long gone.
    pub(super) async fn carry_out_late(&self, request: Request) {
        self.behind.answer(request).await;
    }

    async fn carry_out(self: Arc<Self>, call: Call, fault: Option<Fault>) -> Answer {
        self.wire.hold(&call, fault).await;
        let Some(fault) = fault else {
            return self.behind.answer(call.request).await;
        };
        let number = call.number;
        if fault.applies() {
            self.behind.answer(call.request.clone()).await;
        }
        match fault {
            Fault::FailBefore | Fault::LoseAnswer => Answer::HangUp,
            Fault::Answer500Before | Fault::Answer500After => refusals::internal_error(self.side),
            Fault::Hang | Fault::ApplyThenHang => Answer::Never,
            Fault::ApplyLate => {
                self.wire.come_late(Arc::clone(&self), call.request);
                Answer::HangUp
            }
            Fault::CrashBefore | Fault::CrashAfter => {
                self.wire.crash(&self.worker);
                Answer::Never
            }
            Fault::Throttle => refusals::throttled(self.side, number),
            Fault::TransactionConflict => refusals::transaction_conflict(&call),
            Fault::TakeHalf => self.take_half(call).await,
        }
    }
}

impl Door {
    async fn take_half(&self, call: Call) -> Answer {
        let mut batch = call.json();
        let Some(entries) = batch["Entries"].as_array().cloned() else {
            return self.behind.answer(call.request).await;
        };
        let at = |parity: usize| {
            entries.iter().enumerate().filter(move |(place, _)| place % 2 == parity).map(|(_, entry)| entry)
        };
        batch["Entries"] = at(0).cloned().collect();
        let request = Request { body: batch.to_string().into_bytes(), ..call.request };
        refusals::with_failed_entries(self.behind.answer(request).await, at(1))
    }
}

type EngineClient = Client<HttpConnector, Full<Bytes>>;

/// A backend made ready for use.
enum Behind {
    Fake(Arc<dyn Fake>),
    Engine { url: String, client: Box<EngineClient> },
}

impl Behind {
    fn new(backend: Backend) -> Self {
        match backend {
            Backend::Fake(fake) => Self::Fake(fake),
            Backend::Engine { url } => Self::Engine {
                url: url.trim_end_matches('/').to_owned(),
                client: Box::new(Client::builder(TokioExecutor::new()).build_http()),
            },
        }
    }

    /// A fake dates its answers by the turned clock; an engine has dated its own.
    fn date(&self, at_ms: i64) -> Option<(String, String)> {
        let Self::Fake(_) = self else { return None };
        let since = Duration::from_millis(u64::try_from(at_ms).ok()?);
        Some(("date".to_owned(), httpdate::fmt_http_date(UNIX_EPOCH + since)))
    }

    async fn answer(&self, request: Request) -> Answer {
        match self {
            Self::Fake(fake) => fake.answer(request).await,
            Self::Engine { url, client } => forward(client, url, request).await.unwrap_or_else(|error| {
                // Never a hang-up: a broken engine must not look like a fault that a test asked for.
                let body = format!("the engine at {url} did not answer: {error}").into_bytes();
                Answer::Reply { status: 502, headers: Vec::new(), body }
            }),
        }
    }
}

async fn forward(
    client: &EngineClient,
    url: &str,
    request: Request,
) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
    let mark = if request.query.is_empty() { "" } else { "?" };
    let mut onward = hyper::Request::builder()
        .method(request.method.as_str())
        .uri(format!("{url}{}{mark}{}", request.path, request.query));
    for (name, value) in &request.headers {
        if !is_of_one_connection(&HeaderName::from_bytes(name.as_bytes())?) {
            onward = onward.header(name, value);
        }
    }
    let answer = client.request(onward.body(Full::new(Bytes::from(request.body)))?).await?;
    let status = answer.status().as_u16();
    let headers = socket::headers_of(answer.headers());
    let body = answer.into_body().collect().await?.to_bytes().to_vec();
    Ok(Answer::Reply { status, headers, body })
}

/// Headers that describe one connection and are made anew on the next.
pub(super) fn is_of_one_connection(name: &HeaderName) -> bool {
    [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING].contains(name)
}
