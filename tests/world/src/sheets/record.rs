//! What was asked of Google, in order of arrival, whatever became of it.

use super::call::Kind;

/// One request as it arrived.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Milliseconds since the epoch, on the turned clock.
    pub at_ms: i64,
    pub kind: Kind,
    pub method: String,
    /// Raw, still percent-encoded.
    pub path: String,
    /// Raw, still percent-encoded.
    pub query: String,
    /// Names in lower case. Holds credentials, as the real request does.
    pub headers: Vec<(String, String)>,
    /// Rows an append carried; 0 for everything else.
    pub rows: usize,
}

const MINUTE_MS: i64 = 60_000;

/// The most requests that arrived within any 60 seconds.
pub(super) fn most_in_any_minute(requests: &[Seen]) -> usize {
    let in_minute_from = |start_ms: i64| {
        requests.iter().filter(|seen| (start_ms..start_ms + MINUTE_MS).contains(&seen.at_ms)).count()
    };
    requests.iter().map(|seen| in_minute_from(seen.at_ms)).max().unwrap_or(0)
}

/// Google's quota of one user: so many units in the last minute, one unit a request.
#[derive(Debug, Default)]
pub(super) struct Quota {
    pub(super) enforced: bool,
    writes_ms: Vec<i64>,
    reads_ms: Vec<i64>,
}

impl Quota {
    /// Google's limit a user, for writes and for reads alike.
    const UNITS_A_MINUTE: usize = 60;

    /// Takes a unit for a request of this kind. Without one left, names the exhausted group: `Write`, `Read`.
    pub(super) fn take(&mut self, kind: Kind, now_ms: i64) -> Result<(), &'static str> {
        let (taken, group) = match kind {
            Kind::Append | Kind::Update | Kind::BatchUpdate | Kind::Other => (&mut self.writes_ms, "Write"),
            Kind::Read | Kind::BatchRead | Kind::Tabs => (&mut self.reads_ms, "Read"),
            Kind::Token | Kind::Federation | Kind::Impersonation => return Ok(()),
        };
        taken.retain(|at_ms| now_ms - at_ms < MINUTE_MS);
        if self.enforced && taken.len() >= Self::UNITS_A_MINUTE {
            return Err(group);
        }
        taken.push(now_ms);
        Ok(())
    }
}
