//! The whole table, page by page, at a pace that leaves the functions their share.

use docket_adapters::dynamodb::{DynamoSubmissions, Unread};
use docket_domain::ports::Clock;
use docket_domain::status::Record;

use crate::Stopped;

/// Records asked for at once.
const PAGE: u16 = 200;
/// Between two pages: five pages a second, a few hundred kilobytes.
const PAUSE_MS: u64 = 200;

/// How far a long command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is counted.
    pub of: &'static str,
    pub done: usize,
    /// None where nobody knows.
    pub all: Option<usize>,
}

/// Hands every record to `take`, in the table's own order, until it says false. `position` is where it begins after, and from
/// then on the end of the last page that was taken whole: whoever was interrupted can go on from there.
///
/// # Errors
/// The table could not be read.
pub async fn records<C: Clock>(
    submissions: &DynamoSubmissions,
    clock: &C,
    position: &mut Option<String>,
    progress: &mut impl FnMut(Progress),
    mut take: impl FnMut(Result<Record, Unread>) -> bool,
) -> Result<(), Stopped> {
    let mut done = 0;
    loop {
        let page = submissions.scan(position.as_deref(), PAGE).await?;
        done += page.records.len();
        for record in page.records {
            if !take(record) {
                return Ok(());
            }
        }
        progress(Progress { of: "records", done, all: None });
        if page.next.is_none() {
            return Ok(());
        }
        *position = page.next;
        clock.pause_ms(PAUSE_MS).await;
    }
}
