//! Lambda's side of a function: an event comes in with a deadline, an answer goes out, metrics follow.
//!
//! A function is the same thing under Lambda's runtime and in a test: an event and a deadline in, an answer out.

use std::future::Future;
use std::sync::Arc;

use docket_domain::moment::Moment;
use docket_domain::ports::Clock;
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
        let answer = function.handle(event.payload, deadline).await;
        meter.flush(clock.now());
        answer
    }))
    .await
}

/// Says why the function cannot start, in one line, and ends the process: while a setting is wrong nothing is answered,
/// so nothing is lost.
pub fn refuse_to_start(error: &ConfigError) -> ! {
    tracing::error!(step = "start", outcome = "refused", cause = %error, "the function cannot start");
    std::process::exit(1);
}
