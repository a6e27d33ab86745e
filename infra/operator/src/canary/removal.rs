//! Taking the canary's row and record away again. Each deletion is sent once; when its answer does not come, what stands
//! there tells, and a deletion is never sent again blindly.

use docket_adapters::sheets::{After, Deletion, Place};
use docket_domain::ports::{Clock, Conversations, Removed, StoreError, Submissions};
use docket_domain::row::Row;
use docket_domain::status::{Finding, Record};

use super::Canary;
use super::report::Failed;

/// Looks at what a change left behind, at most.
const LOOKS_MAX: usize = 5;
const PAUSE_MS: u64 = 2_000;

impl<S: Submissions, V: Conversations, G: Clock, C: Clock> Canary<S, V, G, C> {
    /// Deletes exactly our row.
    pub(super) async fn remove_row(&self, row: &Row) -> Result<((), String), Failed> {
        let place = self.place(row).await?;
        let range = place.range().to_owned();
        let deletion = self.sheet.delete(&place).await;
        if let Deletion::NotApplied(reason) = &deletion {
            return Err(self.sheet_failed(&format!("the row at {range} was not deleted"), reason));
        }
        let mut unread = None;
        for look in 0..LOOKS_MAX {
            if look > 0 {
                self.clock.pause_ms(PAUSE_MS).await;
            }
            match self.sheet.look_after(&place).await {
                Ok(After { gone: true, others_are_there: true }) => {
                    return Ok(((), format!("{range} is deleted, its neighbours are there")));
                }
                Ok(After { gone: true, others_are_there: false }) => {
                    return Err(Failed::refused(format!(
                        "{range} is deleted, and not every other row is where it was: somebody changed the sheet at the same \
                         moment; look at File, Version history"
                    )));
                }
                Ok(After { gone: false, others_are_there: false }) => {
                    return Err(Failed::refused(format!(
                        "somebody moved rows at the same moment: our row is still there, and another row may have been deleted \
                         at {range}; look at File, Version history, and restore it from there"
                    )));
                }
                // Not yet, or never.
                Ok(After { gone: false, others_are_there: true }) => unread = None,
                Err(reason) => unread = Some(reason),
            }
        }
        Err(match (unread, deletion) {
            (Some(reason), _) => self.sheet_failed(
                &format!("not known whether the row at {range} is deleted: the sheet cannot be read"),
                &reason,
            ),
            (None, Deletion::Unknown(cause)) => Failed::unreachable(format!(
                "the row at {range} is still there; the answer to its deletion did not come ({cause}), and Google may carry \
                 it out within three minutes"
            )),
            (None, Deletion::Answered | Deletion::NotApplied(_)) => Failed::refused(format!(
                "Google said that it deleted the row at {range}, and it is still there"
            )),
        })
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
