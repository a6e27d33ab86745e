//! The two tables: records and conversations, on DynamoDB.
//!
//! Storage never chooses a transition; it applies one on condition that nothing changed since it was decided. Its
//! whole difficulty is an answer that does not come, or comes wrong: the SDK sends a request again when its answer was
//! lost, and the second time reports "condition failed" about its own first success. So every change carries something
//! that names it (an attempt token, a history entry, a change token), and what stands in the table decides whose it is.
//!
//! An item that this release cannot read fails to decode. It is never filled up with defaults, and never overwritten.

pub use conversations::DynamoConversations;
pub use submissions::{DynamoSubmissions, Scanned, Unread};

mod attributes;
mod confirm;
mod conversations;
mod expression;
mod failure;
mod item;
mod states;
mod submissions;

#[cfg(test)]
mod samples;
