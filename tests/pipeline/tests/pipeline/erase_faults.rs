//! A customer is forgotten while something goes wrong: at every call that the command makes, every fault that can hit it, and
//! everything that others may do at that moment.
//!
//! Whatever was broken off is repeated, and then nothing of the customer is left. Where the command says that it is done, it is
//! done at once. Nobody else's row goes without being said, and nothing that comes late brings anything back.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use docket::Stopped;
use docket::erase::{Eraser, Gone, Terms, Whom};
use docket_domain::ports::Removed;
use docket_domain::reference::Reference;
use docket_domain::status::Settle;
use docket_domain::submission::ChatId;
use docket_world::World;
use docket_world::clock::TurnedClock;
use docket_world::engines::clients::dynamodb_at;
use docket_world::sheets::{Behaviour, FailureBody, On};
use docket_world::telegram::Customer;
use docket_world::wire::{Backend, Call, Fault, Gate, LATE_MS, Plan, Side};
use futures::{FutureExt as _, StreamExt as _, stream};
use serde_json::{Value, json};

use crate::erase::{WHY, erase_with, eraser_over, everything, touched};
use crate::looking::sheet_at;
use crate::write_side::world;

const CHAT: i64 = 7_100_000_001;
/// What Ann wrote, and her name.
const WORDS: [&str; 4] = ["Annabel", "Gutters at Elm Street 7", "An unfinished thought", "7100000001"];

/// What is to be erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    /// Written once, and announced.
    Recorded,
    /// Somebody copied the row.
    Copied,
    /// Nobody knows whether it was appended, and no row is there.
    Open,
    /// The record has expired.
    Expired,
}

const BASES: [Base; 4] = [Base::Recorded, Base::Copied, Base::Open, Base::Expired];

/// Where the one thing is that goes wrong.
#[derive(Debug, Clone)]
#[expect(dead_code, reason = "the name of a call is printed by Debug")]
enum Placement {
    At {
        number: usize,
        call: String,
        fault: Fault,
    },
    /// A deletion's answer is lost, and Google carries it out so many seconds later.
    DeletedLate {
        seconds: i64,
        answered: Option<u16>,
    },
    Meanwhile {
        number: usize,
        call: String,
        what: Meanwhile,
    },
}

/// What somebody else does while a call of the command's is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meanwhile {
    InsertsRowAbove,
    SortsRows,
    DeletesRowAbove,
    CopiesRow,
    RunsTheSameCommand,
    /// Another customer's enquiry is confirmed and recorded.
    RecordsAnother,
    /// Ann herself sends one more.
    WritesOneMore,
    /// What is due for her enquiry is done, and everything that was ever rung for rings again.
    RingsAgain,
}

const MEANWHILE: [Meanwhile; 8] = [
    Meanwhile::InsertsRowAbove,
    Meanwhile::SortsRows,
    Meanwhile::DeletesRowAbove,
    Meanwhile::CopiesRow,
    Meanwhile::RunsTheSameCommand,
    Meanwhile::RecordsAnother,
    Meanwhile::WritesOneMore,
    Meanwhile::RingsAgain,
];

/// A world with Ann's enquiry between two of others, and a card of hers that is not confirmed.
struct Story {
    world: World,
    ann: Customer,
    reference: Reference,
    others: Vec<Reference>,
    confirm: Value,
    terms: Terms,
}

impl Story {
    async fn begin(base: Base) -> Self {
        let mut world = world().await;
        let mut others = world.record_enquiries(1).await;
        world.settle().await;
        let ann = world.customer(CHAT, "Annabel");
        if base == Base::Open {
            world.sheets.next(On::Appends, Behaviour::hangs_up());
        }
        let reference = world.submit(&ann, "A quote", "Gutters at Elm Street 7.").await;
        let confirm = world.heard.last().expect("she confirmed").0.clone();
        world.settle().await;
        others.extend(world.record_enquiries(1).await);
        world.settle().await;
        if base == Base::Copied {
            let row = world.sheets.rows("Intake")[2].clone();
            world.sheets.put_row("Intake", 5, &row);
        }
        if base == Base::Expired {
            let record = world.record(&reference).await;
            assert_eq!(
                docket_domain::ports::Submissions::remove(world.store(), &record).await,
                Ok(Removed::Gone)
            );
        }
        world.write_card(&ann, "A quote", "An unfinished thought.").await;
        let settle = (base == Base::Open).then_some(Settle::Abandoned);
        let terms = Terms { settle, why: WHY.into(), all_rows: base == Base::Copied };
        world.wire.clear_log();
        Self { world, ann, reference, others, confirm, terms }
    }

    async fn happen(&mut self, what: Meanwhile) {
        let at = |reference: &Reference| {
            let rows = self.world.sheets.rows("Intake");
            rows.iter().position(|row| row.first() == Some(&json!(reference.as_str()))).map(|index| index + 1)
        };
        match what {
            Meanwhile::InsertsRowAbove => self.world.sheets.insert_row("Intake", 2),
            Meanwhile::SortsRows => self.world.sheets.sort_by_column("Intake", "E"),
            Meanwhile::DeletesRowAbove => {
                let first = at(&self.others[0]).expect("it is there");
                self.world.sheets.delete_row("Intake", first);
            }
            Meanwhile::CopiesRow => {
                if let Some(hers) = at(&self.reference) {
                    let row = self.world.sheets.rows("Intake")[hers - 1].clone();
                    let cells: Vec<String> =
                        row.iter().map(|cell| cell.as_str().unwrap_or_default().to_owned()).collect();
                    let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
                    self.world.sheets.type_into_next_empty_row("Intake", &cells);
                }
            }
            Meanwhile::RunsTheSameCommand => {
                // It may be refused, as the other may: what is left is repeated.
                let _: Result<Vec<Gone>, Stopped> =
                    Hands::of(&self.world, "another").await.erase(&self.terms).await;
            }
            Meanwhile::RecordsAnother => {
                self.others.extend(self.world.record_enquiries(1).await);
                self.world.work().await;
            }
            Meanwhile::WritesOneMore => {
                self.world.submit(&self.ann, "A quote", "Gutters at Elm Street 7, once more.").await;
                self.world.work().await;
            }
            Meanwhile::RingsAgain => {
                self.world.ring_for_the_write(std::slice::from_ref(&self.reference)).await;
                self.world.ring_for_the_acknowledgement(std::slice::from_ref(&self.reference)).await;
                self.world.work().await;
            }
        }
    }

    async fn left(&self) -> Vec<&'static str> {
        let all = everything(&self.world).await;
        WORDS.into_iter().filter(|word| all.contains(word)).collect()
    }

    /// Others' enquiries that have no row.
    fn missing(&self) -> Vec<Reference> {
        self.others.iter().filter(|other| self.world.rows_of(other) == 0).cloned().collect()
    }
}

/// The operator's ways into the world, each by a gate of its own; tokens come by the world's.
struct Hands {
    eraser: Eraser<TurnedClock, TurnedClock>,
    _gates: [Gate; 2],
}

impl Hands {
    async fn of(world: &World, name: &str) -> Self {
        let table = Backend::Engine { url: world.engines.dynamodb_url().to_owned() };
        let gates = [
            world.wire.gate(name, Side::DynamoDb, table).await,
            world.wire.gate(name, Side::Sheets, Backend::Fake(Arc::new(world.sheets.clone()))).await,
        ];
        let sheet = sheet_at(world, gates[1].url(), world.google_credentials(), 1_000);
        Self { eraser: eraser_over(world, dynamodb_at(&gates[0].url()), sheet), _gates: gates }
    }

    async fn erase(&self, terms: &Terms) -> Result<Vec<Gone>, Stopped> {
        erase_with(&self.eraser, Whom::Chat(ChatId(CHAT)), terms.clone()).await
    }
}

/// What comes before the rows and after the record is one and the same for each base, and so is how a read fails.
fn placements(base: Base, calls: &[Call]) -> Vec<Placement> {
    const LOOK_BEFORE: usize = 2;
    let of_an_enquiry = |call: &Call| matches!(call.operation.as_str(), "UpdateItem" | "batch_update");
    let first = calls.iter().position(of_an_enquiry).expect("rows or a record are changed");
    let last = calls.iter().rposition(of_an_enquiry).expect("rows or a record are changed");
    let whole = base == Base::Recorded;
    let placed = if whole { calls } else { &calls[first - LOOK_BEFORE..=last] };
    let mut placements = Vec::new();
    for call in placed {
        let (number, name) = (call.number, format!("{:?} {}", call.side, call.operation));
        let late = (changes(call) && call.side == Side::DynamoDb).then_some(Fault::ApplyLate);
        let faults = Fault::ALL.into_iter().chain(late);
        let crashes = |fault: Fault| matches!(fault, Fault::CrashBefore | Fault::CrashAfter);
        let waits = |fault: Fault| matches!(fault, Fault::Hang | Fault::ApplyThenHang);
        placements.extend(
            faults
                .filter(|fault| fault.can_hit(call.side))
                // Nobody can tell whether a read was carried out.
                .filter(|fault| changes(call) || !fault.applies())
                .filter(|fault| {
                    whole || changes(call) || matches!(fault, Fault::FailBefore | Fault::CrashBefore)
                })
                // Whoever asks for a token goes by the writer's name, and would not die.
                .filter(|fault| call.side != Side::Token || !crashes(*fault))
                // Towards AWS the SDK gives such a call up, and it ends as a broken connection does.
                .filter(|fault| call.side != Side::DynamoDb || !waits(*fault))
                .map(|fault| Placement::At { number, call: name.clone(), fault }),
        );
        placements.extend(MEANWHILE.map(|what| Placement::Meanwhile { number, call: name.clone(), what }));
    }
    if calls.iter().any(|call| call.operation == "batch_update") {
        for answered in [None, Some(503)] {
            placements.extend([1, 60, 120, 179].map(|seconds| Placement::DeletedLate { seconds, answered }));
        }
    }
    placements
}

fn changes(call: &Call) -> bool {
    matches!(call.operation.as_str(), "UpdateItem" | "DeleteItem" | "batch_update")
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_goes_wrong_while_a_customer_is_erased_nothing_of_theirs_stays_and_nobody_elses_row_goes_unsaid()
 {
    let mut endings: BTreeMap<String, usize> = BTreeMap::new();
    for base in BASES {
        let story = Story::begin(base).await;
        let hands = Hands::of(&story.world, "operator").await;
        hands.erase(&story.terms).await.expect("nothing goes wrong");
        assert_eq!(story.left().await, Vec::<&str>::new());
        let calls = story.world.wire.calls();
        story.world.is_not_checked("only what it calls is wanted");
        let ended: Vec<String> = stream::iter(placements(base, &calls))
            .map(|placement| async move {
                let name = format!("{base:?} {placement:?}");
                let run = AssertUnwindSafe(run(base, placement)).catch_unwind().await;
                run.unwrap_or_else(|_| panic!("this placement failed: {name}"))
            })
            .buffer_unordered(4)
            .collect()
            .await;
        for ending in ended {
            *endings.entry(format!("{base:?}: {ending}")).or_default() += 1;
        }
    }
    let counted: String = endings.iter().map(|(words, count)| format!("  {count:>4}  {words}\n")).collect();
    std::io::stdout().lock().write_all(counted.as_bytes()).expect("standard output takes lines");
    for wanted in ["crashed", "done", "repeat this", "is not there any more", "was not deleted"] {
        assert!(endings.keys().any(|words| words.contains(wanted)), "no placement ended with: {wanted}");
    }
}

/// How the command ended that met it.
async fn run(base: Base, placement: Placement) -> String {
    let mut story = Story::begin(base).await;
    let hands = Hands::of(&story.world, "operator").await;
    let wire = story.world.wire.clone();
    match &placement {
        Placement::At { number, fault, .. } => wire.set_plan(Plan::at(*number, *fault)),
        Placement::DeletedLate { seconds, answered } => {
            let late = match answered {
                None => Behaviour::hangs_up_and_writes_later(seconds * 1_000),
                Some(status) => {
                    Behaviour::fails_and_writes_later(*status, FailureBody::Html, seconds * 1_000)
                }
            };
            story.world.sheets.next(On::Changes, late);
        }
        Placement::Meanwhile { number, .. } => wire.hold_at(*number),
    }
    let crashes = wire.crashes("operator");
    let terms = story.terms.clone();
    let beside = async {
        if let Placement::Meanwhile { what, .. } = placement {
            wire.until_held(1).await;
            story.happen(what).await;
            wire.let_go();
        }
    };
    let ended = tokio::select! {
        (done, ()) = async { tokio::join!(hands.erase(&terms), beside) } => Some(done),
        () = crashes => None,
    };
    if let Placement::At { .. } = placement {
        assert_eq!(wire.faults_that_hit().len(), 1, "a placement that hits nothing tests nothing");
    }
    wire.heal();
    let said = match &ended {
        None => "crashed".to_owned(),
        Some(Ok(_)) => "done".to_owned(),
        Some(Err(stopped)) => stopped.message().to_owned(),
    };
    let copied = matches!(placement, Placement::Meanwhile { what: Meanwhile::CopiesRow, .. });
    let deleted_by_hand = matches!(placement, Placement::Meanwhile { what: Meanwhile::DeletesRowAbove, .. });
    if said == "done" {
        assert_eq!(story.left().await, Vec::<&str>::new(), "it said that it is done");
    }
    let missing = story.missing();
    let unsaid = missing.iter().filter(|other| !(deleted_by_hand && **other == story.others[0])).count();
    if unsaid > 0 {
        assert!(missing.iter().all(|other| said.contains(other.as_str())), "{said}: {missing:?}");
    }
    assert!(!WORDS[..3].iter().any(|word| said.contains(word)), "{said}");

    // The operator repeats it until it is done; copies are looked at and taken.
    let again = Terms { all_rows: story.terms.all_rows || copied, ..story.terms.clone() };
    let mut tries = 0;
    loop {
        // What is late has come by then.
        story.world.turn_seconds(600);
        match hands.erase(&again).await {
            Ok(_) => break,
            Err(stopped) => {
                tries += 1;
                assert!(tries < 3, "a repeat does not help: {}", stopped.message());
            }
        }
    }
    assert_eq!(story.left().await, Vec::<&str>::new(), "after a repeat");
    assert_eq!(story.missing(), missing, "the repeat took somebody else's row");

    // Late calls and messages bring nothing back.
    story.world.turn_seconds(LATE_MS / 1_000 + 1);
    story.world.deliver(&story.confirm.clone()).await;
    story.happen(Meanwhile::RingsAgain).await;
    story.world.settle().await;
    let left = story.left().await;
    assert!(left.is_empty() || left == [WORDS[3]], "it came back: {left:?}");
    assert_eq!(story.world.rows_of(&story.reference), 0);
    let mut all = story.others.clone();
    all.extend(story.world.records().await.into_iter().map(|record| record.submission.reference));
    story.world.check_rules_but_for(&touched(&all)).await;
    all.iter().fold(said, |said, reference| said.replace(reference.as_str(), "REFERENCE"))
}
