//! DynamoDB and SQS, in this process.
//!
//! Owns the two embedded engines: each answers HTTP on a loopback port of its own, so that the real AWS SDK talks
//! to it as it talks to AWS. One pair can serve many worlds; what keeps them apart is the prefix of their tables
//! and queues. Nothing here knows what Docket stores, and nothing follows the turned clock: time inside the
//! engines is real time, which is why [`crate::event_source`] keeps a queue model of its own.

pub mod clients;
mod queues;
mod tables;

use std::sync::Arc;

use dynoxide::Database;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use rustack_sqs_core::config::SqsConfig;
use rustack_sqs_core::handler::RustackSqsHandler;
use rustack_sqs_core::provider::RustackSqs;
use rustack_sqs_http::service::{SqsHttpConfig, SqsHttpService};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

pub use queues::Queues;
pub use tables::{Item, Tables};

/// The region that every client, queue and event of the world claims to be in.
pub const REGION: &str = "us-east-1";

/// The account that owns the queues.
pub const ACCOUNT: &str = "000000000000";

/// The running engines. Dropping them stops both and closes every connection; what they held is gone.
#[derive(Debug)]
pub struct Engines {
    dynamodb_url: String,
    sqs_url: String,
    /// The engines have a runtime of their own: a test's runtime ends with the test, while one pair of engines
    /// may serve many tests. `None` while being dropped, and where somebody else runs them.
    runtime: Option<Runtime>,
}

impl Engines {
    /// Starts both engines, empty, on ephemeral loopback ports.
    ///
    /// # Panics
    /// When the machine gives no thread or port: no test can go on without them.
    pub async fn start() -> Self {
        // Two threads, so that racing requests do meet inside the engines.
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("engines")
            .enable_all()
            .build()
            .expect("a runtime for the engines");
        // Bound over there: a listener belongs to the runtime that it was bound on.
        let urls = runtime.spawn(async { (serve_dynamodb().await, serve_sqs().await) });
        let (dynamodb_url, sqs_url) = urls.await.expect("the engines start");
        Self { dynamodb_url, sqs_url, runtime: Some(runtime) }
    }

    /// Engines that somebody else runs and that answer for both at one URL, like a local cloud.
    #[must_use]
    pub fn at(url: &str) -> Self {
        Self { dynamodb_url: url.to_owned(), sqs_url: url.to_owned(), runtime: None }
    }

    /// Where DynamoDB answers, like `http://127.0.0.1:40001`.
    #[must_use]
    pub fn dynamodb_url(&self) -> &str {
        &self.dynamodb_url
    }

    /// Where SQS answers, like `http://127.0.0.1:40002`.
    #[must_use]
    pub fn sqs_url(&self) -> &str {
        &self.sqs_url
    }

    /// A plain client for the test's side: no retries, no faults in between.
    #[must_use]
    pub fn dynamodb_client(&self) -> aws_sdk_dynamodb::Client {
        clients::dynamodb_at(&self.dynamodb_url)
    }

    /// A plain client for the test's side: no retries, no faults in between.
    #[must_use]
    pub fn sqs_client(&self) -> aws_sdk_sqs::Client {
        clients::sqs_at(&self.sqs_url)
    }
}

impl Drop for Engines {
    fn drop(&mut self) {
        // In the background, because waiting for it is not allowed inside a caller's runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn serve_dynamodb() -> String {
    let (listener, port) = listen().await;
    let database = Database::memory().expect("an empty database in memory");
    tokio::spawn(dynoxide::server::serve_on(listener, database));
    format!("http://127.0.0.1:{port}")
}

async fn serve_sqs() -> String {
    let (listener, port) = listen().await;
    let queues = RustackSqs::new(SqsConfig {
        default_region: REGION.to_owned(),
        account_id: ACCOUNT.to_owned(),
        // Queue URLs are made from these two, so that they can be called as they are.
        host: "127.0.0.1".to_owned(),
        port,
        ..SqsConfig::default()
    });
    let handler = Arc::new(RustackSqsHandler::new(Arc::new(queues)));
    let service = SqsHttpService::new(handler, SqsHttpConfig::default());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // An answer smaller than a packet must not wait for the acknowledgement of the one before it.
            stream.set_nodelay(true).ok();
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service.clone());
            // It ends with an error when the client hangs up, which is the client's affair.
            tokio::spawn(async move { connection.await.ok() });
        }
    });
    format!("http://127.0.0.1:{port}")
}

async fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
    let port = listener.local_addr().expect("a bound listener has an address").port();
    (listener, port)
}
