//! What this process itself wrote in another place, until a person has looked at it: the index of reviews lags behind, and
//! the sheet must stop at once.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use docket_domain::reference::Reference;

/// The references of the rows.
#[derive(Debug, Default)]
pub struct Misplaced(Mutex<BTreeSet<Reference>>);

impl Misplaced {
    pub(crate) fn all(&self) -> Vec<Reference> {
        self.set().iter().cloned().collect()
    }

    pub(crate) fn remember(&self, references: impl IntoIterator<Item = Reference>) {
        self.set().extend(references);
    }

    pub(crate) fn forget(&self, reference: &Reference) {
        self.set().remove(reference);
    }

    fn set(&self) -> MutexGuard<'_, BTreeSet<Reference>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
