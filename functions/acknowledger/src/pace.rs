//! How fast messages may leave: about one a second to a chat, about 30 a second in all (Bot API).
//!
//! What this process sends is paced here; what other processes send at the same time, Telegram itself turns away with a
//! 429, which costs nothing but time.

use std::collections::HashMap;
use std::sync::Mutex;

use docket_domain::limits::{CHAT_PAUSE_MS, SEND_PAUSE_MS};
use docket_domain::moment::Moment;
use docket_domain::submission::ChatId;

/// When messages last left this process.
#[derive(Debug, Default)]
pub struct Pace(Mutex<Last>);

#[derive(Debug, Default)]
struct Last {
    any: Option<Moment>,
    by_chat: HashMap<ChatId, Moment>,
}

impl Pace {
    /// Milliseconds to wait from `now` before a message to `chat_id` may leave.
    pub fn wait_ms(&self, chat_id: ChatId, now: Moment) -> u64 {
        let last = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let left = |since: Option<&Moment>, pause: u64| {
            since.map_or(0, |since| {
                u64::try_from(since.plus_millis(pause).millis() - now.millis()).unwrap_or(0)
            })
        };
        left(last.by_chat.get(&chat_id), CHAT_PAUSE_MS).max(left(last.any.as_ref(), SEND_PAUSE_MS))
    }

    /// A message to `chat_id` leaves now.
    pub fn left(&self, chat_id: ChatId, now: Moment) {
        let mut last = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        last.by_chat.retain(|_, at| at.plus_millis(CHAT_PAUSE_MS) > now);
        last.by_chat.insert(chat_id, now);
        last.any = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_message_a_second_to_a_chat_and_others_do_not_wait_for_it() {
        let (pace, at) = (Pace::default(), |ms: i64| Moment::from_millis(1_000_000 + ms));
        assert_eq!(pace.wait_ms(ChatId(1), at(0)), 0);
        pace.left(ChatId(1), at(0));
        assert_eq!(pace.wait_ms(ChatId(1), at(400)), 600);
        assert_eq!(pace.wait_ms(ChatId(2), at(0)), SEND_PAUSE_MS);
        assert_eq!(pace.wait_ms(ChatId(2), at(400)), 0);
        assert_eq!(pace.wait_ms(ChatId(1), at(1_000)), 0);
    }
}
