//! What goes wrong, and with which calls.
//!
//! A plan is data: the same plan over the same calls hits the same calls, so a failure that prints its plan can be
//! run again.

use std::fmt;

use super::call::{Call, Side};

/// So much of the turned clock's time: longer than any worker's own tries.
pub const LATE_MS: i64 = 100_000;

/// What happens to a call. "Applied" means that the other side saw the request and did what it does about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Not applied; the connection closes without a byte of answer.
    FailBefore,
    /// Not applied; that side's 500.
    Answer500Before,
    /// Applied; the connection closes without a byte of answer.
    LoseAnswer,
    /// Applied; that side's 500.
    Answer500After,
    /// Not applied; no answer, the connection stays open.
    Hang,
    /// Applied; no answer, the connection stays open.
    ApplyThenHang,
    /// Applied [`LATE_MS`] later, at the first call of anybody's after that; the connection closes at once. Never hits a fake:
    /// the fake sheet has late rows of its own, and nobody reads what Telegram was late with.
    ApplyLate,
    /// Not applied; the worker is killed.
    CrashBefore,
    /// Applied; the worker is killed before it sees the answer.
    CrashAfter,
    /// Not applied; that side's refusal for too many requests.
    Throttle,
    /// Not applied; DynamoDB's refusal for an item that another transaction holds. Never hits another side.
    TransactionConflict,
    /// Of a batch every second entry is applied, and a 200 names the others as failed. Only a batch sent to SQS can meet
    /// it; anything else passes.
    TakeHalf,
}

impl Fault {
    /// Those that can meet any call to their side, for tests that sweep.
    pub const ALL: [Self; 10] = [
        Self::FailBefore,
        Self::Answer500Before,
        Self::LoseAnswer,
        Self::Answer500After,
        Self::Hang,
        Self::ApplyThenHang,
        Self::CrashBefore,
        Self::CrashAfter,
        Self::Throttle,
        Self::TransactionConflict,
    ];

    /// Whether the other side sees the request before whoever made it goes on.
    #[must_use]
    pub fn applies(self) -> bool {
        match self {
            Self::LoseAnswer | Self::Answer500After | Self::ApplyThenHang | Self::CrashAfter => true,
            Self::FailBefore
            | Self::Answer500Before
            | Self::Hang
            | Self::ApplyLate
            | Self::CrashBefore
            | Self::Throttle
            | Self::TransactionConflict
            | Self::TakeHalf => false,
        }
    }

    /// Whether this can happen with that side at all.
    #[must_use]
    pub fn can_hit(self, side: Side) -> bool {
        match self {
            Self::TransactionConflict => side == Side::DynamoDb,
            Self::TakeHalf => side == Side::Sqs,
            Self::ApplyLate => matches!(side, Side::DynamoDb | Side::Sqs),
            Self::FailBefore
            | Self::Answer500Before
            | Self::LoseAnswer
            | Self::Answer500After
            | Self::Hang
            | Self::ApplyThenHang
            | Self::CrashBefore
            | Self::CrashAfter
            | Self::Throttle => true,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self:?}")
    }
}

/// Which calls are hit by what.
#[derive(Debug, Clone, Default)]
pub struct Plan(Vec<Entry>);

#[derive(Debug, Clone)]
struct Entry {
    aim: Aim,
    fault: Fault,
    times: usize,
}

#[derive(Debug, Clone)]
enum Aim {
    Number(usize),
    Operation { worker: String, side: Side, operation: String, nth: usize },
    Side(Side),
}

impl Plan {
    /// Nothing goes wrong.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Hits the call with this number in the log (0 is the first).
    #[must_use]
    pub fn at(number: usize, fault: Fault) -> Self {
        Self::entry(Aim::Number(number), fault, 1)
    }

    /// Hits the `nth` call of this kind since the plan was set (1 is the first).
    ///
    /// # Panics
    /// When `nth` is 0: such a plan would never hit anything and its test would prove nothing.
    #[must_use]
    pub fn at_operation(worker: &str, side: Side, operation: &str, nth: usize, fault: Fault) -> Self {
        assert!(nth > 0, "the first call of a kind is number 1");
        let aim = Aim::Operation { worker: worker.to_owned(), side, operation: operation.to_owned(), nth };
        Self::entry(aim, fault, 1)
    }

    /// Hits every call to this side, whoever makes it, until the wire is healed.
    #[must_use]
    pub fn outage(side: Side, fault: Fault) -> Self {
        Self::entry(Aim::Side(side), fault, usize::MAX)
    }

    fn entry(aim: Aim, fault: Fault, times: usize) -> Self {
        Self(vec![Entry { aim, fault, times }])
    }

    /// The last entry also hits the next `times - 1` calls of the same worker, side and operation, so that a client
    /// that tries again by itself meets the fault again.
    #[must_use]
    pub fn times(mut self, times: usize) -> Self {
        if let Some(entry) = self.0.last_mut() {
            entry.times = times;
        }
        self
    }

    /// Both plans. Where both hit one call, the earlier entry decides.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return formatter.write_str("none");
        }
        for (index, Entry { aim, fault, times }) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(formatter, "{separator}{fault} ")?;
            match aim {
                Aim::Number(number) => write!(formatter, "at call {number}")?,
                Aim::Operation { worker, side, operation, nth } => {
                    write!(formatter, "at {worker} -> {side:?} {operation} no. {nth}")?;
                }
                Aim::Side(side) => write!(formatter, "at every call to {side:?}")?,
            }
            match *times {
                1 | usize::MAX => {}
                times => write!(formatter, ", {times} times")?,
            }
        }
        Ok(())
    }
}

/// A plan together with what it has counted so far.
#[derive(Debug, Default)]
pub(super) struct PlanUnderWay {
    plan: Plan,
    progress: Vec<Progress>,
}

#[derive(Debug, Clone, Default)]
struct Progress {
    seen: usize,
    hits: usize,
    /// Worker, side and operation of the numbered call that was hit: what `times` goes on with.
    following: Option<(String, Side, String)>,
}

impl PlanUnderWay {
    pub(super) fn of(plan: Plan) -> Self {
        let progress = vec![Progress::default(); plan.0.len()];
        Self { plan, progress }
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(super) fn fault_for(&mut self, call: &Call) -> Option<Fault> {
        let mut decided = None;
        // Every entry sees every call, also one that another entry took: "the third append" stays the third.
        for (entry, progress) in self.plan.0.iter().zip(&mut self.progress) {
            if progress.hit_by(entry, call) {
                decided = decided.or(Some(entry.fault));
            }
        }
        decided
    }
}

impl Progress {
    fn hit_by(&mut self, entry: &Entry, call: &Call) -> bool {
        if !entry.fault.can_hit(call.side) {
            return false;
        }
        let aimed_at = match &entry.aim {
            Aim::Number(number) => {
                let kind = || (call.worker.clone(), call.side, call.operation.clone());
                if call.number == *number {
                    self.following = Some(kind());
                }
                self.following.as_ref().is_some_and(|following| *following == kind())
            }
            Aim::Operation { worker, side, operation, nth } => {
                let of_this_kind =
                    call.worker == *worker && call.side == *side && call.operation == *operation;
                self.seen += usize::from(of_this_kind);
                of_this_kind && self.seen >= *nth
            }
            Aim::Side(side) => call.side == *side,
        };
        let hit = aimed_at && self.hits < entry.times;
        self.hits += usize::from(hit);
        hit
    }
}
