//! Lambda's Runtime API, as far as one function's executable sees it.
//!
//! After "Using the Lambda runtime API for custom runtimes" in the AWS Lambda developer guide: a long poll for the next
//! invocation, then its response or its error. Time here is real: the executable reads the machine's clock, and its
//! deadline with it. One event at a time, as Lambda gives to one environment.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// How an invocation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invoked {
    /// The function answered with this body, as JSON.
    Answered(Value),
    /// The function reported an error.
    Failed(Value),
    /// Nothing came before the deadline: the process is dead, or stuck.
    Silent,
}

/// The Runtime API of one function. Dropping it closes the listener.
pub struct RuntimeApi {
    address: String,
    events: mpsc::UnboundedSender<Pending>,
    shared: Arc<Shared>,
    serving: JoinHandle<()>,
}

struct Pending {
    id: String,
    body: Vec<u8>,
    deadline_ms: u128,
    done: oneshot::Sender<Invoked>,
}

struct Shared {
    waiting: tokio::sync::Mutex<mpsc::UnboundedReceiver<Pending>>,
    running: Mutex<HashMap<String, oneshot::Sender<Invoked>>>,
    init_errors: Mutex<Vec<Value>>,
    polls: AtomicU64,
}

impl RuntimeApi {
    /// Listens on a loopback port.
    ///
    /// # Panics
    /// When no loopback port can be had.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a loopback port is free");
        let address = listener.local_addr().expect("a bound listener has an address").to_string();
        let (events, waiting) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            waiting: tokio::sync::Mutex::new(waiting),
            running: Mutex::default(),
            init_errors: Mutex::default(),
            polls: AtomicU64::new(0),
        });
        let routes = Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next))
            .route("/2018-06-01/runtime/invocation/{id}/response", post(response))
            .route("/2018-06-01/runtime/invocation/{id}/error", post(error))
            .route("/2018-06-01/runtime/init/error", post(init_error))
            .with_state(Arc::clone(&shared));
        let serving = tokio::spawn(async move {
            // It ends when it is aborted.
            axum::serve(listener, routes).await.ok();
        });
        Self { address, events, shared, serving }
    }

    /// For `AWS_LAMBDA_RUNTIME_API`: host and port.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Hands the executable an event and waits for its answer, as long as a function may take.
    pub async fn invoke(&self, event: &Value, timeout: Duration) -> Invoked {
        self.invoke_raw(event.to_string().into_bytes(), timeout).await
    }

    /// As [`Self::invoke`], with a body that may be anything.
    ///
    /// # Panics
    /// When the machine's clock stands before 1970.
    pub async fn invoke_raw(&self, body: Vec<u8>, timeout: Duration) -> Invoked {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let id = format!("00000000-0000-4000-8000-{:012}", NUMBER.fetch_add(1, Ordering::SeqCst));
        let (done, answered) = oneshot::channel();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
        let deadline_ms = (now + timeout).as_millis();
        if self.events.send(Pending { id, body, deadline_ms, done }).is_err() {
            return Invoked::Silent;
        }
        match tokio::time::timeout(timeout, answered).await {
            Ok(Ok(invoked)) => invoked,
            Ok(Err(_)) | Err(_) => Invoked::Silent,
        }
    }

    /// What executables reported instead of starting.
    #[must_use]
    pub fn init_errors(&self) -> Vec<Value> {
        lock(&self.shared.init_errors).clone()
    }

    /// How often an executable asked for an event: not once before it has started.
    #[must_use]
    pub fn polls(&self) -> u64 {
        self.shared.polls.load(Ordering::SeqCst)
    }
}

impl Drop for RuntimeApi {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn next(State(shared): State<Arc<Shared>>) -> Response {
    shared.polls.fetch_add(1, Ordering::SeqCst);
    // An executable that died while it waited has dropped this future, and the next one takes the event.
    let pending = shared.waiting.lock().await.recv().await;
    let Some(Pending { id, body, deadline_ms, done }) = pending else {
        return StatusCode::GONE.into_response();
    };
    let header = |value: &str| HeaderValue::from_str(value).expect("a plain value");
    let mut headers = HeaderMap::new();
    headers.insert("content-type", header("application/json"));
    headers.insert("lambda-runtime-aws-request-id", header(&id));
    headers.insert("lambda-runtime-deadline-ms", header(&deadline_ms.to_string()));
    headers.insert(
        "lambda-runtime-invoked-function-arn",
        header("arn:aws:lambda:us-east-1:000000000000:function:docket"),
    );
    headers.insert("lambda-runtime-trace-id", header("Root=1-00000000-000000000000000000000000;Sampled=0"));
    lock(&shared.running).insert(id, done);
    (headers, body).into_response()
}

async fn response(State(shared): State<Arc<Shared>>, Path(id): Path<String>, body: Bytes) -> Response {
    end(&shared, &id, Invoked::Answered(json_of(&body)))
}

async fn error(State(shared): State<Arc<Shared>>, Path(id): Path<String>, body: Bytes) -> Response {
    end(&shared, &id, Invoked::Failed(json_of(&body)))
}

async fn init_error(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    lock(&shared.init_errors).push(json_of(&body));
    accepted()
}

fn end(shared: &Shared, id: &str, invoked: Invoked) -> Response {
    let Some(done) = lock(&shared.running).remove(id) else {
        return (StatusCode::BAD_REQUEST, r#"{"errorType":"InvalidRequestID"}"#).into_response();
    };
    // Whoever invoked may have given up.
    let _ = done.send(invoked);
    accepted()
}

fn accepted() -> Response {
    (StatusCode::ACCEPTED, json!({"status": "OK"}).to_string()).into_response()
}

/// A body that is no JSON is shown as text.
fn json_of(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| json!(String::from_utf8_lossy(body)))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
