//! DESIGN's rules, checked over a whole world: table, sheet, messages, and every request that was made.
//!
//! Run after every scenario. What a person did to the sheet by hand is told to the checker, since no rule of Docket's can
//! hold against it.

mod items;
mod attempts;
mod looks;
mod updates;
mod words;
mod history;
mod forgotten;

use std::collections::HashMap;

use docket_domain::reference::Reference;
use docket_domain::status::{AckState, Evidence, Record, WriteState};
use serde_json::Value;

use crate::wire::{Fault, Side};
use crate::world::World;

pub(crate) use forgotten::Looked;

/// What a person, not Docket, did in this scenario.
#[derive(Debug, Clone, Default)]
pub struct Tampering {
    /// References whose rows were copied, changed or deleted by hand.
    pub rows_of: Vec<Reference>,
    /// References for which an operator ordered another append or another message.
    pub ordered: Vec<Reference>,
}

impl World {
    /// # Panics
    /// When a rule does not hold; says which, and shows the world.
    pub async fn check_rules(&self) {
        self.check_rules_but_for(&Tampering::default()).await;
    }

    /// # Panics
    /// As [`World::check_rules`].
    pub async fn check_rules_but_for(&self, tampering: &Tampering) {
        let broken = self.broken_rules(tampering).await;
        assert!(broken.is_empty(), "{}\n{}", broken.join("\n"), self.picture().await);
    }

    /// Every rule that does not hold.
    #[must_use = "a rule that nobody looks at holds nothing"]
    pub async fn broken_rules(&self, tampering: &Tampering) -> Vec<String> {
        self.looked.now();
        let mut broken = self.testimony.broken();
        for item in self.items().await {
            broken.extend(items::contradictions(&item));
        }
        let (records, unreadable) = self.readable_records().await;
        // Of a record that cannot be read nobody can answer anything.
        broken.extend(unreadable.iter().map(|what| format!("rule 12: {what}")));
        let unreached = self.unreached_effects();
        for record in &records {
            let reference = &record.submission.reference;
            let name = reference.as_str();
            let rows = self.rows_of(reference);
            let by_hand = tampering.rows_of.contains(reference);
            if !tampering.ordered.contains(reference) {
                let lost = unreached.get(name).copied().unwrap_or_default();
                // Rule 2, as effects and as possible effects.
                if rows > 1 && !by_hand {
                    broken.push(format!("rule 2: {name} has {rows} rows"));
                }
                if self.testimony.appends(name) + lost.appends > 1 {
                    broken.push(format!("rule 2: {name} was appended more than once"));
                }
                if self.testimony.sends(name) + lost.sends > 1 {
                    broken.push(format!("rule 2: {name} was announced more than once"));
                }
            }
            // Rule 3.
            if let WriteState::Confirmed { evidence } = &record.write.state {
                let proved = match evidence {
                    Evidence::AppendAnswer { .. } | Evidence::ReadBack { .. } => {
                        by_hand || self.has_equal_row(record)
                    }
                    Evidence::Operator { why } => !why.is_empty(),
                };
                if !proved {
                    broken
                        .push(format!("rule 3: {name} is confirmed by {evidence}, and its row is not there"));
                }
            }
            if let Some(AckState::Confirmed { message_id: Some(_) }) =
                record.acknowledgement.as_ref().map(|a| &a.state)
                && self.testimony.sends(name) == 0
            {
                broken.push(format!("rule 3: {name} is acknowledged and nothing was sent"));
            }
        }
        let requests = self.requests_for_effects();
        for record in &records {
            broken.extend(self.absence_unproved(record));
            broken.extend(self.shown_otherwise(record));
            broken.extend(attempts::without_a_claim(record, &requests));
            broken.extend(history::unanswered(record));
        }
        broken.extend(self.cards_taken_for_one(&records));
        broken.extend(self.foreign_attributes());
        broken.extend(self.queue_bodies());
        broken.extend(self.methods_not_taken());
        broken.extend(self.ill_formed_methods());
        broken
    }

    /// Whatever the webhook lets Telegram do must be possible: nobody hears of it when it is not.
    fn methods_not_taken(&self) -> Vec<String> {
        // A text that is in place already is in place; a chat that is gone is its customer's affair.
        let harmless = [
            "message is not modified",
            "Forbidden",
            "chat not found",
            "not enough rights",
            "supergroup chat",
        ];
        let refusals = self.telegram.silent_refusals().into_iter();
        refusals
            .filter(|refusal| !harmless.iter().any(|words| refusal.contains(words)))
            .map(|refusal| format!("Telegram refused what the webhook answered: {refusal}"))
            .collect()
    }

    /// A customer's words are never markup, no preview hides them, and every button can be pressed.
    fn ill_formed_methods(&self) -> Vec<String> {
        let answered = self.webhook_answers.iter().filter(|answer| !answer.body.is_empty()).map(|answer| {
            let method = answer.json();
            (method["method"].as_str().unwrap_or_default().to_owned(), method)
        });
        let called = self.telegram.calls().into_iter().map(|call| (call.method, call.parameters));
        let mut broken = Vec::new();
        for (method, parameters) in answered.chain(called) {
            let of_text = matches!(method.as_str(), "sendMessage" | "editMessageText");
            if parameters.get("parse_mode").is_some() {
                broken.push(format!("markup in {parameters}"));
            }
            if of_text && parameters["link_preview_options"]["is_disabled"] != true {
                broken.push(format!("a preview in {parameters}"));
            }
            let rows = parameters["reply_markup"]["inline_keyboard"].as_array().cloned().unwrap_or_default();
            for button in rows.iter().filter_map(Value::as_array).flatten() {
                let bytes = button["callback_data"].as_str().map_or(0, str::len);
                if !(1..=64).contains(&bytes) {
                    broken.push(format!("a button of {bytes} bytes: {button}"));
                }
            }
        }
        broken
    }

    fn has_equal_row(&self, record: &Record) -> bool {
        let row = docket_domain::row::Row::of(&record.submission);
        self.rows().iter().any(|cells| row.equals(cells))
    }

    /// Effects that a fault kept from the other side, although their worker could not know it.
    fn unreached_effects(&self) -> HashMap<String, Effects> {
        let mut effects: HashMap<String, Effects> = HashMap::new();
        for (call, fault) in self.wire.faults_that_hit() {
            let kept_away = match fault {
                Fault::FailBefore | Fault::Answer500Before | Fault::Hang | Fault::CrashBefore => true,
                Fault::LoseAnswer
                | Fault::Answer500After
                | Fault::ApplyThenHang
                | Fault::CrashAfter
                | Fault::Throttle
                | Fault::TransactionConflict
                | Fault::ApplyLate
                | Fault::TakeHalf => false,
            };
            if !kept_away {
                continue;
            }
            match (call.side, call.operation.as_str()) {
                (Side::Sheets, "append") => {
                    let body = call.json();
                    for row in body["values"].as_array().into_iter().flatten() {
                        if let Some(name) = row[0].as_str() {
                            effects.entry(name.to_owned()).or_default().appends += 1;
                        }
                    }
                }
                (Side::Telegram, "sendMessage") => {
                    let body = call.json();
                    for name in crate::witness::announced_in(body["text"].as_str().unwrap_or_default()) {
                        effects.entry(name).or_default().sends += 1;
                    }
                }
                _ => {}
            }
        }
        effects
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Effects {
    appends: usize,
    sends: usize,
}
