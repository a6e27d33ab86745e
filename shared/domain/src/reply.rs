//! Everything Docket can say to a customer, as values: which sentence, which buttons, and where it appears.
//!
//! No reply has a `parse_mode`: a customer's words are never markup. A reply is bounded to what Telegram takes.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::catalog::{Catalog, fill};
use crate::limits::MESSAGE_UTF16_UNITS_MAX;
use crate::reference::Reference;
use crate::status::{Record, WriteState};
use crate::submission::ChatId;

/// One inline button: its words, and the datum that comes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    pub text: String,
    /// 1 to 64 bytes.
    pub data: String,
}

/// One answer to an update: at most one Bot API method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A new message.
    Message { chat_id: ChatId, text: String, buttons: Vec<Vec<Button>> },
    /// The message that carried the pressed button says something else now, and its buttons are gone.
    Edited { chat_id: ChatId, message_id: i64, text: String },
    /// A notice over the chat, for a button that does nothing.
    Notice { callback_id: String, text: String },
    /// Nothing to say.
    Silence,
}

impl Reply {
    #[must_use]
    pub fn message(chat_id: ChatId, text: impl Into<String>) -> Self {
        Self::Message { chat_id, text: bounded(text.into()), buttons: Vec::new() }
    }
}

/// The card's text: what it shows is what Confirm records. Only its picture of the text may be shortened, visibly.
#[must_use]
pub fn card_text(catalog: &Catalog, request_type: &str, summary: &str, above: Option<&str>) -> String {
    let sentences = &catalog.sentences;
    let around = fill(&sentences.card, &[("type", request_type), ("summary", "")]);
    let above = above.map(|line| format!("{line}\n\n")).unwrap_or_default();
    let room = MESSAGE_UTF16_UNITS_MAX.saturating_sub(units(&around) + units(&above));
    let shown = shortened(summary, room, &sentences.card_shortened);
    format!("{above}{}", fill(&sentences.card, &[("type", request_type), ("summary", &shown)]))
}

/// The acknowledgement's text.
#[must_use]
pub fn recorded(catalog: &Catalog, reference: &Reference) -> String {
    fill(&catalog.sentences.recorded, &[("reference", reference.as_str())])
}

/// What an operator has the customer told of an enquiry that was given up.
#[must_use]
pub fn given_up(reference: &Reference, words: &str) -> String {
    format!("{reference}: {words}")
}

/// How one enquiry stands, in a sentence that claims no more than is known.
#[must_use]
pub fn status(catalog: &Catalog, record: &Record) -> String {
    let sentences = &catalog.sentences;
    let sentence = match record.write.state {
        // An earlier append of it was lost sight of: "not yet" would be a guess.
        WriteState::Pending { .. } if record.write.is_looked_for_first() => &sentences.status_checking,
        WriteState::Pending { .. } => &sentences.status_waiting,
        WriteState::Attempting { .. } | WriteState::Uncertain { .. } => &sentences.status_checking,
        WriteState::Confirmed { .. } => &sentences.status_recorded,
        WriteState::Abandoned => &sentences.status_closed,
    };
    fill(sentence, &[("reference", record.submission.reference.as_str())])
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

fn bounded(text: String) -> String {
    if units(&text) <= MESSAGE_UTF16_UNITS_MAX {
        text
    } else {
        shortened(&text, MESSAGE_UTF16_UNITS_MAX, "[…]")
    }
}

/// `text` in at most `room` UTF-16 units, cut between what a reader sees as characters, with `mark` at the cut: a family,
/// a flag or an accented letter stays whole. What has no such place to be cut at is cut between code points.
fn shortened(text: &str, room: usize, mark: &str) -> String {
    if units(text) <= room {
        return text.to_owned();
    }
    let mut left = room.saturating_sub(units(mark) + 1);
    let mut fits = |part: &str| {
        let rest = left.checked_sub(units(part));
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let mut kept: String = text.graphemes(true).take_while(|part| fits(part)).collect();
    if kept.is_empty() {
        kept = text.chars().take_while(|c| fits(c.encode_utf8(&mut [0; 4]))).collect();
    }
    format!("{kept}\n{mark}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_fits_a_card_and_a_cut_is_visible_and_between_characters() {
        let catalog = Catalog::default();
        for text in [
            "😀".repeat(2_048),
            "a".repeat(4_096),
            format!("{}{}", "é".repeat(4_000), "😀".repeat(96)),
            "👨‍👩‍👧‍👦".repeat(400),
        ] {
            let card = card_text(&catalog, "A quote", &text, Some("above"));
            assert!(units(&card) <= MESSAGE_UTF16_UNITS_MAX, "{}", units(&card));
            assert!(card.contains(&catalog.sentences.card_shortened));
            assert!(card.starts_with("above"));
        }
        // Wherever the cut falls: no half of a family, of a flag, of an accented letter.
        for whole in ["👨‍👩‍👧‍👦", "🇩🇰", "e\u{301}", "👍🏽", "😀"] {
            for offset in 0..12 {
                let text = format!("{}{}", "a".repeat(offset), whole.repeat(4_096));
                let card = card_text(&catalog, "A quote", &text, None);
                assert!(units(&card) <= MESSAGE_UTF16_UNITS_MAX);
                let end = card.find(&catalog.sentences.card_shortened).expect("the mark is there");
                let kept = &card[card.find(whole).expect("the beginning is there")..end];
                assert_eq!(kept.trim_end().replace(whole, ""), "", "{whole} at {offset}");
            }
        }
        // One that is longer than any message is cut all the same.
        let endless = format!("a{}", "\u{301}".repeat(5_000));
        let card = card_text(&catalog, "A quote", &endless, None);
        assert!(units(&card) > 3_000 && units(&card) <= MESSAGE_UTF16_UNITS_MAX);
        // Also between the longest sentences that a catalogue may hold.
        let mut wordy = Catalog::default();
        wordy.sentences.card = format!("{{type}}{{summary}}{}", "x".repeat(500 - 15));
        let label = "😀".repeat(crate::limits::TYPE_LABEL_CHARS_MAX);
        let card = card_text(&wordy, &label, &"a".repeat(3_000), Some(&"y".repeat(500)));
        assert_eq!(units(&card), MESSAGE_UTF16_UNITS_MAX);
        assert!(card.contains(&wordy.sentences.card_shortened));
        let whole = card_text(&catalog, "A quote", "short {reference}", None);
        assert!(whole.contains("short {reference}") && !whole.contains(&catalog.sentences.card_shortened));
    }
}
