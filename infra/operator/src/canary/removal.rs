//! Taking the canary's row and record away again.

use docket_adapters::sheets::Place;
use docket_domain::ports::{Clock, Conversations, Removed, StoreError, Submissions};
use docket_domain::row::Row;
use docket_domain::status::{Finding, Record};

use super::Canary;
use super::report::Failed;
use crate::removal::{self, LOOKS_MAX, PAUSE_MS};
use crate::zone::Zone;

impl<S: Submissions, V: Conversations, G: Clock, C: Clock> Canary<S, V, G, C> {
    /// Deletes exactly our row.
    pub(super) async fn remove_row(&self, row: &Row) -> Result<((), String), Failed> {
        let place = self.place(row).await?;
        let found =
            removal::delete(&self.sheet, &self.clock, &place, &Zone::of_this_machine(), removal::says)
                .await?;
        Ok(((), found))
    }

    /// Where exactly one row stands that is ours; nothing was learned while rows moved, so that is tried again.
    async fn place(&self, row: &Row) -> Result<Place, Failed> {
        let mut looks = 1;
        loop {
            let found = match self.sheet.place(row).await {
                Ok(place) => return Ok(place),
                Err(found) => found,
            };
            return Err(match found {
                Finding::Unreadable(_) if looks < LOOKS_MAX => {
                    looks += 1;
                    self.clock.pause_ms(PAUSE_MS).await;
                    continue;
                }
                Finding::Unreadable(cause) => {
                    Failed::unreachable(format!("nothing was deleted: the sheet cannot be read: {cause}"))
                }
                Finding::None => Failed::refused("nothing was deleted: the row is not there any more"),
                Finding::OneDiffers { range } => {
                    Failed::refused(format!("nothing was deleted: somebody changed the row, {range}"))
                }
                Finding::Several { rows } => {
                    Failed::refused(format!("nothing was deleted: {rows} rows have the reference"))
                }
                // Never given in place of a place.
                Finding::OneEqual { range } => Failed::refused(format!("nothing was deleted at {range}")),
            });
        }
    }

    /// Deletes the record, if it is still what was seen and nothing about it is open.
    pub(super) async fn remove_record(&self, seen: &Record) -> Result<((), String), Failed> {
        let gone = || Ok(((), "deleted".to_owned()));
        let cause = match self.submissions.remove(seen).await {
            Ok(Removed::Gone) => return gone(),
            Ok(Removed::Kept(_)) => {
                return Err(Failed::refused("nothing was deleted: the record changed meanwhile"));
            }
            Err(StoreError::NotApplied(cause)) => {
                return Err(Failed::by_aws("the record was not deleted", &cause));
            }
            Err(error @ StoreError::Unreadable(_)) => return Err(error.into()),
            Err(StoreError::OutcomeUnknown(cause)) => cause,
        };
        for _ in 0..LOOKS_MAX {
            self.clock.pause_ms(PAUSE_MS).await;
            if let Ok(None) = self.submissions.get(&seen.submission.reference).await {
                return gone();
            }
        }
        Err(Failed::unreachable(format!("not known whether the record is deleted: {cause}")))
    }
}
