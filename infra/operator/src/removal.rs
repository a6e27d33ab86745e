//! Deleting one row. The deletion is sent once; when its answer does not come, what stands there tells, and a deletion is never
//! sent again blindly.

use docket_adapters::sheets::{After, Deletion, GoogleSheet, Place};
use docket_domain::limits::GOOGLE_PROCESSING_SECONDS_MAX;
use docket_domain::outcome::NotApplied;
use docket_domain::ports::Clock;
use docket_domain::reference::Reference;

use crate::Stopped;
use crate::cure::by_google;
use crate::zone::Zone;

/// Looks at what a change left behind, at most.
pub(crate) const LOOKS_MAX: usize = 5;
pub(crate) const PAUSE_MS: u64 = 2_000;
/// Google counts requests by the minute.
pub(crate) const BUSY_PAUSE_MS: u64 = 61_000;
/// Between two looks for a deletion whose answer is lost.
const LATE_PAUSE_MS: u64 = 15_000;

/// Whoever waits for minutes hears why.
pub(crate) fn says(what: &str) {
    anstream::eprintln!("docket: {what}");
}

/// Deletes exactly the row at this place, which was read just now. What was done, in a sentence. `says` hears it when that
/// will take minutes.
///
/// # Errors
/// It is still there, or another row may have been deleted in its place, or that is not known.
pub(crate) async fn delete<G: Clock, C: Clock>(
    sheet: &GoogleSheet<G>,
    clock: &C,
    place: &Place,
    zone: &Zone,
    says: fn(&str),
) -> Result<String, Stopped> {
    let range = place.range();
    let deletion = sheet.delete(place).await;
    if let Deletion::NotApplied(reason) = &deletion {
        return Err(by_google(&format!("the row at {range} was not deleted"), reason, sheet.account()));
    }
    // Until Google may still carry it out: whoever deletes again before that may take the row that moved up, and a row that
    // somebody moves meanwhile may be taken in its place. So what is seen only counts when that time is over.
    let lost = matches!(deletion, Deletion::Unknown(_));
    let end = clock.now().plus_seconds(GOOGLE_PROCESSING_SECONDS_MAX);
    if lost {
        says(&format!(
            "the answer to the deletion of {range} did not come: looking for three minutes, until {}; change nothing in the \
             sheet before that",
            zone.shown(end)
        ));
    }
    let mut last = None;
    let mut looks = 0;
    while looks < LOOKS_MAX || (lost && clock.now() < end) {
        if looks > 0 {
            let pause_ms = match &last {
                Some(Err(NotApplied::Busy { .. })) => BUSY_PAUSE_MS,
                _ if lost && looks >= LOOKS_MAX => LATE_PAUSE_MS,
                _ => PAUSE_MS,
            };
            clock.pause_ms(pause_ms).await;
        }
        looks += 1;
        let look = sheet.look_after(place).await;
        // Answered, so nothing of it is still to come; only a row that stays may need another look.
        let settled =
            !lost && matches!(look, Ok(After { gone: true, .. } | After { others_are_there: false, .. }));
        last = Some(look);
        if settled {
            break;
        }
    }
    match last {
        Some(Ok(After { gone: true, others_are_there: true, .. })) => {
            Ok(format!("{range} is deleted, its neighbours are there"))
        }
        Some(Ok(After { gone, others_are_there: false, missing })) => {
            Err(Stopped::Refused(moved(range, gone, &missing)))
        }
        Some(Ok(After { gone: false, others_are_there: true, .. })) => Err(match deletion {
            Deletion::Unknown(cause) => Stopped::Unreachable(format!(
                "the row at {range} is still there three minutes after its deletion was asked for; no answer came ({cause}); \
                 repeat this"
            )),
            Deletion::Answered | Deletion::NotApplied(_) => Stopped::Refused(format!(
                "Google said that it deleted the row at {range}, and it is still there: look in the spreadsheet, and repeat \
                 this"
            )),
        }),
        Some(Err(reason)) => Err(by_google(
            &format!("not known whether the row at {range} is deleted: the sheet cannot be read"),
            &reason,
            sheet.account(),
        )),
        None => Err(Stopped::Refused(format!("nobody looked what became of the row at {range}"))),
    }
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
