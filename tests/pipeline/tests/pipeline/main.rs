//! Scenarios in the user's words, over the real functions.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod story;
mod one_fault;
