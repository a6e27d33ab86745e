//! Stored words as a person reads them: why a try ended as it did, and what proves a row.
//!
//! For pages only: what is stored, logged and printed as JSON keeps the word itself, which also stands behind what is said of
//! it, so that a page, a log and the runbook can be held beside each other. A word that is not known here is shown as it is.

use std::borrow::Cow;

use docket_domain::status::{Cause, Evidence};

/// Why something is as it is: `no answer came in time (timeout)`.
#[must_use]
pub fn of_cause(cause: &Cause) -> String {
    let word = cause.0.as_str();
    match said(word) {
        Some(said) => format!("{said} ({word})"),
        None => word.to_owned(),
    }
}

/// What proves that the row was written.
#[must_use]
pub fn of_evidence(evidence: &Evidence) -> String {
    match evidence {
        Evidence::AppendAnswer { range } => format!("Google's own answer names it at {range}"),
        Evidence::ReadBack { range } => format!("read back at {range}, with all six cells as confirmed"),
        Evidence::Operator { why } => format!("by an operator's word: {why}"),
    }
}

/// What a step of the history says beside its states: `cut: the connection broke …`. Of an operator's own words nothing is
/// known here, and they stay as they are.
#[must_use]
pub fn of_detail(detail: &str) -> String {
    // Behind the range there may stand what else was seen.
    if let Some(at) = detail.strip_prefix("append_answer ") {
        return format!("Google's own answer names it at {at}");
    }
    if let Some(at) = detail.strip_prefix("read_back ") {
        return format!("read back at {at}");
    }
    if let Some(word) = detail.strip_prefix("unreadable: ") {
        return format!("not read: {}", of_cause(&Cause::new(word)));
    }
    said(detail).map_or_else(|| detail.to_owned(), |said| format!("{detail}: {said}"))
}

fn said(word: &str) -> Option<Cow<'static, str>> {
    if let Some(said) = of_a_word(word) {
        return Some(said.into());
    }
    if let Some(status) = word.strip_prefix("http_").and_then(|status| status.parse::<u16>().ok()) {
        return Some(match status {
            429 => "too many requests for now".into(),
            500..=599 => format!("the other side was in trouble: HTTP status {status}").into(),
            _ => format!("the answer was HTTP status {status}").into(),
        });
    }
    // What may go wrong on the way to a token goes wrong as anywhere else.
    let (of, rest) = [
        ("token_", "on the way to Google's token"),
        ("federation_", "when AWS's identity was shown to Google"),
        ("impersonation_", "when the service account was borrowed"),
    ]
    .into_iter()
    .find_map(|(step, of)| Some((of, word.strip_prefix(step)?)))?;
    Some(format!("{of}: {}", said(rest)?).into())
}

fn of_a_word(word: &str) -> Option<&'static str> {
    Some(match word {
        "no_time" | "no_time_left" => "no time was left to send it",
        "request_invalid" => "the address where it should go is none",
        "name_resolution" => "the other side's name was not found",
        "connect_timeout" => "no connection came about in time",
        "connect" => "no connection came about",
        "tls" => "who answered did not prove its name",
        "timeout" => "no answer came in time",
        "reset" => "the connection was reset before the whole answer was there",
        "cut" => "the connection broke before the whole answer was there",
        "answer_too_large" => "the answer was larger than any should be",
        "unreadable_answer" => "the answer could not be understood",
        "no_row_updated" => "the answer spoke of success and named no row",
        "lease_ran_out" => "the worker at it was not heard of again",
        "misplaced" => "the answer named another place than the one asked for",
        "restored" => "set by hand after a restore",
        "cell_refused" => "Google refuses one of its cells",
        "cell_refused_in_company" => "Google refused a cell of one of the rows sent together",
        "rate_limit_403" => "too many requests for now",
        "http_400" => "the other side does not take this request: HTTP status 400",
        "no_such_tab" => "there is no such tab",
        "tab_is_named_otherwise" => "the tab is spelt otherwise",
        "header_mismatch" => "row 1 of the tab is not our header",
        "beyond_the_grid" => "the tab ends before column F",
        "protected_range" => "somebody protected the tab",
        "workbook_full" => "the workbook is full",
        "not_a_google_sheet" => "the spreadsheet is an Excel file",
        "only_row_left" => "it is the only row below the header",
        "unauthenticated" => "Google does not accept the token",
        "permission_denied" => "Google gives no access to the spreadsheet",
        "spreadsheet_not_found" => "there is no such spreadsheet",
        "request_too_large" => "the request is larger than Google takes",
        "misplaced_row_in_review" => "the sheet stops until a misplaced row is settled",
        "credentials_refused" => "Google refuses the key",
        "credentials_cannot_sign" => "the key cannot sign",
        "federation_refused" => "Google does not let this AWS role in",
        "impersonation_refused" => "this AWS role may not borrow the service account",
        "row_moved" => "rows moved while they were read",
        "row_not_read" => "the row was not among what was read",
        "reference_column_unreadable" => "the column of references could not be understood",
        "chat_moved" => "the chat has become another one",
        "chat_moved_twice" => "the chat became another one twice",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Where the causes that a record keeps get their words.
    const SOURCES: [&str; 12] = [
        include_str!("../../../shared/domain/src/outcome/sheets.rs"),
        include_str!("../../../shared/domain/src/outcome/telegram.rs"),
        include_str!("../../../shared/domain/src/status/write.rs"),
        include_str!("../../../shared/domain/src/status/acknowledgement.rs"),
        include_str!("../../../shared/adapters/src/http.rs"),
        include_str!("../../../shared/adapters/src/sheets/layout.rs"),
        include_str!("../../../shared/adapters/src/sheets/lookup.rs"),
        include_str!("../../../shared/adapters/src/sheets/read.rs"),
        include_str!("../../../shared/adapters/src/sheets/setup.rs"),
        include_str!("../../../shared/adapters/src/sheets/token.rs"),
        include_str!("../../../functions/writer/src/append.rs"),
        include_str!("../../../functions/acknowledger/src/step.rs"),
    ];

    /// Every word with which a try ends, read from where it is said.
    fn causes() -> BTreeSet<&'static str> {
        let mut words = BTreeSet::new();
        for source in SOURCES {
            let code = source.split("#[cfg(test)]").next().unwrap_or_default();
            for opening in ["Cause::new(\"", "halt(\"", "busy(\"", "unusable(\""] {
                words.extend(code.split(opening).skip(1).filter_map(|rest| rest.split('"').next()));
            }
            // A branch that is a word and nothing else.
            let alone = code
                .lines()
                .filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix('"'))
                .filter(|word| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'));
            words.extend(alone);
        }
        words
    }

    #[test]
    fn every_word_with_which_a_try_ends_is_said_in_words_and_stands_behind_them() {
        let causes = causes();
        for known in ["cut", "reset", "timeout", "lease_ran_out", "no_such_tab", "header_mismatch", "no_time"]
        {
            assert!(causes.contains(known), "{known} was not found: {causes:?}");
        }
        assert!(causes.len() >= 30, "{causes:?}");
        for word in causes {
            let told = of_cause(&Cause::new(word));
            let said = told.strip_suffix(&format!(" ({word})"));
            assert!(said.is_some_and(|said| said.contains(' ') && !said.contains('_')), "{word}: {told}");
        }
    }

    #[test]
    fn a_status_and_the_step_to_a_token_are_said_and_what_is_not_known_stays_as_it_is() {
        for (word, told) in [
            ("http_503", "the other side was in trouble: HTTP status 503 (http_503)"),
            ("http_403", "the answer was HTTP status 403 (http_403)"),
            ("token_timeout", "on the way to Google's token: no answer came in time (token_timeout)"),
            (
                "federation_http_500",
                "when AWS's identity was shown to Google: the other side was in trouble: HTTP status 500 (federation_http_500)",
            ),
            ("something_new", "something_new"),
            ("token_something_new", "token_something_new"),
            ("http_", "http_"),
        ] {
            assert_eq!(of_cause(&Cause::new(word)), told);
        }
    }

    #[test]
    fn a_step_of_the_history_is_said_and_an_operators_words_are_left() {
        assert_eq!(
            of_detail("append_answer 'Intake'!A2:F2"),
            "Google's own answer names it at 'Intake'!A2:F2"
        );
        assert_eq!(
            of_detail("read_back 'Intake'!A2:F2; In 'Intake': one row."),
            "read back at 'Intake'!A2:F2; In 'Intake': one row."
        );
        assert_eq!(of_detail("timeout"), "timeout: no answer came in time");
        assert_eq!(of_detail("unreadable: timeout"), "not read: no answer came in time (timeout)");
        assert_eq!(of_detail("the customer says so"), "the customer says so");
        let by_word = Evidence::Operator { why: "archived".into() };
        assert_eq!(of_evidence(&by_word), "by an operator's word: archived");
    }
}
