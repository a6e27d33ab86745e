//! The header: whether the tab is laid out as ours, and whether that is still known.
//!
//! Nothing is appended to a tab whose first row is not our header, and no column is ever made. The header is read before
//! a process appends for the first time, again once Google refused something or put rows elsewhere, and again when it was
//! seen a while ago, which for several rows at once is a moment: people rename tabs and move columns while a process lives, and an append into swapped columns is
//! answered like any other.

use std::sync::atomic::{AtomicI64, Ordering};

use docket_domain::limits::{HEADER_TRUSTED_FOR_SEVERAL_SECONDS, HEADER_TRUSTED_SECONDS};
use docket_domain::moment::Moment;
use docket_domain::outcome::NotApplied;
use docket_domain::outcome::sheets::header_is_ours;
use docket_domain::ports::Clock;
use docket_domain::status::Cause;
use serde_json::Value;

use super::GoogleSheet;
use super::read::{Block, unusable};
use super::url::Major;
use crate::http::Deadline;

/// The cells that hold the header.
pub(super) const HEADER_CELLS: &str = "A1:F1";

/// What this process knows of the header.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// Milliseconds since the epoch; 0 when the header is not known to be ours.
    seen_at_ms: AtomicI64,
}

impl Layout {
    /// The header must be read again before the next append.
    pub(super) fn doubt(&self) {
        self.seen_at_ms.store(0, Ordering::Release);
    }

    /// The header was read at `now` or later, and is ours.
    fn trust(&self, now: Moment) {
        self.seen_at_ms.store(now.millis(), Ordering::Release);
    }

    fn is_trusted(&self, rows: usize, now: Moment) -> bool {
        let seconds = if rows > 1 { HEADER_TRUSTED_FOR_SEVERAL_SECONDS } else { HEADER_TRUSTED_SECONDS };
        now.millis() < self.seen_at_ms.load(Ordering::Acquire).saturating_add_unsigned(seconds * 1_000)
    }
}

impl<C: Clock> GoogleSheet<C> {
    pub(super) async fn ready_by(&self, rows: usize, deadline: Deadline) -> Result<(), NotApplied> {
        let now = self.clock.now();
        if self.layout.is_trusted(rows, now) {
            // A bad key must show before records are claimed, also when the header is known.
            return self.tokens.get(&self.http, now, deadline).await.map(|_| ());
        }
        let blocks = self.read(&[HEADER_CELLS.to_owned()], Major::Rows, deadline).await?;
        let header = blocks.first().ok_or_else(|| unusable("unreadable_answer"))?;
        check_header(header, self.address.tab())?;
        self.layout.trust(now);
        Ok(())
    }
}

/// Whether the block is our tab's first row and holds our six names, in whichever direction its lists run.
pub(super) fn check_header(block: &Block, tab: &str) -> Result<(), NotApplied> {
    let halt = |cause: &str| Err(NotApplied::Halt(Cause::new(cause)));
    if block.range.tab != tab {
        // Google finds a tab whatever the case of its name. Then the answer to an append would name another tab than
        // ours, and a row in its place would count as misplaced.
        return halt("tab_is_named_otherwise");
    }
    let cells: Vec<Value> = block.lists.concat();
    if block.begins_at(tab, "A", 1) && header_is_ours(&cells) { Ok(()) } else { halt("header_mismatch") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::read::tests::block;
    use super::*;

    fn cause(range: &str, lists: &Value) -> Option<String> {
        check_header(&block(range, lists), "Intake").err().map(|reason| {
            assert!(matches!(reason, NotApplied::Halt(_)));
            reason.cause().0
        })
    }

    #[test]
    fn only_our_six_names_in_our_order_in_our_tab_are_our_header() {
        let rows = json!([["reference", "confirmed_at", "request_type", "summary", "contact", "chat_id"]]);
        let columns =
            json!([["reference"], ["confirmed_at"], ["request_type"], ["summary"], ["contact"], ["chat_id"]]);
        assert_eq!(cause("Intake!A1:F1", &rows), None);
        assert_eq!(cause("'Intake'!A1:F1", &columns), None);
        let mismatch = Some("header_mismatch".to_owned());
        for lists in [
            json!([]),
            json!([[]]),
            json!([["reference", "confirmed_at", "request_type", "summary", "contact"]]),
            json!([["reference", "confirmed_at", "summary", "request_type", "contact", "chat_id"]]),
            json!([["", "reference", "confirmed_at", "request_type", "summary", "contact"]]),
            json!([["reference"], ["confirmed_at"], [], ["summary"], ["contact"], ["chat_id"]]),
            json!([["reference", "confirmed_at", "request_type", "summary", 5, "chat_id"]]),
        ] {
            assert_eq!(cause("Intake!A1:F1", &lists), mismatch, "{lists}");
        }
        assert_eq!(cause("Intake!B1:G1", &rows), mismatch);
        assert_eq!(cause("Intake!A2:F2", &rows), mismatch);
        assert_eq!(cause("intake!A1:F1", &rows), Some("tab_is_named_otherwise".into()));
    }
}
