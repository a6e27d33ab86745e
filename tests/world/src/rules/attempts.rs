//! Rule 9: a losing worker has no side effect. Every request that could have one is held against the claims that were won.

use std::collections::HashMap;

use docket_domain::limits::HISTORY_MAX;
use docket_domain::status::Record;

use crate::exchange::Answer;
use crate::wire::Side;
use crate::witness::announced_in;
use crate::world::World;

/// How many requests were to append a reference's row, or to announce it, whatever became of them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Requests {
    appends: usize,
    sends: usize,
}

impl World {
    /// By reference.
    pub(super) fn requests_for_effects(&self) -> HashMap<String, Requests> {
        let mut requests: HashMap<String, Requests> = HashMap::new();
        for exchanged in self.wire.outward() {
            let (call, body) = (&exchanged.call, exchanged.call.json());
            match (call.side, call.operation.as_str()) {
                // With a token that Google no longer takes, one claim asks twice.
                (Side::Sheets, "append") if !is_unauthenticated(exchanged.answer.as_ref()) => {
                    for row in body["values"].as_array().into_iter().flatten() {
                        let name = row[0].as_str().unwrap_or_default();
                        requests.entry(name.to_owned()).or_default().appends += 1;
                    }
                }
                (Side::Telegram, "sendMessage") => {
                    for name in announced_in(body["text"].as_str().unwrap_or_default()) {
                        requests.entry(name).or_default().sends += 1;
                    }
                }
                _ => {}
            }
        }
        requests
    }
}

/// A claim that was won is in the history and allows one request; what goes beyond them came from a worker that had lost, or
/// never asked.
pub(super) fn without_a_claim(record: &Record, requests: &HashMap<String, Requests>) -> Vec<String> {
    let name = record.submission.reference.as_str();
    let entries = record.history.entries();
    if entries.len() >= HISTORY_MAX {
        // Older claims are not in it any more.
        return Vec::new();
    }
    let Requests { appends, sends } = requests.get(name).copied().unwrap_or_default();
    let mut broken = Vec::new();
    for (what, step, requests) in [("append", "claimed", appends), ("announce", "ack_claimed", sends)] {
        let claims: u32 = entries.iter().filter(|entry| entry.step == step).map(|entry| entry.times).sum();
        if requests > usize::try_from(claims).unwrap_or(usize::MAX) {
            broken.push(format!("rule 9: {requests} requests to {what} {name}, and {claims} claims"));
        }
    }
    broken
}

fn is_unauthenticated(answer: Option<&Answer>) -> bool {
    matches!(answer, Some(Answer::Reply { status: 401, .. }))
}
