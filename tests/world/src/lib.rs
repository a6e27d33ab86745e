//! One fake world for tests, the demo and the benchmark.

pub mod clock;
pub mod exchange;
pub mod telegram;
pub mod wire;
