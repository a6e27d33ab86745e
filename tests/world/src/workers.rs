//! The real functions, built from the real adapters, with every way out leading through the wire.
//!
//! Nothing here imitates Docket. A worker that crashed is built anew, as Lambda starts a new process: what it held in
//! memory is gone.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use acknowledger::Acknowledger;
use acknowledger::pace::Pace;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_http_client::Builder;
use docket_adapters::aws::{self, Caller, Patience};
use docket_adapters::config::{Environment, Secret};
use docket_adapters::dynamodb::{DynamoConversations, DynamoSubmissions};
use docket_adapters::sheets::{Credentials as GoogleCredentials, GoogleSheet, SheetSettings};
use docket_adapters::sqs::SqsDoorbell;
use docket_adapters::telegram::TelegramMessenger;
use docket_domain::catalog::Catalog;
use docket_domain::intake::Bot;
use docket_domain::limits::Timing;
use docket_domain::metric::Metric;
use docket_domain::moment::Moment;
use docket_domain::ports::{Clock, Meter};
use docket_domain::submission::ChatId;
use sweeper::Sweeper;
use webhook::{Handler, Webhook};
use writer::Writer;

use crate::clock::TurnedClock;
use crate::engines::{Engines, Queues, REGION, Tables};
use crate::exchange::Fake;
use crate::sheets::{FakeToken, ROLE};
use crate::wire::{Backend, Gate, Side, Wire};

/// The webhook's secret in every world.
pub const WEBHOOK_SECRET: &str = "world-webhook-secret";
/// The bot's token in every world; its id is the part before the colon.
pub const BOT_TOKEN: &str = "4242:world-bot-token";
/// The bot in every world.
pub const BOT_ID: i64 = 4242;
/// The spreadsheet in every world.
pub const SPREADSHEET_ID: &str = "world-spreadsheet";

/// An address at which every connection is refused: nothing listens on loopback's port 1.
pub const NOBODY: &str = "http://127.0.0.1:1";

pub type WebhookFunction =
    Handler<DynamoSubmissions, DynamoConversations, SqsDoorbell, TurnedClock, Recorder>;
pub type WriterFunction =
    Writer<DynamoSubmissions, GoogleSheet<TurnedClock>, SqsDoorbell, TurnedClock, Recorder>;
pub type AcknowledgerFunction = Acknowledger<DynamoSubmissions, TelegramMessenger, TurnedClock, Recorder>;
pub type SweeperFunction = Sweeper<DynamoSubmissions, SqsDoorbell, SqsDoorbell, TurnedClock, Recorder>;

impl Clock for TurnedClock {
    fn now(&self) -> Moment {
        Moment::from_millis(self.now_ms())
    }

    /// Turns the clock itself: whoever waits in a world waits no real time.
    async fn pause_ms(&self, milliseconds: u64) {
        self.turn(i64::try_from(milliseconds).unwrap_or(i64::MAX));
    }
}

/// Every metric recorded in a world, in order.
#[derive(Debug, Clone, Default)]
pub struct Recorder(Arc<Mutex<Vec<(Metric, f64)>>>);

impl Recorder {
    /// The sum of a counter so far.
    #[must_use]
    pub fn sum(&self, metric: Metric) -> f64 {
        self.all().iter().filter(|(recorded, _)| *recorded == metric).map(|(_, value)| value).sum()
    }

    /// The newest value of a gauge.
    #[must_use]
    pub fn last(&self, metric: Metric) -> Option<f64> {
        self.all().iter().rev().find(|(recorded, _)| *recorded == metric).map(|(_, value)| *value)
    }

    /// The highest value of a gauge so far.
    #[must_use]
    pub fn highest(&self, metric: Metric) -> Option<f64> {
        self.all()
            .iter()
            .filter(|(recorded, _)| *recorded == metric)
            .map(|(_, value)| *value)
            .reduce(f64::max)
    }

    /// Everything that was recorded, in order.
    ///
    /// # Panics
    /// Never: a lock that another panic left behind is taken all the same.
    #[must_use]
    pub fn all(&self) -> Vec<(Metric, f64)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Meter for Recorder {
    fn record(&self, metric: Metric, value: f64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((metric, value));
    }
}

/// What one world may set differently from another.
#[derive(Debug, Clone)]
pub struct Settings {
    pub tab: String,
    pub timing: Timing,
    pub patience: Patience,
    pub catalog: Catalog,
    pub retention_days: u64,
    pub secrets: Vec<String>,
    /// Where the writer looks for Sheets, if not at its gate.
    pub sheets_endpoint: Option<String>,
    /// Where the acknowledger looks for Telegram, if not at its gate.
    pub telegram_endpoint: Option<String>,
    /// Where the operator hears of open reviews.
    pub operator_chat: Option<ChatId>,
    /// Whether the writer has no key and goes by its AWS role.
    pub keyless: bool,
}

impl Default for Settings {
    /// Everything as in production, but what costs real time: an answer that never comes is given up after a short
    /// while, and the SDK's pauses between tries are short.
    fn default() -> Self {
        Self {
            tab: "Intake".into(),
            timing: Timing { append_timeout_ms: 1_000, send_timeout_ms: 1_000, ..Timing::default() },
            patience: Patience {
                attempts_max: 2,
                first_backoff_ms: 1,
                attempt_timeout_ms: 1_000,
                operation_timeout_ms: 3_000,
            },
            catalog: Catalog::default(),
            retention_days: 365,
            secrets: vec![WEBHOOK_SECRET.into()],
            sheets_endpoint: None,
            telegram_endpoint: None,
            operator_chat: None,
            keyless: false,
        }
    }
}

/// The AWS role of every function in every world.
///
/// # Panics
/// Never: all of it is set.
#[must_use]
pub fn role() -> Caller {
    let set = ROLE.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Caller::of_function(&Environment::of(set)).expect("a whole role")
}

/// The gates of one world, kept open as long as it lives, and what workers are built from.
pub struct Workshop {
    wire: Wire,
    clock: TurnedClock,
    settings: Settings,
    tables: Tables,
    queues: Queues,
    recorder: Recorder,
    google_key: String,
    /// What leads to the same account without a key.
    google_keyless: String,
    gates: Vec<(String, Side, Gate)>,
    cut_off: Vec<(String, Side)>,
}

impl Workshop {
    /// Opens a gate for every worker to every side it may call.
    #[expect(clippy::too_many_arguments, reason = "the parts of one world, put together in one place")]
    pub async fn open(
        engines: &Engines,
        wire: Wire,
        clock: TurnedClock,
        settings: Settings,
        tables: Tables,
        queues: Queues,
        fakes: [(Side, Arc<dyn Fake>); 3],
        google: &FakeToken,
    ) -> Self {
        let engine = |url: &str| Backend::Engine { url: url.to_owned() };
        let mut gates = Vec::new();
        for worker in ["webhook", "writer", "acknowledger", "sweeper"] {
            let dynamodb = engine(engines.dynamodb_url());
            gates.push((
                worker.to_owned(),
                Side::DynamoDb,
                wire.gate(worker, Side::DynamoDb, dynamodb).await,
            ));
            let sqs = engine(engines.sqs_url());
            gates.push((worker.to_owned(), Side::Sqs, wire.gate(worker, Side::Sqs, sqs).await));
        }
        for (side, fake) in fakes {
            let worker = match side {
                Side::Sheets | Side::Token => "writer",
                Side::Telegram => "acknowledger",
                Side::DynamoDb | Side::Sqs | Side::Parameters | Side::Webhook => continue,
            };
            gates.push((worker.to_owned(), side, wire.gate(worker, side, Backend::Fake(fake)).await));
        }
        let recorder = Recorder::default();
        let mut workshop = Self {
            wire,
            clock,
            settings,
            tables,
            queues,
            recorder,
            google_key: String::new(),
            google_keyless: String::new(),
            gates,
            cut_off: Vec::new(),
        };
        let url = workshop.url("writer", Side::Token);
        workshop.google_key = google.service_account_json(&format!("{url}/token"));
        workshop.google_keyless = google.external_account_json(&url);
        workshop
    }

    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn wire(&self) -> &Wire {
        &self.wire
    }

    /// Where a worker finds another side.
    ///
    /// # Panics
    /// When that worker has no business with that side.
    #[must_use]
    pub fn url(&self, worker: &str, side: Side) -> String {
        if self.cut_off.contains(&(worker.to_owned(), side)) {
            return NOBODY.into();
        }
        self.gate(worker, side).url()
    }

    /// See [`Gate::refuse`].
    ///
    /// # Panics
    /// When that worker has no business with that side.
    pub async fn refuse_connections(&self, worker: &str, side: Side, refuse: bool) {
        self.gate(worker, side).refuse(refuse).await;
    }

    fn gate(&self, worker: &str, side: Side) -> &Gate {
        let gate = self.gates.iter().find(|(name, of, _)| name == worker && *of == side);
        &gate.unwrap_or_else(|| panic!("{worker} has no gate to {side:?}")).2
    }

    pub fn google_credentials(&self) -> &str {
        if self.settings.keyless { &self.google_keyless } else { &self.google_key }
    }

    /// A worker built afterwards finds nobody on that side.
    pub fn cut_off(&mut self, worker: &str, side: Side) {
        self.cut_off.push((worker.to_owned(), side));
    }

    /// A worker built afterwards finds every side.
    pub fn reconnect(&mut self) {
        self.cut_off.clear();
    }

    /// Changes settings; a worker built afterwards has them.
    pub fn change(&mut self, change: impl FnOnce(&mut Settings)) {
        change(&mut self.settings);
    }

    fn sdk(&self, worker: &str, side: Side) -> SdkConfig {
        let credentials = Credentials::new("test", "test", None, None, "the fake world");
        SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(REGION))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .endpoint_url(self.url(worker, side))
            .retry_config(aws::retries(self.settings.patience).with_max_backoff(Duration::from_millis(5)))
            .timeout_config(aws::timeouts(self.settings.patience))
            .sleep_impl(aws_smithy_async::rt::sleep::SharedAsyncSleep::new(
                aws_smithy_async::rt::sleep::TokioSleep::new(),
            ))
            .http_client(Builder::new().build_http())
            .build()
    }

    fn submissions(&self, worker: &str) -> DynamoSubmissions {
        let client = aws_sdk_dynamodb::Client::new(&self.sdk(worker, Side::DynamoDb));
        DynamoSubmissions::new(client, self.tables.submissions.clone(), self.settings.retention_days)
    }

    fn sqs(&self, worker: &str) -> aws_sdk_sqs::Client {
        aws_sdk_sqs::Client::new(&self.sdk(worker, Side::Sqs))
    }

    #[must_use]
    pub fn webhook(&self) -> WebhookFunction {
        let client = aws_sdk_dynamodb::Client::new(&self.sdk("webhook", Side::DynamoDb));
        Handler {
            secrets: self.settings.secrets.iter().map(Secret::new).collect(),
            webhook: Webhook {
                submissions: self.submissions("webhook"),
                conversations: DynamoConversations::new(
                    client,
                    self.tables.conversations.clone(),
                    self.tables.submissions.clone(),
                ),
                write_queue: SqsDoorbell::write_queue(self.sqs("webhook"), self.queues.write.clone()),
                clock: self.clock.clone(),
                meter: self.recorder.clone(),
                bot: Bot { username: "OurBot".into(), id: BOT_ID },
                catalog: self.settings.catalog.clone(),
            },
        }
    }

    /// # Panics
    /// When the fake's credentials cannot be read.
    #[must_use]
    pub fn writer(&self) -> WriterFunction {
        let timing = self.settings.timing;
        let settings = SheetSettings {
            endpoint: self
                .settings
                .sheets_endpoint
                .clone()
                .unwrap_or_else(|| self.url("writer", Side::Sheets)),
            spreadsheet_id: SPREADSHEET_ID.into(),
            tab: self.settings.tab.clone(),
            credentials: GoogleCredentials::parse(self.google_credentials(), &role())
                .expect("the fake's credentials are well formed"),
            append_timeout_ms: timing.append_timeout_ms,
            read_timeout_ms: timing.append_timeout_ms,
        };
        Writer {
            submissions: self.submissions("writer"),
            sheet: GoogleSheet::new(settings, self.clock.clone()).expect("a client can be made"),
            acknowledge_queue: SqsDoorbell::acknowledge_queue(
                self.sqs("writer"),
                self.queues.acknowledge.clone(),
            ),
            clock: self.clock.clone(),
            meter: self.recorder.clone(),
            timing,
            pace: writer::pace::Pace::default(),
            misplaced: writer::misplaced::Misplaced::default(),
        }
    }

    #[must_use]
    pub fn acknowledger(&self) -> AcknowledgerFunction {
        let timing = self.settings.timing;
        let endpoint = self
            .settings
            .telegram_endpoint
            .clone()
            .unwrap_or_else(|| self.url("acknowledger", Side::Telegram));
        Acknowledger {
            submissions: self.submissions("acknowledger"),
            messenger: TelegramMessenger::new(&endpoint, &Secret::new(BOT_TOKEN), timing.send_timeout_ms)
                .expect("a client can be made"),
            clock: self.clock.clone(),
            meter: self.recorder.clone(),
            timing,
            catalog: self.settings.catalog.clone(),
            pace: Pace::default(),
            operator_chat: self.settings.operator_chat,
        }
    }

    #[must_use]
    pub fn sweeper(&self) -> SweeperFunction {
        Sweeper {
            submissions: self.submissions("sweeper"),
            write_queue: SqsDoorbell::write_queue(self.sqs("sweeper"), self.queues.write.clone()),
            acknowledge_queue: SqsDoorbell::acknowledge_queue(
                self.sqs("sweeper"),
                self.queues.acknowledge.clone(),
            ),
            clock: self.clock.clone(),
            meter: self.recorder.clone(),
        }
    }
}
