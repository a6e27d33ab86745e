//! The state behind both fakes, and the way of one request through it.
//!
//! A request is recorded, then its planned behaviour is looked up, then it is served, and only at the end it is
//! decided what the client learns. The lock is never held while a request waits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::batch;
use super::behaviour::{Behaviour, Effect};
use super::call::{self, Append, Call, Kind};
use super::grid::Workbook;
use super::plan::{Planned, Plans};
use super::record::{Quota, Seen};
use super::refusal::Refusal;
use super::table::Place;
use super::token::Issuer;
use super::values;
use crate::clock::TurnedClock;
use crate::exchange::{Answer, Request};

#[derive(Debug)]
pub(super) struct Google {
    pub(super) clock: TurnedClock,
    pub(super) workbook: Workbook,
    pub(super) issuer: Issuer,
    pub(super) plans: Plans,
    pub(super) quota: Quota,
    pub(super) record: Vec<Seen>,
    /// How many overwriting appends choose their row before the first of them writes.
    pub(super) racing: Option<usize>,
    late: Vec<Late>,
    /// Each send lets all waiting requests go on. They are counted by their receivers, so a client that gave up
    /// is not counted.
    held: watch::Sender<()>,
    raced: watch::Sender<()>,
}

/// A change that was accepted and is not in the sheet yet.
#[derive(Debug)]
struct Late {
    due_ms: i64,
    change: Change,
}

#[derive(Debug)]
enum Change {
    Append { append: Append, behaviour: Behaviour },
    Batch(Vec<Value>),
}

/// What the first look at a request leads to.
enum Step {
    Done(Answer),
    /// Its row is chosen; it writes once the others have chosen theirs.
    Racing {
        append: Append,
        place: (usize, Place),
        released: watch::Receiver<()>,
    },
}

#[derive(Debug, Clone)]
pub(super) struct SharedGoogle(Arc<Mutex<Google>>);

impl SharedGoogle {
    pub(super) fn new(clock: TurnedClock, spreadsheet_id: &str) -> Self {
        Self(Arc::new(Mutex::new(Google {
            clock,
            workbook: Workbook {
                spreadsheet_id: spreadsheet_id.to_owned(),
                tabs: Vec::new(),
                cell_limit: 10_000_000,
                cell_characters: 50_000,
                metadata: Vec::new(),
                viewer_only: false,
            },
            issuer: Issuer::new(),
            plans: Plans::default(),
            quota: Quota::default(),
            record: Vec::new(),
            racing: None,
            late: Vec::new(),
            held: watch::Sender::new(()),
            raced: watch::Sender::new(()),
        })))
    }

    /// Every look at the state first lets happen what is due by the clock.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Google) -> T) -> T {
        let mut google: MutexGuard<'_, Google> = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        google.write_what_is_due();
        act(&mut google)
    }

    pub(super) async fn serve(&self, request: Request, kind: Kind) -> Answer {
        let (planned, held) = self.with(|google| {
            google.note(&request, kind);
            let planned = google.plans.take(kind);
            let held = planned.behaviour.waits.then(|| google.held.subscribe());
            (planned, held)
        });
        if let Some(mut held) = held {
            // An error would mean that the world is gone, and with it whoever reads the answer.
            let _ = held.changed().await;
        }
        match self.with(|google| google.handle(&request, kind, &planned)) {
            Step::Done(answer) => answer,
            Step::Racing { append, place, mut released } => {
                let _ = released.changed().await;
                drop(released);
                self.with(|google| {
                    let written = google.write(&append, place, &planned.behaviour);
                    google.conclude(written.map(Some), &planned)
                })
            }
        }
    }
}

impl Google {
    pub(super) fn seen(&self, wanted: impl Fn(Kind) -> bool) -> Vec<Seen> {
        self.record.iter().filter(|seen| wanted(seen.kind)).cloned().collect()
    }

    pub(super) fn let_go(&mut self) {
        release(&mut self.held);
        release(&mut self.raced);
    }

    /// Requests that wait for [`Self::let_go`] or for others to race with.
    pub(super) fn waiting(&self) -> usize {
        self.held.receiver_count() + self.raced.receiver_count()
    }

    fn note(&mut self, request: &Request, kind: Kind) {
        self.record.push(Seen {
            at_ms: self.clock.now_ms(),
            kind,
            method: request.method.clone(),
            path: request.path.clone(),
            query: request.query.clone(),
            headers: request.headers.clone(),
            rows: if kind == Kind::Append { call::rows_in(request) } else { 0 },
        });
    }

    fn handle(&mut self, request: &Request, kind: Kind, planned: &Planned) -> Step {
        let behaviour = &planned.behaviour;
        if behaviour.takes_ms > 0 {
            self.clock.turn(behaviour.takes_ms);
            self.write_what_is_due();
        }
        if behaviour.skips_service() {
            return Step::Done(behaviour.answer(None));
        }
        let now_ms = self.clock.now_ms();
        let served = match kind {
            Kind::Token => self.issuer.exchange(request, now_ms).map(Some),
            Kind::Federation => self.issuer.federate(request, now_ms).map(Some),
            Kind::Impersonation => self.issuer.lend(request, now_ms).map(Some),
            Kind::Append
            | Kind::Read
            | Kind::BatchRead
            | Kind::Tabs
            | Kind::Update
            | Kind::BatchUpdate
            | Kind::Other => match self.admit(request, kind) {
                Ok(Call::Append(append)) => match self.begin_append(append, behaviour) {
                    Ok(Begun::Served(usual)) => Ok(usual),
                    Ok(Begun::Racing(step)) => return step,
                    Err(refusal) => Err(refusal),
                },
                Ok(Call::Read(read)) => {
                    values::read(&mut self.workbook, &read, now_ms).map(|mut answers| answers.pop())
                }
                Ok(Call::BatchRead(read)) => {
                    let answers = values::read(&mut self.workbook, &read, now_ms);
                    let spreadsheet_id = &self.workbook.spreadsheet_id;
                    answers
                        .map(|answers| Some(json!({"spreadsheetId": spreadsheet_id, "valueRanges": answers})))
                }
                Ok(Call::Tabs) => Ok(Some(values::describe(&self.workbook))),
                Ok(Call::BatchUpdate(requests)) => match behaviour.effect {
                    Effect::WrittenLater(later_ms) => {
                        self.late.push(Late { due_ms: now_ms + later_ms, change: Change::Batch(requests) });
                        Ok(None)
                    }
                    Effect::None | Effect::Written | Effect::WrittenAt(_) => {
                        batch::batch_update(&mut self.workbook, &requests).map(Some)
                    }
                },
                Ok(Call::Update(update)) => {
                    batch::update(&mut self.workbook, &update, self.clock.now_ms()).map(Some)
                }
                Err(refusal) => Err(refusal),
            },
        };
        Step::Done(self.conclude(served, planned))
    }

    /// The gates every call passes: token, quota, a readable request, the right spreadsheet.
    fn admit(&mut self, request: &Request, kind: Kind) -> Result<Call, Refusal> {
        let now_ms = self.clock.now_ms();
        self.issuer.admit(request, now_ms)?;
        self.quota.take(kind, now_ms).map_err(Refusal::quota_exhausted)?;
        let (spreadsheet_id, call) = call::parse(request, self.workbook.cell_characters)?;
        if spreadsheet_id == self.workbook.spreadsheet_id { Ok(call) } else { Err(Refusal::not_found()) }
    }

    fn begin_append(&mut self, append: Append, behaviour: &Behaviour) -> Result<Begun, Refusal> {
        let place = match &behaviour.effect {
            Effect::WrittenAt(range) => {
                let (tab, area) = values::find(&self.workbook, range)?;
                (tab, Place { row: area.top, column: area.left, table: None })
            }
            Effect::None | Effect::Written | Effect::WrittenLater(_) => {
                values::choose_place(&self.workbook, &append)?
            }
        };
        if let Effect::WrittenLater(later_ms) = behaviour.effect {
            let due_ms = self.clock.now_ms() + later_ms;
            let change = Change::Append { append, behaviour: behaviour.clone() };
            self.late.push(Late { due_ms, change });
            return Ok(Begun::Served(None));
        }
        if let Some(racers) = self.racing.filter(|_| !append.insert_rows) {
            if self.raced.receiver_count() + 1 < racers {
                let released = self.raced.subscribe();
                return Ok(Begun::Racing(Step::Racing { append, place, released }));
            }
            release(&mut self.raced);
        }
        self.write(&append, place, behaviour).map(Some).map(Begun::Served)
    }

    fn write(
        &mut self,
        append: &Append,
        place: (usize, Place),
        behaviour: &Behaviour,
    ) -> Result<Value, Refusal> {
        let now_ms = self.clock.now_ms();
        let misplaced = Append { insert_rows: false, ..append.clone() };
        let append = if matches!(behaviour.effect, Effect::WrittenAt(_)) { &misplaced } else { append };
        values::write(&mut self.workbook, append, place, behaviour.hidden_from(now_ms), now_ms)
    }

    /// A request refused on its own account gets that refusal, whatever was planned for it.
    fn conclude(&mut self, served: Result<Option<Value>, Refusal>, planned: &Planned) -> Answer {
        match served {
            Ok(usual) => planned.behaviour.answer(usual),
            Err(refusal) => {
                self.plans.put_back(planned);
                refusal.into_answer()
            }
        }
    }

    fn write_what_is_due(&mut self) {
        let now_ms = self.clock.now_ms();
        let (mut due, waiting): (Vec<Late>, Vec<Late>) =
            std::mem::take(&mut self.late).into_iter().partition(|late| late.due_ms <= now_ms);
        self.late = waiting;
        due.sort_by_key(|late| late.due_ms);
        for Late { change, .. } in due {
            // Where the tab was renamed meanwhile, or has fewer rows, nobody is left to tell.
            match change {
                Change::Append { append, behaviour } => {
                    let place = values::choose_place(&self.workbook, &append);
                    let _ = place.and_then(|place| self.write(&append, place, &behaviour));
                }
                Change::Batch(requests) => {
                    let _ = batch::batch_update(&mut self.workbook, &requests);
                }
            }
        }
    }
}

/// Lets the waiting go on and starts with none again.
fn release(waiting: &mut watch::Sender<()>) {
    waiting.send_replace(());
    *waiting = watch::Sender::new(());
}

enum Begun {
    /// The usual answer, absent when the write is still to come.
    Served(Option<Value>),
    Racing(Step),
}
