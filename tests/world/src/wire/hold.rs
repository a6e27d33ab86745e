//! Calls that are held: they have arrived, and the other side sees them only when they are let go.
//!
//! So a test proves that two workers overlap: both have decided, and neither has heard what the other did.

use std::time::Duration;

use tokio::sync::watch;

use super::call::{Call, Side};
use super::{Fault, Wire};

/// Far longer than any call takes to come: only a test that has failed waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is to be held, and what is held now.
pub(super) struct Holding {
    next: Vec<(String, Side, String)>,
    numbers: Vec<usize>,
    waiting: usize,
    let_go: watch::Sender<u64>,
}

impl Default for Holding {
    fn default() -> Self {
        Self { next: Vec::new(), numbers: Vec::new(), waiting: 0, let_go: watch::Sender::new(0) }
    }
}

impl Wire {
    /// The next call of this kind that meets no fault is held until [`Self::let_go`]. Asked for twice, the next two are.
    pub fn hold_next(&self, worker: &str, side: Side, operation: &str) {
        self.state().holding.next.push((worker.to_owned(), side, operation.to_owned()));
    }

    /// The call with this number in the log (0 is the first) is held until [`Self::let_go`], if it meets no fault.
    pub fn hold_at(&self, number: usize) {
        self.state().holding.numbers.push(number);
    }

    /// How many calls are held now.
    #[must_use]
    pub fn held(&self) -> usize {
        self.state().holding.waiting
    }

    /// Waits until so many calls are held.
    ///
    /// # Panics
    /// When they do not come.
    pub async fn until_held(&self, calls: usize) {
        let held = async {
            while self.held() < calls {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, held).await.expect("the calls to be held come");
    }

    /// Every held call goes on, in any order.
    pub fn let_go(&self) {
        self.state().holding.let_go.send_modify(|times| *times += 1);
    }

    /// Waits, if this call is to be held.
    pub(super) async fn hold(&self, call: &Call, fault: Option<Fault>) {
        let mut let_go = {
            let holding = &mut self.state().holding;
            let of_kind = holding.next.iter().position(|(worker, side, operation)| {
                *worker == call.worker && *side == call.side && *operation == call.operation
            });
            let of_number = holding.numbers.iter().position(|number| *number == call.number);
            match (of_kind, of_number) {
                _ if fault.is_some() => return,
                (Some(asked), _) => drop(holding.next.remove(asked)),
                (None, Some(asked)) => drop(holding.numbers.remove(asked)),
                (None, None) => return,
            }
            holding.waiting += 1;
            holding.let_go.subscribe()
        };
        // The sender lives as long as the wire that this call holds on to.
        let _ = let_go.changed().await;
        self.state().holding.waiting -= 1;
    }
}
