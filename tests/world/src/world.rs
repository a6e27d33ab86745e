//! One world: the real functions, embedded DynamoDB and SQS, a fake sheet, a fake Telegram, a clock to turn.
//!
//! Verbs in the user's words. Time stands still unless a verb turns it.

use std::collections::HashSet;
use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;
use docket_adapters::dynamodb::{DynamoConversations, DynamoSubmissions};
use docket_adapters::lambda::Function;
use docket_domain::intake::{Conversation, Stored};
use docket_domain::limits::{FUNCTION_TIMEOUT_SECONDS, RECEIVES_MAX, VISIBILITY_SECONDS};
use docket_domain::moment::Moment;
use docket_domain::ports::{Applied, Clock, Confirmed, Conversations, Submissions};
use docket_domain::reference::Reference;
use docket_domain::row::HEADER;
use docket_domain::status::{By, Record, WriteEvent, WriteOrder};
use docket_domain::submission::{ChatId, Contact, Fingerprint, Submission, Summary};
use futures::{StreamExt as _, stream};
use serde_json::{Value, json};

use crate::clock::TurnedClock;
use crate::engines::{Engines, Item, Queues, Tables};
use crate::event_source::{Delivery, EventSource, Mapping, Polled};
use crate::rules::Looked;
use crate::sheets::FakeSheets;
use crate::telegram::{Customer, FakeTelegram, WebhookAnswer};
use crate::wire::{Side, Wire};
use crate::witness::{Testimony, Witnessed, references_in};
use crate::workers::{
    AcknowledgerFunction, BOT_ID, BOT_TOKEN, Recorder, SPREADSHEET_ID, Settings, SweeperFunction,
    WEBHOOK_SECRET, WebhookFunction, Workshop, WriterFunction,
};

/// When every world begins: 2026-03-01T09:15:00Z.
pub const BEGIN_MS: i64 = 1_772_356_500_000;

/// One world.
pub struct World {
    pub clock: TurnedClock,
    pub wire: Wire,
    pub sheets: FakeSheets,
    pub telegram: FakeTelegram,
    pub testimony: Testimony,
    pub engines: Arc<Engines>,
    pub tables: Tables,
    pub queues: Queues,
    pub write_source: EventSource,
    pub acknowledge_source: EventSource,
    /// Every answer of the webhook, in order.
    pub webhook_answers: Vec<WebhookAnswer>,
    /// Every update that was answered, with its answer, in order.
    pub heard: Vec<(Value, WebhookAnswer)>,
    workshop: Workshop,
    webhook: WebhookFunction,
    writer: WriterFunction,
    acknowledger: AcknowledgerFunction,
    sweeper: SweeperFunction,
    /// Looks at the table past the wire.
    store: DynamoSubmissions,
    /// Stores past the wire.
    conversations: DynamoConversations,
    /// Enquiries recorded without a conversation so far.
    recorded: i64,
    /// What Lambda gives an invocation.
    invocation_ms: u64,
    pub(crate) looked: Looked,
}

/// The chat of the first enquiry that [`World::record_enquiries`] records; the next ones follow.
pub const FIRST_CHAT: i64 = 8_000_000_001;

impl World {
    /// A world with its own engines.
    pub async fn start() -> Self {
        Self::with(Arc::new(Engines::start().await), Settings::default()).await
    }

    /// A world in engines that others use too; its tables and queues are its own.
    pub async fn with(engines: Arc<Engines>, settings: Settings) -> Self {
        let prefix = format!("w{}", next_number());
        let (tables, queues) = (engines.tables(&prefix).await, engines.queues(&prefix).await);
        Self::around(engines, settings, tables, queues).await
    }

    /// A world around tables and queues that are there already, or will be before they are needed: a deployment's, whose
    /// own functions work on them.
    pub async fn around(engines: Arc<Engines>, settings: Settings, tables: Tables, queues: Queues) -> Self {
        let clock = TurnedClock::at(BEGIN_MS);
        let wire = Wire::new(clock.clone());
        let sheets = FakeSheets::new(clock.clone(), SPREADSHEET_ID);
        sheets.add_tab(&settings.tab, &HEADER);
        let telegram = FakeTelegram::new(clock.clone(), BOT_TOKEN);
        let testimony = Testimony::default();
        let table = engines.dynamodb_client();
        let witnessed_sheets = Witnessed {
            inner: sheets.clone(),
            testimony: testimony.clone(),
            table: table.clone(),
            table_name: tables.submissions.clone(),
        };
        let witnessed_telegram = Witnessed {
            inner: telegram.clone(),
            testimony: testimony.clone(),
            table: table.clone(),
            table_name: tables.submissions.clone(),
        };
        let token = sheets.token();
        let workshop = Workshop::open(
            &engines,
            wire.clone(),
            clock.clone(),
            settings.clone(),
            tables.clone(),
            queues.clone(),
            [
                (Side::Sheets, Arc::new(witnessed_sheets)),
                (Side::Token, Arc::new(token.clone())),
                (Side::Telegram, Arc::new(witnessed_telegram)),
            ],
            &token,
        )
        .await;
        let source = |queue: &str, dead: &str, name: &str, fifo| {
            let mapping = Mapping {
                name: name.to_owned(),
                fifo,
                batch_size: 10,
                visibility_seconds: i64::try_from(VISIBILITY_SECONDS).unwrap_or(i64::MAX),
                max_receive_count: RECEIVES_MAX,
            };
            EventSource::new(engines.sqs_client(), queue, dead, mapping, clock.clone())
        };
        Self {
            write_source: source(&queues.write, &queues.write_dead_letters, "write.fifo", true),
            acknowledge_source: source(
                &queues.acknowledge,
                &queues.acknowledge_dead_letters,
                "acknowledge",
                false,
            ),
            webhook: workshop.webhook(),
            writer: workshop.writer(),
            acknowledger: workshop.acknowledger(),
            sweeper: workshop.sweeper(),
            webhook_answers: Vec::new(),
            heard: Vec::new(),
            conversations: DynamoConversations::new(
                table.clone(),
                tables.conversations.clone(),
                tables.submissions.clone(),
            ),
            recorded: 0,
            invocation_ms: FUNCTION_TIMEOUT_SECONDS * 1_000,
            store: DynamoSubmissions::new(table, tables.submissions.clone(), settings.retention_days),
            clock,
            wire,
            sheets,
            telegram,
            testimony,
            engines,
            tables,
            queues,
            workshop,
            looked: Looked::default(),
        }
    }

    /// What was counted so far.
    #[must_use]
    pub fn recorder(&self) -> &Recorder {
        self.workshop.recorder()
    }

    #[must_use]
    pub fn settings(&self) -> &Settings {
        self.workshop.settings()
    }

    #[must_use]
    pub fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Where a worker finds another side, for an executable that takes this worker's place.
    #[must_use]
    pub fn url(&self, worker: &str, side: Side) -> String {
        self.workshop.url(worker, side)
    }

    /// The service account's key file, or what stands for it in a world without keys, whose token endpoints are this world's.
    #[must_use]
    pub fn google_credentials(&self) -> &str {
        self.workshop.google_credentials()
    }

    /// From now on nobody listens where this worker finds that side; every function is started anew.
    pub fn cut_off(&mut self, worker: &str, side: Side) {
        self.workshop.cut_off(worker, side);
        self.restart();
    }

    /// Every side listens again; every function is started anew.
    pub fn reconnect(&mut self) {
        self.workshop.reconnect();
        self.restart();
    }

    /// Turns the clock forward.
    pub fn turn_seconds(&self, seconds: i64) {
        self.clock.turn(seconds * 1_000);
    }

    /// Changes settings and starts every function anew with them, as a deployment does.
    pub fn deploy(&mut self, change: impl FnOnce(&mut Settings)) {
        self.workshop.change(change);
        self.restart();
    }

    /// Starts every function anew: what they held in memory is gone.
    pub fn restart(&mut self) {
        self.webhook = self.workshop.webhook();
        self.writer = self.workshop.writer();
        self.acknowledger = self.workshop.acknowledger();
        self.sweeper = self.workshop.sweeper();
    }

    // ---- Telegram's side -------------------------------------------------------------------------------------------

    /// A person who writes to the bot.
    #[must_use]
    pub fn customer(&self, user_id: i64, first_name: &str) -> Customer {
        self.telegram.customer(user_id, first_name, None)
    }

    /// Delivers an update once. None when the webhook died over it.
    pub async fn deliver(&mut self, update: &Value) -> Option<WebhookAnswer> {
        let event = http_event(update.to_string(), Some(WEBHOOK_SECRET));
        let answer = self.deliver_event(event).await;
        self.heard.extend(answer.clone().map(|answer| (update.clone(), answer)));
        answer
    }

    /// Hands any event to the webhook.
    pub async fn deliver_event(&mut self, event: Value) -> Option<WebhookAnswer> {
        let answer = invoke(&self.wire, "webhook", &self.webhook, event, self.deadline()).await;
        if answer.is_none() {
            self.webhook = self.workshop.webhook();
        }
        self.answered(answer).await
    }

    /// Delivers an update once more, as Telegram does when it did not hear our answer, and carries out what is answered.
    ///
    /// # Panics
    /// When the webhook died over it.
    pub async fn deliver_again(&mut self, update: &Value) -> WebhookAnswer {
        let answer = self.deliver(update).await.expect("the webhook answers");
        self.telegram.take_webhook_answer(&answer.body);
        answer
    }

    /// Delivers updates at the same time and carries out what each of them is answered.
    ///
    /// # Panics
    /// When a webhook died.
    pub async fn say_at_once(&mut self, updates: &[Value]) -> Vec<WebhookAnswer> {
        let answers = self.deliver_at_once(updates).await;
        let answers: Vec<WebhookAnswer> =
            answers.into_iter().map(|answer| answer.expect("the webhook answers")).collect();
        for answer in &answers {
            self.telegram.take_webhook_answer(&answer.body);
        }
        answers
    }

    async fn answered(&mut self, answer: Option<Value>) -> Option<WebhookAnswer> {
        let answer = answer.map(|answer| WebhookAnswer {
            status: answer["statusCode"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(0),
            retry_after_seconds: None,
            body: answer["body"].as_str().unwrap_or_default().as_bytes().to_vec(),
        });
        if let Some(answer) = &answer {
            self.weigh(answer).await;
        }
        self.webhook_answers.extend(answer.clone());
        answer
    }

    /// Delivers updates at the same time, each to a webhook of its own, as Lambda would.
    pub async fn deliver_at_once(&mut self, updates: &[Value]) -> Vec<Option<WebhookAnswer>> {
        let deadline = self.deadline();
        let webhooks: Vec<WebhookFunction> = updates.iter().map(|_| self.workshop.webhook()).collect();
        let answers = futures::future::join_all(updates.iter().zip(&webhooks).map(|(update, webhook)| {
            let event = http_event(update.to_string(), Some(WEBHOOK_SECRET));
            invoke(&self.wire, "webhook", webhook, event, deadline)
        }))
        .await;
        let mut heard = Vec::new();
        for (update, answer) in updates.iter().zip(answers) {
            let answer = self.answered(answer).await;
            self.heard.extend(answer.clone().map(|answer| (update.clone(), answer)));
            heard.push(answer);
        }
        heard
    }

    /// Delivers an update as Telegram does, again and again until a 2xx, and carries out what the answer says.
    pub async fn say(&mut self, update: Value) -> crate::telegram::Delivery {
        let mut deliveries = crate::telegram::Deliveries::new(&self.telegram);
        deliveries.push(update);
        while let Some(due_ms) = deliveries.next_due_ms() {
            let wait = due_ms - self.clock.now_ms();
            if wait > 0 {
                self.clock.turn(wait);
            }
            // One delivery at a time: the closure needs the whole world.
            let world = &tokio::sync::Mutex::new(&mut *self);
            deliveries.deliver_due(|update| async move { world.lock().await.deliver(&update).await }).await;
        }
        deliveries.done().last().cloned().expect("one update was pushed")
    }

    /// A whole conversation up to the card: /new, the type, the words.
    pub async fn write_card(&mut self, customer: &Customer, type_label: &str, words: &str) -> i64 {
        self.say(customer.text("/new")).await;
        self.say(customer.press_button(type_label)).await;
        let summary = customer.text(words);
        let message_id = summary["message"]["message_id"].as_i64().expect("a message has an id");
        self.say(summary).await;
        message_id
    }

    /// A whole conversation, confirmed. The reference that the customer was told.
    pub async fn submit(&mut self, customer: &Customer, type_label: &str, words: &str) -> Reference {
        self.write_card(customer, type_label, words).await;
        self.say(customer.press_button("Confirm")).await;
        let told = customer.chat().last_words().unwrap_or_default();
        let reference = references_in(&told).pop().unwrap_or_else(|| panic!("no reference in: {told}"));
        reference.parse().expect("a reference")
    }

    /// Enquiries with these words, confirmed at this very moment, each in a chat of its own: stored and rung for as the
    /// webhook does it, past the wire. For scenarios that begin after Confirm.
    ///
    /// # Panics
    /// When they cannot be stored.
    pub async fn record_words(&mut self, words: &[&str]) -> Vec<Reference> {
        let now = self.now();
        let first = self.recorded;
        self.recorded += i64::try_from(words.len()).expect("a number of enquiries");
        let conversations = &self.conversations;
        let references: Vec<Reference> = stream::iter((first..).zip(words))
            .map(|(number, words)| async move {
                let submission = submission(number, words, now);
                let conversation = Conversation::default();
                let stored = conversations.confirm(&Stored::Absent, &conversation, &submission, now).await;
                assert_eq!(stored, Ok(Confirmed::Stored), "a new enquiry is stored");
                submission.reference
            })
            .buffered(16)
            .collect()
            .await;
        self.ring_for_the_write(&references).await;
        references
    }

    /// So many enquiries, as [`World::record_words`].
    pub async fn record_enquiries(&mut self, count: usize) -> Vec<Reference> {
        let words: Vec<String> = (1..=count).map(|number| format!("Enquiry {number}.")).collect();
        self.record_words(&words.iter().map(String::as_str).collect::<Vec<_>>()).await
    }

    // ---- The operator's side ---------------------------------------------------------------------------------------

    /// Applies an operator's order to a write in review.
    ///
    /// # Panics
    /// When the record does not allow it.
    pub async fn order(&self, reference: &Reference, order: WriteOrder) -> Record {
        self.apply(reference, &WriteEvent::Ordered(order)).await
    }

    /// Applies what happened to a write, as the operator's command does it.
    ///
    /// # Panics
    /// When the record does not allow it, or somebody else was faster.
    pub async fn apply(&self, reference: &Reference, event: &WriteEvent) -> Record {
        self.said_by_hand(reference, event);
        let (seen, now) = (self.record(reference).await, self.now());
        let next = seen.write_after(event, now, &By::Operator("ann@example.org".into()));
        let next = next.unwrap_or_else(|error| panic!("{reference}: {error}"));
        assert_eq!(self.store.apply(&seen, &next, now).await, Ok(Applied::Ours));
        next
    }

    // ---- Lambda's side ---------------------------------------------------------------------------------------------

    /// Lets the writer take one batch from its queue.
    pub async fn poll_writer(&mut self) -> Polled {
        let deadline = self.deadline();
        let (wire, writer) = (&self.wire, &self.writer);
        let mut died = false;
        let polled = self
            .write_source
            .poll(|event| async {
                let answer = invoke(wire, "writer", writer, event, deadline).await;
                died = answer.is_none();
                answer.map_or(Delivery::Failed, Delivery::Answered)
            })
            .await;
        if died {
            self.writer = self.workshop.writer();
        }
        polled
    }

    /// Lets the acknowledger take one batch from its queue.
    pub async fn poll_acknowledger(&mut self) -> Polled {
        let deadline = self.deadline();
        let (wire, acknowledger) = (&self.wire, &self.acknowledger);
        let mut died = false;
        let polled = self
            .acknowledge_source
            .poll(|event| async {
                let answer = invoke(wire, "acknowledger", acknowledger, event, deadline).await;
                died = answer.is_none();
                answer.map_or(Delivery::Failed, Delivery::Answered)
            })
            .await;
        if died {
            self.acknowledger = self.workshop.acknowledger();
        }
        polled
    }

    /// Hands an event to the writer process that is there, to be done by `deadline`.
    pub async fn invoke_writer(&mut self, event: Value, deadline: Moment) -> Option<Value> {
        let answer = invoke(&self.wire, "writer", &self.writer, event, deadline).await;
        if answer.is_none() {
            self.writer = self.workshop.writer();
        }
        answer
    }

    /// Hands an event to a new writer process, beside the one that is there.
    pub async fn invoke_another_writer(&self, event: Value) -> Option<Value> {
        let writer = self.workshop.writer();
        invoke(&self.wire, "writer", &writer, event, self.deadline()).await
    }

    /// A new webhook process, beside the one that is there.
    #[must_use]
    pub fn another_webhook(&self) -> WebhookFunction {
        self.workshop.webhook()
    }

    /// Hands an event to a new acknowledger process, beside the one that is there.
    pub async fn invoke_another_acknowledger(&self, event: Value) -> Option<Value> {
        let acknowledger = self.workshop.acknowledger();
        invoke(&self.wire, "acknowledger", &acknowledger, event, self.deadline()).await
    }

    /// One run of the schedule. None when the sweeper failed.
    pub async fn sweep(&mut self) -> Option<Value> {
        self.invoke_sweeper(json!({})).await
    }

    /// Hands any event to the sweeper. None when it failed.
    pub async fn invoke_sweeper(&mut self, event: Value) -> Option<Value> {
        let summary = invoke(&self.wire, "sweeper", &self.sweeper, event, self.deadline()).await;
        if summary.is_none() {
            self.sweeper = self.workshop.sweeper();
        }
        summary
    }

    /// Works until no message is visible, without turning the clock.
    pub async fn work(&mut self) {
        loop {
            let (written, acknowledged) = (self.poll_writer().await, self.poll_acknowledger().await);
            let idle = |polled: Polled| polled.delivered == 0 && polled.dead == 0;
            if idle(written) && idle(acknowledged) {
                return;
            }
        }
    }

    /// Minute by minute, as the schedule runs: sweeps and works until nothing is due any more, or `minutes` are over.
    /// The minutes it took.
    pub async fn run_minutes(&mut self, minutes: u32) -> u32 {
        self.work().await;
        for minute in 0..minutes {
            if self.is_quiet().await {
                return minute;
            }
            self.turn_seconds(60);
            self.sweep().await;
            self.work().await;
        }
        minutes
    }

    /// No record is due at any time, and no message is left.
    pub async fn is_quiet(&mut self) -> bool {
        if !self.write_source.is_empty().await || !self.acknowledge_source.is_empty().await {
            return false;
        }
        self.items().await.iter().all(|item| !item.contains_key("due_at"))
    }

    /// Turns straight to the moments at which something is due, until all is settled or a week has passed.
    ///
    /// # Panics
    /// When it does not settle.
    pub async fn settle(&mut self) {
        let end = self.clock.now_ms() + 7 * 24 * 3_600_000;
        self.work().await;
        while !self.is_quiet().await {
            assert!(self.clock.now_ms() < end, "not settled within a week:\n{}", self.picture().await);
            // What is due already waits for a message that is hidden: the schedule's next minute, as in life.
            let wait = match self.next_ms().await.unwrap_or(0) - self.clock.now_ms() {
                ahead if ahead > 0 => ahead,
                _ => 60_000,
            };
            self.clock.turn(wait);
            self.sweep().await;
            self.work().await;
        }
    }

    /// The next moment at which a record is due or a message visible.
    async fn next_ms(&mut self) -> Option<i64> {
        let number = |item: &Item| item.get("due_at")?.as_n().ok()?.parse::<i64>().ok();
        let due = self.items().await.iter().filter_map(number).map(|seconds| seconds * 1_000).min();
        let visible = [
            self.write_source.next_visible_at_ms().await,
            self.acknowledge_source.next_visible_at_ms().await,
        ];
        visible.into_iter().flatten().chain(due).min()
    }

    /// When an invocation that starts now is killed.
    #[must_use]
    pub fn deadline(&self) -> Moment {
        self.now().plus_millis(self.invocation_ms)
    }

    /// Gives every invocation from now on so much time.
    pub fn shorten_invocations(&mut self, invocation_ms: u64) {
        self.invocation_ms = invocation_ms;
    }

    /// Gives every invocation from now on what Lambda gives it.
    pub fn lengthen_invocations(&mut self) {
        self.invocation_ms = FUNCTION_TIMEOUT_SECONDS * 1_000;
    }

    // ---- Looking ---------------------------------------------------------------------------------------------------

    /// The record as it is stored.
    ///
    /// # Panics
    /// When there is none, or it cannot be read.
    pub async fn record(&self, reference: &Reference) -> Record {
        self.store.get(reference).await.expect("the table is there").expect("the record is there")
    }

    /// Every record.
    ///
    /// # Panics
    /// When one cannot be read.
    pub async fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        for item in self.items().await {
            let reference = item["reference"].as_s().expect("a string");
            records.push(self.record(&reference.parse().expect("a reference")).await);
        }
        records
    }

    /// Every record that can be read, and what is to be said of each that cannot.
    pub(crate) async fn readable_records(&self) -> (Vec<Record>, Vec<String>) {
        let (mut records, mut unreadable) = (Vec::new(), Vec::new());
        for item in self.items().await {
            let reference = item["reference"].as_s().expect("a string");
            match self.store.get(&reference.parse().expect("a reference")).await {
                Ok(record) => records.extend(record),
                Err(error) => unreadable.push(format!("{reference} cannot be read: {error}")),
            }
        }
        (records, unreadable)
    }

    /// Every item of the submissions table.
    pub async fn items(&self) -> Vec<Item> {
        self.engines.all_items(&self.tables.submissions).await
    }

    /// A chat's conversation as it is stored, past the wire.
    ///
    /// # Panics
    /// When the table cannot be read.
    pub async fn conversation(&self, chat_id: i64) -> Option<Item> {
        let read = self
            .engines
            .dynamodb_client()
            .get_item()
            .table_name(&self.tables.conversations)
            .key("chat_id", AttributeValue::N(chat_id.to_string()))
            .consistent_read(true)
            .send();
        read.await.expect("the table is there").item
    }

    /// Puts any item in place of a chat's conversation, past the wire: another release's, or a damaged one.
    ///
    /// # Panics
    /// When DynamoDB refuses the item.
    pub async fn put_conversation(&self, item: Item) {
        let put = self
            .engines
            .dynamodb_client()
            .put_item()
            .table_name(&self.tables.conversations)
            .set_item(Some(item))
            .send();
        put.await.expect("the item is stored");
    }

    /// How many rings the webhook sent off, whatever became of them.
    #[must_use]
    pub fn rings_of_the_webhook(&self) -> usize {
        let calls = self.wire.calls_of("webhook", Side::Sqs);
        calls.iter().filter(|call| call.operation == "SendMessage").count()
    }

    /// The store, past the wire: for a test that does what an operator will do.
    #[must_use]
    pub fn store(&self) -> &DynamoSubmissions {
        &self.store
    }

    /// From now on `worker` finds nobody at that side's address: TCP refuses. Or finds somebody again.
    pub async fn refuse_connections(&self, worker: &str, side: Side, refuse: bool) {
        self.workshop.refuse_connections(worker, side, refuse).await;
    }

    /// Messages that both queues gave up.
    pub async fn dead_letters(&mut self) -> Vec<String> {
        let mut letters = self.write_source.dead_letters().await;
        letters.extend(self.acknowledge_source.dead_letters().await);
        letters
    }

    /// The rows below the header, as strings where they are strings.
    #[must_use]
    pub fn rows(&self) -> Vec<Vec<Value>> {
        self.sheets.rows(&self.settings().tab).into_iter().skip(1).filter(|row| !row.is_empty()).collect()
    }

    /// How many rows of the tab carry the reference.
    #[must_use]
    pub fn rows_of(&self, reference: &Reference) -> usize {
        let name = reference.as_str();
        self.rows().iter().filter(|row| row.iter().any(|cell| cell.as_str() == Some(name))).count()
    }

    /// The acknowledgements a chat received, as texts.
    #[must_use]
    pub fn acknowledgements(&self, chat_id: i64) -> Vec<String> {
        self.telegram.messages(chat_id).into_iter().map(|sent| sent.text).collect()
    }

    /// Everything at a glance, for a failing test.
    pub async fn picture(&self) -> String {
        let mut lines = vec![format!("now {}  plan {}", self.now(), self.wire.plan_to_string())];
        let (records, unreadable) = self.readable_records().await;
        for record in records {
            let ack = record.acknowledgement.as_ref().map_or("none", |ack| ack.state.as_str());
            let reviews: Vec<&str> = record.reviews().iter().map(|review| review.reason.as_str()).collect();
            let due = record.due().map(|(step, at)| format!("{} {at}", step.as_str()));
            lines.push(format!(
                "{} write {} ack {ack} due {due:?} reviews {reviews:?} rows {}",
                record.submission.reference,
                record.write.state.as_str(),
                self.rows_of(&record.submission.reference),
            ));
        }
        lines.extend(unreadable);
        lines.join("\n")
    }
}

/// Invokes a function; a crash on the wire drops it where it stands. None when it crashed or failed.
async fn invoke<F: Function>(
    wire: &Wire,
    worker: &str,
    function: &F,
    event: Value,
    deadline: Moment,
) -> Option<Value> {
    let crashed = wire.crashes(worker);
    tokio::select! {
        biased;
        () = crashed => None,
        answer = function.handle(event, deadline) => answer.ok(),
    }
}

/// The `number`th enquiry of a world that has had no conversation.
fn submission(number: i64, words: &str, now: Moment) -> Submission {
    let (chat_id, message_id) = (ChatId(FIRST_CHAT + number), 10 + number);
    let summary = Summary::clean(words).expect("words that a customer can confirm");
    let request_type = "A quote".to_owned();
    Submission {
        reference: Reference::derive(BOT_ID, chat_id.0, message_id),
        fingerprint: Fingerprint::of(&request_type, &summary, chat_id),
        request_type,
        summary,
        chat_id,
        contact: Contact::of_user(&format!("Customer {number}"), None, None),
        confirmed_at: now.whole_second(),
        origin: format!("telegram/{BOT_ID}/{chat_id}/{message_id}"),
    }
}

/// An SQS event of the write queue with these bodies, the messages called `message-0`, `message-1` and so on.
#[must_use]
pub fn write_event_of(bodies: &[String]) -> Value {
    let record = |(number, body): (usize, &String)| {
        json!({
            "messageId": format!("message-{number}"),
            "receiptHandle": "receipt",
            "body": body,
            "attributes": {
                "ApproximateReceiveCount": "1",
                "SentTimestamp": "1772356500000",
                "SenderId": "000000000000",
                "ApproximateFirstReceiveTimestamp": "1772356500000",
                "SequenceNumber": format!("{number}"),
                "MessageGroupId": "sheet",
                "MessageDeduplicationId": format!("deduplication-{number}"),
            },
            "messageAttributes": {},
            "md5OfBody": "00000000000000000000000000000000",
            "eventSource": "aws:sqs",
            "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:write.fifo",
            "awsRegion": "us-east-1",
        })
    };
    json!({"Records": bodies.iter().enumerate().map(record).collect::<Vec<Value>>()})
}

/// An SQS event of the write queue that rings for these references.
#[must_use]
pub fn write_event(references: &[Reference]) -> Value {
    let body = |reference: &Reference| json!({"v": 1, "reference": reference}).to_string();
    write_event_of(&references.iter().map(body).collect::<Vec<String>>())
}

/// An HTTP API event, payload 2.0, as API Gateway makes it.
#[must_use]
pub fn http_event(body: String, secret: Option<&str>) -> Value {
    let mut headers = json!({"content-type": "application/json", "host": "api.example.org"});
    if let Some(secret) = secret {
        headers["x-telegram-bot-api-secret-token"] = json!(secret);
    }
    json!({
        "version": "2.0",
        "routeKey": "POST /telegram",
        "rawPath": "/telegram",
        "rawQueryString": "",
        "headers": headers,
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "api-id",
            "domainName": "api.example.org",
            "domainPrefix": "api",
            "http": {
                "method": "POST",
                "path": "/telegram",
                "protocol": "HTTP/1.1",
                "sourceIp": "192.0.2.1",
                "userAgent": "",
            },
            "requestId": "id",
            "routeKey": "POST /telegram",
            "stage": "$default",
            "time": "01/Mar/2026:09:15:00 +0000",
            "timeEpoch": 1_772_356_500_000_u64,
        },
        "body": body,
        "isBase64Encoded": false,
    })
}

/// References of all records, for a test that counts.
#[must_use]
pub fn distinct(records: &[Record]) -> HashSet<Reference> {
    records.iter().map(|record| record.submission.reference.clone()).collect()
}

/// Never the same twice in one process.
pub(crate) fn next_number() -> u64 {
    static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    NUMBER.fetch_add(1, std::sync::atomic::Ordering::SeqCst)
}
