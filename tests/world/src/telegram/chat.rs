//! A chat: its messages, and what a person looking at it sees.
//!
//! Message ids count up through both sides of a chat, so the bot's messages and the customer's are kept together.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use super::FakeTelegram;

/// A message that a `sendMessage` call to the Bot API put into a chat.
#[derive(Debug, Clone)]
pub struct Sent {
    /// The turned clock when it was delivered.
    pub at_ms: i64,
    /// Its id in the chat.
    pub message_id: i64,
    /// As the chat shows it.
    pub text: String,
    /// The parameters as they came.
    pub raw: Value,
}

/// A message of the bot with its buttons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// Its id in the chat.
    pub message_id: i64,
    /// As it stands now, after any edits.
    pub text: String,
    /// All its buttons, row after row.
    pub buttons: Vec<Button>,
}

impl Card {
    /// The data of the button with this caption.
    #[must_use]
    pub fn data_of(&self, caption: &str) -> Option<&str> {
        let button = self.buttons.iter().find(|button| button.text == caption);
        button.map(|button| button.callback_data.as_str())
    }
}

/// A button under a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    /// The caption.
    pub text: String,
    /// What a press sends to the bot; empty for a button that opens an address.
    pub callback_data: String,
}

/// Something that happened in a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The turned clock.
    pub at_ms: i64,
    /// Who did it.
    pub speaker: Speaker,
    /// What a reader of the chat sees of it.
    pub text: String,
}

/// Who did something in a chat, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Speaker {
    /// A person wrote, edited or pressed.
    Customer(String),
    /// The bot sent a message.
    Bot,
    /// The bot changed the message with this id.
    BotEdits(i64),
    /// The bot answered a press with a notice that soon vanishes; no text when it only stopped the button's clock.
    BotNotifies,
}

#[derive(Debug)]
pub(super) struct ChatState {
    next_message_id: i64,
    pub(super) messages: BTreeMap<i64, Message>,
    pub(super) bot_sent_at_ms: Option<i64>,
    pub(super) sent: Vec<Sent>,
    lines: Vec<Line>,
}

#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) from_bot: bool,
    pub(super) at_ms: i64,
    pub(super) text: String,
    pub(super) keyboard: Option<Value>,
}

impl Default for ChatState {
    fn default() -> Self {
        Self {
            next_message_id: 1,
            messages: BTreeMap::new(),
            bot_sent_at_ms: None,
            sent: Vec::new(),
            lines: Vec::new(),
        }
    }
}

impl ChatState {
    pub(super) fn bot_says(&mut self, at_ms: i64, text: &str, keyboard: Option<Value>) -> i64 {
        self.bot_sent_at_ms = Some(at_ms);
        self.line(at_ms, Speaker::Bot, with_buttons(text, keyboard.as_ref()));
        self.keep(Message { from_bot: true, at_ms, text: text.to_owned(), keyboard })
    }

    pub(super) fn bot_edits(&mut self, at_ms: i64, message_id: i64, text: &str, keyboard: Option<Value>) {
        self.line(at_ms, Speaker::BotEdits(message_id), with_buttons(text, keyboard.as_ref()));
        if let Some(message) = self.messages.get_mut(&message_id) {
            text.clone_into(&mut message.text);
            message.keyboard = keyboard;
        }
    }

    pub(super) fn bot_notifies(&mut self, at_ms: i64, text: &str) {
        self.line(at_ms, Speaker::BotNotifies, text.to_owned());
    }

    /// A person's message; gives its id.
    pub(super) fn customer_says(&mut self, at_ms: i64, name: &str, text: &str) -> i64 {
        self.customer_does(at_ms, name, text.to_owned());
        self.keep(Message { from_bot: false, at_ms, text: text.to_owned(), keyboard: None })
    }

    /// Something a person did that is no message.
    pub(super) fn customer_does(&mut self, at_ms: i64, name: &str, what: String) {
        self.line(at_ms, Speaker::Customer(name.to_owned()), what);
    }

    fn keep(&mut self, message: Message) -> i64 {
        let message_id = self.next_message_id;
        self.next_message_id += 1;
        self.messages.insert(message_id, message);
        message_id
    }

    fn line(&mut self, at_ms: i64, speaker: Speaker, text: String) {
        self.lines.push(Line { at_ms, speaker, text });
    }
}

fn buttons_of(keyboard: Option<&Value>) -> Vec<Button> {
    let rows = keyboard.and_then(|keyboard| keyboard["inline_keyboard"].as_array());
    let buttons = rows.into_iter().flatten().filter_map(Value::as_array).flatten();
    let words = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    buttons
        .map(|button| Button { text: words(&button["text"]), callback_data: words(&button["callback_data"]) })
        .collect()
}

fn with_buttons(text: &str, keyboard: Option<&Value>) -> String {
    let mut line = text.to_owned();
    for button in buttons_of(keyboard) {
        line.push_str(&format!(" [{}]", button.text));
    }
    line
}

/// A look at one chat.
#[derive(Clone)]
pub struct Chat {
    telegram: FakeTelegram,
    chat_id: i64,
}

impl Chat {
    pub(super) fn new(telegram: FakeTelegram, chat_id: i64) -> Self {
        Self { telegram, chat_id }
    }

    /// The bot's messages as they stand now, oldest first, with or without buttons.
    #[must_use]
    pub fn cards(&self) -> Vec<Card> {
        let state = self.telegram.state();
        let messages = state.chats.get(&self.chat_id).into_iter().flat_map(|chat| &chat.messages);
        let of_bot = messages.filter(|(_, message)| message.from_bot);
        let card = |(message_id, message): (&i64, &Message)| Card {
            message_id: *message_id,
            text: message.text.clone(),
            buttons: buttons_of(message.keyboard.as_ref()),
        };
        of_bot.map(card).collect()
    }

    /// The newest message of the bot that has buttons.
    #[must_use]
    pub fn last_card(&self) -> Option<Card> {
        self.cards().into_iter().rev().find(|card| !card.buttons.is_empty())
    }

    /// The message of the bot with this id, as it stands now.
    #[must_use]
    pub fn card(&self, message_id: i64) -> Option<Card> {
        self.cards().into_iter().find(|card| card.message_id == message_id)
    }

    /// The last words of the bot, whether sent, edited in, or in a notice.
    #[must_use]
    pub fn last_words(&self) -> Option<String> {
        let is_the_bots = |line: &Line| match line.speaker {
            Speaker::Customer(_) => false,
            Speaker::Bot | Speaker::BotEdits(_) | Speaker::BotNotifies => !line.text.is_empty(),
        };
        self.lines().into_iter().rev().find(is_the_bots).map(|line| line.text)
    }

    /// All that happened, in order.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        self.telegram.state().chats.get(&self.chat_id).map(|chat| chat.lines.clone()).unwrap_or_default()
    }

    /// All that happened, one line each, without times: for snapshots.
    #[must_use]
    pub fn transcript(&self) -> String {
        let mut transcript = String::new();
        for Line { speaker, text, .. } in self.lines() {
            let line = match speaker {
                Speaker::Customer(name) => writeln!(transcript, "{name}: {text}"),
                Speaker::Bot => writeln!(transcript, "bot: {text}"),
                Speaker::BotEdits(message_id) => writeln!(transcript, "bot edits {message_id}: {text}"),
                Speaker::BotNotifies => writeln!(transcript, "bot notifies: {text}"),
            };
            // Writing into a string cannot fail.
            let _ = line;
        }
        transcript
    }
}
