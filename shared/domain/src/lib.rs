//! What Docket knows and decides.
//!
//! Pure: no input or output, no clock, no environment, no randomness. `now`, tokens and jitter are passed in, so
//! every decision can be repeated from what was stored. Read the modules in this order.

pub mod limits;
pub mod moment;
pub mod cause;
pub mod reference;
pub mod submission;
pub mod status;
pub mod row;
pub mod outcome;
pub mod catalog;
pub mod reply;
pub mod intake;
pub mod metric;
pub mod alert;
pub mod ports;
