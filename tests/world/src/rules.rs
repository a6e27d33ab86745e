//! DESIGN's rules, checked over a whole world: table, sheet, messages, and every request that was made.
//!
//! Run after every scenario. What a person did to the sheet by hand is told to the checker, since no rule of Docket's can
//! hold against it.

mod attempts;
mod history;
mod looks;
mod words;

use std::collections::HashMap;

use docket_domain::reference::Reference;
use docket_domain::status::{AckState, DueStep, Evidence, Record, WriteState};
use serde_json::Value;

use crate::wire::{Fault, Side};
use crate::world::World;

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
    pub async fn broken_rules(&self, tampering: &Tampering) -> Vec<String> {
        let mut broken = self.testimony.broken();
        let records = self.records().await;
        let items = self.items().await;
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
            // Rule 5, as a state.
            if record.acknowledgement.is_some() != matches!(record.write.state, WriteState::Confirmed { .. })
            {
                broken.push(format!(
                    "rule 5: {name} has an acknowledgement although the write is not confirmed"
                ));
            }
            // Rule 6.
            let open = !record.reviews().is_empty();
            if !record.finished() && record.due().is_none() && !open {
                broken.push(format!("rule 6: {name} is orphaned"));
            }
            if let Some(AckState::Confirmed { message_id: Some(_) }) =
                record.acknowledgement.as_ref().map(|a| &a.state)
                && self.testimony.sends(name) == 0
            {
                broken.push(format!("rule 3: {name} is acknowledged and nothing was sent"));
            }
        }
        broken.extend(items.iter().filter_map(|item| index_disagrees(item, &records)));
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
                    for name in crate::witness::references_in(body["text"].as_str().unwrap_or_default()) {
                        effects.entry(name).or_default().sends += 1;
                    }
                }
                _ => {}
            }
        }
        effects
    }

    /// Rule 10: which attributes each worker's updates name.
    fn foreign_attributes(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for worker in ["acknowledger", "writer"] {
            for call in self.wire.calls_of(worker, Side::DynamoDb) {
                if call.operation != "UpdateItem" {
                    continue;
                }
                let body = call.json();
                let names = updated_names(&body);
                let confirms = body["ExpressionAttributeValues"]
                    .as_object()
                    .is_some_and(|values| values.values().any(|value| value["S"] == "confirmed"));
                for name in names {
                    let foreign = match worker {
                        "acknowledger" => name.starts_with("write_"),
                        _ => name.starts_with("ack_") && !confirms,
                    };
                    if foreign {
                        broken.push(format!("rule 10: the {worker} touched {name}"));
                    }
                }
            }
        }
        broken
    }

    /// Rule 11, as far as queues go: a body is a reference and nothing else.
    fn queue_bodies(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for call in self.wire.calls().iter().filter(|call| call.side == Side::Sqs) {
            let body = call.json();
            let entries = body["Entries"].as_array().cloned().unwrap_or_else(|| vec![body.clone()]);
            for entry in entries {
                let Some(text) = entry["MessageBody"].as_str() else { continue };
                let ring: Value = serde_json::from_str(text).unwrap_or_default();
                let only_a_reference = ring.as_object().is_some_and(|fields| fields.len() == 2)
                    && ring["v"] == 1
                    && ring["reference"].as_str().is_some_and(|r| r.parse::<Reference>().is_ok());
                if !only_a_reference {
                    broken.push(format!("rule 11: a queue body is {text}"));
                }
            }
        }
        broken
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Effects {
    appends: usize,
    sends: usize,
}

/// The attribute names that an update sets or removes, its placeholders resolved.
fn updated_names(body: &Value) -> Vec<String> {
    let expression = body["UpdateExpression"].as_str().unwrap_or_default();
    let names = body["ExpressionAttributeNames"].as_object().cloned().unwrap_or_default();
    let words: Vec<&str> =
        expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '#' || c == '_')).collect();
    names
        .iter()
        .filter(|(placeholder, _)| words.contains(&placeholder.as_str()))
        .filter_map(|(_, name)| name.as_str().map(str::to_owned))
        .collect()
}

/// Rule 6, as the indexes see it: due and review attributes say exactly what the states say.
fn index_disagrees(item: &crate::engines::Item, records: &[Record]) -> Option<String> {
    let name = item.get("reference")?.as_s().ok()?;
    let record = records.iter().find(|record| record.submission.reference.as_str() == name)?;
    let text = |attribute: &str| item.get(attribute).and_then(|value| value.as_s().ok()).map(String::as_str);
    let number =
        |attribute: &str| item.get(attribute).and_then(|value| value.as_n().ok()?.parse::<i64>().ok());
    let due = record.due();
    let review = record.reviews().first().copied();
    let agrees = text("due_shard") == due.map(|(step, _)| DueStep::as_str(step))
        && number("due_at") == due.map(|(_, at)| at.up_to_second().seconds())
        && text("review") == review.map(|review| review.reason.as_str())
        && item.contains_key("review_since") == review.is_some()
        && item.contains_key("expires_at") == record.finished();
    (!agrees).then(|| format!("rule 6: the indexes of {name} disagree with its states"))
}
