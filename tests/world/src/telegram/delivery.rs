//! Telegram's half of a webhook: which update is sent when, and for how long it is sent again.
//!
//! It owns the rule that makes a careless webhook dangerous: an update that is not answered with 2xx comes again and
//! again, and everything behind it in the same chat waits, for up to a day. Time is the turned clock's.

use std::future::Future;

use serde_json::Value;

use super::FakeTelegram;

const MESSAGE_KEPT_MS: i64 = 24 * 60 * 60 * 1000;
const CALLBACK_KEPT_MS: i64 = 150 * 1000;
const LONGEST_DELAY_SECONDS: i64 = 60;
const LONGEST_RETRY_AFTER_SECONDS: i64 = 60 * 60;

/// What a webhook answered.
#[derive(Debug, Clone, Default)]
pub struct WebhookAnswer {
    /// The HTTP status.
    pub status: u16,
    /// From the header `Retry-After`.
    pub retry_after_seconds: Option<i64>,
    /// May name a method for Telegram to carry out.
    pub body: Vec<u8>,
}

impl WebhookAnswer {
    /// The method that the body names; null when it names none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// What a customer reads of it; empty when nothing is said.
    #[must_use]
    pub fn words(&self) -> String {
        self.json()["text"].as_str().unwrap_or_default().to_owned()
    }
}

/// What became of one update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The update's id.
    pub update_id: i64,
    /// The turned clock at each attempt.
    pub attempts_ms: Vec<i64>,
    /// How it ended.
    pub ended: Ended,
}

/// How the deliveries of an update ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The webhook answered 2xx.
    Accepted,
    /// Telegram kept it too long and dropped it.
    GivenUp,
    /// Telegram never sends such updates: `allowed_updates` leaves their kind out.
    NotWanted,
}

/// Updates on their way to the webhook: in order within a chat (messages) or a user (presses), independent otherwise.
pub struct Deliveries {
    telegram: FakeTelegram,
    waiting: Vec<Waiting>,
    done: Vec<Delivery>,
}

struct Waiting {
    update: Value,
    lane: Lane,
    expires_at_ms: i64,
    due_ms: i64,
    delay_seconds: i64,
    attempts_ms: Vec<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lane {
    Chat(i64),
    User(i64),
}

impl FakeTelegram {
    /// Delivers one update as Telegram does: until the webhook answers 2xx, or the update is too old. Turns the clock
    /// on to each attempt. `deliver` sends it once; `None` stands for no answer at all.
    pub async fn redeliver_until_2xx<F, D>(&self, update: Value, deliver: F) -> Delivery
    where
        F: FnMut(Value) -> D,
        D: Future<Output = Option<WebhookAnswer>>,
    {
        let mut deliveries = Deliveries::new(self);
        deliveries.push(update);
        deliveries.run(deliver).await;
        deliveries.done.remove(0)
    }
}

impl Deliveries {
    /// Nothing on its way yet.
    #[must_use]
    pub fn new(telegram: &FakeTelegram) -> Self {
        Self { telegram: telegram.clone(), waiting: Vec::new(), done: Vec::new() }
    }

    /// An update happens now.
    pub fn push(&mut self, update: Value) {
        let now_ms = self.telegram.0.clock.now_ms();
        let kind = kind_of(&update).to_owned();
        if !self.telegram.state().webhook.wants(&kind) {
            let (update_id, ended) = (id_of(&update), Ended::NotWanted);
            self.done.push(Delivery { update_id, attempts_ms: Vec::new(), ended });
            return;
        }
        let is_press = kind == "callback_query";
        let content = &update[&kind];
        let lane = if is_press {
            Lane::User(content["from"]["id"].as_i64().unwrap_or_default())
        } else {
            Lane::Chat(content["chat"]["id"].as_i64().unwrap_or_default())
        };
        let expires_at_ms = now_ms + if is_press { CALLBACK_KEPT_MS } else { MESSAGE_KEPT_MS };
        let attempts_ms = Vec::new();
        self.waiting.push(Waiting {
            update,
            lane,
            expires_at_ms,
            due_ms: now_ms,
            delay_seconds: 1,
            attempts_ms,
        });
        self.show_pending();
    }

    /// The turned clock's time of the next attempt; none when nothing is on its way.
    #[must_use]
    pub fn next_due_ms(&self) -> Option<i64> {
        self.heads().map(|index| self.waiting[index].due_ms).min()
    }

    /// Makes every attempt that is due now, without turning the clock.
    pub async fn deliver_due<F, D>(&mut self, mut deliver: F)
    where
        F: FnMut(Value) -> D,
        D: Future<Output = Option<WebhookAnswer>>,
    {
        while let Some(index) = self.first_due() {
            self.waiting[index].attempts_ms.push(self.telegram.0.clock.now_ms());
            let answer = deliver(self.waiting[index].update.clone()).await;
            self.settle(index, answer);
            self.show_pending();
        }
    }

    /// Turns the clock from attempt to attempt until nothing is on its way.
    pub async fn run<F, D>(&mut self, mut deliver: F)
    where
        F: FnMut(Value) -> D,
        D: Future<Output = Option<WebhookAnswer>>,
    {
        while let Some(due_ms) = self.next_due_ms() {
            let clock = &self.telegram.0.clock;
            clock.turn((due_ms - clock.now_ms()).max(0));
            self.deliver_due(&mut deliver).await;
        }
    }

    /// What became of the updates that are no longer on their way, in the order in which they ended.
    #[must_use]
    pub fn done(&self) -> &[Delivery] {
        &self.done
    }

    fn settle(&mut self, index: usize, answer: Option<WebhookAnswer>) {
        let now_ms = self.telegram.0.clock.now_ms();
        if let Some(answer) = answer.as_ref().filter(|answer| (200..300).contains(&answer.status)) {
            self.telegram.take_webhook_answer(&answer.body);
            self.end(index, Ended::Accepted);
            return;
        }
        let error = match &answer {
            Some(answer) => format!("Wrong response from the webhook: {}", status_line(answer.status)),
            None => "Read timeout expired".to_owned(),
        };
        self.telegram.state().webhook.delivery_failed(now_ms, error);

        let waiting = &mut self.waiting[index];
        let asked_for = answer.and_then(|answer| answer.retry_after_seconds).filter(|seconds| *seconds > 0);
        let delay_seconds = match asked_for {
            Some(seconds) => seconds.min(LONGEST_RETRY_AFTER_SECONDS),
            // The second attempt follows at once; from then on the delay doubles.
            None if waiting.attempts_ms.len() == 1 => 0,
            None => {
                waiting.delay_seconds = (waiting.delay_seconds * 2).min(LONGEST_DELAY_SECONDS);
                waiting.delay_seconds
            }
        };
        waiting.due_ms = now_ms + delay_seconds * 1000;
        if waiting.due_ms > waiting.expires_at_ms {
            self.end(index, Ended::GivenUp);
        }
    }

    fn end(&mut self, index: usize, ended: Ended) {
        let Waiting { update, attempts_ms, .. } = self.waiting.remove(index);
        self.done.push(Delivery { update_id: id_of(&update), attempts_ms, ended });
    }

    /// The first update of each lane: the only ones that may be sent.
    fn heads(&self) -> impl Iterator<Item = usize> {
        (0..self.waiting.len()).filter(|index| {
            self.waiting[..*index].iter().all(|earlier| earlier.lane != self.waiting[*index].lane)
        })
    }

    fn first_due(&self) -> Option<usize> {
        let now_ms = self.telegram.0.clock.now_ms();
        self.heads().find(|index| self.waiting[*index].due_ms <= now_ms)
    }

    fn show_pending(&self) {
        self.telegram.state().webhook.pending_updates = self.waiting.len();
    }
}

fn id_of(update: &Value) -> i64 {
    update["update_id"].as_i64().unwrap_or_default()
}

fn kind_of(update: &Value) -> &str {
    let fields = update.as_object();
    let kind = fields.and_then(|fields| fields.keys().find(|name| *name != "update_id"));
    kind.map_or("", String::as_str)
}

fn status_line(status: u16) -> String {
    hyper::StatusCode::from_u16(status).map_or_else(|_| status.to_string(), |status| status.to_string())
}
