//! What a person reads: the four answers first, then the enquiry, then what happened.

use anstyle::{AnsiColor, Style};
use docket_domain::moment::Moment;
use docket_domain::status::Record;

use crate::Listed;
use crate::answers::{Answers, QUESTIONS};
use crate::orders::many::Outcome;
use crate::orders::{Done, commands_for, orders_for, without_row_for};
use crate::table::{cut, one_line, padded, width};
use crate::visible::visible;
use crate::words;
use crate::zone::Zone;

const STRONG: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const WARNING: Style = AnsiColor::Yellow.on_default();

/// `docket show REFERENCE`.
#[must_use]
pub fn record(record: &Record, zone: &Zone) -> String {
    let submission = &record.submission;
    let mut lines = vec![format!("{STRONG}{}{STRONG:#}", submission.reference), String::new()];
    let answers = Answers::of(record, zone);
    for (question, answer) in QUESTIONS.iter().zip(answers.lines()) {
        lines.push(format!("{question:<36}{}", visible(answer)));
    }
    if let Some(at) = record.erased_at {
        lines.push(format!("{WARNING}Its customer was erased at {}.{WARNING:#}", zone.shown(at)));
    }
    if let Some(until) = record.erasing_until {
        let at = zone.shown(until);
        lines.push(format!(
            "{WARNING}Somebody began to erase its customer, and has not ended it: docket erase goes on from {at}.{WARNING:#}"
        ));
    }
    lines.extend(what_may_be_ordered(record));
    lines.push(String::new());
    lines.push(format!("{FAINT}request type{FAINT:#}  {}", visible(&submission.request_type)));
    lines.push(format!("{FAINT}contact{FAINT:#}       {}", visible(submission.contact.as_str())));
    lines.push(format!("{FAINT}chat{FAINT:#}          {}", submission.chat_id));
    lines.push(format!("{FAINT}version{FAINT:#}       {}", record.version));
    lines.push(format!("{FAINT}summary{FAINT:#}"));
    lines.extend(visible(submission.summary.as_str()).lines().map(|line| format!("  {line}")));
    for conflict in &record.conflicts {
        lines.push(format!("{WARNING}conflicting content of {}{WARNING:#}", zone.shown(conflict.at)));
        lines.push(format!("  {}", visible(&conflict.request_type)));
        lines.extend(visible(conflict.summary.as_str()).lines().map(|line| format!("  {line}")));
    }
    lines.push(String::new());
    lines.push(format!("{FAINT}history, in the time of {}{FAINT:#}", zone.name()));
    let times: Vec<String> = record.history.entries().iter().map(|entry| zone.shown(entry.at)).collect();
    let columns = times.iter().map(|time| width(time)).max().unwrap_or(0);
    for (entry, time) in record.history.entries().iter().zip(times) {
        let mut line = format!("  {time:<columns$}  {:<13} {}", visible(&entry.by), entry.step);
        if let (Some(from), Some(to)) = (&entry.from, &entry.to)
            && from != to
        {
            line.push_str(&format!("  {from} → {to}"));
        }
        // An operator's reason may happen to be such a word.
        let by_operator = entry.by.starts_with("operator ");
        let why =
            entry.why.as_deref().map(|why| if by_operator { why.to_owned() } else { words::of_detail(why) });
        for detail in why.into_iter().chain(entry.evidence.as_deref().map(words::of_detail)) {
            line.push_str(&format!("  ({})", visible(&detail)));
        }
        if entry.times > 1 {
            line.push_str(&format!("  ×{}", entry.times));
        }
        lines.push(line);
    }
    lines.join("\n")
}

/// Whole commands, for the version that is being looked at: a look that is kept makes another version.
fn what_may_be_ordered(record: &Record) -> Vec<String> {
    let mut lines = Vec::new();
    for review in record.reviews() {
        lines.push(format!("What may be ordered about {}:", review.reason.as_str()));
        for (command, note) in commands_for(review.reason, record) {
            lines.push(format!("  {command}"));
            lines.extend(note.map(|note| format!("      {FAINT}{note}{FAINT:#}")));
        }
    }
    lines
}

/// `docket recheck` and `docket resolve`.
#[must_use]
pub fn done(done: &Done, zone: &Zone) -> String {
    let mut lines = Vec::new();
    if let Some(found) = &done.found {
        lines.push(found.sentence());
    }
    lines.push(format!("{STRONG}{}{STRONG:#}", done.said));
    lines.push(String::new());
    let answers = Answers::of(&done.record, zone);
    for (question, answer) in QUESTIONS.iter().zip(answers.lines()) {
        lines.push(format!("{question:<36}{}", visible(answer)));
    }
    lines.extend(what_may_be_ordered(&done.record));
    lines.join("\n")
}

/// `docket resolve --reason`.
#[must_use]
pub fn outcomes(outcomes: &[Outcome], zone: &Zone) -> String {
    if outcomes.is_empty() {
        return "No such reviews.".into();
    }
    let mut lines: Vec<String> = outcomes
        .iter()
        .map(|Outcome { reference, since, done }| {
            let since = zone.shown(*since);
            match done {
                None => format!("{reference}  since {since}"),
                Some(Ok(None)) => format!("{reference}  since {since}  closed"),
                Some(Ok(Some(seen))) => format!("{reference}  since {since}  closed: {}", visible(seen)),
                Some(Err(stopped)) => {
                    format!("{reference}  since {since}  not closed: {}", stopped.message())
                }
            }
        })
        .collect();
    if outcomes.iter().all(|outcome| outcome.done.is_none()) {
        lines.push(format!("{FAINT}Nothing was changed: --apply carries the order out.{FAINT:#}"));
    } else if outcomes.iter().any(|outcome| outcome.done.is_none()) {
        lines.push("A side could not be reached: those without a word were not tried.".into());
    }
    lines.join("\n")
}

/// How wide a table may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// As wide as it needs: nobody knows a terminal's edge.
    Unknown,
    /// What does not fit goes to a line of its own below.
    Below(usize),
    /// What does not fit is cut: each review is one line.
    Cut(usize),
}

/// `docket reviews`.
#[must_use]
pub fn reviews(listed: &[Listed], now: Moment, room: Room) -> String {
    if listed.is_empty() {
        return "No open reviews.".into();
    }
    let mut lines = table(listed, now, room);
    if listed.iter().any(|listed| without_row_for(listed.review.reason).is_some()) {
        lines.push(format!(
            "{FAINT}--recorded wants the row in its place; recorded elsewhere: add --without-row.{FAINT:#}"
        ));
    }
    lines.join("\n")
}

/// A heading and the reviews, with reason, age, request type and what may be ordered.
pub(crate) fn table(listed: &[Listed], now: Moment, room: Room) -> Vec<String> {
    const REQUEST_TYPE_COLUMNS_MAX: usize = 20;
    /// Where the last column begins.
    const NEXT: usize = 69;
    let mut lines = Vec::new();
    let mut push =
        |[reference, reason, age, request_type, next]: [&str; 5], whole: Style, of_reason: Style| {
            let request_type = padded(&cut(request_type, REQUEST_TYPE_COLUMNS_MAX), REQUEST_TYPE_COLUMNS_MAX);
            let first = format!(
                "{whole}{reference:<19}{of_reason}{reason:<18}{of_reason:#}{whole}{age:>8}  {request_type}"
            );
            match room {
                Room::Below(columns) if NEXT + width(next) > columns => {
                    lines.push(format!("{first}{whole:#}"));
                    lines.push(format!("{:<19}{whole}{next}{whole:#}", ""));
                }
                // Narrower than the columns before it: then without colours, which are no columns.
                Room::Cut(columns) if columns < NEXT => {
                    lines.push(cut(&format!("{reference:<19}{reason:<18}{age:>8}  {request_type}"), columns));
                }
                Room::Cut(columns) => {
                    let next = cut(next, columns.saturating_sub(NEXT));
                    lines.push(format!("{first}  {next}{whole:#}"));
                }
                Room::Unknown | Room::Below(_) => lines.push(format!("{first}  {next}{whole:#}")),
            }
        };
    let heading = ["reference", "reason", "age", "request type", "what may be ordered"];
    push(heading, STRONG, Style::new());
    for Listed { reference, review, record } in listed {
        let (request_type, next) = match record {
            Some(record) => (one_line(&record.submission.request_type), orders_for(review.reason).join(", ")),
            None => (String::new(), "nothing: the record cannot be read by this release".into()),
        };
        let (reason, age) = (review.reason.as_str(), age(now.seconds_since(review.since)));
        push([reference.as_str(), reason, &age, &request_type, &next], Style::new(), WARNING);
    }
    lines
}

/// How long, in the largest unit that says it well.
#[must_use]
pub fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// How long, in the two largest units: `1 h 42 min`.
#[must_use]
pub fn span(seconds: u64) -> String {
    let in_two = |large: u64, name: &str, small: u64, small_name: &str| {
        let (whole, rest) = (seconds / large, seconds % large / small);
        if rest == 0 { format!("{whole} {name}") } else { format!("{whole} {name} {rest} {small_name}") }
    };
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => in_two(60, "min", 1, "s"),
        3_600..86_400 => in_two(3_600, "h", 60, "min"),
        _ => in_two(86_400, "d", 3_600, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_said_in_its_two_largest_units() {
        for (seconds, said) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (101, "1 min 41 s"),
            (3_599, "59 min 59 s"),
            (3_600, "1 h"),
            (6_161, "1 h 42 min"),
            (86_399, "23 h 59 min"),
            (86_400, "1 d"),
            (266_400, "3 d 2 h"),
        ] {
            assert_eq!(span(seconds), said, "{seconds}");
        }
    }
}
