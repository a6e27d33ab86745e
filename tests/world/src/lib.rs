//! One fake world for tests, the demo and the benchmark.
//!
//! The functions in it are the real ones, with the real AWS SDK; what they talk to is embedded or faked, over HTTP on
//! loopback, and time stands still unless it is turned.

pub mod clock;
pub mod exchange;
pub mod wire;
pub mod tls;
pub mod sheets;
pub mod telegram;
pub mod engines;
pub mod event_source;
pub mod witness;
pub mod workers;
pub mod world;
pub mod rules;
pub mod by_hand;
pub mod door;
pub mod operator;
pub mod runtime_api;
pub mod executable;
pub mod parameters;

pub use rules::Tampering;
pub use workers::Settings;
pub use world::World;
