//! Stands between the gates and the fakes and notes, at the very moment of an effect, what the table says.
//!
//! Rules 1, 2 and 5 speak of that moment: the intention is durable before the request leaves, at most one effect a
//! reference, nothing is said before the write is confirmed. Afterwards nobody could tell any more.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_dynamodb::types::AttributeValue;
use docket_domain::alert;
use serde_json::Value;

use crate::exchange::{Answer, Fake, Request};

/// What was seen at the moment of effects. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Testimony(Arc<Mutex<Notes>>);

#[derive(Debug, Default)]
struct Notes {
    broken: Vec<String>,
    appends: HashMap<String, usize>,
    sends: HashMap<String, usize>,
    /// Under which attempts effects that were not refused came.
    attempts: HashSet<(&'static str, String, String)>,
    looked_up_by_hand: HashSet<String>,
}

impl Testimony {
    /// The rules that were broken at the moment of an effect.
    #[must_use]
    pub fn broken(&self) -> Vec<String> {
        self.notes(|notes| notes.broken.clone())
    }

    /// Appends of a reference that were not refused.
    #[must_use]
    pub fn appends(&self, reference: &str) -> usize {
        self.notes(|notes| notes.appends.get(reference).copied().unwrap_or(0))
    }

    /// Messages about a reference that were not refused.
    #[must_use]
    pub fn sends(&self, reference: &str) -> usize {
        self.notes(|notes| notes.sends.get(reference).copied().unwrap_or(0))
    }

    /// A rule that did not hold at the moment at which somebody looked.
    pub fn object(&self, broken: String) {
        self.notes(|notes| notes.broken.push(broken));
    }

    /// A test says what a look at the sheet showed; nobody looked.
    pub fn looked_up_by_hand(&self, reference: &str) {
        self.notes(|notes| notes.looked_up_by_hand.insert(reference.to_owned()));
    }

    /// Whether a test ever said what a look at the sheet showed for this reference.
    #[must_use]
    pub fn was_looked_up_by_hand(&self, reference: &str) -> bool {
        self.notes(|notes| notes.looked_up_by_hand.contains(reference))
    }

    fn notes<R>(&self, look: impl FnOnce(&mut Notes) -> R) -> R {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A fake with a witness in front of it.
pub struct Witnessed<F> {
    pub inner: F,
    pub testimony: Testimony,
    /// Reads the table directly, past the wire.
    pub table: aws_sdk_dynamodb::Client,
    pub table_name: String,
}

impl<F: Fake> Fake for Witnessed<F> {
    fn answer(&self, request: Request) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>> {
        Box::pin(async move {
            let effect = Effect::of(&request);
            let mut attempts = Vec::new();
            for reference in effect.references() {
                attempts.push(self.check(&effect, reference).await);
            }
            let answer = self.inner.answer(request).await;
            if !is_refusal(&answer) {
                self.testimony.notes(|notes| {
                    let (counts, what, references) = match &effect {
                        Effect::Append(references) => (&mut notes.appends, "appended", references),
                        Effect::Send(references) => (&mut notes.sends, "announced", references),
                        Effect::None => return,
                    };
                    for (reference, attempt) in references.iter().zip(attempts) {
                        *counts.entry(reference.clone()).or_insert(0) += 1;
                        // Without an attempt it is the first rule's matter.
                        let Some(attempt) = attempt else { continue };
                        if !notes.attempts.insert((what, reference.clone(), attempt)) {
                            notes.broken.push(format!("rule 9: {reference} was {what} twice by one claim"));
                        }
                    }
                });
            }
            answer
        })
    }
}

impl<F> Witnessed<F> {
    /// The attempt under which the effect comes, as the table has it.
    async fn check(&self, effect: &Effect, reference: &str) -> Option<String> {
        let read = self
            .table
            .get_item()
            .table_name(&self.table_name)
            .key("reference", AttributeValue::S(reference.to_owned()))
            .consistent_read(true)
            .send()
            .await;
        let item = read.ok().and_then(|read| read.item).unwrap_or_default();
        let state = |name: &str| item.get(name).and_then(|v| v.as_s().ok()).map_or("absent", String::as_str);
        let broken = match effect {
            Effect::Append(_)
                if state("write_state") != "attempting" || !item.contains_key("write_attempt") =>
            {
                Some(format!(
                    "rule 1: {reference} was appended while write_state was {}",
                    state("write_state")
                ))
            }
            Effect::Send(_) if state("write_state") == "abandoned" && item.contains_key("ack_words") => None,
            Effect::Send(_) if state("write_state") != "confirmed" => Some(format!(
                "rule 5: {reference} was announced while write_state was {}",
                state("write_state")
            )),
            Effect::Send(_) if state("ack_state") != "attempting" || !item.contains_key("ack_attempt") => {
                Some(format!("rule 1: {reference} was announced while ack_state was {}", state("ack_state")))
            }
            Effect::Append(_) | Effect::Send(_) | Effect::None => None,
        };
        self.testimony.notes(|notes| notes.broken.extend(broken));
        let attempt = match effect {
            Effect::Append(_) => "write_attempt",
            Effect::Send(_) => "ack_attempt",
            Effect::None => return None,
        };
        item.get(attempt)?.as_s().ok().cloned()
    }
}

enum Effect {
    Append(Vec<String>),
    Send(Vec<String>),
    None,
}

impl Effect {
    fn of(request: &Request) -> Self {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        if request.path.ends_with(":append") {
            let rows = body["values"].as_array().cloned().unwrap_or_default();
            return Self::Append(rows.iter().filter_map(|row| row[0].as_str().map(str::to_owned)).collect());
        }
        if request.path.ends_with("/sendMessage") {
            return Self::Send(announced_in(body["text"].as_str().unwrap_or_default()));
        }
        Self::None
    }

    fn references(&self) -> &[String] {
        match self {
            Self::Append(references) | Self::Send(references) => references,
            Self::None => &[],
        }
    }
}

/// Of which enquiries this message tells their customers. What the operator is told is nobody's acknowledgement.
#[must_use]
pub fn announced_in(text: &str) -> Vec<String> {
    if text.starts_with(alert::BEGINNING) { Vec::new() } else { references_in(text) }
}

/// Everything in `text` that looks like a reference.
#[must_use]
pub fn references_in(text: &str) -> Vec<String> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .filter(|word| word.len() == 17 && word.starts_with("DK-"))
        .map(str::to_owned)
        .collect()
}

/// A whole answer that proves that nothing was done.
fn is_refusal(answer: &Answer) -> bool {
    match answer {
        Answer::Reply { status, .. } => (400..500).contains(status) && !matches!(status, 408 | 409),
        Answer::HangUp | Answer::Half { .. } | Answer::Never => false,
    }
}
