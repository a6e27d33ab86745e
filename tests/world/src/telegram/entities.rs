//! Formatting marks in a text, as far as they make Telegram refuse it.
//!
//! A customer's words with a `parse_mode` are how acknowledgements get lost, so what matters here is that unbalanced
//! marks are refused and balanced ones vanish from the text. The entities themselves are not kept.

/// The text without its marks, or why the marks do not parse.
pub(super) fn plain_text(text: &str, parse_mode: &str) -> Result<String, String> {
    match parse_mode.to_ascii_lowercase().as_str() {
        "markdown" => markdown(text, &["`", "*", "_"], ""),
        "markdownv2" => markdown(text, &["`", "*", "__", "_", "~", "||"], "[]()>#+-=|{}.!"),
        "html" => html(text),
        _ => Err("unsupported parse_mode".to_owned()),
    }
}

/// `marks` open and close; `reserved` may not stand bare. A link is `[words](address)`.
fn markdown(text: &str, marks: &[&str], reserved: &str) -> Result<String, String> {
    let mut plain = String::new();
    let mut open: Vec<(&str, usize)> = Vec::new();
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        let rest = &text[at..];
        let in_code = open.last().is_some_and(|(mark, _)| *mark == "`");
        if character == '\\'
            && rest.len() > 1
            && rest[1..].starts_with(|next: char| next.is_ascii_punctuation())
        {
            plain.push_str(&rest[1..2]);
            at += 2;
        } else if let Some(mark) =
            marks.iter().find(|mark| rest.starts_with(**mark) && (!in_code || **mark == "`"))
        {
            if open.last().is_some_and(|(last, _)| last == mark) {
                open.pop();
            } else {
                open.push((mark, at));
            }
            at += mark.len();
        } else if character == '[' && !in_code {
            let (words, length) = link(rest).ok_or_else(|| unfinished(at))?;
            plain.push_str(words);
            at += length;
        } else if reserved.contains(character) && !in_code {
            return Err(format!(
                "can't parse entities: Character '{character}' is reserved and must be escaped with the preceding '\\'"
            ));
        } else {
            plain.push(character);
            at += character.len_utf8();
        }
    }
    open.last().map_or(Ok(plain), |(_, began)| Err(unfinished(*began)))
}

fn link(text: &str) -> Option<(&str, usize)> {
    let words_end = text.find("](")?;
    let length = words_end + text[words_end..].find(')')? + 1;
    Some((&text[1..words_end], length))
}

fn unfinished(began: usize) -> String {
    format!("can't parse entities: Can't find end of the entity starting at byte offset {began}")
}

const TAGS: [&str; 15] = [
    "b",
    "strong",
    "i",
    "em",
    "u",
    "ins",
    "s",
    "strike",
    "del",
    "span",
    "tg-spoiler",
    "a",
    "code",
    "pre",
    "blockquote",
];

fn html(text: &str) -> Result<String, String> {
    let mut plain = String::new();
    let mut open: Vec<(String, usize)> = Vec::new();
    let mut rest = text;
    while let Some(begin) = rest.find('<') {
        let offset = text.len() - rest.len() + begin;
        plain.push_str(&rest[..begin]);
        let Some(length) = rest[begin..].find('>') else {
            return Err(format!("can't parse entities: Unclosed start tag at byte offset {offset}"));
        };
        let tag = &rest[begin + 1..begin + length];
        rest = &rest[begin + length + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            match open.pop() {
                Some((last, _)) if last == name.trim() => {}
                Some(_) | None => {
                    return Err(format!("can't parse entities: Unexpected end tag at byte offset {offset}"));
                }
            }
        } else {
            let name = tag.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
            if !TAGS.contains(&name.as_str()) {
                return Err(format!(
                    "can't parse entities: Unsupported start tag \"{name}\" at byte offset {offset}"
                ));
            }
            open.push((name, offset));
        }
    }
    plain.push_str(rest);
    match open.last() {
        Some((name, _)) => {
            Err(format!("can't parse entities: Can't find end tag corresponding to start tag \"{name}\""))
        }
        None => {
            Ok(plain.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&"))
        }
    }
}
