//! One cell: what a sent value becomes in it, and how it looks when read.
//!
//! RAW keeps a string as it is. `USER_ENTERED` does what typing does, which is why nobody should use it for a
//! customer's words: formulas run, numbers lose their zeros, dates become day counts.

use serde_json::{Number, Value};

/// What a cell holds: nothing, or a JSON string, number or boolean.
pub(super) type Cell = Option<Value>;

/// How sent values are to be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    Raw,
    UserEntered,
}

/// How read values are to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Render {
    Formatted,
    Unformatted,
}

/// Stores `value` the way `input` says; `year` is for dates typed without one.
pub(super) fn stored(value: &Value, input: Input, year: i64) -> Cell {
    match (value, input) {
        (Value::Null, _) => None,
        (Value::String(text), _) if text.is_empty() => None,
        (Value::String(text), Input::UserEntered) => typed(text, year),
        (other, _) => Some(other.clone()),
    }
}

/// What a person sees after typing `text`. Only a few formulas are worked out; the rest show `#ERROR!`, so that a
/// formula never reads back as its own text.
pub(super) fn typed(text: &str, year: i64) -> Cell {
    if let Some(literal) = text.strip_prefix('\'') {
        return (!literal.is_empty()).then(|| Value::from(literal));
    }
    if let Some(formula) = text.strip_prefix('=') {
        return Some(calculated(formula));
    }
    let trimmed = text.trim();
    match trimmed.to_ascii_uppercase().as_str() {
        "TRUE" => return Some(Value::Bool(true)),
        "FALSE" => return Some(Value::Bool(false)),
        _ => {}
    }
    if let Some(number) = number(trimmed) {
        return Some(number);
    }
    if let Some(days) = day_count(trimmed, year) {
        return Some(Value::from(days));
    }
    // A leading plus starts a formula, as `+49 30 0000` in a telephone column shows.
    if let Some(formula) = trimmed.strip_prefix('+') {
        return Some(calculated(formula));
    }
    Some(Value::from(text))
}

/// The value as JSON for an answer; an empty cell is `""`.
pub(super) fn shown(cell: &Cell, render: Render) -> Value {
    match (cell, render) {
        (None, _) => Value::from(""),
        (Some(Value::Number(number)), Render::Formatted) => Value::from(number.to_string()),
        (Some(Value::Bool(truth)), Render::Formatted) => Value::from(if *truth { "TRUE" } else { "FALSE" }),
        (Some(value), _) => value.clone(),
    }
}

fn number(text: &str) -> Option<Value> {
    let plain = text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-' | '.'))
        && text.ends_with(|last: char| last.is_ascii_digit() || last == '.')
        && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E'));
    let value = plain.then(|| text.parse::<f64>().ok()).flatten()?;
    whole(value).or_else(|| Number::from_f64(value).map(Value::Number))
}

/// A spreadsheet knows only floating point; whole numbers travel without a point.
#[expect(clippy::cast_possible_truncation, reason = "checked to be whole and far inside i64")]
fn whole(value: f64) -> Option<Value> {
    (value.fract() == 0.0 && value.abs() < 1e15).then(|| Value::from(value as i64))
}

fn calculated(formula: &str) -> Value {
    for operator in ['+', '-', '*'] {
        let Some((left, right)) = formula.split_once(operator) else { continue };
        let (Ok(left), Ok(right)) = (left.trim().parse::<i64>(), right.trim().parse::<i64>()) else {
            continue;
        };
        return Value::from(match operator {
            '+' => left + right,
            '-' => left - right,
            _ => left * right,
        });
    }
    if let Some(arguments) = formula.strip_prefix("HYPERLINK(").and_then(|rest| rest.strip_suffix(')')) {
        let label = arguments.rsplit(['"']).nth(1).unwrap_or_default();
        return Value::from(label);
    }
    Value::from("#ERROR!")
}

/// `2026-03-01`, `1/2` (month first, this year) and `1/2/2026`, as days since 30 December 1899.
fn day_count(text: &str, year: i64) -> Option<i64> {
    let parts: Vec<&str> = text.split(['-', '/']).collect();
    let numbers: Vec<i64> = parts.iter().map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let (year, month, day) = match numbers[..] {
        [month, day] if text.contains('/') => (year, month, day),
        [month, day, year] if text.contains('/') && year > 999 => (year, month, day),
        [year, month, day] if year > 999 => (year, month, day),
        _ => return None,
    };
    let valid = (1..=12).contains(&month) && (1..=31).contains(&day);
    valid.then(|| days_since_1970(year, month, day) + 25_569)
}

pub(super) fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let year_of_era = year.rem_euclid(400);
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    year.div_euclid(400) * 146_097 + day_of_era - 719_468
}

/// The year that holds `milliseconds` since 1970, near enough to date what is typed without a year.
pub(super) fn year_of(milliseconds: i64) -> i64 {
    let days = milliseconds.div_euclid(86_400_000);
    (1970 + days / 366..).take_while(|year| days_since_1970(*year, 1, 1) <= days).last().unwrap_or(1970)
}
