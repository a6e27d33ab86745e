//! The wire between Docket's workers and every other side.
//!
//! It owns one log of calls and one plan of faults for a whole world. Every call of every worker goes over a real
//! loopback socket and through a gate, so what a worker sees when an answer is lost is what its HTTP client really
//! reports, not what a test author imagines it would report. The wire never looks into Docket: it only sees requests.

mod call;
mod gate;
mod hold;
mod plan;
mod refusals;
mod socket;

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

pub use call::{Call, Side};
pub use gate::{Backend, Gate};
pub use plan::{Fault, LATE_MS, Plan};

use crate::clock::TurnedClock;
use crate::exchange::{Answer, Request};
use hold::Holding;
use plan::PlanUnderWay;

/// One log and one fault plan for a whole world. Clones are the same wire.
#[derive(Clone)]
pub struct Wire(Arc<Shared>);

struct Shared {
    clock: TurnedClock,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    log: Vec<Logged>,
    outward: Vec<Exchanged>,
    plan: PlanUnderWay,
    holding: Holding,
    crashes: HashMap<String, watch::Sender<u64>>,
    late: Vec<Late>,
}

/// A request that will be carried out at `due_ms` of the turned clock.
struct Late {
    due_ms: i64,
    door: Arc<gate::Door>,
    request: Request,
}

struct Logged {
    call: Call,
    fault: Option<Fault>,
}

/// A call to Google or Telegram, and what went back to whoever made it.
#[derive(Debug, Clone)]
pub struct Exchanged {
    pub call: Call,
    /// None when whoever made it had left before, or nothing was answered yet.
    pub answer: Option<Answer>,
}

impl Wire {
    /// A wire on which nothing goes wrong yet.
    #[must_use]
    pub fn new(clock: TurnedClock) -> Self {
        Self(Arc::new(Shared { clock, state: Mutex::default() }))
    }

    /// Opens a loopback listener for the calls of `worker` to `side`. The gate serves until it is dropped.
    ///
    /// A worker's name stands for one running instance: a crash kills everything that goes by it.
    ///
    /// # Panics
    /// When no loopback port can be had.
    pub fn gate(
        &self,
        worker: &str,
        side: Side,
        backend: Backend,
    ) -> impl Future<Output = Gate> + Send + use<> {
        Gate::open(self.clone(), worker.to_owned(), side, backend)
    }

    /// Replaces the plan; what the earlier plan counted is forgotten. Calls that hang already go on hanging.
    pub fn set_plan(&self, plan: Plan) {
        self.state().plan = PlanUnderWay::of(plan);
    }

    /// From now on nothing goes wrong. Calls that hang already go on hanging.
    pub fn heal(&self) {
        self.set_plan(Plan::none());
    }

    /// The plan and what it hit so far, for a failing test to print.
    #[must_use]
    pub fn plan_to_string(&self) -> String {
        let state = self.state();
        let mut text = format!("fault plan: {}", state.plan.plan());
        for logged in &state.log {
            if let Some(fault) = logged.fault {
                text.push_str(&format!("\n  {fault} hit {}", logged.call));
            }
        }
        text
    }

    /// Every call that a fault hit, with the fault, in the order of arrival. Healing does not forget them.
    #[must_use]
    pub fn faults_that_hit(&self) -> Vec<(Call, Fault)> {
        let hit = |logged: &Logged| logged.fault.map(|fault| (logged.call.clone(), fault));
        self.state().log.iter().filter_map(hit).collect()
    }

    /// Every call, in the order of arrival.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.state().log.iter().map(|logged| logged.call.clone()).collect()
    }

    /// The calls of one worker to one side, in the order of arrival.
    #[must_use]
    pub fn calls_of(&self, worker: &str, side: Side) -> Vec<Call> {
        self.calls().into_iter().filter(|call| call.worker == worker && call.side == side).collect()
    }

    /// How many calls of this operation reached the wire, whichever worker made them and whatever became of them.
    #[must_use]
    pub fn count(&self, side: Side, operation: &str) -> usize {
        let counts = |logged: &&Logged| logged.call.side == side && logged.call.operation == operation;
        self.state().log.iter().filter(counts).count()
    }

    /// Forgets all calls and what hit them; the next call is number 0 again.
    pub fn clear_log(&self) {
        self.state().log.clear();
    }

    /// Every call to Google or Telegram with its answer, in the order of arrival. Nothing makes the wire forget them: the
    /// rules of a whole world are held against them.
    #[must_use]
    pub fn outward(&self) -> Vec<Exchanged> {
        self.state().outward.clone()
    }

    /// Completes when a crash hits `worker` after this very call; an earlier crash does not count. Whoever runs the
    /// worker selects between this and the invocation, and drops the invocation.
    pub fn crashes(&self, worker: &str) -> impl Future<Output = ()> + Send + use<> {
        // Subscribed here and not at the first poll: a crash between the two would be missed.
        let mut crashed =
            self.state().crashes.entry(worker.to_owned()).or_insert_with(|| watch::channel(0).0).subscribe();
        async move {
            if crashed.changed().await.is_err() {
                // The wire is gone, so nothing can crash any more.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Keeps a request back; it is carried out at the first call after its time.
    fn come_late(&self, door: Arc<gate::Door>, request: Request) {
        let due_ms = self.0.clock.now_ms() + LATE_MS;
        self.state().late.push(Late { due_ms, door, request });
    }

    /// Carries out what was kept back until now, in the order in which it was sent.
    async fn carry_out_what_is_late(&self) {
        let now_ms = self.0.clock.now_ms();
        let due: Vec<Late> = self.state().late.extract_if(.., |late| late.due_ms <= now_ms).collect();
        for late in due {
            late.door.carry_out_late(late.request).await;
        }
    }

    /// Writes a request into the log and says what is to go wrong with it.
    fn arrive(
        &self,
        worker: &str,
        side: Side,
        http_version: String,
        request: Request,
    ) -> (Call, Option<Fault>) {
        let at_ms = self.0.clock.now_ms();
        let mut state = self.state();
        let call = Call {
            number: state.log.len(),
            worker: worker.to_owned(),
            side,
            operation: side.operation(&request),
            at_ms,
            http_version,
            request,
        };
        let fault = state.plan.fault_for(&call);
        state.log.push(Logged { call: call.clone(), fault });
        (call, fault)
    }

    /// Keeps a call to Google or Telegram until its answer is known: where it is kept.
    fn goes_out(&self, call: &Call) -> Option<usize> {
        match call.side {
            Side::Sheets | Side::Telegram => {}
            Side::DynamoDb | Side::Sqs | Side::Token | Side::Parameters | Side::Webhook => return None,
        }
        let outward = &mut self.state().outward;
        outward.push(Exchanged { call: call.clone(), answer: None });
        Some(outward.len() - 1)
    }

    fn comes_back(&self, place: usize, answer: &Answer) {
        if let Some(exchanged) = self.state().outward.get_mut(place) {
            exchanged.answer = Some(answer.clone());
        }
    }

    fn crash(&self, worker: &str) {
        if let Some(crashes) = self.state().crashes.get(worker) {
            crashes.send_modify(|count| *count += 1);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A test that panicked elsewhere must not hide its own message behind a poisoned lock.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
