//! A function that takes up changed settings while it lives.
//!
//! Secrets are replaced in SSM, and a process may live for hours. So a function whose settings stand there reads them
//! again, all in one call, before the first event that comes five minutes after the last reading, and builds itself anew if
//! any of them changed. What cannot be read or is refused changes nothing: the function goes on with what it has, and says
//! so. Nothing is read in a freeze or in the background: Lambda stops a process between two events.

use std::future::Future;
use std::sync::Arc;

use docket_domain::limits::{PARAMETERS_READ_MS, PARAMETERS_RETRY_SECONDS, PARAMETERS_TRUSTED_SECONDS};
use docket_domain::metric::Metric;
use docket_domain::moment::Moment;
use docket_domain::ports::{Clock, Meter};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::config::{ConfigError, Environment};
use crate::lambda::{Function, InvocationFailed};

/// Where settings come from, whole.
pub trait Settings: Send + Sync {
    /// Whether they can change while this process lives.
    fn may_change(&self) -> bool;

    /// All settings, as they are now.
    fn read(&self) -> impl Future<Output = Result<Environment, ConfigError>> + Send;
}

/// A function and the settings that it was built from.
pub struct Rotating<F, B, S, C, M> {
    settings: S,
    build: B,
    clock: C,
    meter: M,
    living: Mutex<Living<F>>,
}

struct Living<F> {
    function: Arc<F>,
    built_from: Environment,
    read_again_at: Moment,
}

impl<F, B, S, C, M> Rotating<F, B, S, C, M>
where
    F: Function,
    B: Fn(&Environment) -> Result<F, ConfigError> + Send + Sync,
    S: Settings,
    C: Clock,
    M: Meter,
{
    /// Reads the settings and builds the function.
    ///
    /// # Errors
    /// A setting is missing or wrong.
    pub async fn start(settings: S, clock: C, meter: M, build: B) -> Result<Self, ConfigError> {
        let environment = settings.read().await?;
        let living = Living {
            function: Arc::new(build(&environment)?),
            built_from: environment,
            read_again_at: clock.now().plus_seconds(PARAMETERS_TRUSTED_SECONDS),
        };
        Ok(Self { settings, build, clock, meter, living: Mutex::new(living) })
    }

    /// The function of now.
    async fn current(&self, deadline: Moment) -> Arc<F> {
        let mut living = self.living.lock().await;
        let now = self.clock.now();
        let has_time = now.plus_millis(PARAMETERS_READ_MS) <= deadline;
        if self.settings.may_change() && now >= living.read_again_at && has_time {
            living.read_again_at = match self.renewed(&living.built_from).await {
                Ok(None) => now.plus_seconds(PARAMETERS_TRUSTED_SECONDS),
                Ok(Some((function, environment))) => {
                    living.function = Arc::new(function);
                    living.built_from = environment;
                    tracing::info!(step = "settings", outcome = "renewed", "settings in parameters changed");
                    now.plus_seconds(PARAMETERS_TRUSTED_SECONDS)
                }
                Err(error) => {
                    self.meter.record(Metric::SettingsRefused, 1.0);
                    tracing::error!(step = "settings", outcome = "refused", cause = %error, "the old settings stay");
                    now.plus_seconds(PARAMETERS_RETRY_SECONDS)
                }
            };
        }
        Arc::clone(&living.function)
    }

    async fn renewed(&self, known: &Environment) -> Result<Option<(F, Environment)>, ConfigError> {
        let environment = self.settings.read().await?;
        if environment == *known {
            return Ok(None);
        }
        (self.build)(&environment).map(|function| Some((function, environment)))
    }
}

impl<F, B, S, C, M> Function for Rotating<F, B, S, C, M>
where
    F: Function,
    B: Fn(&Environment) -> Result<F, ConfigError> + Send + Sync,
    S: Settings,
    C: Clock,
    M: Meter,
{
    async fn handle(&self, event: Value, deadline: Moment) -> Result<Value, InvocationFailed> {
        self.current(deadline).await.handle(event, deadline).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex as StdMutex;
    use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;

    #[derive(Clone, Default)]
    struct TestClock(Arc<AtomicI64>);

    impl TestClock {
        fn turn(&self, seconds: i64) {
            self.0.fetch_add(seconds * 1_000, Ordering::SeqCst);
        }
    }

    impl Clock for TestClock {
        fn now(&self) -> Moment {
            Moment::from_millis(1_000_000 + self.0.load(Ordering::SeqCst))
        }

        async fn pause_ms(&self, milliseconds: u64) {
            self.turn(i64::try_from(milliseconds / 1_000).expect("small"));
        }
    }

    #[derive(Clone, Default)]
    struct Counted(Arc<AtomicUsize>);

    impl Meter for Counted {
        fn record(&self, metric: Metric, _value: f64) {
            assert_eq!(metric, Metric::SettingsRefused);
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Settings that a test changes, and a count of readings.
    #[derive(Clone)]
    struct Changing {
        now: Arc<StdMutex<Result<String, ConfigError>>>,
        reads: Arc<AtomicUsize>,
        may_change: bool,
    }

    impl Changing {
        fn at(secret: &str) -> Self {
            let now = Arc::new(StdMutex::new(Ok(secret.to_owned())));
            Self { now, reads: Arc::default(), may_change: true }
        }

        fn become_(&self, next: Result<&str, ConfigError>) {
            *self.now.lock().expect("no panic holds it") = next.map(str::to_owned);
        }

        fn reads(&self) -> usize {
            self.reads.load(Ordering::SeqCst)
        }
    }

    impl Settings for Changing {
        fn may_change(&self) -> bool {
            self.may_change
        }

        async fn read(&self) -> Result<Environment, ConfigError> {
            self.reads.fetch_add(1, Ordering::SeqCst);
            let now = self.now.lock().expect("no panic holds it").clone()?;
            Ok(Environment::of([("SECRET".to_owned(), now)]))
        }
    }

    struct Tells(String);

    impl Function for Tells {
        async fn handle(&self, _event: Value, _deadline: Moment) -> Result<Value, InvocationFailed> {
            Ok(json!(self.0))
        }
    }

    fn build(environment: &Environment) -> Result<Tells, ConfigError> {
        match environment.required("SECRET")?.as_str() {
            "malformed" => Err(ConfigError::of("SECRET", "is malformed")),
            secret => Ok(Tells(secret.to_owned())),
        }
    }

    type Answering = std::pin::Pin<Box<dyn Future<Output = Value>>>;

    struct Lived {
        clock: TestClock,
        settings: Changing,
        refused: Counted,
        /// Handles an event with so many seconds left.
        function: Box<dyn Fn(u64) -> Answering>,
    }

    async fn lived(settings: Changing) -> Lived {
        let (clock, refused) = (TestClock::default(), Counted::default());
        let started = Rotating::start(settings.clone(), clock.clone(), refused.clone(), build).await;
        let Ok(started) = started else { panic!("good settings are refused") };
        let function = Arc::new(started);
        let of = clock.clone();
        let ask = move |seconds_left: u64| {
            let (function, deadline) = (Arc::clone(&function), of.now().plus_seconds(seconds_left));
            Box::pin(async move { function.handle(Value::Null, deadline).await.expect("an answer") })
                as Answering
        };
        Lived { clock, settings, refused, function: Box::new(ask) }
    }

    #[tokio::test]
    async fn a_changed_secret_is_taken_up_five_minutes_later_and_one_reading_serves_until_then() {
        let lived = lived(Changing::at("old")).await;
        lived.settings.become_(Ok("new"));
        lived.clock.turn(299);
        assert_eq!((lived.function)(60).await, "old");
        assert_eq!(lived.settings.reads(), 1);
        lived.clock.turn(1);
        assert_eq!((lived.function)(60).await, "new");
        assert_eq!((lived.function)(60).await, "new");
        assert_eq!(lived.settings.reads(), 2);
        lived.clock.turn(300);
        assert_eq!((lived.function)(60).await, "new");
        assert_eq!((lived.settings.reads(), lived.refused.0.load(Ordering::SeqCst)), (3, 0));
    }

    #[tokio::test]
    async fn what_cannot_be_read_or_is_refused_leaves_the_old_settings_and_is_tried_again_in_a_minute() {
        let lived = lived(Changing::at("old")).await;
        for next in [Err(ConfigError::of("SECRET_PARAMETER", "could not be read")), Ok("malformed"), Ok("")] {
            let before = lived.settings.reads();
            lived.settings.become_(next);
            lived.clock.turn(300);
            assert_eq!((lived.function)(60).await, "old");
            lived.clock.turn(59);
            assert_eq!((lived.function)(60).await, "old");
            assert_eq!(lived.settings.reads(), before + 1);
        }
        assert_eq!(lived.refused.0.load(Ordering::SeqCst), 3);
        lived.settings.become_(Ok("new"));
        lived.clock.turn(1);
        assert_eq!((lived.function)(60).await, "new");
    }

    #[tokio::test]
    async fn without_time_for_a_reading_the_event_goes_first() {
        let lived = lived(Changing::at("old")).await;
        lived.settings.become_(Ok("new"));
        lived.clock.turn(600);
        assert_eq!((lived.function)(9).await, "old");
        assert_eq!(lived.settings.reads(), 1);
        assert_eq!((lived.function)(28).await, "new");
    }

    #[tokio::test]
    async fn settings_that_stand_in_the_environment_are_never_read_again() {
        let lived = lived(Changing { may_change: false, ..Changing::at("old") }).await;
        lived.clock.turn(100_000);
        assert_eq!((lived.function)(60).await, "old");
        assert_eq!(lived.settings.reads(), 1);
    }
}
