//! Reading the whole tab, a piece at a time: for the operator's audit, which compares it with the table.

use docket_domain::outcome::NotApplied;
use docket_domain::ports::Clock;
use serde_json::Value;

use super::GoogleSheet;
use crate::http::Deadline;

impl<C: Clock> GoogleSheet<C> {
    /// The number of the last row whose first cell is filled; 1 when there is only the header.
    ///
    /// # Errors
    /// Why nothing was learned; another header is one reason.
    pub async fn last_row(&self) -> Result<u32, NotApplied> {
        let column = self.read_reference_column(Deadline::in_ms(self.read_timeout_ms)).await?;
        Ok(u32::try_from(column.len()).unwrap_or(u32::MAX).max(1))
    }

    /// Columns A to F of these rows (one-based, both included), each with its number.
    ///
    /// # Errors
    /// Why nothing was learned.
    pub async fn rows(&self, first: u32, last: u32) -> Result<Vec<(u32, Vec<Value>)>, NotApplied> {
        self.read_runs(&[first..=last], Deadline::in_ms(self.read_timeout_ms)).await
    }
}
