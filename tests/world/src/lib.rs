//! One fake world for tests, the demo and the benchmark.

pub mod clock;
pub mod engines;
pub mod event_source;
pub mod exchange;
pub mod sheets;
pub mod telegram;
pub mod wire;
