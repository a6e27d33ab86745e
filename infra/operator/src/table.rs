//! Text in columns: measured by what a terminal shows, not by letters, and cut where it does not fit.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use crate::visible::visible;

/// Columns that the text takes on a terminal.
#[must_use]
pub fn width(text: &str) -> usize {
    text.width()
}

/// What somebody wrote, harmless and on one line.
#[must_use]
pub fn one_line(text: &str) -> String {
    visible(text).replace(['\n', '\t'], " ")
}

/// At most so many columns; what is cut ends with `…`, and nothing is cut within what a reader sees as one character.
#[must_use]
pub fn cut(text: &str, columns_max: usize) -> String {
    if width(text) <= columns_max {
        return text.to_owned();
    }
    let mut kept = String::new();
    for grapheme in text.graphemes(true) {
        if width(&kept) + width(grapheme) + 1 > columns_max {
            break;
        }
        kept.push_str(grapheme);
    }
    if columns_max > 0 {
        kept.push('…');
    }
    kept
}

/// Filled up with blanks.
#[must_use]
pub fn padded(text: &str, columns: usize) -> String {
    let blanks = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(blanks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_text_is_cut_by_the_columns_it_takes() {
        for (text, columns, kept) in [
            ("A quote", 7, "A quote"),
            ("A quote", 6, "A quo…"),
            ("A quote", 1, "…"),
            ("A quote", 0, ""),
            // Two columns each: the third one would stand over the edge.
            ("見積もり", 8, "見積もり"),
            ("見積もり", 7, "見積も…"),
            ("見積もり", 6, "見積…"),
            // One family, not four people.
            ("a👨‍👩‍👧‍👦bc", 4, "a👨‍👩‍👧‍👦…"),
            ("e\u{301}tude", 3, "e\u{301}t…"),
        ] {
            let cut = cut(text, columns);
            assert_eq!(cut, kept);
            assert!(width(&cut) <= columns, "{cut}");
            assert_eq!(width(&padded(&cut, columns)), columns.max(width(&cut)));
        }
        assert_eq!(one_line("two\nlines\u{1b}[31m"), "two lines\\u{1b}[31m");
    }
}
