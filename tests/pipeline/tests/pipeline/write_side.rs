//! What the scenarios of the write side share: one pair of engines for all of them, the rows of a table run beside each
//! other, and short words for what is known of a record.

use std::fmt::Debug;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use docket_domain::metric::Metric;
use docket_domain::reference::Reference;
use docket_domain::status::{Record, WriteOrder, WriteState};
use docket_world::engines::Engines;
use docket_world::sheets::{Behaviour, On};
use docket_world::wire::{Call, Side};
use docket_world::{Settings, Tampering, World};
use futures::{FutureExt as _, StreamExt as _, stream};
use tokio::sync::OnceCell;

/// Rows of a table that run at the same time.
const AT_ONCE: usize = 4;

/// One record, and one in company.
pub(crate) const ALONE_AND_IN_COMPANY: [usize; 2] = [1, 5];

/// A world in engines that all scenarios share. No client of it gives up because the machine is busy.
pub(crate) async fn world() -> World {
    world_with(|_| {}).await
}

/// For scenarios in which an answer never comes: its client gives up soon.
pub(crate) async fn impatient_world() -> World {
    world_with(|settings| settings.timing.append_timeout_ms = 600).await
}

pub(crate) async fn world_with(change: impl FnOnce(&mut Settings)) -> World {
    static ENGINES: OnceCell<Arc<Engines>> = OnceCell::const_new();
    let engines = ENGINES.get_or_init(|| async { Arc::new(Engines::start().await) }).await;
    let mut settings = Settings::default();
    settings.timing.append_timeout_ms = 15_000;
    settings.patience.attempt_timeout_ms = 10_000;
    settings.patience.operation_timeout_ms = 30_000;
    change(&mut settings);
    World::with(Arc::clone(engines), settings).await
}

/// Runs every row of a table, some at a time, and names all that failed. In one task: their panics are caught where
/// they are, and each row's own message is printed above.
pub(crate) async fn each<R, F>(rows: impl IntoIterator<Item = R>, run: impl Fn(R) -> F)
where
    R: Debug,
    F: Future<Output = ()>,
{
    let rows: Vec<(String, F)> = rows.into_iter().map(|row| (format!("{row:?}"), run(row))).collect();
    let ran = rows.len();
    let failed: Vec<String> = stream::iter(rows)
        .map(|(name, run)| async move { AssertUnwindSafe(run).catch_unwind().await.is_err().then_some(name) })
        .buffer_unordered(AT_ONCE)
        .filter_map(|failed| async move { failed })
        .collect()
        .await;
    assert!(ran > 0, "a table without rows tests nothing");
    assert!(failed.is_empty(), "of {ran} rows these failed: {failed:#?}");
}

/// A row of a table that is known by its name.
#[derive(Clone)]
pub(crate) struct Named<T> {
    pub(crate) name: String,
    pub(crate) count: usize,
    pub(crate) is: T,
}

impl<T> Debug for Named<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} with {} records", self.name, self.count)
    }
}

/// Every case for a single record, and for several in one request.
pub(crate) fn alone_and_in_company<T: Clone>(
    cases: impl IntoIterator<Item = (impl Into<String>, T)>,
) -> Vec<Named<T>> {
    let mut rows = Vec::new();
    for (name, is) in cases {
        let name = name.into();
        for count in ALONE_AND_IN_COMPANY {
            rows.push(Named { name: name.clone(), count, is: is.clone() });
        }
    }
    rows
}

/// `pending`, with its cause if there is one; `uncertain`; `confirmed` with its evidence; each with its review.
pub(crate) fn known(record: &Record) -> String {
    let state = match &record.write.state {
        WriteState::Pending { cause: Some(cause), .. } => format!("pending {cause}"),
        WriteState::Confirmed { evidence } => format!("confirmed {}", evidence.kind()),
        other => other.as_str().to_owned(),
    };
    let reviews: String =
        record.reviews().iter().map(|review| format!(", review {}", review.reason.as_str())).collect();
    state + &reviews
}

/// Panics unless exactly this is known of each of these records.
pub(crate) async fn all_are(world: &World, references: &[Reference], wanted: &str) {
    assert!(!references.is_empty());
    for reference in references {
        let record = world.record(reference).await;
        assert_eq!(known(&record), wanted, "{reference}\n{}", world.picture().await);
    }
}

/// Requests to append that reached Google, whatever became of them.
pub(crate) fn appends(world: &World) -> usize {
    world.sheets.write_requests().len()
}

/// The requests to append, with their bodies.
pub(crate) fn append_calls(world: &World) -> Vec<Call> {
    let calls = world.wire.calls_of("writer", Side::Sheets);
    calls.into_iter().filter(|call| call.operation == "append").collect()
}

/// Whether the sheet is said to have stopped.
pub(crate) fn is_said_to_have_stopped(world: &World) -> bool {
    world.recorder().last(Metric::SheetHalted) == Some(1.0)
}

/// One minute passes, and the schedule runs.
pub(crate) async fn a_minute_later(world: &mut World) {
    minutes_later(world, 1).await;
}

/// So many minutes pass at once, then the schedule runs.
pub(crate) async fn minutes_later(world: &mut World, minutes: i64) {
    world.turn_seconds(60 * minutes);
    world.sweep().await;
    world.work().await;
}

/// Records whose append got this behaviour instead of an answer that says what became of it.
pub(crate) async fn uncertain(world: &mut World, count: usize, behaviour: Behaviour) -> Vec<Reference> {
    let references = world.record_enquiries(count).await;
    world.sheets.next(On::Appends, behaviour);
    world.work().await;
    all_are(world, &references, "uncertain").await;
    references
}

/// The end of every good story: one row each, one message each, and nothing left over.
pub(crate) async fn each_is_written_once(world: &mut World, references: &[Reference]) {
    world.settle().await;
    for reference in references {
        let record = world.record(reference).await;
        let is_confirmed = matches!(record.write.state, WriteState::Confirmed { .. });
        assert!(is_confirmed && record.finished(), "{reference}\n{}", world.picture().await);
        assert_eq!(world.rows_of(reference), 1, "{reference}\n{}", world.picture().await);
        assert_eq!(world.acknowledgements(record.submission.chat_id.0).len(), 1, "{reference}");
    }
    assert_eq!(world.dead_letters().await, Vec::<String>::new());
}

/// Nobody heard of it, since nothing is known of it.
pub(crate) async fn nobody_is_told(world: &World, references: &[Reference]) {
    for reference in references {
        let chat = world.record(reference).await.submission.chat_id.0;
        assert_eq!(world.acknowledgements(chat), Vec::<String>::new(), "{reference}");
    }
}

pub(crate) fn append_again() -> WriteOrder {
    WriteOrder::AppendAgain { why: "I looked, and it is not there.".into() }
}

pub(crate) fn recorded() -> WriteOrder {
    WriteOrder::Recorded { why: "I put it in its place by hand.".into() }
}

/// A person did this to the rows of these records by hand.
pub(crate) fn rows_touched(references: &[Reference]) -> Tampering {
    Tampering { rows_of: references.to_vec(), ..Tampering::default() }
}

/// An operator ordered another append of these.
pub(crate) fn ordered(references: &[Reference]) -> Tampering {
    Tampering { ordered: references.to_vec(), ..Tampering::default() }
}
