//! The same suite over every implementation of a port, and over every fake.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod fake_telegram;
mod wire;
