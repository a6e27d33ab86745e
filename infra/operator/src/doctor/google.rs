//! The sheet: whether the account gets in, finds our tab and header, has room for rows, and may write.

use docket_adapters::config::Environment;
use docket_adapters::sheets::{HeaderRow, Survey, WORKBOOK_CELLS_MAX};
use docket_domain::outcome::NotApplied;
use docket_domain::ports::Sheet as _;
use docket_domain::row::HEADER;

use super::Check;
use crate::cure::{WORKBOOK_FULL, cure};
use crate::reach;

pub(super) async fn check(environment: &Environment, checks: &mut Vec<Check>) {
    const SHEET: &str = "spreadsheet";
    let sheet = match reach::sheet(environment).await {
        Ok(sheet) => sheet,
        Err(stopped) => {
            checks.push(Check::wrong(SHEET, stopped.message(), "mend the setting that is named"));
            return;
        }
    };
    let account = sheet.account().to_owned();
    let failed = |name: &str, reason: &NotApplied| {
        let (cause, cure) = (reason.cause().to_string(), cure(reason, &account));
        match reason {
            NotApplied::TryAgain(_) | NotApplied::Busy { .. } => Check::not_known(name, cause, cure),
            NotApplied::Halt(_) | NotApplied::CellAlone(_) | NotApplied::CellInCompany(_) => {
                Check::wrong(name, cause, cure)
            }
        }
    };
    let survey = match sheet.survey().await {
        Ok(survey) => survey,
        Err(reason) => {
            checks.push(failed(SHEET, &reason));
            return;
        }
    };
    checks.push(Check::ok(SHEET, format!("{account} gets in")));
    checks.push(room(&survey));
    let tab = sheet.tab();
    match survey.ours {
        None => checks.push(Check::wrong(
            "tab",
            format!("there is no {tab}; there are: {}", survey.tabs.join(", ")),
            "docket sheet init makes it; or rename the tab back, or deploy with another SheetName",
        )),
        Some(ours) => {
            checks.push(match ours.header {
                HeaderRow::Ours => Check::ok("tab and header", format!("{tab} has the six names")),
                HeaderRow::EmptyTab => {
                    Check::wrong("tab and header", format!("{tab} is empty"), "docket sheet init")
                }
                HeaderRow::Other(cells) => Check::wrong(
                    "tab and header",
                    format!("the first row of {tab} is: {}", cells.join(" | ")),
                    format!("make it: {}", HEADER.join(" | ")),
                ),
            });
            if ours.protected {
                checks.push(Check::wrong(
                    "protection",
                    format!("something in {tab} is protected against {account}"),
                    format!("let {account} edit it, or remove the protection"),
                ));
            }
        }
    }
    checks.push(match sheet.may_write().await {
        Ok(()) => Check::ok("permission to write", format!("{account} may edit")),
        Err(reason) => failed("permission to write", &reason),
    });
}

/// Whether a row more fits. The mark with which the permission is tried needs no cell, so it succeeds in a full workbook too.
fn room(survey: &Survey) -> Check {
    let used = format!("{} of {WORKBOOK_CELLS_MAX} cells are used, empty ones too", survey.cells);
    match survey.rows_left() {
        0 => Check::wrong("room", format!("{used}: no row fits any more"), WORKBOOK_FULL),
        rows => Check::ok("room", format!("{used}; {rows} rows more fit")),
    }
}
