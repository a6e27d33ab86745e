//! A reply as the Bot API method that the webhook's HTTP answer carries: Telegram executes it and never reports how it
//! went (Bot API, "Making requests when getting updates").

use docket_domain::reply::{Button, Reply};
use serde_json::{Value, json};

/// The answer's JSON body; none where nothing is to be said.
#[must_use]
pub fn method(reply: &Reply) -> Option<Value> {
    match reply {
        Reply::Message { chat_id, text, buttons } => {
            let mut method = json!({
                "method": "sendMessage",
                "chat_id": chat_id,
                "text": text,
                "link_preview_options": {"is_disabled": true},
            });
            if !buttons.is_empty() {
                method["reply_markup"] = keyboard(buttons);
            }
            Some(method)
        }
        // Without reply_markup the message loses its buttons: what was pressed cannot be pressed again.
        Reply::Edited { chat_id, message_id, text } => Some(json!({
            "method": "editMessageText",
            "chat_id": chat_id,
            "message_id": message_id,
            "text": text,
            "link_preview_options": {"is_disabled": true},
        })),
        Reply::Notice { callback_id, text } => Some(json!({
            "method": "answerCallbackQuery",
            "callback_query_id": callback_id,
            "text": text,
            "show_alert": true,
        })),
        Reply::Silence => None,
    }
}

fn keyboard(buttons: &[Vec<Button>]) -> Value {
    let button = |button: &Button| json!({"text": button.text, "callback_data": button.data});
    let rows: Vec<Vec<Value>> = buttons.iter().map(|row| row.iter().map(button).collect()).collect();
    json!({"inline_keyboard": rows})
}

#[cfg(test)]
mod tests {
    use docket_domain::submission::ChatId;

    use super::*;

    const CHAT: ChatId = ChatId(9_007_199_254_740_993);

    #[test]
    fn a_message_carries_its_buttons_and_no_preview() {
        let button = |text: &str, data: &str| Button { text: text.into(), data: data.into() };
        let buttons =
            vec![vec![button("Confirm", "c:1")], vec![button("Edit", "e:1"), button("Cancel", "x:1")]];
        let method = method(&Reply::Message { chat_id: CHAT, text: "*x* <b>".into(), buttons });
        let expected = r#"{"chat_id":9007199254740993,"link_preview_options":{"is_disabled":true},"method":"sendMessage","reply_markup":{"inline_keyboard":[[{"callback_data":"c:1","text":"Confirm"}],[{"callback_data":"e:1","text":"Edit"},{"callback_data":"x:1","text":"Cancel"}]]},"text":"*x* <b>"}"#;
        assert_eq!(method.map(|method| method.to_string()).as_deref(), Some(expected));
    }

    #[test]
    fn an_edit_takes_the_buttons_away_and_a_notice_is_shown_over_the_chat() {
        let edited = method(&Reply::Edited { chat_id: CHAT, message_id: 7, text: "done".into() });
        assert_eq!(
            edited,
            Some(json!({
                "method": "editMessageText", "chat_id": CHAT, "message_id": 7, "text": "done",
                "link_preview_options": {"is_disabled": true},
            }))
        );
        let notice = method(&Reply::Notice { callback_id: "4382".into(), text: "expired".into() });
        assert_eq!(
            notice,
            Some(json!({
                "method": "answerCallbackQuery", "callback_query_id": "4382", "text": "expired", "show_alert": true,
            }))
        );
        assert_eq!(method(&Reply::Silence), None);
        let plain = method(&Reply::message(CHAT, "hello")).expect("a method");
        assert!(plain.get("reply_markup").is_none() && plain.get("parse_mode").is_none());
    }
}
