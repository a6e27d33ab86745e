//! Lambda's side of a function: an event comes in with a deadline, an answer goes out, metrics follow.
//!
//! A function is the same thing under Lambda's runtime and in a test: an event and a deadline in, an answer out.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use aws_types::SdkConfig;
use docket_domain::moment::Moment;
use docket_domain::ports::Clock;
use futures::FutureExt as _;
use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::Value;

use crate::clock::SystemClock;
use crate::config::{ConfigError, Environment};
use crate::parameters::InParameters;
use crate::rotation::Rotating;
use crate::telemetry::EmbeddedMeter;
use crate::{aws, telemetry};

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

/// What Lambda always sets, and what stands for it elsewhere. The runtime's library panics without them and Docket needs
/// none of them: the address of the Runtime API is enough to serve.
const SET_BY_LAMBDA: [(&str, &str); 2] =
    [("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128"), ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")];

/// Runs one function: its settings, its logs, the function itself, then Lambda's loop until the process ends.
///
/// `name` is what the function is called where Lambda does not say it. `in_parameters` are its settings that may stand in an
/// SSM parameter; `build` makes it from all of them, at start and again when one of those has changed.
///
/// # Errors
/// The runtime's own, when it cannot be reached. A setting that is missing or wrong ends the process with one line.
pub async fn run<F, B>(
    name: &str,
    in_parameters: &'static [&'static str],
    build: B,
) -> Result<(), lambda_runtime::Error>
where
    F: Function,
    B: Fn(&Environment, &SdkConfig, Arc<EmbeddedMeter>) -> Result<F, ConfigError> + Send + Sync,
{
    let environment = Environment::of_process();
    complete_environment(&environment, name);
    let log_level = environment.log_level();
    telemetry::start(*log_level.as_ref().unwrap_or(&tracing::Level::INFO));
    let meter = Arc::new(EmbeddedMeter::new(environment.function_name()));
    let started = async {
        log_level?;
        let sdk = aws::for_function(&environment, aws::Patience::default())?;
        let client = aws_sdk_ssm::Client::new(&sdk);
        let settings = InParameters::new(environment.clone(), in_parameters, client);
        let of = Arc::clone(&meter);
        let build = move |settings: &Environment| build(settings, &sdk, Arc::clone(&of));
        Rotating::start(settings, SystemClock, Arc::clone(&meter), build).await
    };
    match started.await {
        Ok(function) => serve(function, meter, SystemClock, &environment).await,
        Err(error) => refuse_to_start(&error),
    }
}

/// Starts this executable over with what Lambda would have set, where it is not set: a process cannot safely set its own
/// variables. Returns at once under Lambda. To be called first, before anything was begun.
fn complete_environment(environment: &Environment, name: &str) {
    let all = [("AWS_LAMBDA_FUNCTION_NAME", name)].into_iter().chain(SET_BY_LAMBDA);
    let missing: Vec<_> = all.filter(|(name, _)| environment.required(name).is_err()).collect();
    if missing.is_empty() {
        return;
    }
    #[cfg(unix)]
    if let Ok(path) = std::env::current_exe() {
        use std::os::unix::process::CommandExt as _;
        // It returns only if it could not; the runtime's library says then what is missing.
        let _ = std::process::Command::new(path).args(std::env::args_os().skip(1)).envs(missing).exec();
    }
}

/// Serves events from Lambda's runtime until the process ends; metrics are written after each.
///
/// # Errors
/// The runtime's own, when it cannot be reached.
async fn serve<F: Function, C: Clock>(
    function: F,
    meter: Arc<EmbeddedMeter>,
    clock: C,
    environment: &Environment,
) -> Result<(), lambda_runtime::Error> {
    if let Err(error) = environment.runtime_api() {
        refuse_to_start(&error);
    }
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
fn refuse_to_start(error: &ConfigError) -> ! {
    tracing::error!(step = "start", outcome = "refused", cause = %error, "the function cannot start");
    std::process::exit(1);
}
