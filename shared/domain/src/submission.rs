//! A confirmed enquiry: what the customer wrote, cleaned once at the door and never changed afterwards.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::limits::{CONTACT_CHARS_MAX, SUMMARY_UTF16_UNITS_MAX};
use crate::moment::Moment;
use crate::reference::Reference;

/// A Telegram chat id: 64 bits, negative for groups. Never a float, never a 32-bit number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct ChatId(pub i64);

impl fmt::Display for ChatId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What the customer wrote, cleaned: 1 to 3,000 UTF-16 units, no CR, no control characters but line feed and tab,
/// no outer blanks, something visible in it.
#[derive(Clone, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct Summary(String);

/// Why a text cannot be a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    #[error("the text is empty")]
    Empty,
    /// Both numbers in UTF-16 code units.
    #[error("the text has {units} units, {max} are allowed")]
    TooLong { units: usize, max: usize },
}

impl Summary {
    /// Cleans `text`. Too long is refused, never cut.
    pub fn clean(text: &str) -> Result<Self, SummaryError> {
        let cleaned: String = text
            .replace("\r\n", "\n")
            .chars()
            .map(|c| if c == '\r' { '\n' } else { c })
            .filter(|c| matches!(c, '\n' | '\t') || !c.is_control())
            .filter(|c| !is_noncharacter(*c))
            .collect();
        let cleaned = cleaned.trim();
        if cleaned.chars().all(is_invisible) {
            return Err(SummaryError::Empty);
        }
        let units = cleaned.encode_utf16().count();
        if units > SUMMARY_UTF16_UNITS_MAX {
            return Err(SummaryError::TooLong { units, max: SUMMARY_UTF16_UNITS_MAX });
        }
        Ok(Self(cleaned.to_owned()))
    }

    /// What was cleaned and recorded by whichever release took it: this one's cleaning does not change it any more, and
    /// does not make an old record unreadable. None when it is empty.
    #[must_use]
    pub fn recorded(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// What stands where a summary was erased.
    pub(crate) fn of_erased() -> Self {
        Self(ERASED.into())
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The words themselves stay out of logs: even `{:?}` shows only how many there are.
impl fmt::Debug for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Summary({} bytes)", self.0.len())
    }
}

impl<'de> serde::Deserialize<'de> for Summary {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let summary = Self::clean(&text).map_err(serde::de::Error::custom)?;
        if summary.0 == text {
            Ok(summary)
        } else {
            Err(serde::de::Error::custom("the summary is not clean"))
        }
    }
}

/// A name or user name to call the customer by; `-` when there is none, never empty.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Contact(String);

impl Contact {
    /// From a Telegram user: `First Last (@name)`, as much of it as there is.
    #[must_use]
    pub fn of_user(first_name: &str, last_name: Option<&str>, username: Option<&str>) -> Self {
        let name = [first_name, last_name.unwrap_or("")].map(one_line).join(" ").trim().to_owned();
        let username = one_line(username.unwrap_or(""));
        Self::clean(&match (name.is_empty(), username.is_empty()) {
            (false, false) => format!("{name} (@{username})"),
            (true, false) => format!("@{username}"),
            (false, true) => name,
            (true, true) => String::new(),
        })
    }

    /// One line without control characters, bounded; `-` when nothing visible is left.
    #[must_use]
    pub fn clean(text: &str) -> Self {
        let line: String = one_line(text).chars().take(CONTACT_CHARS_MAX).collect();
        let line = line.trim();
        // After the cut: what was visible may have stood behind it.
        if line.chars().all(is_invisible) { Self("-".into()) } else { Self(line.to_owned()) }
    }

    /// As [`Summary::recorded`].
    #[must_use]
    pub fn recorded(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Contact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Contact({} bytes)", self.0.len())
    }
}

impl From<String> for Contact {
    fn from(text: String) -> Self {
        Self::clean(&text)
    }
}

impl From<Contact> for String {
    fn from(contact: Contact) -> Self {
        contact.0
    }
}

fn one_line(text: &str) -> String {
    let spaced: String = text
        .chars()
        .filter(|c| !is_noncharacter(*c))
        .map(|c| if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') { ' ' } else { c })
        .collect();
    spaced.trim().to_owned()
}

/// Whether a reader would see nothing: blanks, and the format characters that only steer others.
fn is_invisible(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
}

/// Unicode noncharacters, which queues and sheets refuse.
fn is_noncharacter(c: char) -> bool {
    let code = u32::from(c);
    (0xfdd0..=0xfdef).contains(&code) || code & 0xfffe == 0xfffe
}

/// SHA-256 over the material fields, each with its length in front, so that no two field splits collide.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// The fingerprint of what a replay must repeat exactly.
    #[must_use]
    pub fn of(request_type: &str, summary: &Summary, chat_id: ChatId) -> Self {
        let mut hash = Sha256::new();
        for field in [request_type, summary.as_str(), &chat_id.to_string()] {
            hash.update((field.len() as u64).to_be_bytes());
            hash.update(field.as_bytes());
        }
        Self(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// 64 hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first eight digits: enough to tell one draft's versions apart on a button.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.get(..8).unwrap_or(&self.0)
    }
}

/// A confirmed enquiry. Nothing in it changes after it was first stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    pub reference: Reference,
    /// The label that the card showed.
    pub request_type: String,
    pub summary: Summary,
    pub chat_id: ChatId,
    pub contact: Contact,
    /// Whole seconds: the sheet shows it, and a lookup compares it.
    pub confirmed_at: Moment,
    pub fingerprint: Fingerprint,
    /// Where it came from: `telegram/BOT_ID/CHAT_ID/MESSAGE_ID/CALLBACK_ID`, the last being the press that confirmed it.
    pub origin: String,
}

/// What stands in place of an erased customer's words.
pub(crate) const ERASED: &str = "erased";

impl Submission {
    /// Whether its customer was erased.
    #[must_use]
    pub fn is_erased(&self) -> bool {
        self.origin == ERASED
    }

    /// Whether this very press confirmed it. A press delivered again has the same id, a second tap another one.
    #[must_use]
    pub fn was_confirmed_by(&self, callback_id: &str) -> bool {
        let place = self.origin.strip_suffix(callback_id).and_then(|rest| rest.strip_suffix('/'));
        // Before there was a fifth part, the fourth was the message's.
        place.is_some_and(|place| place.split('/').count() == 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_looks_like_a_formula_or_a_number_is_kept_to_the_letter() {
        for text in [
            "=HYPERLINK(\"http://x.test\",\"y\")",
            "=1+1",
            "+49 30 0000",
            "-5 apples",
            "@all",
            "'quoted'",
            "007",
            "1e5",
            "TRUE",
            "2026-03-01",
            "٣٤",
        ] {
            assert_eq!(Summary::clean(text).map(|s| s.as_str().to_owned()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn line_ends_are_one_kind_and_control_characters_are_gone() {
        let summary = Summary::clean(" \u{0}l1\nl2\r\nl3\u{2028}l4\tend \"q\"\u{7}\r ").expect("has words");
        // A separator of lines or paragraphs is a character like any other: the words stay as they were written.
        assert_eq!(summary.as_str(), "l1\nl2\nl3\u{2028}l4\tend \"q\"");
    }

    #[test]
    fn a_text_of_only_invisible_characters_is_empty() {
        for text in ["", " \n\t ", "\u{200b}\u{200d}\u{feff}", "\u{3164}", "\u{2800}", "\u{0}"] {
            assert_eq!(Summary::clean(text), Err(SummaryError::Empty), "{text:?}");
        }
        assert!(Summary::clean("\u{200f}שלום").is_ok());
    }

    #[test]
    fn length_is_counted_in_utf16_units_and_too_long_is_refused_not_cut() {
        assert!(Summary::clean(&"😀".repeat(1_500)).is_ok());
        assert_eq!(
            Summary::clean(&"😀".repeat(1_501)),
            Err(SummaryError::TooLong { units: 3_002, max: 3_000 })
        );
        for length in [49_999, 50_000, 50_001] {
            for unit in ["x", "😀"] {
                let text = unit.repeat(length);
                let units = length * unit.encode_utf16().count();
                assert_eq!(Summary::clean(&text), Err(SummaryError::TooLong { units, max: 3_000 }));
            }
        }
    }

    #[test]
    fn no_two_field_splits_share_a_fingerprint() {
        let summary = |text| Summary::clean(text).expect("has words");
        let a = Fingerprint::of("ab", &summary("c"), ChatId(1));
        for (kind, text, chat) in
            [("a", "bc", 1), ("abc", "1", 1), ("ab", "c", 11), ("ab", "c1", 1), ("ab", "c", -1)]
        {
            assert_ne!(a, Fingerprint::of(kind, &summary(text), ChatId(chat)));
        }
        assert_eq!(a, Fingerprint::of("ab", &summary("c"), ChatId(1)));
        assert_eq!(a.as_str().len(), 64);
    }

    proptest::proptest! {
        #[test]
        fn what_is_cleaned_stays_as_it_is_and_can_be_stored(text in "(\\PC|[\\r\\n\\t \u{0}\u{200b}\u{2028}😀]){0,80}") {
            if let Ok(summary) = Summary::clean(&text) {
                proptest::prop_assert_eq!(Summary::clean(summary.as_str()), Ok(summary.clone()));
                let json = serde_json::to_string(&summary).expect("a string");
                proptest::prop_assert_eq!(serde_json::from_str::<Summary>(&json).ok(), Some(summary));
            }
            let contact = Contact::clean(&text);
            proptest::prop_assert!(!contact.as_str().trim().is_empty());
            proptest::prop_assert_eq!(Contact::clean(contact.as_str()), contact);
        }
    }

    #[test]
    fn a_contact_is_never_empty() {
        assert_eq!(Contact::of_user("", None, None).as_str(), "-");
        let hidden = format!("{}Ann", "\u{200b}".repeat(CONTACT_CHARS_MAX));
        assert_eq!(Contact::of_user(&hidden, None, None).as_str(), "-");
        assert_eq!(Contact::of_user("\u{3164}", None, Some("")).as_str(), "-");
        assert_eq!(Contact::of_user("Ann", Some("Lee"), Some("ann")).as_str(), "Ann Lee (@ann)");
        assert_eq!(Contact::of_user("Ann\nLee", None, None).as_str(), "Ann Lee");
        assert_eq!(Contact::of_user("Ann\u{fffe}", None, None).as_str(), "Ann");
        assert_eq!(Contact::of_user(&"x".repeat(900), None, None).as_str().len(), CONTACT_CHARS_MAX);
    }
}
