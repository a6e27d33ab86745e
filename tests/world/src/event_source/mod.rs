//! The part of Lambda that polls a queue and calls the function, on the turned clock.
//!
//! Owns every message from the moment it leaves the engine until it is done with or dead. The engine is drained
//! into a model of the queue, for two reasons: visibility must follow the turned clock, while the engine lives in
//! real time; and the engine hands out one message of a FIFO group at a time, while AWS hands out up to ten. It
//! knows nothing of Docket: bodies pass through it unread.
//!
//! Not imitated: retention, the batching window, message attributes, and the scaling of pollers. One `poll` is one
//! invocation; several at once are written with `take` and `settle`.

mod answer;
mod engine;
mod event;
mod queue;

use std::future::Future;

use aws_sdk_sqs::Client;
use serde_json::Value;

use crate::clock::TurnedClock;
use answer::Verdict;
use engine::Arrived;
use queue::{Queue, Receipt};

/// The settings of an event source mapping and of its queue. `ReportBatchItemFailures` is always on.
#[derive(Debug, Clone)]
pub struct Mapping {
    /// The queue's name, as the ARN in the events shows it.
    pub name: String,
    /// Whether the queue is FIFO. If so, its dead-letter queue is too.
    pub fifo: bool,
    /// The most messages that one event may carry.
    pub batch_size: usize,
    /// How long a received message stays hidden, counted from the receive.
    pub visibility_seconds: i64,
    /// After this many receives a message goes to the dead-letter queue instead of being delivered again.
    pub max_receive_count: u32,
}

/// How an invocation ended.
#[derive(Debug, Clone)]
pub enum Delivery {
    /// The function answered with this JSON.
    Answered(Value),
    /// A function error, a timeout, or a crash.
    Failed,
}

/// What one poll did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Polled {
    /// Messages in the event; none if the function was not called.
    pub delivered: usize,
    /// Of these, gone from the queue.
    pub done: usize,
    /// Of these, coming back.
    pub returned: usize,
    /// Messages moved to the dead-letter queue before the event was made.
    pub dead: usize,
}

/// How many messages a queue holds at this moment of the turned clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waiting {
    /// What a poll could take now.
    pub visible: usize,
    /// In flight, or in a FIFO group of which one is.
    pub hidden: usize,
}

/// Messages that were received for one invocation, and are hidden until they are settled or time runs out.
#[derive(Debug)]
pub struct Taken {
    event: Value,
    receipts: Vec<Receipt>,
}

impl Taken {
    /// The event to call the function with.
    #[must_use]
    pub fn event(&self) -> &Value {
        &self.event
    }
}

/// One event source mapping. See the module.
#[derive(Debug)]
pub struct EventSource {
    client: Client,
    queue_url: String,
    dead_letter_queue_url: String,
    mapping: Mapping,
    clock: TurnedClock,
    queue: Queue,
    dead_letters: Vec<Arrived>,
    /// Makes the deduplication ids of moved messages unique: within five minutes of real time the engine would
    /// drop one that dies a second time.
    moves: u64,
}

impl EventSource {
    /// Polls the queue at `queue_url` through `client`, which should reach the engine without faults in between.
    #[must_use]
    pub fn new(
        client: Client,
        queue_url: impl Into<String>,
        dead_letter_queue_url: impl Into<String>,
        mapping: Mapping,
        clock: TurnedClock,
    ) -> Self {
        Self {
            client,
            queue_url: queue_url.into(),
            dead_letter_queue_url: dead_letter_queue_url.into(),
            queue: Queue::new(&mapping),
            mapping,
            clock,
            dead_letters: Vec::new(),
            moves: 0,
        }
    }

    /// Takes what is visible, calls the function with it if there is anything, and treats the messages as the
    /// answer says. Dropping the future while the function runs leaves them in flight, as a crash of the poller
    /// would; before that it may lose messages on their way out of the engine.
    pub async fn poll<D, F>(&mut self, deliver: D) -> Polled
    where
        D: FnOnce(Value) -> F,
        F: Future<Output = Delivery>,
    {
        let dead = self.arrive_and_bury().await;
        let Some(taken) = self.receive() else { return Polled { dead, ..Polled::default() } };
        let delivery = deliver(taken.event.clone()).await;
        Polled { dead, ..self.settle(taken, &delivery) }
    }

    /// Takes what is visible for an invocation that goes on beside others; end it with [`Self::settle`].
    pub async fn take(&mut self) -> Option<Taken> {
        self.arrive_and_bury().await;
        self.receive()
    }

    /// Takes the same messages for two workers at once, which SQS may do now and then. Afterwards the two
    /// deliveries are independent: what either of them returns comes back, even if the other was done.
    pub async fn deliver_twice_at_once(&mut self) -> Option<(Taken, Taken)> {
        let first = self.take().await?;
        let receipts = self.queue.copy_in_flight(&first.receipts);
        let event = event::build(&self.mapping.name, &self.queue.received(&receipts));
        Some((first, Taken { event, receipts }))
    }

    /// Ends an invocation: what is done leaves the queue, the rest comes back when its visibility runs out.
    pub fn settle(&mut self, taken: Taken, delivery: &Delivery) -> Polled {
        let identifiers: Vec<&str> =
            taken.receipts.iter().map(|receipt| receipt.message_id.as_str()).collect();
        let verdict = answer::judge(delivery, &identifiers);
        let now_ms = self.clock.now_ms();
        let mut polled = Polled { delivered: taken.receipts.len(), ..Polled::default() };
        for receipt in &taken.receipts {
            let failed = match &verdict {
                Verdict::Done => false,
                Verdict::Failed => true,
                Verdict::Partly(identifiers) => identifiers.contains(&receipt.message_id),
            };
            if !failed && self.queue.delete(receipt, now_ms) {
                polled.done += 1;
            } else {
                polled.returned += 1;
            }
        }
        polled
    }

    /// Delivers each of the next `count` messages once more after they were done: SQS forgets a deletion now and
    /// then. A standard queue shows them again at once, a FIFO queue when the visibility has run out.
    pub fn duplicate_next(&mut self, count: usize) {
        self.queue.duplicate_next(count);
    }

    /// Takes the next batch from the end of the queue, last message first.
    ///
    /// # Panics
    /// For a FIFO queue, which never does this.
    pub fn reverse_next(&mut self) {
        assert!(!self.mapping.fifo, "a FIFO queue keeps its order");
        self.queue.reverse_next();
    }

    /// Whether no message is left, visible or hidden; the dead-letter queue does not count.
    pub async fn is_empty(&mut self) -> bool {
        self.waiting().await == Waiting::default()
    }

    /// How many messages there are now. Includes those that only the engine has seen so far.
    pub async fn waiting(&mut self) -> Waiting {
        self.arrive().await;
        self.queue.waiting(self.clock.now_ms())
    }

    /// The first moment at which a poll finds a message: past or present if one is visible now, `None` if the
    /// queue is empty.
    pub async fn next_visible_at_ms(&mut self) -> Option<i64> {
        self.arrive().await;
        self.queue.next_visible_at_ms()
    }

    /// The bodies in the dead-letter queue, oldest first. Looking takes them out of the engine (it would hide
    /// them in real time otherwise), but they stay dead letters here until [`Self::redrive`].
    pub async fn dead_letters(&mut self) -> Vec<String> {
        self.dead_letters.extend(engine::drain(&self.client, &self.dead_letter_queue_url).await);
        self.dead_letters.iter().map(|letter| letter.body.clone()).collect()
    }

    /// Sends all dead letters to their queue again, as new messages that were never received. Returns how many.
    pub async fn redrive(&mut self) -> usize {
        self.dead_letters().await;
        let letters = std::mem::take(&mut self.dead_letters);
        for letter in &letters {
            self.moves += 1;
            engine::send(&self.client, &self.queue_url, letter, self.moves).await;
        }
        letters.len()
    }

    async fn arrive(&mut self) {
        let now_ms = self.clock.now_ms();
        for message in engine::drain(&self.client, &self.queue_url).await {
            self.queue.push(message, now_ms);
        }
    }

    /// As in SQS, a message is found to be dead only when it would be received again.
    async fn arrive_and_bury(&mut self) -> usize {
        self.arrive().await;
        let dead = self.queue.remove_dead(self.clock.now_ms());
        for message in &dead {
            self.moves += 1;
            engine::send(&self.client, &self.dead_letter_queue_url, message, self.moves).await;
        }
        dead.len()
    }

    fn receive(&mut self) -> Option<Taken> {
        let receipts = self.queue.receive(self.clock.now_ms());
        if receipts.is_empty() {
            return None;
        }
        let event = event::build(&self.mapping.name, &self.queue.received(&receipts));
        Some(Taken { event, receipts })
    }
}
