//! Which calls a plan hits.

use std::sync::Arc;

use docket_world::wire::{Backend, Fault, Gate, Plan, Side, Wire};

use super::plain_client::{exchange, post};
use super::{Recorder, new_wire};

/// A writer that appends and reads, and an acknowledger that sends.
struct Workers {
    wire: Wire,
    sheets: Gate,
    telegram: Gate,
}

impl Workers {
    async fn new() -> Self {
        let (wire, fake) = (new_wire(), Recorder::saying("fine"));
        let sheets = wire.gate("writer", Side::Sheets, Backend::Fake(Arc::clone(&fake) as _)).await;
        let telegram = wire.gate("acknowledger", Side::Telegram, Backend::Fake(fake)).await;
        Self { wire, sheets, telegram }
    }

    async fn append(&self) {
        exchange(&self.sheets.url(), &post("/v4/spreadsheets/S/values/A:append", "", "{}")).await;
    }

    async fn read(&self) {
        let request = "GET /v4/spreadsheets/S/values/A HTTP/1.1\r\nHost: the-other-side.test\r\n\r\n";
        exchange(&self.sheets.url(), request).await;
    }

    async fn send(&self) {
        exchange(&self.telegram.url(), &post("/bot1:a/sendMessage", "", "{}")).await;
    }

    fn hits(&self) -> Vec<usize> {
        self.wire.faults_that_hit().iter().map(|(call, _)| call.number).collect()
    }
}

#[tokio::test]
async fn without_a_plan_nothing_is_hit() {
    let workers = Workers::new().await;
    workers.append().await;
    workers.send().await;
    assert!(workers.hits().is_empty());
}

#[tokio::test]
async fn a_plan_at_a_number_hits_that_call_alone() {
    let workers = Workers::new().await;
    workers.wire.set_plan(Plan::at(1, Fault::LoseAnswer));
    for _ in 0..3 {
        workers.append().await;
    }
    assert_eq!(workers.hits(), [1]);
}

#[tokio::test]
async fn a_plan_at_an_operation_counts_that_operation_since_it_was_set() {
    let workers = Workers::new().await;
    workers.append().await;
    workers.wire.set_plan(Plan::at_operation("writer", Side::Sheets, "append", 2, Fault::LoseAnswer));
    workers.read().await;
    workers.append().await;
    workers.send().await;
    workers.append().await;
    workers.append().await;
    assert_eq!(workers.hits(), [4]);
}

#[tokio::test]
async fn a_repeated_fault_follows_the_same_worker_side_and_operation() {
    let workers = Workers::new().await;
    workers.wire.set_plan(Plan::at(0, Fault::FailBefore).times(3));
    workers.append().await;
    workers.read().await;
    workers.append().await;
    workers.send().await;
    workers.append().await;
    workers.append().await;
    assert_eq!(workers.hits(), [0, 2, 4]);

    workers.wire.clear_log();
    let twice =
        Plan::at_operation("acknowledger", Side::Telegram, "sendMessage", 1, Fault::FailBefore).times(2);
    workers.wire.set_plan(twice);
    for _ in 0..3 {
        workers.send().await;
    }
    assert_eq!(workers.hits(), [0, 1]);
}

#[tokio::test]
async fn several_entries_may_stand_together_and_the_earlier_decides() {
    let workers = Workers::new().await;
    let plan = Plan::at(0, Fault::LoseAnswer)
        .and(Plan::at_operation("writer", Side::Sheets, "append", 1, Fault::FailBefore))
        .and(Plan::at(2, Fault::Throttle));
    workers.wire.set_plan(plan);
    for _ in 0..4 {
        workers.append().await;
    }
    let faults: Vec<Fault> = workers.wire.faults_that_hit().iter().map(|(_, fault)| *fault).collect();
    assert_eq!(workers.hits(), [0, 2]);
    assert_eq!(faults, [Fault::LoseAnswer, Fault::Throttle]);
}

#[tokio::test]
async fn an_outage_hits_one_side_until_it_is_healed_and_is_remembered() {
    let workers = Workers::new().await;
    workers.wire.set_plan(Plan::outage(Side::Sheets, Fault::FailBefore));
    workers.append().await;
    workers.send().await;
    workers.read().await;
    workers.wire.heal();
    workers.append().await;
    assert_eq!(workers.hits(), [0, 2]);
}

#[tokio::test]
async fn a_plan_prints_itself_and_what_it_hit() {
    let workers = Workers::new().await;
    let plan = Plan::at_operation("writer", Side::Sheets, "append", 1, Fault::LoseAnswer).times(2);
    workers.wire.set_plan(plan.and(Plan::at(9, Fault::Hang)));
    workers.append().await;
    assert_eq!(
        workers.wire.plan_to_string(),
        "fault plan: LoseAnswer at writer -> Sheets append no. 1, 2 times, Hang at call 9\n  LoseAnswer hit call 0: \
         writer -> Sheets append at 1767323045000"
    );
    workers.wire.heal();
    assert!(workers.wire.plan_to_string().starts_with("fault plan: none\n"));
}

#[test]
#[should_panic(expected = "the first call of a kind is number 1")]
fn a_plan_that_could_never_hit_is_refused() {
    let _ = Plan::at_operation("writer", Side::Sheets, "append", 0, Fault::Hang);
}
