//! `docket watch`: the open reviews and what is due, drawn anew every few seconds until Ctrl-C.
//!
//! It reads what `docket reviews` reads and the index of what is due, one query after the other, and pauses when it has read:
//! a slow table is asked less often, never more. What cannot be read is said in the frame, beside what was seen last, and
//! asked for again. It changes nothing.

use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use docket_domain::moment::Moment;
use docket_domain::ports::{Clock, Submissions};
use docket_domain::status::DueStep;
use terminal_size::{Height, Width};

use serde_json::{Value, json};

use crate::page::{self, Room};
use crate::table::cut;
use crate::zone::Zone;
use crate::{Listed, Stopped};

/// Seconds between two readings when nobody says otherwise.
pub const EVERY_SECONDS: u64 = 5;
/// Read of each step or reason: more than a screen holds.
const EACH_MAX: usize = 100;

const STRONG: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const WARNING: Style = AnsiColor::Yellow.on_default();

/// One step's share of what is due now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    pub step: DueStep,
    /// As far as it was read.
    pub count: usize,
    /// Since when the longest of them is due.
    pub oldest: Option<Moment>,
}

/// What was last seen of one side, and since when it cannot be seen any more.
#[derive(Debug)]
pub struct Side<T> {
    pub seen: Option<(Moment, T)>,
    pub lost: Option<(Moment, String)>,
}

impl<T> Default for Side<T> {
    fn default() -> Self {
        Self { seen: None, lost: None }
    }
}

impl<T> Side<T> {
    fn learn(&mut self, read: Result<T, Stopped>, now: Moment) {
        match read {
            Ok(value) => *self = Self { seen: Some((now, value)), lost: None },
            Err(stopped) => {
                let since = self.lost.as_ref().map_or(now, |(since, _)| *since);
                self.lost = Some((since, stopped.message().to_owned()));
            }
        }
    }

    fn lines(&self, what: &str, zone: &Zone, columns: usize) -> Vec<String> {
        let Some((since, why)) = &self.lost else { return Vec::new() };
        let old = match &self.seen {
            Some((at, _)) => format!("what stands here is of {}", zone.shown(*at)),
            None => "nothing of it was seen yet".into(),
        };
        [format!("{what}: lost since {}; {old}; asked for again", zone.shown(*since)), format!("  {why}")]
            .map(|line| format!("{WARNING}{}{WARNING:#}", cut(&line, columns)))
            .into()
    }
}

/// Everything that a frame shows.
#[derive(Debug, Default)]
pub struct Seen {
    pub reviews: Side<Vec<Listed>>,
    pub due: Side<Vec<Due>>,
}

impl Seen {
    /// Reads both sides once.
    pub async fn read<S: Submissions>(&mut self, submissions: &S, clock: &impl Clock) {
        let due = due(submissions, clock.now()).await;
        self.due.learn(due, clock.now());
        let reviews = crate::reviews_up_to(submissions, EACH_MAX).await;
        self.reviews.learn(reviews, clock.now());
    }
}

async fn due<S: Submissions>(submissions: &S, now: Moment) -> Result<Vec<Due>, Stopped> {
    let mut all = Vec::new();
    for step in DueStep::ALL {
        let found = submissions.due(step, now, EACH_MAX).await?;
        let oldest = found.iter().map(|(_, since)| *since).min();
        all.push(Due { step, count: found.len(), oldest });
    }
    Ok(all)
}

/// A terminal's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

/// What stands on the screen: never more lines than it has, and none wider.
#[must_use]
pub fn frame(seen: &Seen, now: Moment, zone: &Zone, every_seconds: u64, size: Size) -> Vec<String> {
    let heading = format!("docket watch  {}  every {every_seconds} s, Ctrl-C ends it", zone.shown(now));
    let mut lines = vec![format!("{STRONG}{}{STRONG:#}", cut(&heading, size.columns)), String::new()];
    lines.extend(seen.due.lines("what is due", zone, size.columns));
    if let Some((_, due)) = &seen.due.seen {
        let parts: Vec<String> = due.iter().map(|due| said(due, now)).collect();
        lines.push(cut(&format!("due now: {}", parts.join(", ")), size.columns));
    }
    lines.push(String::new());
    lines.extend(seen.reviews.lines("reviews", zone, size.columns));
    if let Some((_, reviews)) = &seen.reviews.seen {
        let free = size.rows.saturating_sub(lines.len());
        if reviews.is_empty() {
            lines.push("No open reviews.".into());
        } else if reviews.len() < free {
            lines.extend(page::table(reviews, now, Room::Cut(size.columns)));
        } else {
            // The heading, and the line that counts the rest.
            let shown = free.saturating_sub(2).min(reviews.len());
            lines.extend(page::table(&reviews[..shown], now, Room::Cut(size.columns)));
            let more = format!("and {} more: docket reviews", reviews.len() - shown);
            lines.push(format!("{FAINT}{}{FAINT:#}", cut(&more, size.columns)));
        }
    }
    lines.truncate(size.rows.max(1));
    lines
}

fn said(due: &Due, now: Moment) -> String {
    let more = if due.count < EACH_MAX { "" } else { " or more" };
    let longest =
        due.oldest.map(|since| format!(" (the longest for {})", page::age(now.seconds_since(since))));
    format!("{} {}{more}{}", due.step.as_str(), due.count, longest.unwrap_or_default())
}

/// One look, for where no terminal is, and its moment.
///
/// # Errors
/// A side is lost.
pub async fn once<S: Submissions>(submissions: &S, clock: &impl Clock) -> Result<(Seen, Moment), Stopped> {
    let mut seen = Seen::default();
    let due = due(submissions, clock.now()).await?;
    let reviews = crate::reviews_up_to(submissions, EACH_MAX).await?;
    let now = clock.now();
    seen.due.learn(Ok(due), now);
    seen.reviews.learn(Ok(reviews), now);
    Ok((seen, now))
}

/// One look as a page.
#[must_use]
pub fn page_of(seen: &Seen, now: Moment, zone: &Zone, every_seconds: u64) -> String {
    frame(seen, now, zone, every_seconds, size().unwrap_or(UNBOUNDED)).join("\n")
}

/// One look for a script.
#[must_use]
pub fn json(seen: &Seen, now: Moment) -> Value {
    let due: Vec<Value> = seen
        .due
        .seen
        .iter()
        .flat_map(|(_, due)| due)
        .map(|Due { step, count, oldest }| {
            json!({"step": step.as_str(), "count": count, "or_more": *count >= EACH_MAX, "oldest": oldest})
        })
        .collect();
    let reviews = seen.reviews.seen.as_ref().map_or(json!([]), |(_, listed)| crate::json::reviews(listed));
    json!({"at": now, "due": due, "reviews": reviews})
}

/// Where nobody looks at a screen, nothing is cut.
const UNBOUNDED: Size = Size { columns: 1_000, rows: 10_000 };

/// The terminal's, if standard output is one.
#[must_use]
pub fn size() -> Option<Size> {
    let (Width(columns), Height(rows)) = terminal_size::terminal_size_of(std::io::stdout())?;
    Some(Size { columns: columns.into(), rows: rows.into() })
}

/// The screen beside the one with the person's work on it, which comes back when this is dropped.
struct Screen;

impl Screen {
    fn open() -> Self {
        // Not through the stream that takes colours away where nobody wants them: it would take these away too.
        Self::put("\u{1b}[?1049h\u{1b}[?25l");
        Self
    }

    fn draw(lines: &[String]) {
        Self::put("\u{1b}[H");
        let mut out = anstream::stdout();
        for (number, line) in lines.iter().enumerate() {
            // No line feed behind the last one: it would move the whole screen up.
            let _ = write!(out, "{}{line}", if number == 0 { "" } else { "\n" });
            let _ = out.flush();
            Self::put("\u{1b}[K");
        }
        Self::put("\u{1b}[J");
    }

    fn put(codes: &str) {
        let mut out = std::io::stdout();
        // Whoever takes the terminal away ends this by a signal.
        let _ = out.write_all(codes.as_bytes());
        let _ = out.flush();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        Self::put("\u{1b}[?25h\u{1b}[?1049l");
    }
}

/// Draws until Ctrl-C, which is how it ends well.
pub async fn live<S: Submissions, C: Clock>(submissions: &S, clock: &C, zone: &Zone, every_seconds: u64) {
    let _screen = Screen::open();
    let mut seen = Seen::default();
    let drawing = async {
        loop {
            seen.read(submissions, clock).await;
            let size = size().unwrap_or(Size { columns: 80, rows: 24 });
            Screen::draw(&frame(&seen, clock.now(), zone, every_seconds, size));
            clock.pause_ms(every_seconds.saturating_mul(1_000)).await;
        }
    };
    let _: Option<()> = crate::interrupt::until_ended(drawing).await;
}
