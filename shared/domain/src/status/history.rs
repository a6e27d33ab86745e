//! What happened to a record, in order: for the person who asks later. Bounded, and no decision reads it.

use std::fmt;

use crate::limits::{HISTORY_FIRST, HISTORY_MAX};
use crate::moment::Moment;

/// Who took a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    Webhook,
    Writer,
    Acknowledger,
    /// With the caller's identity.
    Operator(String),
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Webhook => f.write_str("webhook"),
            Self::Writer => f.write_str("writer"),
            Self::Acknowledger => f.write_str("acknowledger"),
            Self::Operator(who) => write!(f, "operator {who}"),
        }
    }
}

/// One step. `times` counts equal steps that followed each other: a sheet that stays halted for a night is one line.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Entry {
    /// Of the last of them.
    pub at: Moment,
    pub by: String,
    pub step: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub times: u32,
}

fn once() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_once(times: &u32) -> bool {
    *times == 1
}

impl Entry {
    pub(super) fn step(at: Moment, by: &By, step: &str) -> Self {
        Self {
            at,
            by: by.to_string(),
            step: step.to_owned(),
            from: None,
            to: None,
            why: None,
            evidence: None,
            times: 1,
        }
    }

    pub(super) fn from(mut self, state: &str) -> Self {
        self.from = Some(state.to_owned());
        self
    }

    pub(super) fn to(mut self, state: &str) -> Self {
        self.to = Some(state.to_owned());
        self
    }

    pub(super) fn because(mut self, why: Option<String>) -> Self {
        self.why = why;
        self
    }

    pub(super) fn proved_by(mut self, evidence: Option<String>) -> Self {
        self.evidence = evidence;
        self
    }

    fn repeats(&self, other: &Self) -> bool {
        self.step == other.step
            && self.by == other.by
            && self.from == other.from
            && self.to == other.to
            && self.why == other.why
            && self.evidence == other.evidence
    }
}

/// The entries, oldest first: the first ten and the newest are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct History(Vec<Entry>);

impl History {
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// Who gave which order stays; the reasons may be about a person.
    pub(super) fn forget_what_operators_said(&mut self, instead: &str) {
        for entry in self.0.iter_mut().filter(|entry| entry.by.starts_with("operator ")) {
            if entry.why.is_some() {
                entry.why = Some(instead.to_owned());
            }
            if entry.evidence.as_ref().is_some_and(|evidence| evidence.starts_with("operator:")) {
                entry.evidence = Some(format!("operator: {instead}"));
            }
        }
    }

    pub(super) fn add_to_last(&mut self, seen: &str) {
        if let Some(last) = self.0.last_mut() {
            last.evidence = Some(match last.evidence.take() {
                Some(evidence) => format!("{evidence}; {seen}"),
                None => seen.to_owned(),
            });
        }
    }

    pub(super) fn push(&mut self, entry: Entry) {
        match self.0.last_mut() {
            Some(last) if last.repeats(&entry) => {
                last.at = entry.at;
                last.times += 1;
            }
            Some(_) | None => {
                if self.0.len() >= HISTORY_MAX {
                    self.0.remove(HISTORY_FIRST);
                }
                self.0.push(entry);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_is_bounded_and_keeps_how_it_began_and_how_it_stands() {
        let mut history = History::default();
        for n in 0..500 {
            history.push(Entry::step(Moment::from_seconds(n), &By::Writer, &format!("step {n}")));
        }
        assert_eq!(history.entries().len(), HISTORY_MAX);
        assert_eq!(history.entries()[0].step, "step 0");
        assert_eq!(history.entries()[HISTORY_MAX - 1].step, "step 499");
    }

    #[test]
    fn the_same_step_again_is_counted_on_one_line() {
        let mut history = History::default();
        for n in 0..500 {
            history.push(Entry::step(Moment::from_seconds(n), &By::Writer, "put_off"));
        }
        assert_eq!(history.entries().len(), 1);
        assert_eq!((history.entries()[0].times, history.entries()[0].at), (500, Moment::from_seconds(499)));
    }
}
