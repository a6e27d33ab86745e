//! The domain against the design: its rules as properties of every state and event, its tables line by line, and
//! conversations played to the end.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test names the case it is about and lets the others go by"
)]

mod samples;
mod write;
mod acknowledgement;
mod reachable;
mod lookups;
mod erasure;
mod append_answers;
mod send_answers;
mod rows;
mod chat;
mod conversation;
mod races;
