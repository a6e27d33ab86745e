//! `docket stats`: how many enquiries are in which state, and how long the last day's took.

use std::collections::BTreeMap;

use docket_domain::moment::Moment;
use docket_domain::status::Record;
use serde_json::{Value, json};

use crate::page::span;

/// A day.
const RECENT_SECONDS: u64 = 86_400;

/// All counts, taken from the records one after the other.
#[derive(Debug)]
pub struct Stats {
    now: Moment,
    records: usize,
    unread: usize,
    /// Write state and acknowledgement state.
    states: BTreeMap<String, usize>,
    reviews: BTreeMap<&'static str, (usize, u64)>,
    oldest_due_seconds: u64,
    recorded: usize,
    /// Of the last day: from Confirm to the confirmed row, and to the accepted message.
    written_seconds: Vec<u64>,
    told_seconds: Vec<u64>,
}

impl Stats {
    #[must_use]
    pub fn at(now: Moment) -> Self {
        Self {
            now,
            records: 0,
            unread: 0,
            states: BTreeMap::new(),
            reviews: BTreeMap::new(),
            oldest_due_seconds: 0,
            recorded: 0,
            written_seconds: Vec::new(),
            told_seconds: Vec::new(),
        }
    }

    pub fn unread(&mut self) {
        self.unread += 1;
    }

    pub fn count(&mut self, record: &Record) {
        self.records += 1;
        let ack = record.acknowledgement.as_ref().map_or("none", |ack| ack.state.as_str());
        let states = format!("write {}, told {ack}", record.write.state.as_str());
        *self.states.entry(states).or_default() += 1;
        for review in record.reviews() {
            let (count, oldest) = self.reviews.entry(review.reason.as_str()).or_default();
            *count += 1;
            *oldest = (*oldest).max(self.now.seconds_since(review.since));
        }
        if let Some((_, due_at)) = record.due() {
            self.oldest_due_seconds = self.oldest_due_seconds.max(self.now.seconds_since(due_at));
        }
        let confirmed_at = record.submission.confirmed_at;
        if self.now.seconds_since(confirmed_at) >= RECENT_SECONDS {
            return;
        }
        self.recorded += 1;
        let after = |step: &dyn Fn(&str, Option<&str>) -> bool| {
            let entries = record.history.entries();
            let entry = entries.iter().find(|entry| step(&entry.step, entry.to.as_deref()))?;
            Some(entry.at.seconds_since(confirmed_at))
        };
        let written = after(&|step, to| !step.starts_with("ack") && to == Some("confirmed"));
        self.written_seconds.extend(written);
        self.told_seconds.extend(after(&|step, _| step == "ack_accepted"));
    }

    #[must_use]
    pub fn json(&self) -> Value {
        let reviews: BTreeMap<&str, Value> = self
            .reviews
            .iter()
            .map(|(reason, (count, oldest))| (*reason, json!({"open": count, "oldest_seconds": oldest})))
            .collect();
        json!({
            "records": self.records,
            "unreadable": self.unread,
            "states": self.states,
            "reviews": reviews,
            "oldest_due_seconds": self.oldest_due_seconds,
            "last_day": {
                "recorded": self.recorded,
                "written": spread(&self.written_seconds),
                "told": spread(&self.told_seconds),
            },
        })
    }

    #[must_use]
    pub fn page(&self) -> String {
        let mut lines = vec![format!("{} records", self.records)];
        lines.extend(self.states.iter().map(|(states, count)| format!("  {count:>7}  {states}")));
        if self.unread > 0 {
            lines.push(format!("  {:>7}  cannot be read by this release", self.unread));
        }
        for (reason, (count, oldest)) in &self.reviews {
            lines.push(format!("  {count:>7}  in review {reason}, the oldest for {}", span(*oldest)));
        }
        lines.push(format!("the longest due: {}", span(self.oldest_due_seconds)));
        lines.push(format!("the last day: {} recorded", self.recorded));
        for (what, seconds) in [("written", &self.written_seconds), ("told", &self.told_seconds)] {
            if let Some((half, most)) = middle_and_most(seconds) {
                lines.push(format!(
                    "  {:>7}  {what}; half of them within {} of Confirm, 95 in 100 within {}",
                    seconds.len(),
                    span(half),
                    span(most)
                ));
            }
        }
        lines.join("\n")
    }
}

fn spread(seconds: &[u64]) -> Value {
    let (half, most) = middle_and_most(seconds).unzip();
    json!({"count": seconds.len(), "median_seconds": half, "p95_seconds": most})
}

/// The middle one, and the one that 95 of 100 do not exceed.
fn middle_and_most(seconds: &[u64]) -> Option<(u64, u64)> {
    let mut sorted = seconds.to_vec();
    sorted.sort_unstable();
    let at = |hundredth: usize| sorted.get(sorted.len().saturating_sub(1) * hundredth / 100).copied();
    Some((at(50)?, at(95)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_the_long_end_are_told_and_nothing_of_nothing() {
        assert_eq!(middle_and_most(&[]), None);
        assert_eq!(middle_and_most(&[7]), Some((7, 7)));
        let hundred: Vec<u64> = (1..=101).rev().collect();
        assert_eq!(middle_and_most(&hundred), Some((51, 96)));
    }

    #[test]
    fn a_page_tells_long_times_in_hours_and_a_script_reads_seconds() {
        let mut stats = Stats::at(Moment::from_seconds(0));
        stats.reviews.insert("conflict", (2, 6_161));
        stats.oldest_due_seconds = 75;
        stats.written_seconds = vec![5, 90_000];
        let page = stats.page();
        for told in [
            "in review conflict, the oldest for 1 h 42 min",
            "the longest due: 1 min 15 s",
            "written; half of them within 5 s of Confirm, 95 in 100 within 5 s",
        ] {
            assert!(page.lines().any(|line| line.ends_with(told)), "{told}: {page}");
        }
        let json = stats.json();
        assert_eq!(json["reviews"]["conflict"]["oldest_seconds"], 6_161);
        assert_eq!(json["oldest_due_seconds"], 75);
    }
}
