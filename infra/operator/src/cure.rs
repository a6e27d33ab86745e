//! What to do about what Google answered, for whoever runs a command.
//!
//! "Try again" is said only of what passes by itself: whoever hears it about a refusal that lasts waits for nothing.

use docket_domain::outcome::NotApplied;

use crate::Stopped;

/// When no row fits any more.
pub const WORKBOOK_FULL: &str =
    "the workbook is full: remove tabs, columns or empty rows that nobody needs, or begin a new spreadsheet";

/// What Google answered, as a person can use it. `account` is the address with which the spreadsheet is shared.
#[must_use]
pub fn cure(reason: &NotApplied, account: &str) -> String {
    let cause = reason.cause();
    match reason {
        NotApplied::Halt(_) => of_a_halt(&cause.0, account).unwrap_or_else(|| {
            format!("Google goes on refusing until somebody mends it: open the spreadsheet in a browser, and look what {account} may do there")
        }),
        // Not even a host is named by such an address, so nobody was asked.
        NotApplied::TryAgain(_) if cause.0.ends_with("request_invalid") => {
            "an address is none: look at SHEETS_ENDPOINT, and at the addresses in GOOGLE_CREDENTIALS".into()
        }
        NotApplied::TryAgain(_) if cause.0.ends_with("tls") => {
            "who answers there proves no name: look at this machine's clock, its proxy, and the endpoints".into()
        }
        NotApplied::TryAgain(_) => {
            "try again in a minute; if it stays, look at the network, the endpoints and Google's status page".into()
        }
        NotApplied::Busy { .. } => "try again in a minute: Google counts requests by the minute".into(),
        NotApplied::CellAlone(_) | NotApplied::CellInCompany(_) => {
            "Google takes no cell with this content: shorten it".into()
        }
    }
}

/// A call of Google's that failed, as a sentence with its cure.
#[must_use]
pub fn by_google(what: &str, reason: &NotApplied, account: &str) -> Stopped {
    let said = format!("{what}: {}; {}", reason.cause(), cure(reason, account));
    match reason {
        NotApplied::TryAgain(_) | NotApplied::Busy { .. } => Stopped::Unreachable(said),
        NotApplied::Halt(_) | NotApplied::CellAlone(_) | NotApplied::CellInCompany(_) => {
            Stopped::Refused(said)
        }
    }
}

/// The cure of a refusal that every request would meet; none for a word that is not known here.
fn of_a_halt(cause: &str, account: &str) -> Option<String> {
    Some(match cause {
        "permission_denied" => format!(
            "share the spreadsheet with {account}, as an editor; if it is, enable the Sheets API in the account's project"
        ),
        "spreadsheet_not_found" => {
            "SPREADSHEET_ID names no spreadsheet: it is the part of its address after /d/".into()
        }
        "not_a_google_sheet" => {
            "it is an Excel file: in Google Sheets, File, Save as Google Sheets; then set its new id".into()
        }
        "workbook_full" => WORKBOOK_FULL.into(),
        "protected_range" => format!("somebody protected the tab: let {account} edit it"),
        "only_row_left" => "Google deletes no row that is the only one below the header: add an empty one below it, then delete it by hand".into(),
        "no_such_tab" => "SHEET_NAME names no tab: docket sheet init makes it, or rename the tab back".into(),
        "tab_is_named_otherwise" => {
            "SHEET_NAME is spelt otherwise than the tab: write it letter by letter as it stands there, capitals too".into()
        }
        "header_mismatch" => "put the six names back into A1:F1, or name another tab".into(),
        "beyond_the_grid" => "the tab ends before column F: give it six columns or more".into(),
        "request_too_large" => {
            "Google takes no request of this size, and waiting makes none smaller: report it, with the time".into()
        }
        "http_400" => {
            "Google does not take this request and would not later: open the spreadsheet in a browser, see that the tab is a grid and is named as in SHEET_NAME, capitals too".into()
        }
        "unauthenticated" | "credentials_refused" => {
            "Google refuses the credentials: put a key that works into the parameter, and look at this machine's clock".into()
        }
        "credentials_cannot_sign" => "the key cannot sign: make a new one".into(),
        "federation_refused" => {
            "Google does not let this AWS role in: compare the provider's account and condition, and the audience in the file, with the writer's role (README, Google without a key)".into()
        }
        "impersonation_refused" => format!(
            "this AWS role may not borrow {account}: give its principal roles/iam.workloadIdentityUser on it, and enable the IAM Service Account Credentials API"
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use docket_domain::status::Cause;

    use super::*;

    /// Where a halt of the sheet gets its word.
    const SOURCES: [&str; 4] = [
        include_str!("../../../shared/domain/src/outcome/sheets.rs"),
        include_str!("../../../shared/adapters/src/sheets/layout.rs"),
        include_str!("../../../shared/adapters/src/sheets/setup.rs"),
        include_str!("../../../shared/adapters/src/sheets/token.rs"),
    ];

    /// Every word with which the sheet halts, read from where it is said: a list kept by hand would be wrong the day after.
    fn halts() -> BTreeSet<String> {
        let mut words = BTreeSet::new();
        for source in SOURCES {
            let code = source.split("#[cfg(test)]").next().unwrap_or_default();
            for opening in ["halt(\"", "Halt(Cause::new(\""] {
                words.extend(code.split(opening).skip(1).filter_map(|rest| rest.split('"').next()));
            }
        }
        // The words of the steps to a token are put together.
        words.extend(["credentials_refused", "federation_refused", "impersonation_refused"]);
        words.into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn whatever_lasts_has_its_own_cure_and_nobody_is_told_to_wait_for_it() {
        let halts = halts();
        for known in ["http_400", "tab_is_named_otherwise", "no_such_tab", "credentials_cannot_sign"] {
            assert!(halts.contains(known), "{known} was not found: {halts:?}");
        }
        assert!(halts.len() >= 16, "{halts:?}");
        for word in &halts {
            let cure = of_a_halt(word, "docket@example.org");
            assert!(cure.as_ref().is_some_and(|cure| !cure.contains("try again")), "{word}: {cure:?}");
        }
        // A word of a later release is not taken for one that passes.
        let later = cure(&NotApplied::Halt(Cause::new("something_new")), "docket@example.org");
        assert!(later.contains("until somebody mends it") && !later.contains("try again"), "{later}");
    }

    #[test]
    fn what_passes_by_itself_is_to_be_tried_again_and_a_wrong_address_is_not() {
        let after = |word: &str| cure(&NotApplied::TryAgain(Cause::new(word)), "docket@example.org");
        for word in ["timeout", "http_503", "token_http_500", "federation_connect", "unreadable_answer"] {
            assert!(after(word).starts_with("try again in a minute"), "{word}");
        }
        for word in ["request_invalid", "token_request_invalid", "tls", "impersonation_tls"] {
            assert!(!after(word).contains("try again"), "{word}");
        }
        let busy = cure(
            &NotApplied::Busy { cause: Cause::new("http_429"), retry_after_seconds: None },
            "docket@example.org",
        );
        assert!(busy.starts_with("try again in a minute"));
    }
}
