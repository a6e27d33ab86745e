//! Scenarios in the user's words, over the real functions.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the one state it is about")]

mod story;
mod one_fault;
mod acknowledgement;
mod acknowledger_crashes;
mod two_acknowledgers;
mod sweeper;
mod alerts;
mod redriven;
mod executables;
mod operator;
mod orders;
mod looking;
mod erase;
mod staying;
mod setup_webhook;
mod setup_sheet;
mod doctor;
mod doctor_of_aws;
mod canary;
mod intake;
mod old_cards;
mod store_item;
mod intake_edges;
mod webhook_door;
mod intake_faults;
mod write_side;
mod append_answers;
mod lookups;
mod write_edges;
mod two_writers;
mod sheet_shapes;
mod writer_crashes;
mod burst;
mod hanging_aws;
mod stage;
mod binaries;
mod tls;
mod keyless;
mod profiles;
mod settings;
mod rotation;
mod deployed;
mod told;
