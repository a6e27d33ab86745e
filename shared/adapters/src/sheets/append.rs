//! The append: all rows of a group in one POST, and at most one POST that could have been executed.

use std::time::Duration;

use docket_domain::outcome::sheets::classify_append;
use docket_domain::outcome::{AppendOutcome, NotApplied};
use docket_domain::ports::Clock;
use docket_domain::row::Row;
use docket_domain::status::Cause;
use serde::Serialize;

use super::GoogleSheet;
use crate::http::{Call, Deadline};

/// A `ValueRange` (Sheets API v4). Six JSON strings a row: RAW stores strings as they are.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    major_dimension: &'static str,
    values: &'a [Row],
}

impl<C: Clock> GoogleSheet<C> {
    pub(super) async fn append_by(&self, rows: &[Row], deadline: Deadline) -> AppendOutcome {
        if rows.is_empty() {
            return AppendOutcome::NotApplied(NotApplied::TryAgain(Cause::new("no_rows")));
        }
        // The caller asked before it claimed; asked again here, so that no path leads to an append past the header.
        if let Err(reason) = self.ready_by(rows.len(), deadline).await {
            return AppendOutcome::NotApplied(reason);
        }
        let outcome = self.post_rows(rows, deadline).await;
        if casts_doubt(&outcome) {
            self.layout.doubt();
        }
        outcome
    }

    async fn post_rows(&self, rows: &[Row], deadline: Deadline) -> AppendOutcome {
        let url = self.address.append();
        let body = Body { major_dimension: "ROWS", values: rows };
        // A POST that starts with little time left would mostly end as unknown: better not sent than unknown.
        let least = Duration::from_millis(self.append_timeout_ms / 2);
        match self.authorized(|| Call::post_json(url.clone(), &body), least, deadline).await {
            Ok(exchange) => classify_append(&exchange, self.address.tab(), rows.len()),
            // No token, or no time for one after a 401: nothing was executed.
            Err(reason) => AppendOutcome::NotApplied(reason),
        }
    }
}

/// Whether the tab may have changed since its header was read: Google refused something, or rows went elsewhere.
fn casts_doubt(outcome: &AppendOutcome) -> bool {
    match outcome {
        // A lost answer too: a read before the next append tells a Google in trouble from one lost answer, and keeps an
        // outage from making more than one batch uncertain.
        AppendOutcome::Misplaced { .. } | AppendOutcome::Unknown(_) => true,
        AppendOutcome::NotApplied(reason) => match reason {
            NotApplied::Halt(_) | NotApplied::CellAlone(_) | NotApplied::CellInCompany(_) => true,
            // Says nothing of the tab; a read would only add to what made it busy.
            NotApplied::TryAgain(_) | NotApplied::Busy { .. } => false,
        },
        AppendOutcome::Applied(_) => false,
    }
}
