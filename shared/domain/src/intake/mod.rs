//! The conversation in which an enquiry is written, shown and confirmed.
//!
//! A pure function: from what is stored of a chat and one update to what is stored next, what must happen, and what is
//! said. The caller stores conditionally; when another update was faster it reads again and asks again here, so any
//! interleaving ends as some order of the updates one after the other.

pub mod button;
mod command;
mod confirm;

use crate::catalog::{Catalog, fill};
use crate::limits::{CONVERSATION_SECONDS, DRAFT_SECONDS};
use crate::moment::Moment;
use crate::reference::Reference;
use crate::reply::{Button, Reply, card_text};
use crate::submission::{ChatId, Contact, Fingerprint, Submission, Summary, SummaryError};
pub use button::{CardVerb, Press, Verb};
pub use command::Command;
pub use confirm::{already_recorded, being_checked, checking, closed, conflict, expired, received};

/// The bot that this deployment answers for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bot {
    /// Without the `@`.
    pub username: String,
    pub id: i64,
}

/// One update, as far as Docket cares. Only private chats get this far.
#[derive(Clone, PartialEq, Eq)]
pub enum Update {
    Text {
        chat_id: ChatId,
        message_id: i64,
        from: Sender,
        text: String,
    },
    /// A message that holds no text: a sticker, a photo with or without words under it, a poll.
    NotText {
        chat_id: ChatId,
    },
    EditedText {
        chat_id: ChatId,
        message_id: i64,
        text: String,
    },
    Button {
        callback_id: String,
        chat_id: ChatId,
        message_id: Option<i64>,
        from: Sender,
        data: String,
    },
}

impl Update {
    #[must_use]
    pub fn chat_id(&self) -> ChatId {
        match self {
            Self::Text { chat_id, .. }
            | Self::NotText { chat_id }
            | Self::EditedText { chat_id, .. }
            | Self::Button { chat_id, .. } => *chat_id,
        }
    }
}

/// A customer's words stay out of logs: even `{:?}` shows only whose update it is.
impl std::fmt::Debug for Update {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Update(of chat {})", self.chat_id())
    }
}

/// Who wrote or pressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    pub id: i64,
    pub contact: Contact,
}

/// What is remembered of one chat.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conversation {
    pub draft: Option<Draft>,
    /// The newest confirmed enquiries of this chat: a later edit of their messages is answered.
    pub confirmed: Vec<ConfirmedMessage>,
}

/// The message whose text was confirmed, and as what.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfirmedMessage {
    pub message_id: i64,
    pub reference: Reference,
}

/// An enquiry being written.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draft {
    /// The message that started it: a redelivery of it, or of an older one, does not start another.
    pub id: i64,
    pub sender_id: i64,
    pub expires_at: Moment,
    pub step: DraftStep,
}

/// How far a draft is.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "step", rename_all = "snake_case", deny_unknown_fields)]
pub enum DraftStep {
    /// With braces: serde lets unknown fields of a unit variant pass.
    ChoosingType {},
    WritingSummary {
        request_type: String,
    },
    Card(Card),
}

/// What a card shows, and its Confirm records.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// The label, as shown: a catalogue that changes meanwhile does not change it.
    pub request_type: String,
    pub message_id: i64,
    pub summary: Summary,
}

/// A chat's conversation as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    Absent,
    Present {
        version: u64,
        conversation: Conversation,
    },
    /// Written by another release, or damaged. It must never lock a chat.
    Unreadable {
        version: Option<u64>,
    },
}

/// What one update leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Nothing changes.
    Answer(Reply),
    /// The conversation changes, then the reply is given.
    Keep { next: Conversation, reply: Reply },
    /// The draft becomes a submission.
    Confirm { next: Conversation, submission: Box<Submission>, press: Press },
    /// A button of no active card was pressed: it may be of one that is recorded already.
    Recall { press: Press },
    /// The customer asks how an enquiry stands.
    Status { reference: Reference },
}

/// Decides about one update.
#[must_use]
pub fn decide(bot: &Bot, catalog: &Catalog, stored: &Stored, update: &Update, now: Moment) -> Decision {
    let conversation = match stored {
        Stored::Absent => Conversation::default(),
        Stored::Present { conversation, .. } => conversation.clone().without_expired(now),
        Stored::Unreadable { .. } => return decide_unreadable(catalog, update),
    };
    let desk = Desk { bot, catalog, conversation, now };
    match update {
        Update::Text { chat_id, message_id, from, text } => match Command::parse(text, &bot.username) {
            Some(command) => desk.command(*chat_id, *message_id, from, &command),
            None => desk.text(*chat_id, *message_id, text),
        },
        Update::NotText { chat_id } => desk.hint(*chat_id),
        Update::EditedText { chat_id, message_id, text } => desk.edited(*chat_id, *message_id, text),
        Update::Button { .. } => match Press::parse(update) {
            Some(press) => desk.pressed(press, update),
            None => Decision::Answer(button_expired(catalog, update)),
        },
    }
}

/// A card's button still tells whether its enquiry is recorded; anything else starts afresh.
fn decide_unreadable(catalog: &Catalog, update: &Update) -> Decision {
    match Press::parse(update) {
        Some(press @ Press { verb: Verb::Card { .. }, .. }) => Decision::Recall { press },
        Some(_) | None => Decision::Keep {
            next: Conversation::default(),
            reply: Reply::message(update.chat_id(), &catalog.sentences.draft_reset),
        },
    }
}

fn button_expired(catalog: &Catalog, update: &Update) -> Reply {
    match update {
        Update::Button { callback_id, .. } => {
            Reply::Notice { callback_id: callback_id.clone(), text: catalog.sentences.expired.clone() }
        }
        Update::Text { .. } | Update::NotText { .. } | Update::EditedText { .. } => Reply::Silence,
    }
}

/// One decision's surroundings.
struct Desk<'a> {
    bot: &'a Bot,
    catalog: &'a Catalog,
    conversation: Conversation,
    now: Moment,
}

impl Desk<'_> {
    fn command(self, chat_id: ChatId, message_id: i64, from: &Sender, command: &Command) -> Decision {
        let sentences = &self.catalog.sentences;
        let say = |text: &str| Decision::Answer(Reply::message(chat_id, text));
        match command {
            Command::Help => say(&sentences.help),
            Command::ForAnotherBot => Decision::Answer(Reply::Silence),
            Command::Status(None) => say(&sentences.status_usage),
            Command::Status(Some(text)) => match Reference::from_person(text) {
                Ok(reference) => Decision::Status { reference },
                Err(_) => say(&sentences.status_usage),
            },
            // Telegram may deliver an old message again: it neither drops nor restarts a draft begun after it.
            Command::New | Command::Cancel if self.draft().is_some_and(|draft| message_id < draft.id) => {
                self.show_again(chat_id, None)
            }
            Command::New if self.draft().is_some_and(|draft| message_id == draft.id) => {
                self.show_again(chat_id, None)
            }
            // Delivered again after the enquiry that it began was confirmed: nothing is to be said about it any more.
            Command::New if self.conversation.is_older_than_a_confirmed(message_id) => {
                Decision::Answer(Reply::Silence)
            }
            Command::New => {
                let draft = Draft {
                    id: message_id,
                    sender_id: from.id,
                    expires_at: self.draft_end(),
                    step: DraftStep::ChoosingType {},
                };
                let reply = self.choose_type(chat_id, &sentences.choose_type, draft.id);
                self.keep(Some(draft), reply)
            }
            Command::Cancel if self.draft().is_some() => {
                let reply = Reply::message(chat_id, &sentences.cancelled);
                self.keep(None, reply)
            }
            Command::Cancel => say(&sentences.nothing_to_cancel),
        }
    }

    fn text(self, chat_id: ChatId, message_id: i64, text: &str) -> Decision {
        let Some(draft) = self.draft().cloned() else {
            // Delivered again after its Confirm: nothing is to be said about it any more.
            let confirmed =
                self.conversation.confirmed.iter().any(|confirmed| confirmed.message_id == message_id);
            let hint = Reply::message(chat_id, &self.catalog.sentences.no_draft);
            return Decision::Answer(if confirmed { Reply::Silence } else { hint });
        };
        match &draft.step {
            DraftStep::ChoosingType {} => {
                let reply = self.choose_type(chat_id, &self.catalog.sentences.choose_first, draft.id);
                Decision::Answer(reply)
            }
            // Even a message that was confirmed before: its card is shown, and a Confirm of it is a replay or a conflict,
            // which is where the same reference with other fields becomes a person's matter.
            DraftStep::WritingSummary { request_type } => {
                self.take_summary(chat_id, message_id, request_type, text, &draft)
            }
            DraftStep::Card(card) if card.message_id == message_id => {
                self.take_summary(chat_id, message_id, &card.request_type, text, &draft)
            }
            // Neither joined nor swapped unasked: what the card shows stays what Confirm records.
            DraftStep::Card(_) => self.show_again(chat_id, Some(&self.catalog.sentences.card_waits)),
        }
    }

    fn edited(self, chat_id: ChatId, message_id: i64, text: &str) -> Decision {
        if let Some(confirmed) = self.conversation.confirmed.iter().find(|c| c.message_id == message_id) {
            let reference = confirmed.reference.as_str();
            let text = fill(&self.catalog.sentences.edit_too_late, &[("reference", reference)]);
            return Decision::Answer(Reply::message(chat_id, text));
        }
        let Some(draft) = self.draft().cloned() else { return Decision::Answer(Reply::Silence) };
        match &draft.step {
            DraftStep::Card(card) if card.message_id == message_id => {
                self.take_summary(chat_id, message_id, &card.request_type, text, &draft)
            }
            // A message that was refused, mended by its writer.
            DraftStep::WritingSummary { request_type } if message_id > draft.id => {
                self.take_summary(chat_id, message_id, request_type, text, &draft)
            }
            DraftStep::Card(_) | DraftStep::WritingSummary { .. } | DraftStep::ChoosingType {} => {
                Decision::Answer(Reply::Silence)
            }
        }
    }

    fn take_summary(
        &self,
        chat_id: ChatId,
        message_id: i64,
        request_type: &str,
        text: &str,
        draft: &Draft,
    ) -> Decision {
        let sentences = &self.catalog.sentences;
        let summary = match Summary::clean(text) {
            Ok(summary) => summary,
            Err(SummaryError::Empty) => {
                return self.refuse_summary(
                    request_type,
                    draft,
                    Reply::message(chat_id, &sentences.empty_summary),
                );
            }
            Err(SummaryError::TooLong { units, max }) => {
                let values = [("units", &*units.to_string()), ("max", &*max.to_string())];
                let reply = Reply::message(chat_id, fill(&sentences.too_long, &values));
                return self.refuse_summary(request_type, draft, reply);
            }
        };
        let card = Card { request_type: request_type.to_owned(), message_id, summary };
        let reply = self.card(chat_id, &card, None);
        let step = DraftStep::Card(card);
        self.keep(Some(Draft { step, expires_at: self.draft_end(), ..draft.clone() }), reply)
    }

    /// A text that cannot be a summary. When it replaced the one on the card by an edit, that card's button is dead: it
    /// would record what the customer has taken back.
    fn refuse_summary(&self, request_type: &str, draft: &Draft, reply: Reply) -> Decision {
        match &draft.step {
            DraftStep::Card(_) => {
                let step = DraftStep::WritingSummary { request_type: request_type.to_owned() };
                self.keep(Some(Draft { step, expires_at: self.draft_end(), ..draft.clone() }), reply)
            }
            DraftStep::WritingSummary { .. } | DraftStep::ChoosingType {} => Decision::Answer(reply),
        }
    }

    /// A message that holds no text: one hint, nothing changes.
    fn hint(&self, chat_id: ChatId) -> Decision {
        let sentences = &self.catalog.sentences;
        match self.draft().map(|draft| &draft.step) {
            None => Decision::Answer(Reply::message(chat_id, &sentences.no_draft)),
            Some(DraftStep::ChoosingType {} | DraftStep::WritingSummary { .. }) => {
                Decision::Answer(Reply::message(chat_id, &sentences.only_text))
            }
            Some(DraftStep::Card(_)) => self.show_again(chat_id, Some(&sentences.card_waits)),
        }
    }

    fn pressed(self, press: Press, update: &Update) -> Decision {
        let Update::Button { from, .. } = update else { return Decision::Answer(Reply::Silence) };
        let draft = self.draft().filter(|draft| draft.sender_id == from.id).cloned();
        match (&press.verb, draft) {
            (Verb::Type { draft_id, type_id }, draft) => {
                let chosen = self.catalog.request_type(type_id);
                match (chosen, draft) {
                    (Some(chosen), Some(draft))
                        if draft.id == *draft_id && !matches!(draft.step, DraftStep::Card(_)) =>
                    {
                        let request_type = chosen.label.clone();
                        let sentence = fill(&self.catalog.sentences.type_chosen, &[("type", &request_type)]);
                        let step = DraftStep::WritingSummary { request_type };
                        let draft = Draft { step, expires_at: self.draft_end(), ..draft };
                        self.keep(Some(draft), press.settled(sentence))
                    }
                    (Some(_) | None, Some(_) | None) => {
                        Decision::Answer(button_expired(self.catalog, update))
                    }
                }
            }
            (Verb::Card { verb, reference, short }, Some(draft)) => match &draft.step {
                DraftStep::Card(card) if self.card_is(press.chat_id, card, reference, short) => {
                    self.card_pressed(*verb, &press, &draft, card, from)
                }
                DraftStep::Card(_) | DraftStep::ChoosingType {} | DraftStep::WritingSummary { .. } => {
                    Decision::Recall { press }
                }
            },
            (Verb::Card { .. }, None) => Decision::Recall { press },
        }
    }

    fn card_pressed(
        &self,
        verb: CardVerb,
        press: &Press,
        draft: &Draft,
        card: &Card,
        from: &Sender,
    ) -> Decision {
        match verb {
            CardVerb::Confirm => {
                let submission = self.submission(press, card, &from.contact);
                let mut next = self.conversation.clone();
                next.draft = None;
                next.confirmed.insert(
                    0,
                    ConfirmedMessage { message_id: card.message_id, reference: submission.reference.clone() },
                );
                next.confirmed.truncate(5);
                Decision::Confirm { next, submission: Box::new(submission), press: press.clone() }
            }
            CardVerb::Edit => {
                let request_type = card.request_type.clone();
                let sentence = fill(&self.catalog.sentences.write_again, &[("type", &request_type)]);
                let step = DraftStep::WritingSummary { request_type };
                let draft = Draft { step, expires_at: self.draft_end(), ..draft.clone() };
                self.keep(Some(draft), press.settled(sentence))
            }
            CardVerb::Cancel => self.keep(None, press.settled(self.catalog.sentences.cancelled.clone())),
        }
    }

    fn submission(&self, press: &Press, card: &Card, contact: &Contact) -> Submission {
        let (chat_id, callback_id) = (press.chat_id, &press.callback_id);
        Submission {
            reference: self.reference(chat_id, card),
            request_type: card.request_type.clone(),
            summary: card.summary.clone(),
            chat_id,
            contact: contact.clone(),
            confirmed_at: self.now.whole_second(),
            fingerprint: fingerprint(chat_id, card),
            origin: format!("telegram/{}/{chat_id}/{}/{callback_id}", self.bot.id, card.message_id),
        }
    }

    fn reference(&self, chat_id: ChatId, card: &Card) -> Reference {
        Reference::derive(self.bot.id, chat_id.0, card.message_id)
    }

    /// A button belongs to a card when both the message and the content are the same.
    fn card_is(&self, chat_id: ChatId, card: &Card, reference: &Reference, short: &str) -> bool {
        self.reference(chat_id, card) == *reference && fingerprint(chat_id, card).short() == short
    }

    /// The current step's prompt once more.
    fn show_again(&self, chat_id: ChatId, above: Option<&str>) -> Decision {
        let sentences = &self.catalog.sentences;
        Decision::Answer(match self.draft().map(|draft| (draft.id, &draft.step)) {
            None => Reply::message(chat_id, &sentences.no_draft),
            Some((id, DraftStep::ChoosingType {})) => self.choose_type(chat_id, &sentences.choose_type, id),
            Some((_, DraftStep::WritingSummary { request_type })) => {
                Reply::message(chat_id, fill(&sentences.type_chosen, &[("type", request_type)]))
            }
            Some((_, DraftStep::Card(card))) => self.card(chat_id, card, above),
        })
    }

    fn card(&self, chat_id: ChatId, card: &Card, above: Option<&str>) -> Reply {
        let sentences = &self.catalog.sentences;
        let (reference, fingerprint) = (self.reference(chat_id, card), fingerprint(chat_id, card));
        let button = |verb: CardVerb, text: &str| Button {
            text: text.to_owned(),
            data: button::card_data(verb, &reference, fingerprint.short()),
        };
        Reply::Message {
            chat_id,
            text: card_text(self.catalog, &card.request_type, card.summary.as_str(), above),
            buttons: vec![
                vec![button(CardVerb::Confirm, &sentences.confirm_button)],
                vec![
                    button(CardVerb::Edit, &sentences.edit_button),
                    button(CardVerb::Cancel, &sentences.cancel_button),
                ],
            ],
        }
    }

    fn choose_type(&self, chat_id: ChatId, text: &str, draft_id: i64) -> Reply {
        let buttons = self
            .catalog
            .request_types()
            .iter()
            .map(|kind| {
                vec![Button { text: kind.label.clone(), data: button::type_data(draft_id, &kind.id) }]
            })
            .collect();
        Reply::Message { chat_id, text: text.to_owned(), buttons }
    }

    fn keep(&self, draft: Option<Draft>, reply: Reply) -> Decision {
        Decision::Keep { next: Conversation { draft, ..self.conversation.clone() }, reply }
    }

    fn draft(&self) -> Option<&Draft> {
        self.conversation.draft.as_ref()
    }

    fn draft_end(&self) -> Moment {
        self.now.plus_seconds(DRAFT_SECONDS)
    }
}

fn fingerprint(chat_id: ChatId, card: &Card) -> Fingerprint {
    Fingerprint::of(&card.request_type, &card.summary, chat_id)
}

impl Conversation {
    /// DynamoDB deletes expired items days late, so expiry is compared here.
    fn without_expired(mut self, now: Moment) -> Self {
        self.draft = self.draft.filter(|draft| now < draft.expires_at);
        self
    }

    /// Telegram numbers a chat's messages upwards from 1; what has another number is no message of its.
    fn is_older_than_a_confirmed(&self, message_id: i64) -> bool {
        self.confirmed.iter().any(|confirmed| (1..confirmed.message_id).contains(&message_id))
    }

    /// When the whole conversation may be forgotten.
    #[must_use]
    pub fn expires_at(&self, now: Moment) -> Moment {
        now.plus_seconds(CONVERSATION_SECONDS)
    }
}
