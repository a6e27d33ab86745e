//! What the business may word itself: the request types and every sentence a customer can read.
//!
//! Read from the setting `CATALOG` as JSON, every part optional:
//!
//! ```json
//! {"request_types": [{"id": "quote", "label": "A quote"}],
//!  "sentences": {"recorded": "Your enquiry {reference} is recorded."}}
//! ```
//!
//! Sentences may hold the placeholders that their built-in ones hold, and no others: a typing slip stops the function
//! at start, not a customer in the middle of an enquiry.

use std::collections::HashSet;

use serde::Deserialize;

use crate::limits::{CALLBACK_TEXT_CHARS_MAX, TYPE_ID_BYTES_MAX, TYPE_LABEL_CHARS_MAX};

/// One kind of enquiry to choose from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestType {
    /// Travels in buttons: 1 to 24 of `a-z 0-9 _ -`.
    pub id: String,
    /// Shown to the customer and written to the sheet.
    pub label: String,
}

/// Request types and sentences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalog {
    request_types: Vec<RequestType>,
    pub sentences: Sentences,
}

/// Why a catalogue cannot be used; for whoever wrote it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CatalogError(String);

macro_rules! sentences {
    ($($(#[$meta:meta])* $name:ident = $text:literal,)*) => {
        /// Every sentence that a customer can read. Placeholders stand in braces.
        #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Sentences { $($(#[$meta])* pub $name: String,)* }

        impl Default for Sentences {
            fn default() -> Self {
                Self { $($name: $text.to_owned(),)* }
            }
        }

        impl Sentences {
            fn named(&self) -> Vec<(&'static str, &str, &'static str)> {
                vec![$((stringify!($name), self.$name.as_str(), $text),)*]
            }
        }
    };
}

sentences! {
    choose_type = "What is your enquiry about? Please choose:",
    type_chosen = "{type}: now please write your enquiry in one message.",
    choose_first = "Please choose first what your enquiry is about, then write it.",
    write_again = "{type}: please write your enquiry again in one message. The old text is dropped.",
    only_text = "I can only take text. Please write your enquiry in one message.",
    empty_summary = "That message has no visible text. Please write your enquiry in one message.",
    too_long = "That message is too long: it has {units} characters, {max} are allowed. Nothing was kept; please shorten it and send it again.",
    card = "Please check your enquiry.\n\nAbout: {type}\n\n{summary}\n\nNothing is recorded until you press Confirm.",
    card_waits = "Your last message is not part of the enquiry below. Press Edit to write it anew, or confirm it as it stands.",
    card_shortened = "[shortened here; the whole text is kept]",
    confirm_button = "Confirm",
    edit_button = "Edit",
    cancel_button = "Cancel",
    /// Said when the submission is durable; the row is not in the sheet yet.
    received = "Thank you. Your enquiry is received under the reference {reference}. You get another message when it is recorded.",
    already_recorded = "Already recorded: this enquiry is kept under the reference {reference}. Nothing was added.",
    conflict = "Under the reference {reference} another text is kept already; it was not changed. A person will look at it. Please start a new enquiry with /new.",
    cancelled = "Cancelled. Nothing was recorded. Send /new to start again.",
    nothing_to_cancel = "There is no open enquiry. Send /new to start one.",
    expired = "This button has expired and recorded nothing.",
    draft_reset = "Your unfinished enquiry could not be read any more and was dropped. Send /new to start again.",
    edit_too_late = "Your enquiry {reference} was confirmed before; this edit changes nothing. Send /new for another enquiry.",
    help = "I take enquiries: /new starts one, /cancel drops it, /status REFERENCE tells how one stands.",
    no_draft = "Send /new to start an enquiry.",
    status_usage = "Please send the reference too: /status DK-8M4T-K2QX-7RZ9",
    status_unknown = "I know no enquiry of yours with that reference.",
    status_waiting = "{reference} is received and not yet recorded.",
    status_checking = "{reference} is received; whether it is recorded is being checked.",
    status_recorded = "{reference} is recorded.",
    status_closed = "{reference} was closed by one of us; nothing more is recorded for it.",
    /// The acknowledgement: said only when the row is known to be there.
    recorded = "Your enquiry {reference} is recorded.",
}

impl Default for Catalog {
    fn default() -> Self {
        let request_type = |id: &str, label: &str| RequestType { id: id.into(), label: label.into() };
        Self {
            request_types: vec![
                request_type("quote", "A quote"),
                request_type("appointment", "An appointment"),
                request_type("question", "A question"),
            ],
            sentences: Sentences::default(),
        }
    }
}

impl Catalog {
    /// Reads and checks the JSON of the setting `CATALOG`.
    pub fn parse(json: &str) -> Result<Self, CatalogError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Wire {
            request_types: Option<Vec<RequestType>>,
            #[serde(default)]
            sentences: Sentences,
        }
        let wire: Wire =
            serde_json::from_str(json).map_err(|error| CatalogError(format!("not a catalogue: {error}")))?;
        let request_types = wire.request_types.unwrap_or_else(|| Self::default().request_types);
        check_types(&request_types)?;
        check_sentences(&wire.sentences)?;
        Ok(Self { request_types, sentences: wire.sentences })
    }

    #[must_use]
    pub fn request_types(&self) -> &[RequestType] {
        &self.request_types
    }

    #[must_use]
    pub fn request_type(&self, id: &str) -> Option<&RequestType> {
        self.request_types.iter().find(|known| known.id == id)
    }
}

fn check_types(types: &[RequestType]) -> Result<(), CatalogError> {
    if types.is_empty() || types.len() > 20 {
        return Err(CatalogError("request_types must hold 1 to 20 entries".into()));
    }
    let mut ids = HashSet::new();
    for RequestType { id, label } in types {
        let well_formed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
        if id.is_empty() || id.len() > TYPE_ID_BYTES_MAX || !id.bytes().all(well_formed) {
            return Err(CatalogError(format!(
                "a request type's id must be 1 to {TYPE_ID_BYTES_MAX} of a-z, 0-9, _ and -"
            )));
        }
        if !ids.insert(id) {
            return Err(CatalogError(format!("the request type id {id} stands twice")));
        }
        let clean = label.trim() == label && !label.chars().any(char::is_control);
        if label.is_empty() || label.chars().count() > TYPE_LABEL_CHARS_MAX || !clean {
            return Err(CatalogError(format!(
                "the label of request type {id} must be 1 to {TYPE_LABEL_CHARS_MAX} characters on one line"
            )));
        }
    }
    Ok(())
}

fn check_sentences(sentences: &Sentences) -> Result<(), CatalogError> {
    for (name, text, built_in) in sentences.named() {
        let fail = |what: String| Err(CatalogError(format!("the sentence {name} {what}")));
        if text.trim().is_empty() {
            return fail("is empty".into());
        }
        if text.encode_utf16().count() > 500 {
            return fail("is longer than 500 characters".into());
        }
        if matches!(name, "expired") && text.chars().count() > CALLBACK_TEXT_CHARS_MAX {
            return fail(format!("is longer than {CALLBACK_TEXT_CHARS_MAX} characters"));
        }
        if name.ends_with("_button") && text.chars().count() > 32 {
            return fail("is longer than 32 characters".into());
        }
        let allowed = placeholders(built_in);
        let mut held = HashSet::new();
        for placeholder in placeholders(text) {
            if !allowed.contains(&placeholder) {
                return fail(format!("has no placeholder {{{placeholder}}}"));
            }
            // Twice would double a customer's words, past what Telegram takes.
            if !held.insert(placeholder) {
                return fail(format!("holds {{{placeholder}}} twice"));
            }
        }
        let needed = ["reference", "summary"];
        for placeholder in &allowed {
            if needed.contains(placeholder) && !placeholders(text).contains(placeholder) {
                return fail(format!("must hold {{{placeholder}}}"));
            }
        }
    }
    Ok(())
}

fn placeholders(text: &str) -> Vec<&str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name)).collect()
}

/// `sentence` with its placeholders filled, in one pass: a customer's `{reference}` is not replaced.
#[must_use]
pub fn fill(sentence: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(sentence.len());
    let mut rest = sentence;
    while let Some(open) = rest.find('{') {
        filled.push_str(&rest[..open]);
        let after = &rest[open + 1..];
        let value = after.split_once('}').and_then(|(name, tail)| {
            values.iter().find(|(known, _)| *known == name).map(|(_, value)| (value, tail))
        });
        match value {
            Some((value, tail)) => {
                filled.push_str(value);
                rest = tail;
            }
            None => {
                filled.push('{');
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_catalogue_keeps_its_own_rules() {
        let built_in = Catalog::default();
        assert_eq!(check_types(built_in.request_types()), Ok(()));
        assert_eq!(check_sentences(&built_in.sentences), Ok(()));
        assert_eq!(Catalog::parse("{}"), Ok(built_in));
    }

    #[test]
    fn a_slip_in_a_catalogue_is_named() {
        for (json, word) in [
            ("", "not a catalogue"),
            (r#"{"sentence":{}}"#, "unknown field"),
            (r#"{"request_types":[]}"#, "1 to 20"),
            (r#"{"request_types":[{"id":"A b","label":"x"}]}"#, "id must be"),
            (r#"{"request_types":[{"id":"a","label":"x"},{"id":"a","label":"y"}]}"#, "twice"),
            (r#"{"request_types":[{"id":"a","label":""}]}"#, "label"),
            (r#"{"sentences":{"recorded":"done"}}"#, "must hold {reference}"),
            (r#"{"sentences":{"recorded":"{reference} {name}"}}"#, "no placeholder {name}"),
            (r#"{"sentences":{"recordet":"x"}}"#, "unknown field"),
            (r#"{"sentences":{"card":"{summary} {summary}"}}"#, "holds {summary} twice"),
            (r#"{"sentences":{"confirm_button":" "}}"#, "is empty"),
            (&format!(r#"{{"sentences":{{"help":"{}"}}}}"#, "x".repeat(501)), "longer than 500"),
            (&format!(r#"{{"sentences":{{"expired":"{}"}}}}"#, "x".repeat(201)), "longer than 200"),
        ] {
            let error = Catalog::parse(json).expect_err(json).to_string();
            assert!(error.contains(word), "{json}: {error}");
        }
    }

    #[test]
    fn a_customers_braces_are_left_alone() {
        assert_eq!(fill("{a} and {b} {c", &[("a", "{b}"), ("b", "x")]), "{b} and x {c");
    }
}
