//! A1 notation: from the words of a request to a tab and an area of it, and back to the words of an answer.
//!
//! Reading is as generous as Google (a bare `CRM26` is a cell of the first tab, whatever tabs are called), writing
//! as terse (quotes only where a name needs them).

use super::refusal::Refusal;

/// Part of a tab. Rows and columns count from 0; an absent end is open and runs to the edge of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) top: usize,
    pub(super) left: usize,
    /// Inclusive.
    pub(super) bottom: Option<usize>,
    /// Inclusive.
    pub(super) right: Option<usize>,
}

impl Area {
    pub(super) const WHOLE: Self = Self { top: 0, left: 0, bottom: None, right: None };

    pub(super) fn is_one_cell(&self) -> bool {
        self.bottom == Some(self.top) && self.right == Some(self.left)
    }

    /// This area in A1 notation without a tab: `A1:F2`, `A1`, `A:F`, `2:5`.
    pub(super) fn to_a1(self) -> String {
        let start = match (self.bottom, self.right) {
            (None, Some(_)) if self.top == 0 => column_letters(self.left),
            (Some(_), None) if self.left == 0 => (self.top + 1).to_string(),
            _ => format!("{}{}", column_letters(self.left), self.top + 1),
        };
        let end = format!(
            "{}{}",
            self.right.map(column_letters).unwrap_or_default(),
            self.bottom.map(|row| (row + 1).to_string()).unwrap_or_default()
        );
        if start == end || end.is_empty() { start } else { format!("{start}:{end}") }
    }
}

/// Finds the tab (its place among `titles`) and the area that `text` names.
pub(super) fn parse(text: &str, titles: &[&str]) -> Result<(usize, Area), Refusal> {
    let unparsable = || Refusal::unparsable_range(text);
    let tab_called = |title: &str| titles.iter().position(|known| *known == title);
    if let Some((tab, cells)) = split_tab(text) {
        let title = unquote(tab).ok_or_else(unparsable)?;
        let area = parse_area(cells).ok_or_else(unparsable)?;
        return Ok((tab_called(&title).ok_or_else(unparsable)?, area));
    }
    // Cells win over names: this is how a tab called `CRM26` gets its rows into another tab.
    if let Some(area) = parse_area(text) {
        return if titles.is_empty() { Err(unparsable()) } else { Ok((0, area)) };
    }
    let title = unquote(text).ok_or_else(unparsable)?;
    Ok((tab_called(&title).ok_or_else(unparsable)?, Area::WHOLE))
}

/// `Tab!A1:F2` for an answer: quoted only when the name needs it.
pub(super) fn display(title: &str, area: Area) -> String {
    if needs_quotes(title) { display_quoted(title, area) } else { format!("{title}!{}", area.to_a1()) }
}

/// `'Tab'!A1:F2`, as error messages name a range.
pub(super) fn display_quoted(title: &str, area: Area) -> String {
    format!("'{}'!{}", title.replace('\'', "''"), area.to_a1())
}

/// 0 is `A`, 26 is `AA`.
pub(super) fn column_letters(column: usize) -> String {
    let mut letters = Vec::new();
    let mut rest = column + 1;
    while rest > 0 {
        let letter = u8::try_from((rest - 1) % 26).expect("below 26");
        letters.push(char::from(b'A' + letter));
        rest = (rest - 1) / 26;
    }
    letters.iter().rev().collect()
}

/// `A` is 0; nothing for what cannot be a column (more than three letters, other characters).
pub(super) fn column_number(letters: &str) -> Option<usize> {
    if letters.is_empty() || letters.len() > 3 || !letters.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    let number =
        letters.bytes().fold(0, |sum, byte| sum * 26 + usize::from(byte.to_ascii_uppercase() - b'A') + 1);
    Some(number - 1)
}

/// Splits at the last `!` that is not inside quotes.
fn split_tab(text: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    let mut split = None;
    for (at, character) in text.char_indices() {
        match character {
            '\'' => quoted = !quoted,
            '!' if !quoted => split = Some(at),
            _ => {}
        }
    }
    split.map(|at| (&text[..at], &text[at + 1..]))
}

fn unquote(name: &str) -> Option<String> {
    let Some(rest) = name.strip_prefix('\'') else {
        return (!name.is_empty() && !name.contains(['\'', '!'])).then(|| name.to_owned());
    };
    let inner = rest.strip_suffix('\'')?;
    let undoubled = inner.replace("''", "\u{0}");
    (!inner.is_empty() && !undoubled.contains('\'')).then(|| undoubled.replace('\u{0}', "'"))
}

fn needs_quotes(title: &str) -> bool {
    let plain = title.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !title.starts_with(|first: char| first.is_ascii_digit());
    !plain || parse_area(title).is_some()
}

/// One end of a range; a column or a row alone is open to the other direction.
#[derive(Clone, Copy)]
struct End {
    row: Option<usize>,
    column: Option<usize>,
}

fn parse_area(text: &str) -> Option<Area> {
    let Some((from, to)) = text.split_once(':') else {
        let End { row, column } = parse_end(text)?;
        let (row, column) = (row?, column?);
        return Some(Area { top: row, left: column, bottom: Some(row), right: Some(column) });
    };
    let (from, to) = (parse_end(from)?, parse_end(to)?);
    let (top, bottom) = ordered(from.row, to.row)?;
    let (left, right) = ordered(from.column, to.column)?;
    let open_both = bottom.is_none() && right.is_none();
    (!open_both).then_some(Area { top, left, bottom, right })
}

/// `A:F` and `A2:F` are open below; `A:F5` is not notation.
fn ordered(from: Option<usize>, to: Option<usize>) -> Option<(usize, Option<usize>)> {
    match (from, to) {
        (Some(from), Some(to)) => Some((from.min(to), Some(from.max(to)))),
        (Some(from), None) => Some((from, None)),
        (None, None) => Some((0, None)),
        (None, Some(_)) => None,
    }
}

fn parse_end(text: &str) -> Option<End> {
    if let Some((row, column)) = parse_r1c1(text) {
        return Some(End { row: Some(row), column: Some(column) });
    }
    let text = text.strip_prefix('$').unwrap_or(text);
    let letters = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (letters, rest) = text.split_at(letters);
    let digits = if letters.is_empty() { rest } else { rest.strip_prefix('$').unwrap_or(rest) };
    let column = if letters.is_empty() { None } else { Some(column_number(letters)?) };
    let row = if digits.is_empty() { None } else { Some(row_number(digits)?) };
    (column.is_some() || row.is_some()).then_some(End { row, column })
}

/// `R1C1`, and `RC`: relative to nothing it is the first cell.
fn parse_r1c1(text: &str) -> Option<(usize, usize)> {
    let rest = text.strip_prefix(['R', 'r'])?;
    let (row, column) = rest.split_once(['C', 'c'])?;
    if row.is_empty() && column.is_empty() {
        return Some((0, 0));
    }
    Some((row_number(row)?, row_number(column)?))
}

fn row_number(digits: &str) -> Option<usize> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<usize>().ok().filter(|number| (1..=10_000_000).contains(number)).map(|number| number - 1)
}
