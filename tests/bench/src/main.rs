//! What things cost: calls, which are the same on every machine, and times, of which only the ratios within one run mean
//! anything.
//!
//! The whole way is measured, the functions with their SDK and the engines behind them. It passes no judgement: what must
//! hold is a test's matter.

mod measured;

use docket_domain::reference::Reference;
use docket_world::World;
use docket_world::sheets::{Behaviour, On};
use docket_world::wire::{Call, Side};
use docket_world::world::{http_event, write_event};
use measured::{Times, measure};
use serde_json::json;

const CHAT: i64 = 7_100_000_001;
const RUNS: usize = 7;

#[tokio::main]
async fn main() {
    calls_of_one_enquiry().await;
    rows_in_company().await;
    looks_at_longer_sheets().await;
    sweeps_over_more().await;
    a_strangers_request().await;
}

fn heading(title: &str) {
    anstream::println!("\n{title}");
}

/// What one enquiry asks of each side, from `/new` to its acknowledgement: what a month's bill is computed from.
async fn calls_of_one_enquiry() {
    heading("Calls for one enquiry, from /new to the acknowledgement");
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    // A process that is warm: its token is at hand and its header was seen.
    world.submit(&ann, "A quote", "Two gutters, please.").await;
    world.settle().await;
    world.wire.clear_log();
    world.submit(&ann, "A quote", "New gutters, please.").await;
    world.settle().await;
    let mut counted: Vec<(String, usize)> = Vec::new();
    for Call { worker, side, operation, .. } in world.wire.calls() {
        let name = format!("{worker:<13} {side:?} {operation}");
        match counted.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counted.push((name, 1)),
        }
    }
    for (name, count) in counted {
        anstream::println!("  {count:>3}  {name}");
    }
}

/// Enquiries that are due together travel in one request.
async fn rows_in_company() {
    heading("Enquiries due together: requests for them, and time for each beside one that is alone");
    let mut alone = None;
    for count in [1, 10, 100, 200] {
        let (times, requests) = written(count).await;
        let each = times.median_ms() / as_f64(count);
        let base = *alone.get_or_insert(each);
        anstream::println!("  {count:>4}  requests {requests:>2}  time for each × {:.2}", each / base);
    }
}

async fn written(count: usize) -> (Times, usize) {
    let mut requests = 0;
    let mut times = Times::default();
    for _ in 0..RUNS {
        let mut world = World::start().await;
        let references = world.record_enquiries(count).await;
        let (event, deadline) = (write_event(&references[..references.len().min(10)]), world.deadline());
        times.add(measure(world.invoke_writer(event, deadline)).await);
        requests = world.sheets.write_requests().len();
    }
    (times, requests)
}

/// One look reads the column of references, however long it is, and settles all that are uncertain.
async fn looks_at_longer_sheets() {
    heading("One look for an uncertain enquiry, beside one at an empty sheet");
    let mut base = None;
    for (uncertain, rows) in [(1, 0), (200, 0), (1, 1_000), (1, 10_000), (200, 10_000)] {
        let mut times = Times::default();
        for _ in 0..RUNS {
            times.add(one_look(uncertain, rows).await);
        }
        let looked = times.median_ms();
        let base = *base.get_or_insert(looked);
        anstream::println!("  {uncertain:>4} uncertain, {rows:>6} other rows  × {:.2}", looked / base);
    }
}

async fn one_look(uncertain: usize, rows: usize) -> std::time::Duration {
    let mut world = World::start().await;
    world.sheets.next(On::Appends, Behaviour::writes_then_hangs_up());
    let references: Vec<Reference> = world.record_enquiries(uncertain).await;
    world.work().await;
    let tab = world.settings().tab.clone();
    for number in 0..rows {
        world.sheets.put_row(&tab, number + uncertain + 2, &[json!(format!("R-{number}")), json!("other")]);
    }
    world.turn_seconds(60);
    let (event, deadline) = (write_event(&references[..references.len().min(10)]), world.deadline());
    measure(world.invoke_writer(event, deadline)).await
}

/// A sweep rings for whatever is due, ten in a request.
async fn sweeps_over_more() {
    heading("One sweep, beside one with nothing due");
    let mut base = None;
    for count in [0, 10, 100, 500] {
        let mut times = Times::default();
        let mut rings = 0;
        for _ in 0..RUNS {
            let mut world = World::start().await;
            world.record_enquiries(count).await;
            world.wire.clear_log();
            times.add(measure(world.sweep()).await);
            rings = world.wire.calls_of("sweeper", Side::Sqs).len();
        }
        let base = *base.get_or_insert(times.median_ms());
        anstream::println!("  {count:>4} due  requests to SQS {rings:>2}  × {:.2}", times.median_ms() / base);
    }
}

/// A request without the secret costs no call, and beside a customer's next to nothing.
async fn a_strangers_request() {
    heading("A stranger's request, beside a customer's /new");
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    let (mut customers, mut strangers) = (Times::default(), Times::default());
    for _ in 0..10 * RUNS {
        let new = ann.text("/new");
        customers.add(measure(world.deliver(&new)).await);
        strangers.add(measure(world.deliver_event(http_event(new.to_string(), None))).await);
    }
    anstream::println!("  × {:.3}", strangers.median_ms() / customers.median_ms());
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn as_f64(count: usize) -> f64 {
    count as f64
}
