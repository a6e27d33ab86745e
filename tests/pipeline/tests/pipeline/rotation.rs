//! A secret is replaced in SSM while the webhook lives: it is taken up within five minutes, and nobody restarts anything.

use std::sync::Arc;

use docket_adapters::aws::{self, Patience};
use docket_adapters::config::Environment;
use docket_adapters::lambda::Function;
use docket_adapters::parameters::InParameters;
use docket_adapters::rotation::Rotating;
use docket_domain::limits::PARAMETERS_TRUSTED_SECONDS;
use docket_domain::metric::Metric;
use docket_world::World;
use docket_world::parameters::FakeParameters;
use docket_world::sheets::ROLE;
use docket_world::wire::{Backend, Gate, Side};
use docket_world::world::http_event;

const CHAT: i64 = 7_100_000_001;
const CURRENT: &str = "/docket/webhook-secret";
const PREVIOUS: &str = "/docket/webhook-secret-previous";
const TRUSTED: i64 = PARAMETERS_TRUSTED_SECONDS as i64;

/// A webhook whose secrets stand in SSM, on the world's clock.
struct Rotation {
    world: World,
    parameters: Arc<FakeParameters>,
    gate: Gate,
}

impl Rotation {
    async fn with(current: &str, previous: &str) -> Self {
        let world = World::start().await;
        let parameters =
            Arc::new(FakeParameters::of([(CURRENT, current.to_owned()), (PREVIOUS, previous.to_owned())]));
        let backend = Backend::Fake(Arc::<FakeParameters>::clone(&parameters));
        let gate = world.wire.gate("webhook", Side::Parameters, backend).await;
        Self { world, parameters, gate }
    }

    /// The function as its executable builds it, but for the clock and where its metrics go.
    async fn webhook(&self) -> impl Function + use<'_> {
        let set = ROLE.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let named = [("WEBHOOK_SECRET_PARAMETER", CURRENT), ("WEBHOOK_SECRET_PREVIOUS_PARAMETER", PREVIOUS)];
        let named = named.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let at = [("AWS_ENDPOINT_URL".to_owned(), self.gate.url())];
        let environment = Environment::of(set.into_iter().chain(named).chain(at));
        let sdk = aws::for_function(&environment, Patience::default()).unwrap();
        let used = &["WEBHOOK_SECRET", "WEBHOOK_SECRET_PREVIOUS"];
        let settings = InParameters::new(environment, used, aws_sdk_ssm::Client::new(&sdk));
        let (clock, meter) = (self.world.clock.clone(), self.world.recorder().clone());
        let built = Rotating::start(settings, clock, meter, |settings: &Environment| {
            let mut webhook = self.world.another_webhook();
            webhook.secrets = settings.webhook_secrets()?;
            Ok(webhook)
        });
        built.await.ok().unwrap()
    }

    /// Which of these secrets open the door now.
    async fn opened_by(&self, webhook: &impl Function, secrets: &[&'static str]) -> Vec<&'static str> {
        let ann = self.world.customer(CHAT, "Ann");
        let mut opened = Vec::new();
        for secret in secrets {
            let event = http_event(ann.text("/help").to_string(), Some(secret));
            let answer = webhook.handle(event, self.world.deadline()).await.unwrap();
            match answer["statusCode"].as_u64() {
                Some(200) => opened.push(*secret),
                other => assert_eq!(other, Some(401), "{answer}"),
            }
        }
        opened
    }

    fn put(&self, name: &str, value: &str) {
        self.parameters.put(name, value);
    }

    fn reads(&self) -> usize {
        self.world.wire.count(Side::Parameters, "GetParameters")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_secret_is_taken_up_in_time_and_the_previous_one_is_good_for_as_long_as_it_is_given() {
    const ALL: [&str; 3] = ["old-secret", "new-secret", "newer-secret"];
    let rotation = Rotation::with("old-secret", "old-secret").await;
    let webhook = rotation.webhook().await;
    assert_eq!(rotation.opened_by(&webhook, &ALL).await, ["old-secret"]);

    // As the runbook has it: the previous one is given before the current one is replaced.
    rotation.put(PREVIOUS, "old-secret");
    rotation.put(CURRENT, "new-secret");
    rotation.world.turn_seconds(TRUSTED - 1);
    assert_eq!(rotation.opened_by(&webhook, &ALL).await, ["old-secret"], "settings are read too often");
    assert_eq!(rotation.reads(), 1);
    rotation.world.turn_seconds(1);
    assert_eq!(rotation.opened_by(&webhook, &ALL).await, ["old-secret", "new-secret"]);
    rotation.world.turn_seconds(12 * TRUSTED);
    assert_eq!(rotation.opened_by(&webhook, &ALL).await, ["old-secret", "new-secret"]);

    // Taken away: the current one stands in its place.
    rotation.put(PREVIOUS, "new-secret");
    rotation.world.turn_seconds(TRUSTED);
    assert_eq!(rotation.opened_by(&webhook, &ALL).await, ["new-secret"]);

    // A function that starts now knows no other either.
    let started = rotation.webhook().await;
    assert_eq!(rotation.opened_by(&started, &ALL).await, ["new-secret"]);
    assert_eq!(rotation.world.recorder().sum(Metric::SettingsRefused), 0.0);
    rotation.world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_refused_or_gone_leaves_the_old_ones_in_force_and_is_said_aloud() {
    const ALL: [&str; 2] = ["old-secret", "new-secret"];
    let rotation = Rotation::with("new-secret", "old-secret").await;
    let webhook = rotation.webhook().await;
    assert_eq!(rotation.opened_by(&webhook, &ALL).await, ALL);
    let refused = |rotation: &Rotation| rotation.world.recorder().sum(Metric::SettingsRefused);
    rotation.put(CURRENT, "not a secret");
    rotation.world.turn_seconds(TRUSTED);
    assert_eq!(rotation.opened_by(&webhook, &ALL).await, ALL);
    assert_eq!(refused(&rotation), 1.0);
    rotation.put(CURRENT, "new-secret");
    rotation.parameters.delete(PREVIOUS);
    rotation.world.turn_seconds(TRUSTED);
    assert_eq!(rotation.opened_by(&webhook, &ALL).await, ALL, "a parameter that is gone takes nothing away");
    assert_eq!(refused(&rotation), 2.0);
    // Put again, it is taken up at the next try, a minute later.
    rotation.put(PREVIOUS, "new-secret");
    rotation.world.turn_seconds(60);
    assert_eq!(rotation.opened_by(&webhook, &ALL).await, ["new-secret"]);
    rotation.world.check_rules().await;
}
