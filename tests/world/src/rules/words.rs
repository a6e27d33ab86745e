//! What the webhook says against what is stored, and rules 7 and 8: what a customer saw on a card is what was recorded, and
//! each card that was confirmed is an enquiry of its own.

use std::collections::{HashMap, HashSet};

use aws_sdk_dynamodb::types::AttributeValue;
use docket_domain::catalog::{Sentences, fill};
use docket_domain::status::Record;

use crate::telegram::WebhookAnswer;
use crate::witness::references_in;
use crate::world::World;

/// How much of a summary a card that shortens it still shows.
const SHOWN_CHARS: usize = 100;

impl World {
    /// Holds an answer of the webhook against the table, at the moment at which it is given: afterwards the record may have
    /// gone on, and what was too early would look true.
    ///
    /// # Panics
    /// When the table cannot be read.
    pub async fn weigh(&self, answer: &WebhookAnswer) {
        let method = answer.json();
        if method.get("reply_markup").is_some() {
            // A card: a customer's own words may say anything.
            return;
        }
        let words = method["text"].as_str().unwrap_or_default();
        for name in references_in(words) {
            let claim = Claim::of(words, &name, &self.settings().catalog.sentences);
            if claim == Claim::None {
                continue;
            }
            let read = self
                .engines
                .dynamodb_client()
                .get_item()
                .table_name(&self.tables.submissions)
                .key("reference", AttributeValue::S(name.clone()))
                .consistent_read(true)
                .send();
            let item = read.await.expect("the table is there").item;
            let state = item.as_ref().and_then(|item| item.get("write_state")?.as_s().ok());
            let holds = match claim {
                Claim::None => true,
                Claim::Received => item.is_some(),
                Claim::Recorded => state.is_some_and(|state| state == "confirmed"),
                Claim::Closed => state.is_some_and(|state| state == "abandoned"),
            };
            if !holds {
                let stored = state.map_or("no state", String::as_str);
                self.testimony
                    .object(format!("the webhook said more than is stored of {name} ({stored}): {words}"));
            }
        }
    }

    /// Rule 8: the summary and the type are those of the very card whose button was pressed.
    pub(super) fn shown_otherwise(&self, record: &Record) -> Option<String> {
        let submission = &record.submission;
        let pressed = self.heard.iter().map(|(update, _)| &update["callback_query"]);
        let press = pressed.into_iter().find(|press| {
            press["id"].as_str().is_some_and(|callback_id| submission.was_confirmed_by(callback_id))
        })?;
        // A card that Telegram no longer gives out comes without its text.
        let shown = press["message"]["text"].as_str().filter(|shown| !shown.is_empty())?;
        let summary = submission.summary.as_str();
        let shortened = &self.settings().catalog.sentences.card_shortened;
        let begins: String = summary.chars().take(SHOWN_CHARS).collect();
        let shows_it = shown.contains(summary) || (shown.contains(shortened) && shown.contains(&begins));
        (!shows_it || !shown.contains(&submission.request_type)).then(|| {
            format!("rule 8: {} is recorded otherwise than its card showed: {shown}", submission.reference)
        })
    }

    /// Rule 7: of two cards that were confirmed there are two references, and of two messages two records.
    pub(super) fn cards_taken_for_one(&self, records: &[Record]) -> Vec<String> {
        let sentence = &self.settings().catalog.sentences.received;
        let mut cards: HashMap<String, HashSet<String>> = HashMap::new();
        for (update, answer) in &self.heard {
            let Some(press) = update["callback_query"]["id"].as_str() else { continue };
            let words = answer.words();
            for name in references_in(&words).into_iter().filter(|name| words == filled(sentence, name)) {
                cards.entry(name).or_default().insert(press.to_owned());
            }
        }
        let mut broken: Vec<String> = cards
            .iter()
            .filter(|(_, presses)| presses.len() > 1)
            .map(|(name, presses)| {
                format!("rule 7: {} confirmations were all received as {name}", presses.len())
            })
            .collect();
        let mut messages = HashSet::new();
        for record in records.iter().filter(|record| !record.submission.is_erased()) {
            // The bot, the chat and the message; behind them the press.
            let message: Vec<&str> = record.submission.origin.split('/').take(4).collect();
            if !messages.insert(message) {
                broken.push(format!(
                    "rule 7: {} is of a message that has a record already",
                    record.submission.reference
                ));
            }
        }
        broken
    }
}

/// What a sentence says of a reference.
#[derive(PartialEq, Eq)]
enum Claim {
    None,
    /// We have it.
    Received,
    /// Its row is there.
    Recorded,
    /// A person closed it, whatever is in the sheet.
    Closed,
}

impl Claim {
    fn of(words: &str, name: &str, sentences: &Sentences) -> Self {
        let says =
            |sentences: &[&String]| sentences.iter().any(|sentence| words.contains(&filled(sentence, name)));
        let Sentences { received, already_recorded, status_waiting, status_checking, conflict, .. } =
            sentences;
        if says(&[&sentences.status_closed]) {
            Self::Closed
        } else if words.contains(&format!("{name} is recorded."))
            || says(&[&sentences.status_recorded, &sentences.recorded])
        {
            Self::Recorded
        } else if says(&[received, already_recorded, status_waiting, status_checking, conflict]) {
            Self::Received
        } else {
            Self::None
        }
    }
}

fn filled(sentence: &str, name: &str) -> String {
    fill(sentence, &[("reference", name)])
}
