//! Customers' text, made safe to print: nothing in it may move the cursor, reorder the line or hide itself.

/// `text` with control, format and bidirectional characters shown as `\u{…}`; line feeds and tabs as they are.
#[must_use]
pub fn visible(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let hidden = (c.is_control() && !matches!(c, '\n' | '\t'))
                || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                    | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
            if hidden { c.escape_unicode().collect::<Vec<char>>() } else { vec![c] }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_play_tricks_on_a_terminal_is_shown_escaped() {
        assert_eq!(
            visible("a\u{1b}[31mb\u{202e}c\r\n\td\u{200b}"),
            "a\\u{1b}[31mb\\u{202e}c\\u{d}\n\td\\u{200b}"
        );
        assert_eq!(visible("Été 😀 ٣"), "Été 😀 ٣");
    }
}
