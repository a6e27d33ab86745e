//! The same suite over every implementation of a port, and over every fake.

mod fake_telegram;
mod wire;
