//! The outside world of Docket, one room each. Everything that touches a network, the environment or a clock is here,
//! behind the ports of the domain.

pub mod aws;
pub mod clock;
pub mod config;
pub mod dynamodb;
pub mod http;
pub mod lambda;
pub mod parameters;
pub mod rotation;
pub mod sheets;
pub mod sqs;
pub mod telegram;
pub mod telemetry;
