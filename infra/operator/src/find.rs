//! `docket find`: enquiries by chat, words or age, and `docket export`: all of them.

use docket_adapters::dynamodb::Unread;
use docket_domain::moment::Moment;
use docket_domain::row::{HEADER, Row};
use docket_domain::status::Record;
use docket_domain::submission::ChatId;

use crate::visible::visible;
use crate::zone::Zone;

/// What is looked for; everything that is given must fit.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    pub chat: Option<ChatId>,
    /// In summary, contact or request type, whatever the case.
    pub text: Option<String>,
    pub since: Option<Moment>,
}

impl Wanted {
    #[must_use]
    pub fn fits(&self, record: &Record) -> bool {
        let submission = &record.submission;
        let holds = |wanted: &String| {
            let wanted = wanted.to_lowercase();
            [submission.summary.as_str(), submission.contact.as_str(), &submission.request_type]
                .iter()
                .any(|text| text.to_lowercase().contains(&wanted))
        };
        self.chat.is_none_or(|chat| chat == submission.chat_id)
            && self.text.as_ref().is_none_or(holds)
            && self.since.is_none_or(|since| submission.confirmed_at >= since)
    }
}

/// Newest first, one line each.
#[must_use]
pub fn page(found: &mut [Record], unread: usize, zone: &Zone) -> String {
    found.sort_by_key(|record| std::cmp::Reverse(record.submission.confirmed_at));
    let mut lines: Vec<String> = found
        .iter()
        .map(|record| {
            let submission = &record.submission;
            let ack = record.acknowledgement.as_ref().map_or("none", |ack| ack.state.as_str());
            let open = if record.reviews().is_empty() { "" } else { "  in review" };
            format!(
                "{}  {}  write {:<10} told {:<10} {}  {}{open}",
                submission.reference,
                zone.shown(submission.confirmed_at),
                record.write.state.as_str(),
                ack,
                visible(&submission.request_type),
                visible(submission.contact.as_str()),
            )
        })
        .collect();
    if found.is_empty() {
        lines.push("Nothing was found.".into());
    }
    if unread > 0 {
        lines.push(format!("{unread} records cannot be read by this release and were not searched."));
    }
    lines.join("\n")
}

/// How an export is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// The row's columns, then the states of write and message.
    Csv,
    /// One record a line, as `show --json` has it.
    JsonLines,
}

impl Format {
    /// What stands before the first record.
    #[must_use]
    pub fn head(self) -> Option<String> {
        match self {
            Self::Csv => Some(format!("{},write,acknowledgement", HEADER.join(","))),
            Self::JsonLines => None,
        }
    }

    #[must_use]
    pub fn line(self, record: &Record) -> String {
        match self {
            Self::JsonLines => crate::json::record(record).to_string(),
            Self::Csv => {
                let row = Row::of(&record.submission);
                let ack = record.acknowledgement.as_ref().map_or("none", |ack| ack.state.as_str());
                let cells = row.cells().iter().map(String::as_str).chain([record.write.state.as_str(), ack]);
                cells.map(quoted).collect::<Vec<_>>().join(",")
            }
        }
    }

    /// In place of one that cannot be read: an export never leaves a hole unsaid.
    #[must_use]
    pub fn unread(unread: &Unread) -> String {
        format!("{}: this release cannot read it ({})", visible(&unread.reference), unread.cause)
    }
}

/// Always in quotes (RFC 4180); a cell that a spreadsheet would take for a formula begins with an apostrophe, since an export
/// is opened in one.
fn quoted(cell: &str) -> String {
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<i64>().is_err();
    let guard = if formula { "'" } else { "" };
    format!("\"{guard}{}\"", cell.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_of_an_export_is_quoted_and_never_a_formula() {
        for (cell, written) in [
            ("plain", "\"plain\""),
            ("a \"word\", two\nlines", "\"a \"\"word\"\", two\nlines\""),
            ("=1+1", "\"'=1+1\""),
            ("@all", "\"'@all\""),
            ("+49 30", "\"'+49 30\""),
            ("-1002000000001", "\"-1002000000001\""),
        ] {
            assert_eq!(quoted(cell), written);
        }
    }
}
