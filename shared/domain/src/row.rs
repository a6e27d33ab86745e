//! One submission as a row of the sheet: six strings, none ever empty.
//!
//! An empty last cell is one way in which Google's table detection drifts to the right, and a number or a date in place
//! of a string is one way in which a read-back no longer equals what was written.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::status::Finding;
use crate::submission::{ChatId, Submission};

/// The header that row 1 must hold, columns A to F.
pub const HEADER: [&str; 6] = ["reference", "confirmed_at", "request_type", "summary", "contact", "chat_id"];

/// Columns A to F of one submission, in the header's order.
#[derive(Clone, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct Row([String; 6]);

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Row({})", self.0[0])
    }
}

impl Row {
    #[must_use]
    pub fn of(submission: &Submission) -> Self {
        Self([
            submission.reference.to_string(),
            submission.confirmed_at.to_string(),
            submission.request_type.clone(),
            submission.summary.as_str().to_owned(),
            submission.contact.as_str().to_owned(),
            submission.chat_id.to_string(),
        ])
    }

    #[must_use]
    pub fn cells(&self) -> &[String; 6] {
        &self.0
    }

    /// The same for all contents that count as equal, and for no others: for comparing many rows without keeping their words.
    #[must_use]
    pub fn digest(&self) -> RowDigest {
        digest(self.0.iter().map(String::as_str))
    }

    /// Bytes of its cells.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.iter().map(String::len).sum()
    }

    /// Whether cells read from the sheet say the same. Trailing cells may be missing (the API trims them); newline style
    /// and trailing blanks do not count; a cell that is no string is another content.
    #[must_use]
    pub fn equals(&self, read: &[Value]) -> bool {
        let padded = read.iter().chain(std::iter::repeat(&Value::Null));
        self.0.iter().zip(padded).all(|(ours, theirs)| match theirs {
            Value::String(text) => same_text(ours, text),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
        })
    }
}

/// What [`Row::equals`] compares, in 32 bytes.
pub type RowDigest = [u8; 32];

/// The digest of cells read from the sheet; none when a cell is missing or no string, which equals no row.
#[must_use]
pub fn digest_of_cells(read: &[Value]) -> Option<RowDigest> {
    let texts: Vec<&str> = read.iter().take(HEADER.len()).map(Value::as_str).collect::<Option<_>>()?;
    (texts.len() == HEADER.len()).then(|| digest(texts.into_iter()))
}

fn digest<'a>(cells: impl Iterator<Item = &'a str>) -> RowDigest {
    let mut hash = Sha256::new();
    for cell in cells {
        let cell = lines(cell).join("\n");
        // Length first: no two splits of the same text are alike.
        hash.update(cell.len().to_be_bytes());
        hash.update(cell.as_bytes());
    }
    hash.finalize().into()
}

/// Whether a cell of the reference column holds `reference`.
#[must_use]
pub fn cell_is_reference(cell: &Value, reference: &str) -> bool {
    cell.as_str().is_some_and(|text| text.trim() == reference)
}

/// Whether a cell of the chat column names `chat`: somebody who copies a row by typing it makes a number of the text.
#[must_use]
pub fn cell_is_chat(cell: &Value, chat: ChatId) -> bool {
    match cell {
        Value::String(text) => text.trim() == chat.to_string(),
        Value::Number(number) => {
            // Sheets keeps every number as a double, and Telegram's ids are exact in one (Bot API, User.id: 52 bits).
            number
                .as_f64()
                .is_some_and(|number| number.fract() == 0.0 && format!("{number:.0}") == chat.to_string())
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

/// What the rows that carry a reference mean for the submission that should have one of them.
///
/// `hits` are all rows whose first cell is this reference, each with its A1 range.
#[must_use]
pub fn judge(row: &Row, hits: &[(String, Vec<Value>)]) -> Finding {
    match hits {
        [] => Finding::None,
        [(range, cells)] if row.equals(cells) => Finding::OneEqual { range: range.clone() },
        [(range, _)] => Finding::OneDiffers { range: range.clone() },
        several => Finding::Several { rows: several.len() },
    }
}

fn same_text(ours: &str, theirs: &str) -> bool {
    ours == theirs || lines(ours) == lines(theirs)
}

/// What of a text counts: neither the style of its line ends nor blanks before them.
fn lines(text: &str) -> Vec<String> {
    text.replace("\r\n", "\n")
        .replace('\r', "\n")
        .trim_end()
        .split('\n')
        .map(|line| line.trim_end().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row() -> Row {
        Row(["DK-1111-2222-3333", "2026-03-01T09:15:00Z", "Quote", "l1\nl2", "Ann", "-1002000000001"]
            .map(String::from))
    }

    #[test]
    fn line_ends_and_trailing_blanks_do_not_make_a_difference() {
        let read = json!([
            "DK-1111-2222-3333",
            "2026-03-01T09:15:00Z ",
            "Quote",
            "l1 \r\nl2\n",
            "Ann",
            "-1002000000001"
        ]);
        let read = read.as_array().expect("an array");
        assert!(row().equals(read));
        assert_eq!(digest_of_cells(read), Some(row().digest()));
    }

    #[test]
    fn a_chat_is_found_as_text_and_as_the_number_that_typing_makes_of_it() {
        let chat = ChatId(-1_002_000_000_001);
        for cell in [
            json!("-1002000000001"),
            json!(" -1002000000001 "),
            json!(-1_002_000_000_001_i64),
            json!(-1.002_000_000_001e12),
        ] {
            assert!(cell_is_chat(&cell, chat), "{cell}");
        }
        for cell in [
            json!("1002000000001"),
            json!(-1_002_000_000_002_i64),
            json!(-1.5),
            json!(""),
            json!(null),
            json!(true),
        ] {
            assert!(!cell_is_chat(&cell, chat), "{cell}");
        }
    }

    #[test]
    fn any_other_difference_counts_in_every_column() {
        for column in 0..6 {
            for other in [json!("x"), json!(""), json!(null), json!(7), json!(true)] {
                let mut read: Vec<Value> = row().cells().iter().map(|cell| json!(cell)).collect();
                read[column] = other.clone();
                assert!(!row().equals(&read), "column {column} {other}");
                assert_ne!(digest_of_cells(&read), Some(row().digest()), "column {column} {other}");
            }
            let short: Vec<Value> = row().cells()[..column].iter().map(|cell| json!(cell)).collect();
            assert!(!row().equals(&short));
            assert_eq!(digest_of_cells(&short), None);
        }
    }

    #[test]
    fn one_equal_row_confirms_and_everything_else_does_not() {
        let equal: Vec<Value> = row().cells().iter().map(|cell| json!(cell)).collect();
        let mut other = equal.clone();
        other[3] = json!("changed");
        let hit = |cells: &Vec<Value>| ("Intake!A2:F2".to_owned(), cells.clone());
        assert_eq!(judge(&row(), &[hit(&equal)]), Finding::OneEqual { range: "Intake!A2:F2".into() });
        assert_eq!(judge(&row(), &[hit(&other)]), Finding::OneDiffers { range: "Intake!A2:F2".into() });
        assert_eq!(judge(&row(), &[hit(&equal), hit(&equal)]), Finding::Several { rows: 2 });
        assert_eq!(judge(&row(), &[]), Finding::None);
    }
}
