//! The methods of the Bot API that Docket uses: what each demands, and what it does to the chats.
//!
//! The same code carries out a call to the Bot API and a method named in the webhook's HTTP answer, as Telegram does.

use serde_json::{Map, Value, json};

use super::refusal::{Done, Refusal};
use super::{BOT_USERNAME, Condition, Sent, State, entities};

const TEXT_LIMIT_UTF16: usize = 4096;
const BUTTON_DATA_LIMIT_BYTES: usize = 64;
const QUERY_TEXT_LIMIT_CHARACTERS: usize = 200;

impl State {
    /// Methods go by any letter case.
    pub(super) fn carry_out(
        &mut self,
        now_ms: i64,
        method: &str,
        parameters: &Map<String, Value>,
    ) -> Result<Done, Refusal> {
        match method.to_ascii_lowercase().as_str() {
            "getme" => Ok(Done::with(json!({
                "id": self.bot_id,
                "is_bot": true,
                "first_name": "Docket",
                "username": BOT_USERNAME,
                "can_join_groups": true,
                "can_read_all_group_messages": false,
                "supports_inline_queries": false,
            }))),
            "sendmessage" => self.send_message(now_ms, parameters),
            "editmessagetext" => self.edit_message_text(now_ms, parameters),
            "answercallbackquery" => self.answer_callback_query(now_ms, parameters),
            "setwebhook" => self.webhook.set(parameters),
            "deletewebhook" => Ok(self.webhook.delete()),
            "getwebhookinfo" => Ok(Done::with(self.webhook.info())),
            _ => Err(Refusal::new(404, "Not Found: method not found")),
        }
    }

    /// Keeps what a call to the Bot API put into a chat.
    pub(super) fn keep_sent(
        &mut self,
        at_ms: i64,
        method: &str,
        parameters: &Map<String, Value>,
        result: &Value,
    ) {
        if !method.eq_ignore_ascii_case("sendMessage") {
            return;
        }
        let (Some(chat_id), Some(message_id)) =
            (result["chat"]["id"].as_i64(), result["message_id"].as_i64())
        else {
            return;
        };
        let sent = Sent {
            at_ms,
            message_id,
            text: result["text"].as_str().unwrap_or_default().to_owned(),
            raw: Value::Object(parameters.clone()),
        };
        self.chats.entry(chat_id).or_default().sent.push(sent);
    }

    fn send_message(&mut self, now_ms: i64, parameters: &Map<String, Value>) -> Result<Done, Refusal> {
        let text = text_of(parameters)?;
        let chat_id = self.writable_chat(parameters)?;
        if text.encode_utf16().count() > TEXT_LIMIT_UTF16 {
            return Err(Refusal::bad_request("message is too long"));
        }
        if parameters.get("message_thread_id").is_some_and(|thread| !thread.is_null()) {
            // No chat of this fake has topics.
            return Err(Refusal::bad_request("message thread not found"));
        }
        let keyboard = keyboard_of(parameters)?;
        self.within_the_rate(now_ms, chat_id)?;
        let bot = self.bot();
        let chat = self.chats.entry(chat_id).or_default();
        let message_id = chat.bot_says(now_ms, &text, keyboard.clone());
        Ok(Done::with(message_object(&bot, chat_id, message_id, now_ms, &text, keyboard)))
    }

    fn edit_message_text(&mut self, now_ms: i64, parameters: &Map<String, Value>) -> Result<Done, Refusal> {
        let text = text_of(parameters)?;
        if parameters.contains_key("inline_message_id") {
            // No message of this bot was sent by way of inline mode.
            return Err(Refusal::bad_request("MESSAGE_ID_INVALID"));
        }
        let chat_id = self.writable_chat(parameters)?;
        if text.encode_utf16().count() > TEXT_LIMIT_UTF16 {
            return Err(Refusal::bad_request("MESSAGE_TOO_LONG"));
        }
        let keyboard = keyboard_of(parameters)?;
        let bot = self.bot();
        let chat = self.chats.entry(chat_id).or_default();
        let message_id = integer(parameters.get("message_id"))
            .ok_or_else(|| Refusal::bad_request("message identifier is not specified"))?;
        let message = chat
            .messages
            .get(&message_id)
            .ok_or_else(|| Refusal::bad_request("message to edit not found"))?;
        if !message.from_bot {
            return Err(Refusal::bad_request("message can't be edited"));
        }
        if message.text == text && message.keyboard == keyboard {
            return Err(Refusal::bad_request(
                "message is not modified: specified new message content and reply markup are exactly the same as a \
                 current content and reply markup of the message",
            ));
        }
        let sent_at_ms = message.at_ms;
        chat.bot_edits(now_ms, message_id, &text, keyboard.clone());
        let mut object = message_object(&bot, chat_id, message_id, sent_at_ms, &text, keyboard);
        object["edit_date"] = json!(now_ms / 1000);
        Ok(Done::with(object))
    }

    fn answer_callback_query(
        &mut self,
        now_ms: i64,
        parameters: &Map<String, Value>,
    ) -> Result<Done, Refusal> {
        let id = parameters.get("callback_query_id").and_then(Value::as_str).unwrap_or_default();
        let chat_id = self.callback_queries.get(id).copied().ok_or_else(|| {
            Refusal::bad_request("query is too old and response timeout expired or query ID is invalid")
        })?;
        let text = parameters.get("text").and_then(Value::as_str).unwrap_or_default();
        if text.chars().count() > QUERY_TEXT_LIMIT_CHARACTERS {
            return Err(Refusal::bad_request("MESSAGE_TOO_LONG"));
        }
        self.chats.entry(chat_id).or_default().bot_notifies(now_ms, text);
        Ok(Done::with(json!(true)))
    }

    fn writable_chat(&self, parameters: &Map<String, Value>) -> Result<i64, Refusal> {
        let given = parameters.get("chat_id").filter(|id| !id.is_null() && *id != "");
        let given = given.ok_or_else(|| Refusal::bad_request("chat_id is empty"))?;
        let chat_id = integer(Some(given)).filter(|id| *id != 0);
        let chat_id = chat_id.ok_or_else(|| Refusal::bad_request("chat not found"))?;
        match self.conditions.get(&chat_id) {
            None => Ok(chat_id),
            Some(Condition::Blocked) => Err(Refusal::new(403, "Forbidden: bot was blocked by the user")),
            Some(Condition::Kicked) => {
                Err(Refusal::new(403, "Forbidden: bot was kicked from the group chat"))
            }
            Some(Condition::Deactivated) => Err(Refusal::new(403, "Forbidden: user is deactivated")),
            Some(Condition::NotFound) => Err(Refusal::bad_request("chat not found")),
            Some(Condition::NoRights) => {
                Err(Refusal::bad_request("not enough rights to send text messages to the chat"))
            }
            Some(Condition::Migrated(to)) => Err(Refusal::migrated(*to)),
        }
    }

    fn within_the_rate(&self, now_ms: i64, chat_id: i64) -> Result<(), Refusal> {
        let last = self.chats.get(&chat_id).and_then(|chat| chat.bot_sent_at_ms);
        let next_ms = last.filter(|_| self.one_message_a_second).map_or(i64::MIN, |last| last + 1000);
        let free_at_ms = next_ms.max(self.flood_until_ms);
        if free_at_ms <= now_ms {
            return Ok(());
        }
        let left_ms = free_at_ms - now_ms;
        Err(Refusal::too_many_requests((left_ms + 999) / 1000))
    }

    pub(super) fn bot(&self) -> Value {
        json!({ "id": self.bot_id, "is_bot": true, "first_name": "Docket", "username": BOT_USERNAME })
    }
}

pub(super) fn message_object(
    bot: &Value,
    chat_id: i64,
    message_id: i64,
    at_ms: i64,
    text: &str,
    keyboard: Option<Value>,
) -> Value {
    let kind = if chat_id > 0 { "private" } else { "supergroup" };
    let mut message = json!({
        "message_id": message_id,
        "from": bot,
        "chat": { "id": chat_id, "type": kind },
        "date": at_ms / 1000,
        "text": text,
    });
    if let Some(keyboard) = keyboard {
        message["reply_markup"] = keyboard;
    }
    message
}

/// The text after its marks are parsed, trimmed.
fn text_of(parameters: &Map<String, Value>) -> Result<String, Refusal> {
    let text = parameters.get("text").and_then(Value::as_str).unwrap_or_default();
    let plain = match parameters.get("parse_mode").and_then(Value::as_str) {
        None | Some("") => text.to_owned(),
        Some(mode) => entities::plain_text(text, mode).map_err(|because| Refusal::bad_request(&because))?,
    };
    let trimmed = plain.trim();
    if trimmed.is_empty() {
        Err(Refusal::bad_request("message text is empty"))
    } else {
        Ok(trimmed.to_owned())
    }
}

/// A form sends the keyboard as JSON text.
fn keyboard_of(parameters: &Map<String, Value>) -> Result<Option<Value>, Refusal> {
    let unreadable = || Refusal::bad_request("object expected as reply markup");
    let markup = match parameters.get("reply_markup") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => serde_json::from_str(text).map_err(|_| unreadable())?,
        Some(other) => other.clone(),
    };
    let Some(markup) = markup.as_object() else { return Err(unreadable()) };
    let Some(rows) = markup.get("inline_keyboard") else { return Ok(None) };
    let rows = rows.as_array().ok_or_else(|| {
        Refusal::bad_request("field \"inline_keyboard\" of the InlineKeyboardMarkup must be an Array")
    })?;
    let mut any = false;
    for row in rows {
        let row = row.as_array().ok_or_else(|| {
            Refusal::bad_request("can't parse inline keyboard: Inline keyboard must be an Array of Arrays")
        })?;
        for button in row {
            any = true;
            if button["text"].as_str().is_none_or(str::is_empty) {
                return Err(Refusal::bad_request("BUTTON_TEXT_INVALID"));
            }
            let bytes = match (button["callback_data"].as_str(), button["url"].as_str()) {
                (Some(data), _) => data.len(),
                (None, Some(_)) => 1,
                (None, None) => {
                    return Err(Refusal::bad_request(
                        "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard",
                    ));
                }
            };
            if bytes == 0 || bytes > BUTTON_DATA_LIMIT_BYTES {
                return Err(Refusal::bad_request("BUTTON_DATA_INVALID"));
            }
        }
    }
    Ok(any.then(|| json!({ "inline_keyboard": rows })))
}

/// Telegram takes numbers also as text.
fn integer(value: Option<&Value>) -> Option<i64> {
    value.and_then(|value| value.as_i64().or_else(|| value.as_str()?.trim().parse().ok()))
}
