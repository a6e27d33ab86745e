//! A webhook's body as an update: the few fields that Docket uses, read strictly, and everything else passed over.
//!
//! Telegram repeats an update until it is answered with 2xx, and holds back everything else of that chat meanwhile. So
//! whatever is not for us is `Ignored`, with a word for the log; it is never an error that would block a chat for a day.

use docket_domain::intake::{Sender, Update};
use docket_domain::submission::{ChatId, Contact};
use serde::Deserialize;
use serde_json::{Map, Value};

/// What came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    Update(Update),
    /// Authentic perhaps, and not for us: why, in one word.
    Ignored(&'static str),
}

/// The body is no JSON object. It does not repeat the body, which may be anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the body is not an update")]
pub struct NotAnUpdate;

/// Messages without text that nobody wrote: Telegram reports an event by them (Bot API, Message).
const SERVICE: [&str; 60] = [
    "boost_added",
    "channel_chat_created",
    "chat_background_set",
    "chat_owner_changed",
    "chat_owner_left",
    "chat_shared",
    "checklist_tasks_added",
    "checklist_tasks_done",
    "community_chat_added",
    "community_chat_joined",
    "community_chat_removed",
    "connected_website",
    "delete_chat_photo",
    "direct_message_price_changed",
    "forum_topic_closed",
    "forum_topic_created",
    "forum_topic_edited",
    "forum_topic_reopened",
    "general_forum_topic_hidden",
    "general_forum_topic_unhidden",
    "gift",
    "gift_upgrade_sent",
    "giveaway",
    "giveaway_completed",
    "giveaway_created",
    "giveaway_winners",
    "group_chat_created",
    "invoice",
    "left_chat_member",
    "managed_bot_created",
    "message_auto_delete_timer_changed",
    "migrate_from_chat_id",
    "migrate_to_chat_id",
    "new_chat_members",
    "new_chat_photo",
    "new_chat_title",
    "paid_message_price_changed",
    "passport_data",
    "pinned_message",
    "poll_option_added",
    "poll_option_deleted",
    "proximity_alert_triggered",
    "refunded_payment",
    "successful_payment",
    "suggested_post_approval_failed",
    "suggested_post_approved",
    "suggested_post_declined",
    "suggested_post_paid",
    "suggested_post_refunded",
    "supergroup_chat_created",
    "unique_gift",
    "users_shared",
    "video_chat_ended",
    "video_chat_participants_invited",
    "video_chat_scheduled",
    "video_chat_started",
    "web_app_data",
    "write_access_allowed",
    "user_shared",
    "video_chat_members_invited",
];

#[derive(Deserialize)]
struct Message {
    message_id: i64,
    chat: Chat,
    from: Option<User>,
    text: Option<String>,
}

#[derive(Deserialize)]
struct Chat {
    id: i64,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct User {
    id: i64,
    #[serde(default)]
    is_bot: bool,
    #[serde(default)]
    first_name: String,
    last_name: Option<String>,
    username: Option<String>,
}

#[derive(Deserialize)]
struct CallbackQuery {
    id: String,
    from: User,
    message: Option<Carrier>,
    data: Option<String>,
}

/// The message that carried a button. When bots may no longer see it, only the chat is true: its date is 0 then
/// (Bot API, InaccessibleMessage).
#[derive(Deserialize)]
struct Carrier {
    chat: Chat,
    message_id: Option<i64>,
    date: Option<i64>,
}

/// Reads a body.
pub fn parse(body: &[u8]) -> Result<Incoming, NotAnUpdate> {
    let update: Map<String, Value> = serde_json::from_slice(body).map_err(|_| NotAnUpdate)?;
    let read = if let Some(message) = update.get("message") {
        written(message)
    } else if let Some(message) = update.get("edited_message") {
        edited(message)
    } else if let Some(query) = update.get("callback_query") {
        pressed(query)
    } else {
        Err("other_kind")
    };
    Ok(read.map_or_else(Incoming::Ignored, Incoming::Update))
}

fn written(message: &Value) -> Result<Update, &'static str> {
    let Message { message_id, chat, from, text } = shaped(message)?;
    let chat_id = private(&chat)?;
    let from = person(from)?;
    match text {
        Some(text) => Ok(Update::Text { chat_id, message_id, from, text }),
        None if SERVICE.iter().any(|name| message.get(name).is_some()) => Err("service_message"),
        // Also a kind of content that is younger than this list: one hint too many is better than none.
        None => Ok(Update::NotText { chat_id }),
    }
}

fn edited(message: &Value) -> Result<Update, &'static str> {
    let Message { message_id, chat, from, text } = shaped(message)?;
    let chat_id = private(&chat)?;
    person(from)?;
    let text = text.ok_or("edited_without_text")?;
    Ok(Update::EditedText { chat_id, message_id, text })
}

fn pressed(query: &Value) -> Result<Update, &'static str> {
    let CallbackQuery { id, from, message, data } = shaped(query)?;
    // Of an inline message, which Docket never sends, there is no chat to answer in.
    let Carrier { chat, message_id, date } = message.ok_or("button_without_message")?;
    let chat_id = private(&chat)?;
    let from = person(Some(from))?;
    let data = data.ok_or("button_without_data")?;
    let message_id = message_id.filter(|_| date != Some(0));
    Ok(Update::Button { callback_id: id, chat_id, message_id, from, data })
}

fn shaped<'a, T: Deserialize<'a>>(value: &'a Value) -> Result<T, &'static str> {
    T::deserialize(value).map_err(|_| "other_shape")
}

fn private(chat: &Chat) -> Result<ChatId, &'static str> {
    if chat.kind == "private" { Ok(ChatId(chat.id)) } else { Err("not_a_private_chat") }
}

fn person(user: Option<User>) -> Result<Sender, &'static str> {
    let user = user.ok_or("no_sender")?;
    if user.is_bot {
        return Err("from_a_bot");
    }
    let contact = Contact::of_user(&user.first_name, user.last_name.as_deref(), user.username.as_deref());
    Ok(Sender { id: user.id, contact })
}

#[cfg(test)]
mod tests;
