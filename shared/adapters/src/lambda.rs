//! Lambda's side of a function: an event comes in with a deadline, an answer goes out, metrics follow.
//!
//! A function is the same thing under Lambda's runtime and in a test: an event and a deadline in, an answer out.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use docket_domain::moment::Moment;
use docket_domain::ports::Clock;
use futures::FutureExt as _;
use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::Value;

use crate::config::ConfigError;
use crate::telemetry::EmbeddedMeter;

/// An invocation that failed as a whole; Lambda's caller tries again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvocationFailed(pub &'static str);

/// One Lambda function.
pub trait Function: Send + Sync {
    /// Handles one event. Whatever it starts must end before `deadline`.
    fn handle(
        &self,
        event: Value,
        deadline: Moment,
    ) -> impl Future<Output = Result<Value, InvocationFailed>> + Send;
}

/// Serves events from Lambda's runtime until the process ends; metrics are written after each.
///
/// # Errors
/// The runtime's own, when it cannot be reached.
pub async fn serve<F: Function, C: Clock>(
    function: F,
    meter: Arc<EmbeddedMeter>,
    clock: C,
) -> Result<(), lambda_runtime::Error> {
    let (function, meter, clock) = (&function, &*meter, &clock);
    lambda_runtime::run(service_fn(move |event: LambdaEvent<Value>| async move {
        let deadline = Moment::from_millis(i64::try_from(event.context.deadline).unwrap_or(i64::MAX));
        // The runtime would report a panic's message, which may hold what it stumbled over.
        // Boxed: the types of a whole function's steps, one in the other, are deeper than the compiler follows.
        let handled = AssertUnwindSafe(function.handle(event.payload, deadline).boxed()).catch_unwind().await;
        let answer = handled.unwrap_or(Err(InvocationFailed("the function panicked")));
        meter.flush(clock.now());
        answer.map_err(lambda_runtime::Error::from)
    }))
    .await
}

/// Says why the function cannot start, in one line, and ends the process: while a setting is wrong nothing is answered,
/// so nothing is lost.
pub fn refuse_to_start(error: &ConfigError) -> ! {
    tracing::error!(step = "start", outcome = "refused", cause = %error, "the function cannot start");
    std::process::exit(1);
}
