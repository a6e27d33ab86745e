//! A scenario that forgets the rules fails: its world notices when it ends.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::world::World;

/// Whether the rules of a world were looked at. A part of the world, so that it ends with it.
#[derive(Debug, Default)]
pub(crate) struct Looked(AtomicBool);

impl Looked {
    pub(super) fn now(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl World {
    /// Says why the rules cannot be held against this world.
    ///
    /// # Panics
    /// When no reason is given.
    pub fn is_not_checked(&self, why: &str) {
        assert!(!why.trim().is_empty(), "a world that is not checked needs a reason");
        self.looked.now();
    }
}

impl Drop for Looked {
    fn drop(&mut self) {
        // A test that failed already must be heard with its own words.
        assert!(
            *self.0.get_mut() || std::thread::panicking(),
            "the rules of this world were never checked: call `check_rules` at the end, or `is_not_checked` with a reason",
        );
    }
}
