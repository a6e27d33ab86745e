//! What a person reads: the four answers first, then the enquiry, then what happened.

use anstyle::{AnsiColor, Style};
use docket_domain::moment::Moment;
use docket_domain::status::Record;

use crate::Listed;
use crate::answers::{Answers, QUESTIONS};
use crate::orders::many::Outcome;
use crate::orders::{Done, commands_for, orders_for};
use crate::visible::visible;

const STRONG: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const WARNING: Style = AnsiColor::Yellow.on_default();

/// `docket show REFERENCE`.
#[must_use]
pub fn record(record: &Record) -> String {
    let submission = &record.submission;
    let mut lines = vec![format!("{STRONG}{}{STRONG:#}", submission.reference), String::new()];
    let answers = Answers::of(record);
    for (question, answer) in QUESTIONS.iter().zip(answers.lines()) {
        lines.push(format!("{question:<36}{}", visible(answer)));
    }
    if let Some(at) = record.erased_at {
        lines.push(format!("{WARNING}Its customer was erased at {at}.{WARNING:#}"));
    }
    for review in record.reviews() {
        lines.push(format!("What may be ordered about {}:", review.reason.as_str()));
        lines.extend(commands_for(review.reason, record).into_iter().map(|command| format!("  {command}")));
    }
    lines.push(String::new());
    lines.push(format!("{FAINT}request type{FAINT:#}  {}", visible(&submission.request_type)));
    lines.push(format!("{FAINT}contact{FAINT:#}       {}", visible(submission.contact.as_str())));
    lines.push(format!("{FAINT}chat{FAINT:#}          {}", submission.chat_id));
    lines.push(format!("{FAINT}version{FAINT:#}       {}", record.version));
    lines.push(format!("{FAINT}summary{FAINT:#}"));
    lines.extend(visible(submission.summary.as_str()).lines().map(|line| format!("  {line}")));
    for conflict in &record.conflicts {
        lines.push(format!("{WARNING}conflicting content of {}{WARNING:#}", conflict.at));
        lines.push(format!("  {}", visible(&conflict.request_type)));
        lines.extend(visible(conflict.summary.as_str()).lines().map(|line| format!("  {line}")));
    }
    lines.push(String::new());
    lines.push(format!("{FAINT}history{FAINT:#}"));
    for entry in record.history.entries() {
        let mut line = format!("  {}  {:<13} {}", entry.at, visible(&entry.by), entry.step);
        if let (Some(from), Some(to)) = (&entry.from, &entry.to)
            && from != to
        {
            line.push_str(&format!("  {from} → {to}"));
        }
        for detail in [&entry.why, &entry.evidence].into_iter().flatten() {
            line.push_str(&format!("  ({})", visible(detail)));
        }
        if entry.times > 1 {
            line.push_str(&format!("  ×{}", entry.times));
        }
        lines.push(line);
    }
    lines.join("\n")
}

/// `docket recheck` and `docket resolve`.
#[must_use]
pub fn done(done: &Done) -> String {
    let mut lines = Vec::new();
    if let Some(found) = &done.found {
        lines.push(found.sentence());
    }
    lines.push(format!("{STRONG}{}{STRONG:#}", done.said));
    lines.push(String::new());
    let answers = Answers::of(&done.record);
    for (question, answer) in QUESTIONS.iter().zip(answers.lines()) {
        lines.push(format!("{question:<36}{}", visible(answer)));
    }
    lines.join("\n")
}

/// `docket resolve --reason`.
#[must_use]
pub fn outcomes(outcomes: &[Outcome]) -> String {
    if outcomes.is_empty() {
        return "No such reviews.".into();
    }
    let mut lines: Vec<String> = outcomes
        .iter()
        .map(|Outcome { reference, since, done }| match done {
            None => format!("{reference}  since {since}"),
            Some(Ok(())) => format!("{reference}  since {since}  closed"),
            Some(Err(stopped)) => format!("{reference}  since {since}  not closed: {}", stopped.message()),
        })
        .collect();
    if outcomes.iter().all(|outcome| outcome.done.is_none()) {
        lines.push(format!("{FAINT}Nothing was changed: --apply carries the order out.{FAINT:#}"));
    } else if outcomes.iter().any(|outcome| outcome.done.is_none()) {
        lines.push("A side could not be reached: those without a word were not tried.".into());
    }
    lines.join("\n")
}

/// `docket reviews`.
#[must_use]
pub fn reviews(listed: &[Listed], now: Moment) -> String {
    if listed.is_empty() {
        return "No open reviews.".into();
    }
    let mut lines = vec![format!(
        "{STRONG}{:<19}{:<18}{:>8}  {:<20}  what may be ordered{STRONG:#}",
        "reference", "reason", "age", "request type"
    )];
    for Listed { reference, review, record } in listed {
        let (request_type, next) = match record {
            Some(record) => {
                let request_type = shortened(&visible(&record.submission.request_type), 20);
                (request_type, orders_for(review.reason).join(", "))
            }
            None => (String::new(), "nothing: the record cannot be read by this release".into()),
        };
        lines.push(format!(
            "{:<19}{WARNING}{:<18}{WARNING:#}{:>8}  {request_type:<20}  {next}",
            reference.to_string(),
            review.reason.as_str(),
            age(now.seconds_since(review.since)),
        ));
    }
    lines.join("\n")
}

fn shortened(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    text.chars().take(chars_max - 1).chain(['…']).collect()
}

fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}
