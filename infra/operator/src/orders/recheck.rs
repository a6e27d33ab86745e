//! `docket recheck`: one more look at the sheet, and what it proves.
//!
//! Of a record that waits for nobody it only says what stands in the sheet now: a row that a person deleted is missing, one
//! that they copied is there twice, and neither is written again.

use docket_domain::ports::{Clock, Submissions, WholeSheet};
use docket_domain::reference::Reference;
use docket_domain::status::{Finding, Record, ReviewReason, WriteEvent, WriteState};

use super::{Desk, Done, Look};
use crate::Stopped;

/// Whether this look may settle a review of the write, or say more of it. Of what was turned away for sure, a row can only be
/// there by hand.
fn may_learn(record: &Record, finding: &Finding) -> bool {
    let of_the_write = record.reviews().iter().any(|review| matches!(review.reason, ReviewReason::Write(_)));
    let pending = matches!(record.write.state, WriteState::Pending { .. });
    of_the_write && (!pending || matches!(finding, Finding::OneEqual { .. }))
}

/// Looks, and keeps what settles the review.
///
/// # Errors
/// There is no such record, the sheet or the table could not be reached, or somebody was faster.
pub async fn recheck<S: Submissions, H: WholeSheet, C: Clock>(
    desk: &Desk<S, H, C>,
    reference: &Reference,
) -> Result<Done, Stopped> {
    let record = crate::show(&desk.submissions, reference).await?;
    let started_at = desk.clock.now();
    let found = desk.look(&record, false).await?;
    found.readable()?;
    if !may_learn(&record, &found.finding) {
        let said = without_review(&record, &found);
        return Ok(Done { found: Some(found), said, changed: false, record });
    }
    let now = desk.clock.now();
    let settle_seconds = desk.sheet()?.settle_seconds;
    let event = WriteEvent::LookedUp { finding: found.finding.clone(), started_at, settle_seconds };
    let next =
        record.write_after(&event, now, &desk.by).map_err(|error| Stopped::Refused(error.to_string()))?;
    let record = desk.keep(&record, next, now).await?;
    let said = match &record.write.state {
        WriteState::Confirmed { .. } => {
            "The row is there: the write is confirmed, and the customer will be told."
        }
        WriteState::Pending { .. }
        | WriteState::Attempting { .. }
        | WriteState::Uncertain { .. }
        | WriteState::Abandoned => "The review stays open.",
    };
    Ok(Done { found: Some(found), said: said.to_owned(), changed: true, record })
}

/// What the sheet says about a record that waits for no look.
fn without_review(record: &Record, found: &Look) -> String {
    let nothing = "Nothing was changed.";
    match (&record.write.state, &found.finding) {
        (_, Finding::None) if record.erased_at.is_some() && record.erased_rows == Some(0) => {
            format!("Its customer was erased; no row of it was found then, and none is here. {nothing}")
        }
        (_, Finding::None) if record.erased_at.is_some() => {
            format!("Its customer was erased, and its row with them. {nothing}")
        }
        _ if record.erased_at.is_some() => {
            format!(
                "Its customer was erased, and a row is there all the same: docket erase takes it away. {nothing}"
            )
        }
        (WriteState::Confirmed { .. }, Finding::OneEqual { .. }) => format!("As the record says. {nothing}"),
        (WriteState::Confirmed { .. }, Finding::None) => {
            format!(
                "Confirmed earlier, now missing here: deleted, moved, or in the spreadsheet of before. It is not written again. {nothing}"
            )
        }
        (WriteState::Confirmed { .. }, Finding::Several { .. }) => {
            format!(
                "Confirmed, and there as a duplicate: somebody copied it, or it was written twice. {nothing}"
            )
        }
        (WriteState::Confirmed { .. }, Finding::OneDiffers { .. }) => {
            format!("Confirmed earlier, and changed since. {nothing}")
        }
        (WriteState::Confirmed { .. }, Finding::Unreadable(_)) => nothing.into(),
        (WriteState::Abandoned, _) => format!("It was given up by an operator. {nothing}"),
        (WriteState::Pending { .. } | WriteState::Attempting { .. } | WriteState::Uncertain { .. }, _) => {
            match record.due() {
                // When, the answers say.
                Some((step, _)) => format!("A machine looks at it by itself ({}). {nothing}", step.as_str()),
                None => format!("The open review is not settled by a look. {nothing}"),
            }
        }
    }
}
