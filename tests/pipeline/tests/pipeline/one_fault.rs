//! Every placement of one fault, enumerated: at every call that the story makes, every fault that can hit it.
//!
//! A crash between two steps is a crash after the call before or before the call after, so the placements at calls are all
//! there are. After the fault everything must settle by itself or be in review, and every rule must hold.

use std::collections::BTreeMap;
use std::sync::Arc;

use docket_domain::status::{AckState, Record, WriteState};
use docket_world::engines::Engines;
use docket_world::wire::{Call, Fault, Plan, Side};
use docket_world::{Settings, World};
use futures::StreamExt as _;

const CHAT: i64 = 7_100_000_001;

#[tokio::test(flavor = "multi_thread")]
async fn one_fault_anywhere_over_one_submission_breaks_no_rule_and_loses_nothing() {
    enumerate(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_fault_anywhere_over_two_submissions_of_one_chat_breaks_no_rule_and_loses_nothing() {
    enumerate(2).await;
}

async fn enumerate(submissions: usize) {
    let engines = Arc::new(Engines::start().await);
    let calls = calls_of_an_undisturbed_story(&engines, submissions).await;
    let placements: Vec<Placement> = calls.iter().flat_map(placements_at).collect();
    let ended: Vec<(Placement, Ending)> = futures::stream::iter(placements)
        .map(|placement| {
            let engines = Arc::clone(&engines);
            async move {
                let run = tokio::spawn(run(engines, placement.clone(), submissions));
                let ending = run.await.unwrap_or_else(|_| panic!("this placement failed: {placement:?}"));
                (placement, ending)
            }
        })
        .buffer_unordered(4)
        .collect()
        .await;

    let mut endings: BTreeMap<String, usize> = BTreeMap::new();
    for (_, ending) in &ended {
        *endings.entry(ending.words.clone()).or_default() += 1;
    }
    let hit = ended.iter().filter(|(_, ending)| ending.hit).count();
    println!(
        "{submissions} submissions: {} calls, {} placements, {hit} of them hit",
        calls.len(),
        ended.len()
    );
    for (words, count) in &endings {
        println!("  {count:>4}  {words}");
    }
    // The interesting cases did occur.
    assert_eq!(hit, ended.len(), "a placement that hits nothing tests nothing");
    for wanted in ["read_back", "append_answer", "no_matching_row", "ack_uncertain"] {
        assert!(endings.keys().any(|words| words.contains(wanted)), "no placement ended in {wanted}");
    }
}

/// A fault at one call of the undisturbed story, and at so many repetitions of it.
#[derive(Debug, Clone)]
struct Placement {
    number: usize,
    /// For the message of a placement that fails.
    #[expect(dead_code, reason = "printed by Debug")]
    call: String,
    fault: Fault,
    times: usize,
}

fn placements_at(call: &Call) -> Vec<Placement> {
    let waits = |fault: Fault| matches!(fault, Fault::Hang | Fault::ApplyThenHang);
    let outward = matches!(call.side, Side::Sheets | Side::Token | Side::Telegram);
    Fault::ALL
        .into_iter()
        .filter(|fault| fault.can_hit(call.side))
        // A call that hangs costs real time; towards AWS it ends as a broken connection does.
        .filter(|fault| outward || !waits(*fault))
        .flat_map(|fault| {
            // Twice: the SDK's own second try is hit too. A worker crashes once.
            let crash = matches!(fault, Fault::CrashBefore | Fault::CrashAfter);
            let times: &[usize] = if outward || crash { &[1] } else { &[1, 2] };
            times.iter().map(move |times| Placement {
                number: call.number,
                call: format!("{} {:?} {}", call.worker, call.side, call.operation),
                fault,
                times: *times,
            })
        })
        .collect()
}

struct Ending {
    words: String,
    hit: bool,
}

async fn calls_of_an_undisturbed_story(engines: &Arc<Engines>, submissions: usize) -> Vec<Call> {
    let mut world = World::with(Arc::clone(engines), settings()).await;
    tell(&mut world, submissions).await;
    world.check_rules().await;
    world.wire.calls()
}

async fn run(engines: Arc<Engines>, placement: Placement, submissions: usize) -> Ending {
    let mut world = World::with(engines, settings()).await;
    world.wire.set_plan(Plan::at(placement.number, placement.fault).times(placement.times));
    tell(&mut world, submissions).await;
    let hit = !world.wire.faults_that_hit().is_empty();
    world.wire.heal();
    world.settle().await;
    world.check_rules().await;
    let records = world.records().await;
    assert_eq!(records.len(), submissions, "an enquiry was lost or doubled");
    for record in &records {
        assert!(record.finished() || !record.reviews().is_empty(), "not settled");
    }
    let mut words: Vec<String> = records.iter().map(ending).collect();
    words.sort();
    Ending { words: words.join("  |  "), hit }
}

/// The conversation as a customer has it: a lost prompt costs a tap, so each step is repeated until it took effect.
async fn tell(world: &mut World, submissions: usize) {
    let ann = world.customer(CHAT, "Ann");
    for number in 1..=submissions {
        world.say(ann.text("/new")).await;
        world.say(ann.press_button("A quote")).await;
        world.say(ann.text(&format!("Enquiry {number}, with the same words."))).await;
        world.say(ann.press_button("Confirm")).await;
        world.sweep().await;
    }
    world.settle().await;
    world.sweep().await;
}

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.timing.append_timeout_ms = 400;
    settings.timing.send_timeout_ms = 400;
    settings
}

fn ending(record: &Record) -> String {
    let write = match &record.write.state {
        WriteState::Confirmed { evidence } => format!("confirmed by {}", evidence.kind()),
        other => other.as_str().to_owned(),
    };
    let ack = record.acknowledgement.as_ref().map_or("none", |ack| match &ack.state {
        AckState::Confirmed { .. } => "confirmed",
        other => other.as_str(),
    });
    let reviews: Vec<&str> = record.reviews().iter().map(|review| review.reason.as_str()).collect();
    format!("write {write}, ack {ack}, review {reviews:?}")
}
