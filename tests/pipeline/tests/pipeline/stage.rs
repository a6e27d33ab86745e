//! A world in which the executables play, in real time: each under a Runtime API of its own, found by settings alone.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use docket_domain::reference::Reference;
use docket_world::World;
use docket_world::event_source::{Delivery, Polled};
use docket_world::executable::Executable;
use docket_world::runtime_api::{Invoked, RuntimeApi};
use docket_world::telegram::{Customer, Deliveries, Ended, WebhookAnswer};
use docket_world::witness::references_in;
use docket_world::workers::WEBHOOK_SECRET;
use docket_world::world::http_event;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::executables::{Environment, FUNCTIONS, built, environment_of};

/// What Lambda would give a function.
const TIMEOUT: Duration = Duration::from_secs(60);

/// One executable and Lambda's side of it.
pub(crate) struct Process {
    pub(crate) api: RuntimeApi,
    pub(crate) executable: Executable,
    environment: Environment,
    name: &'static str,
}

impl Process {
    /// Starts a function's executable; it may refuse to stay.
    pub(crate) async fn start(name: &'static str, environment: Environment) -> Self {
        let api = RuntimeApi::start().await;
        let executable = Self::run(name, &environment, &api);
        Self { api, executable, environment, name }
    }

    fn run(name: &str, environment: &Environment, api: &RuntimeApi) -> Executable {
        let environment = environment.clone().with("AWS_LAMBDA_RUNTIME_API", api.address());
        Executable::start(&built(name), &[], environment.pairs())
    }

    pub(crate) async fn invoke(&self, event: &Value) -> Invoked {
        self.api.invoke(event, TIMEOUT).await
    }

    /// A new process in place of one that is gone, as Lambda starts one.
    pub(crate) fn start_again(&mut self) {
        self.executable = Self::run(self.name, &self.environment, &self.api);
    }
}

/// A world, and executables in place of its functions.
pub(crate) struct Stage {
    pub(crate) world: World,
    processes: HashMap<&'static str, Process>,
    following: JoinHandle<()>,
}

impl Stage {
    /// All four functions, with settings as `change` leaves them.
    pub(crate) async fn set(change: impl Fn(&str, Environment) -> Environment) -> Self {
        Self::set_in(World::start().await, change).await
    }

    /// The same in a world of other settings.
    pub(crate) async fn set_in(world: World, change: impl Fn(&str, Environment) -> Environment) -> Self {
        // Before the clock starts to matter.
        built("webhook");
        let following = world.clock.follow_real_time();
        let mut processes = HashMap::new();
        for name in FUNCTIONS {
            let environment = change(name, environment_of(name, &world));
            let mut process = Process::start(name, environment).await;
            until("a function's start", || {
                assert!(process.executable.lives(), "{name}: {:?}", process.executable.stdout());
                process.api.polls() > 0
            })
            .await;
            processes.insert(name, process);
        }
        Self { world, processes, following }
    }

    pub(crate) fn process(&mut self, name: &str) -> &mut Process {
        self.processes.get_mut(name).unwrap()
    }

    pub(crate) fn processes(&self) -> impl Iterator<Item = (&'static str, &Process)> {
        self.processes.iter().map(|(name, process)| (*name, process))
    }

    /// Delivers an update as Telegram does, and carries out what the answer says.
    pub(crate) async fn say(&self, update: Value) {
        let mut deliveries = Deliveries::new(&self.world.telegram);
        deliveries.push(update);
        let webhook = &self.processes["webhook"];
        deliveries.deliver_due(|update| deliver(webhook, update)).await;
        let ended = deliveries.done().last().map(|delivery| delivery.ended);
        assert_eq!(ended, Some(Ended::Accepted), "{:?}", webhook.executable.stdout());
    }

    /// A whole conversation, confirmed.
    pub(crate) async fn submit(&self, customer: &Customer, words: &str) -> Reference {
        self.say(customer.text("/new")).await;
        self.say(customer.press_button("A quote")).await;
        self.say(customer.text(words)).await;
        self.say(customer.press_button("Confirm")).await;
        let told = customer.chat().last_words().unwrap_or_default();
        references_in(&told).pop().unwrap_or_else(|| panic!("no reference in: {told}")).parse().unwrap()
    }

    pub(crate) async fn poll_writer(&mut self) -> Polled {
        let writer = &self.processes["writer"];
        self.world.write_source.poll(|event| async move { delivery(writer.invoke(&event).await) }).await
    }

    pub(crate) async fn poll_acknowledger(&mut self) -> Polled {
        let acknowledger = &self.processes["acknowledger"];
        let source = &mut self.world.acknowledge_source;
        source.poll(|event| async move { delivery(acknowledger.invoke(&event).await) }).await
    }

    pub(crate) async fn sweep(&self) -> Value {
        // As EventBridge sends it.
        let event =
            json!({"version": "0", "detail-type": "Scheduled Event", "source": "aws.events", "detail": {}});
        match self.processes["sweeper"].invoke(&event).await {
            Invoked::Answered(summary) => summary,
            other => panic!("{other:?}: {:?}", self.processes["sweeper"].executable.stdout()),
        }
    }

    /// Sweeps and polls until nothing is due any more, in real time.
    pub(crate) async fn settle(&mut self, within: Duration) {
        let end = Instant::now() + within;
        while !self.world.is_quiet().await {
            assert!(Instant::now() < end, "not settled:\n{}", self.world.picture().await);
            self.sweep().await;
            self.poll_writer().await;
            self.poll_acknowledger().await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.following.abort();
    }
}

async fn deliver(webhook: &Process, update: Value) -> Option<WebhookAnswer> {
    let event = http_event(update.to_string(), Some(WEBHOOK_SECRET));
    let Invoked::Answered(answer) = webhook.invoke(&event).await else { return None };
    Some(WebhookAnswer {
        status: answer["statusCode"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(0),
        retry_after_seconds: None,
        body: answer["body"].as_str().unwrap_or_default().as_bytes().to_vec(),
    })
}

pub(crate) fn delivery(invoked: Invoked) -> Delivery {
    match invoked {
        Invoked::Answered(answer) => Delivery::Answered(answer),
        Invoked::Failed(_) | Invoked::Silent => Delivery::Failed,
    }
}

/// Waits until `holds`, for a bounded time.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < end, "{what} did not come about");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
