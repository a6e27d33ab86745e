//! The identity of a submission, the same in the chat, the table, the queues, the sheet and the operator's mouth.
//!
//! It is derived, not drawn: the same summary message always gives the same reference, so a redelivered update can
//! never make a second submission, and a new message always gives another one.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

/// Crockford's base 32: no I, L, O or U, so that a reference read out over the telephone is understood.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Docket's own UUID namespace; changing it would give every submission another reference.
const NAMESPACE: Uuid = Uuid::from_u128(0x6f8c_2f0d_6f2b_4a55_9d0e_5b1c_d0c4_e701);

/// `DK-8M4T-K2QX-7RZ9`: 60 bits in three groups. It starts with a letter, so no spreadsheet takes it for a number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct Reference(String);

/// Not a reference. It does not repeat the text, which may be anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a reference: it looks like DK-8M4T-K2QX-7RZ9")]
pub struct NotAReference;

impl Reference {
    /// The reference of the submission whose summary stands in `message_id` of `chat_id`, as `bot_id` sees it.
    ///
    /// The first 60 bits of a version 5 UUID (four of them are the version): 56 bits that differ.
    #[must_use]
    pub fn derive(bot_id: i64, chat_id: i64, message_id: i64) -> Self {
        let name = format!("{bot_id}/{chat_id}/{message_id}");
        let bits = Uuid::new_v5(&NAMESPACE, name.as_bytes()).as_u128() >> 68;
        let digits: Vec<u8> =
            (0..12).rev().map(|place| ALPHABET[((bits >> (5 * place)) & 31) as usize]).collect();
        Self::grouped(&String::from_utf8_lossy(&digits))
    }

    /// Reads what a person typed: any case, with or without the dashes, O for 0, I or L for 1.
    pub fn from_person(text: &str) -> Result<Self, NotAReference> {
        let mut digits = String::new();
        for c in text.trim().chars().filter(|c| *c != '-' && *c != ' ') {
            digits.push(match c.to_ascii_uppercase() {
                'O' => '0',
                'I' | 'L' => '1',
                other => other,
            });
        }
        let digits = digits.strip_prefix("DK").ok_or(NotAReference)?;
        if digits.len() == 12 && digits.bytes().all(|b| ALPHABET.contains(&b)) {
            Ok(Self::grouped(digits))
        } else {
            Err(NotAReference)
        }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn grouped(digits: &str) -> Self {
        Self(format!("DK-{}-{}-{}", &digits[..4], &digits[4..8], &digits[8..]))
    }
}

/// Strict: exactly the form that [`Reference::derive`] gives.
impl FromStr for Reference {
    type Err = NotAReference;

    fn from_str(text: &str) -> Result<Self, NotAReference> {
        let reference = Self::from_person(text)?;
        if reference.0 == text { Ok(reference) } else { Err(NotAReference) }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> serde::Deserialize<'de> for Reference {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_same_message_gives_the_same_reference_and_every_other_one_another() {
        let mut seen = HashSet::new();
        for chat in [1, -5, 7_100_000_001, -1_002_000_000_001, 4_503_599_627_370_495] {
            for message in 1..20_000 {
                let reference = Reference::derive(99, chat, message);
                assert_eq!(reference, Reference::derive(99, chat, message));
                assert!(seen.insert(reference));
            }
        }
    }

    #[test]
    fn no_spreadsheet_can_take_a_reference_for_a_number_a_date_or_a_formula() {
        for message in 0..100_000 {
            let reference = Reference::derive(99, 7, message);
            let text = reference.as_str();
            assert!(text.starts_with("DK-") && text.len() == 17, "{text}");
            assert!(text.parse::<f64>().is_err());
            assert_eq!(text.parse(), Ok(reference.clone()));
        }
    }

    #[test]
    fn a_person_may_write_it_loosely_and_a_machine_may_not() {
        let reference: Reference = "DK-8M4T-K2QX-7RZ1".parse().expect("well formed");
        for text in ["dk-8m4t-k2qx-7rzl", " DK8M4TK2QX7RZI ", "dk 8m4t k2qx 7rz1"] {
            assert_eq!(Reference::from_person(text), Ok(reference.clone()), "{text}");
            assert_eq!(text.parse::<Reference>(), Err(NotAReference));
        }
        for text in
            ["", "DK-", "DK-8M4T-K2QX-7RZ", "DK-8M4T-K2QX-7RZU", "8M4T-K2QX-7RZ9", "DK-٣M4T-K2QX-7RZ9"]
        {
            assert_eq!(Reference::from_person(text), Err(NotAReference), "{text}");
        }
    }
}
