//! A person in a chat with the bot: everything they can do, as the update that Telegram would send about it.
//!
//! Update and message ids are drawn from the fake Telegram, so they are as fresh and as shared as the real ones. Each
//! verb also shows in the chat's transcript. No update is delivered here: that is for the caller, or [`Deliveries`].
//!
//! [`Deliveries`]: super::Deliveries

use serde_json::{Value, json};

use super::methods::message_object;
use super::{Chat, FakeTelegram};

/// A person who writes to the bot, in their private chat or in a group.
#[derive(Clone)]
pub struct Customer {
    telegram: FakeTelegram,
    user_id: i64,
    first_name: String,
    username: Option<String>,
    group: Option<(i64, String)>,
}

impl Customer {
    pub(super) fn new(
        telegram: FakeTelegram,
        user_id: i64,
        first_name: &str,
        username: Option<&str>,
    ) -> Self {
        let (first_name, username) = (first_name.to_owned(), username.map(str::to_owned));
        Self { telegram, user_id, first_name, username, group: None }
    }

    /// The same person, writing in a group. Ids below -1000000000000 are supergroups.
    #[must_use]
    pub fn in_group(&self, chat_id: i64, title: &str) -> Self {
        Self { group: Some((chat_id, title.to_owned())), ..self.clone() }
    }

    /// The chat they write in.
    #[must_use]
    pub fn chat(&self) -> Chat {
        self.telegram.chat(self.chat_id())
    }

    /// Its id: the user's own, or the group's.
    #[must_use]
    pub fn chat_id(&self) -> i64 {
        self.group.as_ref().map_or(self.user_id, |(chat_id, _)| *chat_id)
    }

    /// Writes a message. A command at its beginning is marked as Telegram marks it.
    #[must_use]
    pub fn text(&self, text: &str) -> Value {
        self.message(text, text_fields(text))
    }

    /// Writes a message in a forum topic, or in reply within a thread (`is_topic_message` false).
    #[must_use]
    pub fn text_in_thread(&self, text: &str, message_thread_id: i64, is_topic_message: bool) -> Value {
        let mut fields = text_fields(text);
        fields["message_thread_id"] = json!(message_thread_id);
        if is_topic_message {
            fields["is_topic_message"] = json!(true);
        }
        self.message(text, fields)
    }

    /// Changes an earlier message of their own. The message keeps its id.
    #[must_use]
    pub fn edit(&self, message_id: i64, text: &str) -> Value {
        let now_ms = self.telegram.0.clock.now_ms();
        let mut state = self.telegram.state();
        let chat = state.chats.entry(self.chat_id()).or_default();
        chat.customer_does(now_ms, &self.first_name, format!("(edits {message_id}) {text}"));
        let sent_at_ms = chat.messages.get_mut(&message_id).map_or(now_ms, |message| {
            text.clone_into(&mut message.text);
            message.at_ms
        });
        drop(state);
        let mut fields = text_fields(text);
        fields["edit_date"] = json!(now_ms / 1000);
        self.update("edited_message", self.message_object(message_id, sent_at_ms, fields))
    }

    /// Presses a button with this data under the bot's message with this id, whether or not the button is still there:
    /// an old client may show it yet.
    #[must_use]
    pub fn press(&self, data: &str, message_id: i64) -> Value {
        let now_ms = self.telegram.0.clock.now_ms();
        let state = self.telegram.state();
        let found = state.chats.get(&self.chat_id()).and_then(|chat| chat.messages.get(&message_id).cloned());
        let bot = state.bot();
        drop(state);
        let (at_ms, text, keyboard) = found
            .map_or((now_ms, String::new(), None), |message| (message.at_ms, message.text, message.keyboard));
        let mut message = message_object(&bot, self.chat_id(), message_id, at_ms, &text, keyboard);
        message["chat"] = self.chat_object();
        self.callback_query(json!({ "message": message, "data": data }))
    }

    /// Presses the button with this caption on the newest message that has buttons.
    ///
    /// # Panics
    /// When that message has no such button.
    #[must_use]
    pub fn press_button(&self, caption: &str) -> Value {
        let chat = self.chat();
        let card =
            chat.last_card().unwrap_or_else(|| panic!("no buttons in the chat:\n{}", chat.transcript()));
        let data =
            card.data_of(caption).unwrap_or_else(|| panic!("no button {caption:?} on {card:?}")).to_owned();
        self.press(&data, card.message_id)
    }

    /// Presses a button under a message that Telegram no longer gives out: it comes with date 0 and nothing in it.
    #[must_use]
    pub fn press_on_inaccessible(&self, data: &str, message_id: i64) -> Value {
        let message = json!({ "chat": self.chat_object(), "message_id": message_id, "date": 0 });
        self.callback_query(json!({ "message": message, "data": data }))
    }

    /// Presses a button under a message that was sent by way of inline mode: no message, no chat.
    #[must_use]
    pub fn press_inline(&self, data: &str, inline_message_id: &str) -> Value {
        self.callback_query(json!({ "inline_message_id": inline_message_id, "data": data }))
    }

    /// Sends a sticker.
    #[must_use]
    pub fn sticker(&self) -> Value {
        let sticker = json!({
            "width": 512, "height": 512, "emoji": "👍", "set_name": "Thumbs", "type": "regular",
            "is_animated": false, "is_video": false, "file_id": "CAACAgIA", "file_unique_id": "AgADsticker",
            "file_size": 20_480,
        });
        self.message("(sticker)", json!({ "sticker": sticker }))
    }

    /// Sends a photo with words under it.
    #[must_use]
    pub fn photo_with_caption(&self, caption: &str) -> Value {
        let photo = json!([{
            "file_id": "AgACAgIA", "file_unique_id": "AQADphoto", "width": 90, "height": 67, "file_size": 1_234,
        }]);
        self.message(&format!("(photo) {caption}"), json!({ "photo": photo, "caption": caption }))
    }

    /// Sends a voice message.
    #[must_use]
    pub fn voice(&self) -> Value {
        let voice = json!({
            "duration": 3, "mime_type": "audio/ogg", "file_id": "AwACAgIA", "file_unique_id": "AgADvoice",
            "file_size": 9_876,
        });
        self.message("(voice)", json!({ "voice": voice }))
    }

    /// Sends a poll.
    #[must_use]
    pub fn poll(&self) -> Value {
        let poll = json!({
            "id": "5000000000000000001", "question": "When?", "total_voter_count": 0, "is_closed": false,
            "options": [{ "text": "Today", "voter_count": 0 }, { "text": "Tomorrow", "voter_count": 0 }],
            "is_anonymous": true, "type": "regular", "allows_multiple_answers": false,
        });
        self.message("(poll)", json!({ "poll": poll }))
    }

    /// Sends a contact.
    #[must_use]
    pub fn contact(&self) -> Value {
        let contact = json!({ "phone_number": "+15550100", "first_name": "Somebody", "user_id": 7_000_001 });
        self.message("(contact)", json!({ "contact": contact }))
    }

    /// Sends a location.
    #[must_use]
    pub fn location(&self) -> Value {
        self.message("(location)", json!({ "location": { "latitude": 52.5, "longitude": 13.4 } }))
    }

    /// Rolls a die.
    #[must_use]
    pub fn dice(&self) -> Value {
        self.message("(dice)", json!({ "dice": { "emoji": "🎲", "value": 4 } }))
    }

    /// Brings somebody into the group.
    #[must_use]
    pub fn new_chat_members(&self) -> Value {
        let newcomer = json!({ "id": 7_000_002, "is_bot": false, "first_name": "Newcomer" });
        self.message("(new member)", json!({ "new_chat_members": [newcomer] }))
    }

    /// The group becomes a supergroup: the service message in the old chat.
    #[must_use]
    pub fn migrate_to_chat(&self, to: i64) -> Value {
        self.message("(the group becomes a supergroup)", json!({ "migrate_to_chat_id": to }))
    }

    /// The group became a supergroup: the service message in the new chat.
    #[must_use]
    pub fn migrate_from_chat(&self, from: i64) -> Value {
        self.message("(the group became a supergroup)", json!({ "migrate_from_chat_id": from }))
    }

    /// Any other message, by its own fields, such as `{"game": {…}}`.
    #[must_use]
    pub fn message_with(&self, fields: Value) -> Value {
        self.message("(something else)", fields)
    }

    fn message(&self, shown: &str, fields: Value) -> Value {
        let now_ms = self.telegram.0.clock.now_ms();
        let message_id = self.telegram.state().chats.entry(self.chat_id()).or_default().customer_says(
            now_ms,
            &self.first_name,
            shown,
        );
        self.update("message", self.message_object(message_id, now_ms, fields))
    }

    fn callback_query(&self, fields: Value) -> Value {
        let now_ms = self.telegram.0.clock.now_ms();
        let mut state = self.telegram.state();
        let id = format!("{}{:06}", self.user_id, state.callback_queries.len() + 1);
        state.callback_queries.insert(id.clone(), self.chat_id());
        let data = fields["data"].as_str().unwrap_or_default();
        let pressed = format!("(presses {data})");
        state.chats.entry(self.chat_id()).or_default().customer_does(now_ms, &self.first_name, pressed);
        drop(state);
        let query = json!({ "id": id, "from": self.user(), "chat_instance": "-4242424242424242424" });
        self.update("callback_query", merged(query, fields))
    }

    fn update(&self, kind: &str, content: Value) -> Value {
        let mut state = self.telegram.state();
        let update_id = state.next_update_id;
        state.next_update_id += 1;
        json!({ "update_id": update_id, kind: content })
    }

    fn message_object(&self, message_id: i64, at_ms: i64, fields: Value) -> Value {
        let message = json!({
            "message_id": message_id,
            "from": self.user(),
            "chat": self.chat_object(),
            "date": at_ms / 1000,
        });
        merged(message, fields)
    }

    fn user(&self) -> Value {
        let user = json!({ "id": self.user_id, "is_bot": false, "first_name": self.first_name, "language_code": "en" });
        self.with_username(user)
    }

    fn chat_object(&self) -> Value {
        match &self.group {
            Some((chat_id, title)) => {
                let kind = if *chat_id < -1_000_000_000_000 { "supergroup" } else { "group" };
                json!({ "id": chat_id, "title": title, "type": kind })
            }
            None => self.with_username(json!({
                "id": self.user_id, "first_name": self.first_name, "type": "private",
            })),
        }
    }

    fn with_username(&self, mut object: Value) -> Value {
        if let Some(username) = &self.username {
            object["username"] = json!(username);
        }
        object
    }
}

fn text_fields(text: &str) -> Value {
    let mut fields = json!({ "text": text });
    if text.starts_with('/') {
        let command = text.split_whitespace().next().unwrap_or_default();
        let length = command.encode_utf16().count();
        fields["entities"] = json!([{ "type": "bot_command", "offset": 0, "length": length }]);
    }
    fields
}

fn merged(mut object: Value, fields: Value) -> Value {
    if let (Value::Object(object), Value::Object(fields)) = (&mut object, fields) {
        object.extend(fields);
    }
    object
}
