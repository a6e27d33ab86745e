//! What travels in a button: which verb, and of what. A button alone proves nothing; it is held against the draft.

use super::Update;
use crate::reference::Reference;
use crate::reply::Reply;
use crate::submission::ChatId;

/// A pressed button of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Press {
    pub callback_id: String,
    pub chat_id: ChatId,
    /// The message that carried it; none when Telegram no longer shows it to bots.
    pub message_id: Option<i64>,
    pub verb: Verb,
}

/// What the button asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verb {
    Type {
        draft_id: i64,
        type_id: String,
    },
    /// `short` is the start of the card's fingerprint: an older version of the same draft has another.
    Card {
        verb: CardVerb,
        reference: Reference,
        short: String,
    },
}

/// The three buttons of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardVerb {
    Confirm,
    Edit,
    Cancel,
}

pub(super) fn type_data(draft_id: i64, type_id: &str) -> String {
    format!("type:{draft_id}:{type_id}")
}

pub(super) fn card_data(verb: CardVerb, reference: &Reference, short: &str) -> String {
    let verb = match verb {
        CardVerb::Confirm => "confirm",
        CardVerb::Edit => "edit",
        CardVerb::Cancel => "cancel",
    };
    format!("{verb}:{reference}:{short}")
}

impl Verb {
    /// None for data that no button of ours carries.
    #[must_use]
    pub fn parse(data: &str) -> Option<Self> {
        let (verb, rest) = data.split_once(':')?;
        let (of, detail) = rest.split_once(':')?;
        let card = |verb| Some(Self::Card { verb, reference: of.parse().ok()?, short: detail.to_owned() });
        match verb {
            "type" => Some(Self::Type { draft_id: of.parse().ok()?, type_id: detail.to_owned() }),
            "confirm" => card(CardVerb::Confirm),
            "edit" => card(CardVerb::Edit),
            "cancel" => card(CardVerb::Cancel),
            _ => None,
        }
    }
}

impl Press {
    /// None when the update is no press of a button that we could have built.
    #[must_use]
    pub fn parse(update: &Update) -> Option<Self> {
        let Update::Button { callback_id, chat_id, message_id, data, .. } = update else { return None };
        let verb = Verb::parse(data)?;
        Some(Self { callback_id: callback_id.clone(), chat_id: *chat_id, message_id: *message_id, verb })
    }

    /// The message with the button now says `text`, and its buttons are gone; a new message where it is out of reach.
    #[must_use]
    pub fn settled(&self, text: String) -> Reply {
        match self.message_id {
            Some(message_id) => Reply::Edited { chat_id: self.chat_id, message_id, text },
            None => Reply::message(self.chat_id, text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{BUTTON_BYTES_MAX, TYPE_ID_BYTES_MAX};

    #[test]
    fn every_button_we_can_build_is_1_to_64_bytes() {
        let longest_type = "x".repeat(TYPE_ID_BYTES_MAX);
        for id in [0, 1, i64::MAX, i64::MIN] {
            let data = type_data(id, &longest_type);
            assert!((1..=BUTTON_BYTES_MAX).contains(&data.len()), "{data}");
        }
        let reference = Reference::derive(i64::MIN, i64::MIN, i64::MIN);
        for verb in [CardVerb::Confirm, CardVerb::Edit, CardVerb::Cancel] {
            assert!(card_data(verb, &reference, "ffffffff").len() <= BUTTON_BYTES_MAX);
        }
    }
}
