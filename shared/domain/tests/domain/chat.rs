//! A chat played against the pure decisions, the way the webhook carries them out: load, decide, store if nothing
//! changed meanwhile, else again. What is stored passes through JSON each time.

use std::collections::BTreeMap;

use docket_domain::catalog::Catalog;
use docket_domain::intake::{self, Bot, Conversation, Decision, Draft, Press, Sender, Stored, Update, Verb};
use docket_domain::moment::Moment;
use docket_domain::reference::Reference;
use docket_domain::reply::{self, Reply};
use docket_domain::status::Record;
use docket_domain::submission::{ChatId, Contact};

use super::samples::at;

pub(crate) const CHAT: ChatId = ChatId(7_100_000_001);

/// One private chat, its bot, and what is stored of both.
#[derive(Debug, Clone)]
pub(crate) struct Chat {
    pub(crate) catalog: Catalog,
    pub(crate) now: Moment,
    pub(crate) records: BTreeMap<Reference, Record>,
    /// Everything said, oldest first.
    pub(crate) said: Vec<Reply>,
    bot: Bot,
    stored: Option<(u64, Result<String, ()>)>,
    last_message_id: i64,
}

/// A decision on its way to the store.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    seen: Stored,
    decision: Decision,
}

pub(crate) fn ann() -> Sender {
    Sender { id: CHAT.0, contact: Contact::of_user("Ann", None, Some("ann")) }
}

impl Chat {
    pub(crate) fn new() -> Self {
        Self {
            catalog: Catalog::default(),
            now: at(0),
            records: BTreeMap::new(),
            said: Vec::new(),
            bot: Bot { username: "OurBot".to_owned(), id: 99 },
            stored: None,
            last_message_id: 10,
        }
    }

    /// A chat in which a request type was chosen.
    pub(crate) fn writing() -> Self {
        let mut chat = Self::new();
        chat.says("/new");
        chat.presses("A quote");
        chat
    }

    /// A chat that shows a card with this summary.
    pub(crate) fn card(summary: &str) -> Self {
        let mut chat = Self::writing();
        chat.says(summary);
        chat
    }

    pub(crate) fn text(&mut self, text: &str) -> Update {
        self.last_message_id += 1;
        self.text_again(self.last_message_id, text)
    }

    pub(crate) fn text_again(&self, message_id: i64, text: &str) -> Update {
        Update::Text { chat_id: CHAT, message_id, from: ann(), text: text.to_owned() }
    }

    pub(crate) fn edited(&self, message_id: i64, text: &str) -> Update {
        Update::EditedText { chat_id: CHAT, message_id, text: text.to_owned() }
    }

    /// A press of the newest button with this label.
    pub(crate) fn press(&self, label: &str) -> Update {
        let data = self.said.iter().rev().find_map(|reply| button_data(reply, label));
        self.press_data(&data.unwrap_or_else(|| panic!("no button {label} was ever shown")))
    }

    pub(crate) fn press_data(&self, data: &str) -> Update {
        Update::Button {
            callback_id: "4503599627370495".to_owned(),
            chat_id: CHAT,
            message_id: Some(500),
            from: ann(),
            data: data.to_owned(),
        }
    }

    /// The message written last.
    pub(crate) fn last_message_id(&self) -> i64 {
        self.last_message_id
    }

    pub(crate) fn says(&mut self, text: &str) -> Reply {
        let update = self.text(text);
        self.takes(&update)
    }

    pub(crate) fn presses(&mut self, label: &str) -> Reply {
        let update = self.press(label);
        self.takes(&update)
    }

    /// One update, from its delivery to its reply.
    pub(crate) fn takes(&mut self, update: &Update) -> Reply {
        loop {
            let turn = self.begin(update);
            if let Some(reply) = self.finish(turn) {
                return reply;
            }
        }
    }

    /// Loads and decides.
    pub(crate) fn begin(&self, update: &Update) -> Turn {
        let seen = self.stored();
        let decision = intake::decide(&self.bot, &self.catalog, &seen, update, self.now);
        Turn { seen, decision }
    }

    /// Stores and answers; none when another update was faster.
    pub(crate) fn finish(&mut self, turn: Turn) -> Option<Reply> {
        let reply = match turn.decision {
            Decision::Answer(reply) => reply,
            Decision::Keep { next, reply } => {
                self.save(&turn.seen, &next)?;
                reply
            }
            Decision::Confirm { next, submission, press } => {
                self.save(&turn.seen, &next)?;
                let reference = submission.reference.clone();
                match self.records.get(&reference).map(|record| record.submission.fingerprint.clone()) {
                    None => {
                        self.records.insert(reference.clone(), Record::recorded(*submission, self.now));
                        intake::received(&self.catalog, &press, &reference)
                    }
                    Some(known) if known == submission.fingerprint => {
                        intake::already_recorded(&self.catalog, &press, &reference)
                    }
                    Some(_) => intake::conflict(&self.catalog, &press, &reference),
                }
            }
            Decision::Recall { press } => self.recall(&press),
            Decision::Status { reference } => {
                let text = match self.records.get(&reference) {
                    Some(record) => reply::status(&self.catalog, record),
                    None => self.catalog.sentences.status_unknown.clone(),
                };
                Reply::message(CHAT, text)
            }
        };
        self.said.push(reply.clone());
        Some(reply)
    }

    fn recall(&self, press: &Press) -> Reply {
        let Verb::Card { reference, short, .. } = &press.verb else {
            panic!("only a card is recalled: {press:?}")
        };
        match self.records.get(reference) {
            Some(record) if record.submission.fingerprint.short() == short => {
                intake::already_recorded(&self.catalog, press, reference)
            }
            _ => intake::expired(&self.catalog, press),
        }
    }

    fn save(&mut self, seen: &Stored, next: &Conversation) -> Option<()> {
        let seen = match seen {
            Stored::Absent => None,
            Stored::Present { version, .. } => Some(*version),
            Stored::Unreadable { version } => *version,
        };
        let version = self.stored.as_ref().map(|(version, _)| *version);
        if seen != version {
            return None;
        }
        let json = serde_json::to_string(next).expect("a conversation can be written");
        self.stored = Some((version.unwrap_or(0) + 1, Ok(json)));
        Some(())
    }

    pub(crate) fn stored(&self) -> Stored {
        match &self.stored {
            None => Stored::Absent,
            Some((version, Ok(json))) => match serde_json::from_str(json) {
                Ok(conversation) => Stored::Present { version: *version, conversation },
                Err(error) => panic!("what was stored cannot be read: {error} in {json}"),
            },
            Some((version, Err(()))) => Stored::Unreadable { version: Some(*version) },
        }
    }

    pub(crate) fn conversation(&self) -> Conversation {
        match self.stored() {
            Stored::Absent => Conversation::default(),
            Stored::Present { conversation, .. } => conversation,
            Stored::Unreadable { .. } => panic!("unreadable"),
        }
    }

    pub(crate) fn draft(&self) -> Option<Draft> {
        self.conversation().draft
    }

    /// The summary on the open card.
    pub(crate) fn open_card(&self) -> Option<String> {
        match self.draft()?.step {
            intake::DraftStep::Card(card) => Some(card.summary.as_str().to_owned()),
            _ => None,
        }
    }

    /// What another release stored.
    pub(crate) fn damage(&mut self) {
        let version = self.stored.as_ref().map_or(0, |(version, _)| *version);
        self.stored = Some((version + 1, Err(())));
    }

    /// The summaries recorded, in no special order.
    pub(crate) fn recorded(&self) -> Vec<&str> {
        self.records.values().map(|record| record.submission.summary.as_str()).collect()
    }

    pub(crate) fn references(&self) -> Vec<Reference> {
        self.records.keys().cloned().collect()
    }
}

/// The datum of the button with this label.
pub(crate) fn button_data(reply: &Reply, label: &str) -> Option<String> {
    let Reply::Message { buttons, .. } = reply else { return None };
    buttons.iter().flatten().find(|button| button.text == label).map(|button| button.data.clone())
}

/// A reply as its reader sees it.
pub(crate) fn seen(reply: &Reply) -> String {
    match reply {
        Reply::Message { text, buttons, .. } => {
            let rows = buttons.iter().map(|row| {
                let labels: Vec<String> = row.iter().map(|button| format!("[{}]", button.text)).collect();
                format!("\n{}", labels.join(" "))
            });
            format!("{text}{}", rows.collect::<String>())
        }
        Reply::Edited { text, .. } => format!("(in place of the buttons) {text}"),
        Reply::Notice { text, .. } => format!("(notice) {text}"),
        Reply::Silence => "(nothing)".to_owned(),
    }
}
