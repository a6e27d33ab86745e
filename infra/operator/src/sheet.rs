//! `docket sheet init`: the tab and its header, where they are missing.
//!
//! What stands in a sheet is somebody's. A tab with another first row is shown and never touched; and after each change the
//! sheet is looked at again, since an answer may be lost and a request must not be repeated blindly.

use docket_adapters::sheets::{GoogleSheet, HeaderRow, Survey};
use docket_domain::outcome::NotApplied;
use docket_domain::ports::{Clock, Sheet as _};
use serde_json::{Value, json};

use crate::Stopped;
use crate::cure::cure;
use crate::visible::visible;

fn stopped(reason: &NotApplied, account: &str) -> Stopped {
    let message = format!("Google Sheets: {}; {}", reason.cause(), cure(reason, account));
    match reason {
        NotApplied::TryAgain(_) | NotApplied::Busy { .. } => Stopped::Unreachable(message),
        NotApplied::Halt(_) | NotApplied::CellAlone(_) | NotApplied::CellInCompany(_) => {
            Stopped::Refused(message)
        }
    }
}

/// A tab with its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// As it is spelt.
    pub tab: String,
    /// What was missing: `tab`, `header`.
    pub made: Vec<&'static str>,
}

impl Ready {
    #[must_use]
    pub fn page(&self) -> String {
        let tab = visible(&self.tab);
        if self.made.is_empty() {
            return format!("{tab} is there with its header; nothing was changed.");
        }
        let made: Vec<String> = self.made.iter().map(|part| format!("the {part}")).collect();
        format!("{tab} is ready; made: {}.", made.join(", "))
    }

    #[must_use]
    pub fn json(&self) -> Value {
        json!({"tab": self.tab, "made": self.made})
    }
}

/// Makes what is missing.
///
/// # Errors
/// Refused, not reachable, or something else stands there.
pub async fn init<C: Clock>(sheet: &GoogleSheet<C>) -> Result<Ready, Stopped> {
    let (tab, account) = (visible(sheet.tab()), visible(sheet.account()));
    let look = async || sheet.survey().await.map_err(|reason| stopped(&reason, &account));
    let mut seen = look().await?;
    let mut made = Vec::new();
    if seen.ours.is_none() {
        // Google would refuse it with a word for everything.
        if let Some(alike) = seen.tabs.iter().find(|name| name.to_lowercase() == sheet.tab().to_lowercase()) {
            return Err(Stopped::Refused(format!(
                "there is no {tab}, but a tab that Google takes for the same name: write SHEET_NAME as {}",
                visible(alike)
            )));
        }
        let tried = sheet.add_tab().await;
        seen = look().await?;
        match (&seen.ours, tried) {
            (Some(_), _) => made.push("tab"),
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
            (Some(HeaderRow::Ours), _) => made.push("header"),
            (_, Err(reason)) => return Err(stopped(&reason, &account)),
            (_, Ok(())) => {
                return Err(Stopped::Refused(format!(
                    "Google said that it wrote the header of {tab}, and it is not there"
                )));
            }
        }
    }
    match header(&seen) {
        Some(HeaderRow::Ours) => Ok(Ready { tab: sheet.tab().to_owned(), made }),
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
