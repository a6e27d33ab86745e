//! `docket sheet init`: the tab and its header, where they are missing.
//!
//! What stands in a sheet is somebody's. A tab with another first row is shown and never touched; and after each change the
//! sheet is looked at again, since an answer may be lost and a request must not be repeated blindly.

use docket_adapters::sheets::{GoogleSheet, HeaderRow, Survey};
use docket_domain::outcome::NotApplied;
use docket_domain::ports::{Clock, Sheet as _};

use crate::Stopped;
use crate::visible::visible;

/// What to do when no row fits any more.
pub const WORKBOOK_FULL: &str =
    "the workbook is full: remove tabs, columns or empty rows that nobody needs, or begin a new spreadsheet";

/// What Google answered, as a person can use it.
#[must_use]
pub fn cure(reason: &NotApplied, account: &str) -> String {
    let cause = reason.cause();
    match cause.0.as_str() {
        "permission_denied" => format!("share the spreadsheet with {account}, as an editor"),
        "spreadsheet_not_found" => "SPREADSHEET_ID names no spreadsheet: it is the part of its address after /d/".into(),
        "not_a_google_sheet" => "it is an Excel file: in Google Sheets, File, Save as Google Sheets; then set its new id".into(),
        "workbook_full" => WORKBOOK_FULL.into(),
        "protected_range" => format!("somebody protected the tab: let {account} edit it"),
        "only_row_left" => "Google deletes no row that is the only one below the header: add an empty one below it, then delete it by hand".into(),
        "no_such_tab" => "SHEET_NAME names no tab".into(),
        "header_mismatch" => "put the six names back into A1:F1, or name another tab".into(),
        "unauthenticated" | "credentials_refused" => {
            "Google refuses the credentials: put a key that works into the parameter, and look at this machine's clock".into()
        }
        "credentials_cannot_sign" => "the key cannot sign: make a new one".into(),
        _ => "try again in a minute".into(),
    }
}

fn stopped(reason: &NotApplied, account: &str) -> Stopped {
    let message = format!("Google Sheets: {}; {}", reason.cause(), cure(reason, account));
    match reason {
        NotApplied::TryAgain(_) | NotApplied::Busy(_) => Stopped::Unreachable(message),
        NotApplied::Halt(_) | NotApplied::CellAlone(_) | NotApplied::CellInCompany(_) => {
            Stopped::Refused(message)
        }
    }
}

/// Makes what is missing.
///
/// # Errors
/// Refused, not reachable, or something else stands there.
pub async fn init<C: Clock>(sheet: &GoogleSheet<C>) -> Result<String, Stopped> {
    let (tab, account) = (visible(sheet.tab()), visible(sheet.account()));
    let look = async || sheet.survey().await.map_err(|reason| stopped(&reason, &account));
    let mut seen = look().await?;
    let mut made = Vec::new();
    if seen.ours.is_none() {
        let tried = sheet.add_tab().await;
        seen = look().await?;
        match (&seen.ours, tried) {
            (Some(_), _) => made.push("the tab"),
            (None, Err(reason)) => return Err(stopped(&reason, &account)),
            (None, Ok(())) => {
                return Err(Stopped::Refused(format!("Google said that it made {tab}, and it is not there")));
            }
        }
    }
    if header(&seen) == Some(&HeaderRow::EmptyTab) {
        let tried = sheet.write_header().await;
        seen = look().await?;
        match (header(&seen), tried) {
            (Some(HeaderRow::Ours), _) => made.push("the header"),
            (_, Err(reason)) => return Err(stopped(&reason, &account)),
            (_, Ok(())) => {
                return Err(Stopped::Refused(format!(
                    "Google said that it wrote the header of {tab}, and it is not there"
                )));
            }
        }
    }
    match header(&seen) {
        Some(HeaderRow::Ours) if made.is_empty() => {
            Ok(format!("{tab} is there with its header; nothing was changed."))
        }
        Some(HeaderRow::Ours) => Ok(format!("{tab} is ready; made: {}.", made.join(", "))),
        Some(HeaderRow::Other(cells)) => Err(Stopped::Refused(format!(
            "{tab} has another first row, and was not touched: {}. Name another tab in SHEET_NAME, or make its first row \
             {}",
            visible(&if cells.is_empty() {
                "(blank, with something below)".to_owned()
            } else {
                cells.join(" | ")
            }),
            docket_domain::row::HEADER.join(" | ")
        ))),
        Some(HeaderRow::EmptyTab) | None => {
            Err(Stopped::Refused(format!("{tab} changed while it was set up; try again")))
        }
    }
}

fn header(survey: &Survey) -> Option<&HeaderRow> {
    survey.ours.as_ref().map(|ours| &ours.header)
}
