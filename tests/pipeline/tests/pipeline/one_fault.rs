//! Every placement of one fault, enumerated: at every call that the story makes, every fault that can hit it; and at every
//! message, every way in which it can come twice, late or in another order.
//!
//! A crash between two steps is a crash after the call before or before the call after, so the placements at calls are all
//! there are. After the fault everything must settle by itself or be in review, and every rule must hold.
//!
//! Left out are calls to AWS that hang, since each costs real time: `hanging_aws` shows them, at each kind of call. At the reads
//! of the two longest stories only one of two faults is placed that differ in whether the read was carried out, which nobody
//! can tell. A batch that is taken by halves can only be one of several rings. What comes late to AWS is a change; to the sheet
//! it is placed as its own rows that are written later, and of what came late to Telegram nobody can hear.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

use docket_domain::limits::VISIBILITY_SECONDS;
use docket_domain::reference::Reference;
use docket_domain::status::{AckState, Record, WriteState};
use docket_world::engines::Engines;
use docket_world::event_source::{Delivery, EventSource};
use docket_world::sheets::{Behaviour, FailureBody, On};
use docket_world::wire::{Call, Fault, LATE_MS, Plan, Side};
use docket_world::{Settings, World};
use futures::StreamExt as _;

const CHAT: i64 = 7_100_000_001;

#[tokio::test(flavor = "multi_thread")]
async fn one_fault_anywhere_over_one_submission_breaks_no_rule_and_loses_nothing() {
    enumerate(1, Base::Undisturbed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_fault_anywhere_over_two_submissions_of_one_chat_breaks_no_rule_and_loses_nothing() {
    enumerate(2, Base::Undisturbed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_fault_anywhere_while_a_lost_append_answer_is_settled_breaks_no_rule_and_loses_nothing() {
    enumerate(1, Base::AppendAnswerLost).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_fault_anywhere_while_a_dead_writer_is_followed_up_breaks_no_rule_and_loses_nothing() {
    enumerate(1, Base::WriterDead).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_fault_anywhere_while_an_absent_row_is_looked_for_breaks_no_rule_and_loses_nothing() {
    enumerate(1, Base::RowAbsent).await;
}

/// What goes wrong in every run already; the one fault comes on top.
#[derive(Debug, Clone, Copy)]
enum Base {
    Undisturbed,
    /// Written, and the writer never hears of it.
    AppendAnswerLost,
    /// Written, and the writer dies over it.
    WriterDead,
    /// The append never arrives, and the writer cannot know it.
    RowAbsent,
}

impl Base {
    fn plan(self) -> Plan {
        let at_the_append = |fault| Plan::at_operation("writer", Side::Sheets, "append", 1, fault);
        match self {
            Self::Undisturbed => Plan::none(),
            Self::AppendAnswerLost => at_the_append(Fault::LoseAnswer),
            Self::WriterDead => at_the_append(Fault::CrashAfter),
            Self::RowAbsent => at_the_append(Fault::FailBefore),
        }
    }

    /// The long stories are made of reads, nearly all of them. Nobody can tell whether a read was carried out, so there only
    /// one of each such pair of faults is placed at them.
    fn tells_carried_out(self, call: &Call) -> bool {
        let read = matches!(call.operation.as_str(), "GetItem" | "Query" | "batch_read" | "token");
        match self {
            Self::Undisturbed | Self::AppendAnswerLost => true,
            Self::WriterDead | Self::RowAbsent => !read,
        }
    }

    /// Whether the placement of the one fault is the base's own.
    fn is_at(self, call: &Call) -> bool {
        !matches!(self, Self::Undisturbed) && call.side == Side::Sheets && call.operation == "append"
    }
}

async fn enumerate(submissions: usize, base: Base) {
    let engines = Arc::new(Engines::start().await);
    let calls = calls_of_the_story(&engines, submissions, base).await;
    let at_calls = calls
        .iter()
        .filter(|call| !base.is_at(call))
        .flat_map(|call| placements_at(call, base))
        .map(Placement::AtCall);
    let of_messages = match base {
        Base::Undisturbed => placements_of_messages(submissions),
        Base::AppendAnswerLost | Base::WriterDead | Base::RowAbsent => Vec::new(),
    };
    let placements = at_calls.chain(of_messages);
    let ended: Vec<(Placement, Ending)> = futures::stream::iter(placements)
        .map(|placement| {
            let engines = Arc::clone(&engines);
            async move {
                let run = tokio::spawn(run(engines, placement.clone(), submissions, base));
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
    let mut counted = format!(
        "{submissions} submissions, {base:?}: {} calls, {} placements ({} of them of messages), {hit} of them hit\n",
        calls.len(),
        ended.len(),
        ended.iter().filter(|(placement, _)| !matches!(placement, Placement::AtCall(_))).count(),
    );
    for (words, count) in &endings {
        counted.push_str(&format!("  {count:>4}  {words}\n"));
    }
    // Past what the test harness keeps to itself: how much was tried is worth seeing when all is well, too.
    std::io::stdout().lock().write_all(counted.as_bytes()).expect("standard output takes lines");
    // The interesting cases did occur.
    assert_eq!(hit, ended.len(), "a placement that hits nothing tests nothing");
    let interesting: &[&str] = match base {
        Base::Undisturbed => &["read_back", "append_answer", "no_matching_row", "ack_uncertain"],
        Base::AppendAnswerLost | Base::WriterDead => &["read_back", "ack_uncertain"],
        Base::RowAbsent => &["no_matching_row"],
    };
    let halves = |(placement, _): &(Placement, Ending)| {
        matches!(placement, Placement::AtCall(AtCall { fault: Fault::TakeHalf, .. }))
    };
    // Two are rung for together.
    assert_eq!(ended.iter().any(halves), submissions > 1, "a batch of rings taken by halves");
    for wanted in interesting {
        assert!(endings.keys().any(|words| words.contains(wanted)), "no placement ended in {wanted}");
    }
}

/// Where the one fault is.
#[derive(Debug, Clone)]
enum Placement {
    AtCall(AtCall),
    /// The append's answer is lost, and Google carries it out so many seconds later.
    AppliedLate {
        seconds: i64,
        answered: Lost,
    },
    /// Telegram delivers the `nth` update once more, at once or when all is settled.
    UpdateAgain {
        nth: usize,
        settled: bool,
    },
    /// Telegram delivers the `nth` update five times at the same moment.
    UpdateAtOnce {
        nth: usize,
    },
    /// SQS delivers so many messages of a queue once more after they were done.
    MessagesAgain {
        queue: QueueOf,
        count: usize,
    },
    /// SQS delivers the first messages of a queue to two workers at once.
    TwoWorkers {
        queue: QueueOf,
    },
    /// The acknowledge queue is taken from its end.
    Reordered,
    /// Everything that was ever rung for is rung for again in reverse, when all is settled and 13 days later.
    RungAgain {
        days: i64,
    },
}

#[derive(Debug, Clone, Copy)]
enum QueueOf {
    Writes,
    Acknowledgements,
}

/// How an append's answer is missing.
#[derive(Debug, Clone, Copy)]
enum Lost {
    HungUp,
    Never,
    ServerError,
}

fn placements_of_messages(submissions: usize) -> Vec<Placement> {
    use Placement::{
        AppliedLate, MessagesAgain, Reordered, RungAgain, TwoWorkers, UpdateAgain, UpdateAtOnce,
    };
    let mut placements = vec![RungAgain { days: 0 }, RungAgain { days: 13 }];
    for answered in [Lost::HungUp, Lost::Never, Lost::ServerError] {
        // Before the first look, between two, and as late as Google may work.
        placements.extend([1, 59, 61, 100, 179].map(|seconds| AppliedLate { seconds, answered }));
    }
    for nth in 0..submissions * UPDATES_A_SUBMISSION {
        placements.extend([
            UpdateAgain { nth, settled: false },
            UpdateAgain { nth, settled: true },
            UpdateAtOnce { nth },
        ]);
    }
    for queue in [QueueOf::Writes, QueueOf::Acknowledgements] {
        // The webhook and the sweeper ring for each; the writer once for each.
        let messages = match queue {
            QueueOf::Writes => 2 * submissions,
            QueueOf::Acknowledgements => submissions,
        };
        placements.extend((1..=messages).map(|count| MessagesAgain { queue, count }));
        placements.push(TwoWorkers { queue });
    }
    if submissions > 1 {
        placements.push(Reordered);
    }
    placements
}

/// A fault at one call of the undisturbed story, and at so many repetitions of it.
#[derive(Debug, Clone)]
struct AtCall {
    number: usize,
    /// For the message of a placement that fails.
    #[expect(dead_code, reason = "printed by Debug")]
    call: String,
    fault: Fault,
    times: usize,
}

fn placements_at(call: &Call, base: Base) -> Vec<AtCall> {
    let waits = |fault: Fault| matches!(fault, Fault::Hang | Fault::ApplyThenHang);
    let outward = matches!(call.side, Side::Sheets | Side::Token | Side::Telegram);
    let batch = call.operation == "SendMessageBatch";
    Fault::ALL
        .into_iter()
        .chain(batch.then_some(Fault::TakeHalf))
        .chain(changes_something(call).then_some(Fault::ApplyLate))
        .filter(|fault| fault.can_hit(call.side))
        .filter(|fault| !fault.applies() || base.tells_carried_out(call))
        // A call that hangs costs real time; towards AWS it ends as a broken connection does.
        .filter(|fault| outward || !waits(*fault))
        .flat_map(|fault| {
            // Twice: the SDK's own second try is hit too. A worker crashes once, and a 200 is not asked for again.
            let once = matches!(fault, Fault::CrashBefore | Fault::CrashAfter | Fault::TakeHalf);
            let times: &[usize] = if outward || once { &[1] } else { &[1, 2] };
            times.iter().map(move |times| AtCall {
                number: call.number,
                call: format!("{} {:?} {}", call.worker, call.side, call.operation),
                fault,
                times: *times,
            })
        })
        .collect()
}

/// A call to AWS that leaves something behind.
fn changes_something(call: &Call) -> bool {
    let kinds =
        ["PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "SendMessage", "SendMessageBatch"];
    kinds.contains(&call.operation.as_str())
}

struct Ending {
    words: String,
    hit: bool,
}

async fn calls_of_the_story(engines: &Arc<Engines>, submissions: usize, base: Base) -> Vec<Call> {
    let mut world = World::with(Arc::clone(engines), settings(None)).await;
    world.wire.set_plan(base.plan());
    tell(&mut world, submissions, None, base).await;
    world.check_rules().await;
    world.wire.calls()
}

async fn run(engines: Arc<Engines>, placement: Placement, submissions: usize, base: Base) -> Ending {
    let mut world = World::with(engines, settings(Some(&placement))).await;
    match &placement {
        Placement::AtCall(at) => {
            world.wire.set_plan(base.plan().and(Plan::at(at.number, at.fault).times(at.times)))
        }
        Placement::AppliedLate { seconds, answered } => {
            let later_ms = seconds * 1_000;
            let late = match answered {
                Lost::HungUp => Behaviour::hangs_up_and_writes_later(later_ms),
                Lost::Never => Behaviour::never_answers_and_writes_later(later_ms),
                Lost::ServerError => Behaviour::fails_and_writes_later(503, FailureBody::Html, later_ms),
            };
            world.sheets.next(On::Appends, late);
        }
        Placement::MessagesAgain { queue, count } => source(&mut world, *queue).duplicate_next(*count),
        Placement::Reordered => world.acknowledge_source.reverse_next(),
        Placement::UpdateAgain { .. }
        | Placement::UpdateAtOnce { .. }
        | Placement::TwoWorkers { .. }
        | Placement::RungAgain { .. } => {}
    }
    let happened = tell(&mut world, submissions, Some(&placement), base).await;
    let hit = match &placement {
        // The base's own fault counts for nothing.
        Placement::AtCall(at) => {
            world.wire.faults_that_hit().iter().any(|(call, _)| call.number == at.number)
        }
        _ => happened || !world.wire.faults_that_hit().is_empty(),
    };
    world.wire.heal();
    world.settle().await;
    if let Placement::AtCall(AtCall { fault: Fault::ApplyLate, .. }) = placement {
        // What is late arrives with the next call.
        world.turn_seconds(LATE_MS / 1_000);
        world.sweep().await;
        world.settle().await;
    }
    world.check_rules().await;
    let records = world.records().await;
    assert_eq!(records.len(), submissions, "an enquiry was lost or doubled");
    for record in &records {
        assert!(record.finished() || !record.reviews().is_empty(), "not settled");
    }
    if !matches!(placement, Placement::AtCall(_)) {
        // Nothing of this kind leaves a doubt that evidence cannot settle.
        assert!(records.iter().all(Record::finished), "{}", world.picture().await);
        assert_eq!(world.rows().len(), submissions);
        assert_eq!(world.acknowledgements(CHAT).len(), submissions);
    }
    let mut words: Vec<String> = records.iter().map(ending).collect();
    words.sort();
    Ending { words: words.join("  |  "), hit }
}

fn source(world: &mut World, queue: QueueOf) -> &mut EventSource {
    match queue {
        QueueOf::Writes => &mut world.write_source,
        QueueOf::Acknowledgements => &mut world.acknowledge_source,
    }
}

/// What a customer does for one enquiry: /new, the type, the words, Confirm.
const UPDATES_A_SUBMISSION: usize = 4;

/// The conversation as a customer has it: a lost prompt costs a tap, so each step is repeated until it took effect.
/// Whether a placement of messages came about.
async fn tell(world: &mut World, submissions: usize, placement: Option<&Placement>, base: Base) -> bool {
    let ann = world.customer(CHAT, "Ann");
    let mut happened = false;
    let mut once_more = None;
    for nth in 0..submissions * UPDATES_A_SUBMISSION {
        let update = match nth % UPDATES_A_SUBMISSION {
            0 => ann.text("/new"),
            1 => ann.press_button("A quote"),
            2 => ann.text(&format!("Enquiry {}, with the same words.", 1 + nth / UPDATES_A_SUBMISSION)),
            _ => ann.press_button("Confirm"),
        };
        match placement {
            Some(Placement::UpdateAgain { nth: at, settled }) if *at == nth => {
                world.say(update.clone()).await;
                if *settled {
                    once_more = Some(update);
                } else {
                    world.deliver_again(&update).await;
                }
                happened = true;
            }
            Some(Placement::UpdateAtOnce { nth: at }) if *at == nth => {
                let answers = world.say_at_once(&vec![update; 5]).await;
                assert!(answers.iter().all(|answer| answer.status == 200));
                happened = true;
            }
            _ => {
                world.say(update).await;
            }
        }
        if nth % UPDATES_A_SUBMISSION == UPDATES_A_SUBMISSION - 1 {
            world.sweep().await;
        }
    }
    match placement {
        Some(Placement::TwoWorkers { queue: QueueOf::Writes }) => {
            happened = two_writers(world).await;
        }
        Some(Placement::TwoWorkers { queue: QueueOf::Acknowledgements }) => {
            world.poll_writer().await;
            happened = two_acknowledgers(world).await;
        }
        Some(Placement::MessagesAgain { queue, count }) => {
            happened = world_holds(world, *queue, *count).await;
        }
        Some(Placement::Reordered) => {
            happened = world_holds(world, QueueOf::Acknowledgements, 2).await;
        }
        _ => {}
    }
    if let Base::WriterDead = base {
        world.work().await;
        // Its message is hidden, and nothing of its group passes it: until then each minute's sweep rings in vain, and
        // a fault at each of those calls would only tell the same again, a hundred times over.
        world.turn_seconds(i64::try_from(VISIBILITY_SECONDS).expect("a few minutes") + 1);
    }
    world.settle().await;
    if let Some(update) = once_more {
        world.deliver_again(&update).await;
    }
    if let Some(Placement::RungAgain { days }) = placement {
        world.turn_seconds(days * 24 * 3_600);
        let rung: Vec<Reference> =
            world.records().await.into_iter().rev().map(|record| record.submission.reference).collect();
        world.ring_for_the_write(&rung).await;
        world.ring_for_the_acknowledgement(&rung).await;
        happened = true;
    }
    if let Some(Placement::AppliedLate { .. }) = placement {
        happened = world.records().await.iter().any(|record| record.write.lookups > 0);
    }
    world.settle().await;
    world.sweep().await;
    happened
}

/// Whether the queue holds so many messages, so that what was asked of it will come about.
async fn world_holds(world: &mut World, queue: QueueOf, count: usize) -> bool {
    match queue {
        QueueOf::Writes => world.write_source.waiting().await.visible >= count,
        QueueOf::Acknowledgements => {
            world.poll_writer().await;
            world.acknowledge_source.waiting().await.visible >= count
        }
    }
}

async fn two_writers(world: &mut World) -> bool {
    let Some((first, second)) = world.write_source.deliver_twice_at_once().await else { return false };
    let (one, other) = tokio::join!(
        world.invoke_another_writer(first.event().clone()),
        world.invoke_another_writer(second.event().clone()),
    );
    for (taken, answer) in [(first, one), (second, other)] {
        world.write_source.settle(taken, &answer.map_or(Delivery::Failed, Delivery::Answered));
    }
    true
}

async fn two_acknowledgers(world: &mut World) -> bool {
    let Some((first, second)) = world.acknowledge_source.deliver_twice_at_once().await else { return false };
    let (one, other) = tokio::join!(
        world.invoke_another_acknowledger(first.event().clone()),
        world.invoke_another_acknowledger(second.event().clone()),
    );
    for (taken, answer) in [(first, one), (second, other)] {
        world.acknowledge_source.settle(taken, &answer.map_or(Delivery::Failed, Delivery::Answered));
    }
    true
}

/// Where an answer never comes its client gives up soon. Everywhere else nobody gives up because the machine is busy: a
/// request that is given up although it is served is another story.
fn settings(placement: Option<&Placement>) -> Settings {
    let waits = match placement {
        Some(Placement::AtCall(at)) => matches!(at.fault, Fault::Hang | Fault::ApplyThenHang),
        Some(Placement::AppliedLate { answered, .. }) => matches!(answered, Lost::Never),
        Some(_) | None => false,
    };
    let mut settings = Settings::default();
    let timeout_ms = if waits { 1_000 } else { 15_000 };
    settings.timing.append_timeout_ms = timeout_ms;
    settings.timing.send_timeout_ms = timeout_ms;
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
