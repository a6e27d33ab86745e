//! Rules 10 and 11, read from the requests: which attributes each worker's updates touch, and what rings carry.

use docket_domain::reference::Reference;
use serde_json::Value;

use crate::wire::Side;
use crate::world::World;

impl World {
    /// Rule 10. The acknowledger touches nothing of the write; the writer makes the acknowledgement begin, with the write's
    /// confirmation, and does nothing else about it.
    pub(super) fn foreign_attributes(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for worker in ["acknowledger", "writer"] {
            for call in self.wire.calls_of(worker, Side::DynamoDb) {
                if call.operation != "UpdateItem" {
                    continue;
                }
                let touched = touched(&call.json());
                let confirms = touched.iter().any(|it| it.sets("write_state", "S", "confirmed"));
                for it in &touched {
                    let foreign = match worker {
                        "acknowledger" => it.attribute.starts_with("write_"),
                        _ => it.attribute.starts_with("ack_") && !(confirms && it.makes_pending()),
                    };
                    if foreign {
                        broken.push(format!("rule 10: the {worker} touched {}", it.attribute));
                    }
                }
            }
        }
        broken
    }

    /// Rule 11, as far as queues go: a ring is a reference and nothing else.
    pub(super) fn queue_bodies(&self) -> Vec<String> {
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
                if entry["MessageAttributes"].as_object().is_some_and(|attributes| !attributes.is_empty()) {
                    broken.push(format!("rule 11: a ring carries {}", entry["MessageAttributes"]));
                }
            }
        }
        broken
    }
}

/// An attribute that an update sets, to this value, or removes.
struct Touched {
    attribute: String,
    value: Option<Value>,
}

impl Touched {
    fn sets(&self, attribute: &str, kind: &str, value: &str) -> bool {
        self.attribute == attribute && self.value.as_ref().is_some_and(|set| set[kind] == value)
    }

    /// Whether this is a part of the step from no acknowledgement to one that was never tried.
    fn makes_pending(&self) -> bool {
        self.sets("ack_state", "S", "pending") || self.sets("ack_attempts", "N", "0") || self.value.is_none()
    }
}

/// What an update touches, its placeholders resolved. Names without a placeholder count as they stand.
fn touched(body: &Value) -> Vec<Touched> {
    let expression = body["UpdateExpression"].as_str().unwrap_or_default();
    let words = expression.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '#' | ':' | '_')));
    let mut touched: Vec<Touched> = Vec::new();
    for word in words.filter(|word| !word.is_empty() && !matches!(*word, "SET" | "REMOVE" | "ADD" | "DELETE"))
    {
        if word.starts_with(':') {
            // A value belongs to the name before it.
            if let Some(last) = touched.last_mut() {
                last.value = Some(body["ExpressionAttributeValues"][word].clone());
            }
            continue;
        }
        let name = body["ExpressionAttributeNames"][word].as_str().unwrap_or(word);
        touched.push(Touched { attribute: name.to_owned(), value: None });
    }
    touched
}
