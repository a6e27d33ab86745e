//! The same suite over every implementation of a port, and over every fake.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the one outcome it is about")]

mod engines;
mod event_source;
mod fake_sheets;
mod fake_telegram;
mod store;
mod sheets_adapter;
mod telegram_adapter;
mod wire;
