//! Deleting one row. The deletion is sent once; when its answer does not come, what stands there tells, and a deletion is never
//! sent again blindly.

use docket_adapters::sheets::{After, Deletion, GoogleSheet, Place};
use docket_domain::limits::GOOGLE_PROCESSING_SECONDS_MAX;
use docket_domain::ports::Clock;
use docket_domain::reference::Reference;

use crate::Stopped;
use crate::cure::by_google;

/// Looks at what a change left behind, at most.
pub(crate) const LOOKS_MAX: usize = 5;
pub(crate) const PAUSE_MS: u64 = 2_000;
/// Between two looks for a deletion whose answer is lost.
const LATE_PAUSE_MS: u64 = 15_000;

/// Deletes exactly the row at this place, which was read just now. What was done, in a sentence. `waits` hears it when that
/// will take minutes.
///
/// # Errors
/// It is still there, or another row may have been deleted in its place, or that is not known.
pub(crate) async fn delete<G: Clock, C: Clock>(
    sheet: &GoogleSheet<G>,
    clock: &C,
    place: &Place,
    waits: impl FnOnce(&str),
) -> Result<String, Stopped> {
    let range = place.range();
    let deletion = sheet.delete(place).await;
    if let Deletion::NotApplied(reason) = &deletion {
        return Err(by_google(&format!("the row at {range} was not deleted"), reason, sheet.account()));
    }
    // Until Google may still carry it out: whoever deletes again before that may take the row that moved up.
    let lost = matches!(deletion, Deletion::Unknown(_));
    let end = clock.now().plus_seconds(GOOGLE_PROCESSING_SECONDS_MAX);
    if lost {
        waits(&format!(
            "the answer to the deletion of {range} did not come: looking until {end}; delete nothing there before that"
        ));
    }
    let mut unread = None;
    let mut looks = 0;
    while looks < LOOKS_MAX || (lost && clock.now() < end) {
        if looks > 0 {
            clock.pause_ms(if looks < LOOKS_MAX { PAUSE_MS } else { LATE_PAUSE_MS }).await;
        }
        looks += 1;
        match sheet.look_after(place).await {
            Ok(After { gone: true, others_are_there: true, .. }) => {
                return Ok(format!("{range} is deleted, its neighbours are there"));
            }
            Ok(After { gone, others_are_there: false, missing }) => {
                return Err(Stopped::Refused(moved(range, gone, &missing)));
            }
            // Not yet, or never.
            Ok(After { gone: false, others_are_there: true, .. }) => unread = None,
            Err(reason) => unread = Some(reason),
        }
    }
    Err(match (unread, deletion) {
        (Some(reason), _) => by_google(
            &format!("not known whether the row at {range} is deleted: the sheet cannot be read"),
            &reason,
            sheet.account(),
        ),
        (None, Deletion::Unknown(cause)) => Stopped::Unreachable(format!(
            "the row at {range} is still there three minutes after its deletion was asked for; no answer came ({cause})"
        )),
        (None, Deletion::Answered | Deletion::NotApplied(_)) => {
            Stopped::Refused(format!("Google said that it deleted the row at {range}, and it is still there"))
        }
    })
}

/// Rows moved while one was deleted by its number: which one is gone, and where it can be had again.
fn moved(range: &str, gone: bool, missing: &[Reference]) -> String {
    let missing: Vec<&str> = missing.iter().map(Reference::as_str).collect();
    let ours = if gone {
        format!("{range} is deleted")
    } else {
        format!(
            "somebody moved rows at the same moment: our row is still there, and another row may have been deleted at {range}"
        )
    };
    if missing.is_empty() {
        format!("{ours}, and not every other row is where it was: look at File, Version history")
    } else {
        format!(
            "{ours}, and a row of {} is not there any more: look at File, Version history, and restore it from there",
            missing.join(", ")
        )
    }
}
