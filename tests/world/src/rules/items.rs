//! Rules 5 and 6 of the stored items, read without Docket's own reading: that refuses an item which contradicts itself, so
//! what it returns could never break them.

use aws_sdk_dynamodb::types::AttributeValue;

use crate::engines::Item;

/// What an item says of itself that cannot be.
pub(super) fn contradictions(item: &Item) -> Vec<String> {
    let name = text(item, "reference").unwrap_or("an item without a reference");
    let mut broken = Vec::new();
    let begun = item.keys().any(|attribute| attribute.starts_with("ack_"));
    // What was given up is told only in an operator's own words.
    let words = item.contains_key("ack_words");
    let tellable = match text(item, "write_state") {
        Some("confirmed") => !words,
        Some("abandoned") => words,
        _ => false,
    };
    match (begun, tellable) {
        (true, false) => {
            broken.push(format!("rule 5: {name} has an acknowledgement although the write is not confirmed"));
        }
        (false, true) => {
            broken.push(format!("rule 6: {name} is confirmed, and nothing will tell its customer"));
        }
        (true, true) | (false, false) => {}
    }
    let (step, review) = (due_step(item), first_review(item));
    if text(item, "due_shard") != step || item.contains_key("due_at") != step.is_some() {
        broken
            .push(format!("rule 6: {name} is due for {step:?}, and the index `due` does not have it there"));
    }
    let lease = item.get("write_lease_until").or_else(|| item.get("ack_lease_until"));
    if is(item, "attempting") && item.get("due_at") != lease {
        broken.push(format!("rule 6: {name} is not due when its lease runs out"));
    }
    if text(item, "review") != review || item.contains_key("review_since") != review.is_some() {
        broken.push(format!(
            "rule 6: {name} waits for {review:?}, and the index `reviews` does not have it there"
        ));
    }
    if item.contains_key("expires_at") != (step.is_none() && review.is_none()) {
        broken.push(format!("rule 6: {name} is forgotten before it is finished, or never"));
    }
    broken
}

/// The step for which the item's states wait for a machine.
fn due_step(item: &Item) -> Option<&'static str> {
    match (text(item, "write_state")?, text(item, "ack_state")) {
        ("pending", _) if !item.contains_key("write_review") => Some("append"),
        ("attempting", _) => Some("lookup"),
        ("uncertain", _) if !item.contains_key("write_review") => Some("lookup"),
        ("confirmed" | "abandoned", Some("pending" | "attempting")) => Some("acknowledge"),
        _ => None,
    }
}

/// The reason that the index is to list: the write's before the acknowledgement's before the conflict's.
fn first_review(item: &Item) -> Option<&str> {
    let open =
        ["write_review", "ack_review", "conflict_review"].into_iter().find_map(|name| item.get(name))?;
    open.as_m().ok()?.get("reason")?.as_s().ok().map(String::as_str)
}

fn is(item: &Item, state: &str) -> bool {
    ["write_state", "ack_state"].into_iter().any(|name| text(item, name) == Some(state))
}

fn text<'a>(item: &'a Item, attribute: &str) -> Option<&'a str> {
    let value: &AttributeValue = item.get(attribute)?;
    value.as_s().ok().map(String::as_str)
}
