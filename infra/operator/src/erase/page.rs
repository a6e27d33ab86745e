//! What a person reads before they agree, and afterwards.

use super::{Gone, Plan, Planned, Whom};
use crate::visible::visible;
use crate::zone::Zone;

impl Plan {
    /// What will go, and what will not.
    #[must_use]
    pub fn page(&self, place: &str, zone: &Zone) -> String {
        let mut lines = vec![format!("To be erased, in {place} (whole rows) and in the tables:")];
        for planned in &self.enquiries {
            let Planned { reference, seen, astray, .. } = planned;
            let of = planned.live().map_or_else(
                || "its record is gone or erased".to_owned(),
                |record| {
                    let submission = &record.submission;
                    format!(
                        "of {}, {}, {}",
                        zone.shown(submission.confirmed_at),
                        visible(&submission.request_type),
                        visible(submission.contact.as_str())
                    )
                },
            );
            lines.push(format!("  {reference}  {of}: {}", visible(seen)));
            if !astray.is_empty() {
                lines.push(format!("    left to you, delete them by hand: {}", visible(&astray.join(", "))));
            }
            if planned.stops_the_sheet() {
                lines.push(
                    "    its review misplaced_row closes with it, and appends begin again: put columns A to F right before"
                        .into(),
                );
            }
            lines
                .extend(planned.elsewhere().iter().map(|left| format!("    left to you: {}", visible(left))));
        }
        if self.enquiries.is_empty() {
            lines.push("  no enquiry".into());
        }
        if let Whom::Chat(chat) = &self.whom {
            lines.push(format!("  what is being written in chat {chat}, and what Docket remembers of it"));
        }
        lines.extend(self.left.iter().map(|left| format!("  left to you: {}", visible(left))));
        lines.join("\n")
    }
}

/// What went.
#[must_use]
pub fn page(gone: &[Gone]) -> String {
    let mut lines: Vec<String> = gone.iter().map(Gone::page).collect();
    if gone.is_empty() {
        lines.push("No enquiry was found; what was being written in the chat is gone.".into());
    }
    lines.push(
        "The spreadsheet's version history, other spreadsheets, the tables' recovery of 35 days and the chat itself keep what \
         they have."
            .into(),
    );
    lines.join("\n")
}

impl Gone {
    #[must_use]
    pub fn page(&self) -> String {
        let mut lines = vec![format!("{}: erased", self.reference)];
        lines.extend(self.rows.iter().map(|row| format!("  {}", visible(row))));
        lines.extend(self.left.iter().map(|left| format!("  left to you: {}", visible(left))));
        lines.join("\n")
    }
}
