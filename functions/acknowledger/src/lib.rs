//! The acknowledger: tells customers that their enquiry is recorded, at most once.
//!
//! It reads the write's state and never changes it.

pub mod handler;
pub mod pace;
pub mod step;

pub use step::Acknowledger;
