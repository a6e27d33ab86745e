//! The operator's chat, played: what a person would write and press there, as signed updates; and everything that leaves
//! the chat to its person as it was.
//!
//! Telegram numbers messages from 1 on, so ours are below 0: no reference of theirs can be ours, every message of theirs is
//! newer than our draft and replaces it, and our /new cannot drop a draft of theirs that began meanwhile. Buttons are
//! pressed as the webhook's own answers carry them, and only those of our own draft.

use docket_domain::intake::{CardVerb, Conversation, Draft, Stored, Verb};
use docket_domain::limits::DRAFT_SECONDS;
use docket_domain::moment::Moment;
use docket_domain::outcome::Exchange;
use docket_domain::ports::{Clock, Conversations, Saved, StoreError, Submissions};
use docket_domain::reference::Reference;
use serde_json::{Value, json};

use super::Canary;
use super::report::Failed;
use crate::Stopped;

/// The words of the enquiry: whoever meets them knows what they are.
pub const SUMMARY: &str = "Docket canary: a test, please ignore.";
/// Who seems to write, in the row's contact.
const NAME: &str = "Docket canary";
/// Below every id that Telegram gives, and whole in every JSON reader.
const FIRST_ID: i64 = -(1 << 53);
/// A canary's conversation takes seconds; a draft that it has not touched for so long was left behind by one that was cut off.
const UNDER_WAY_SECONDS: u64 = 120;
/// Times the conversation is tidied anew because an update was faster.
const TRIES_MAX: usize = 5;

/// The message ids of one canary. A later one has greater ids.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marks {
    first: i64,
}

impl Marks {
    pub(super) fn at(now: Moment) -> Self {
        Self { first: FIRST_ID + now.millis() * 8 }
    }

    fn new_command(self) -> i64 {
        self.first
    }

    fn type_prompt(self) -> i64 {
        self.first + 1
    }

    fn summary(self) -> i64 {
        self.first + 2
    }

    fn card(self) -> i64 {
        self.first + 3
    }
}

/// The card as it was shown: its Confirm button, and of what.
#[derive(Debug)]
pub(super) struct ShownCard {
    pub(super) reference: Reference,
    confirm: String,
}

impl<S: Submissions, V: Conversations, G: Clock, C: Clock> Canary<S, V, G, C> {
    /// The chat's conversation, which has nothing that a canary could disturb.
    pub(super) async fn free_chat(&self) -> Result<Conversation, Stopped> {
        let chat = self.chat;
        let conversation = match self.conversations.load(chat).await? {
            Stored::Absent => return Ok(Conversation::default()),
            Stored::Present { conversation, .. } => conversation,
            Stored::Unreadable { .. } => {
                return Err(Stopped::Refused(format!(
                    "this release cannot read what is stored of chat {chat}, and somebody's enquiry may be in it: use the \
                     release that is deployed, or write /new there first"
                )));
            }
        };
        let now = self.clock.now();
        let Some(draft) = conversation.draft.as_ref().filter(|draft| now < draft.expires_at) else {
            return Ok(conversation);
        };
        if draft.id >= 0 {
            return Err(Stopped::Refused(format!(
                "chat {chat} has an unfinished enquiry, which was not touched: finish it or send /cancel there, then try again"
            )));
        }
        if draft.expires_at > now.plus_seconds(DRAFT_SECONDS - UNDER_WAY_SECONDS) {
            return Err(Stopped::Refused(format!(
                "another canary is under way in chat {chat}, or was cut off there: try again in two minutes"
            )));
        }
        Ok(conversation)
    }

    /// `/new`: the data of the first request type's button.
    pub(super) async fn begin(&self, marks: Marks) -> Result<(String, String), Failed> {
        let answer = self.say(marks.new_command(), "/new").await?;
        let (data, verb) = first_button(&answer)?;
        match verb {
            Verb::Type { draft_id, .. } if draft_id == marks.new_command() => {
                Ok((data, "the webhook asks what it is about".into()))
            }
            Verb::Type { .. } | Verb::Card { .. } => Err(begun_meanwhile()),
        }
    }

    pub(super) async fn choose(&self, marks: Marks, data: &str) -> Result<((), String), Failed> {
        let answer = self.press("type", marks, marks.type_prompt(), data).await?;
        is_taken(&answer)?;
        Ok(((), "the webhook asks for the text".into()))
    }

    /// The summary: the card that the webhook shows of it.
    pub(super) async fn write_summary(&self, marks: Marks) -> Result<(ShownCard, String), Failed> {
        // Somebody else's draft in this chat must not get our words.
        let stored = self.conversations.load(self.chat).await?;
        match draft_of(&stored) {
            Some(draft) if draft.id == marks.new_command() => {}
            Some(_) => return Err(begun_meanwhile()),
            None => {
                return Err(Failed::refused(
                    "the webhook's draft is not in CONVERSATIONS_TABLE: that is another deployment's, or somebody sent /cancel \
                     at the same moment",
                ));
            }
        }
        let answer = self.say(marks.summary(), SUMMARY).await?;
        let (confirm, verb) = first_button(&answer)?;
        let Verb::Card { verb: CardVerb::Confirm, reference, .. } = verb else {
            return Err(Failed::refused("the first button of the card is not Confirm"));
        };
        if !answer["text"].as_str().is_some_and(|text| text.contains(SUMMARY)) {
            return Err(begun_meanwhile());
        }
        if reference != Reference::derive(self.bot.id, self.chat.0, marks.summary()) {
            return Err(Failed::refused(
                "the card has another reference than it should: TELEGRAM_BOT is not the bot that is deployed",
            ));
        }
        let found = format!("the card shows the text, {reference}");
        Ok((ShownCard { reference, confirm }, found))
    }

    /// Confirm: the reference that the customer is told.
    pub(super) async fn confirm(&self, marks: Marks, card: &ShownCard) -> Result<((), String), Failed> {
        let answer = self.press("confirm", marks, marks.card(), &card.confirm).await?;
        is_taken(&answer)?;
        let told = answer["text"].as_str().and_then(reference_in);
        match told {
            Some(told) if told == card.reference => Ok(((), format!("received as {told}"))),
            Some(told) => {
                Err(Failed::refused(format!("the card was of {}, and {told} was confirmed", card.reference)))
            }
            None => Err(Failed::refused("the webhook's answer names no reference")),
        }
    }

    /// Takes out of the conversation what is ours: a draft that was not confirmed, and the remembered message; what our
    /// message displaced comes back.
    pub(super) async fn tidy(&self, before: &Conversation, marks: Marks) -> Result<((), String), Failed> {
        for _ in 0..TRIES_MAX {
            let stored = self.conversations.load(self.chat).await?;
            let Stored::Present { conversation, .. } = &stored else { break };
            let next = without_ours(conversation, before, marks);
            if next == *conversation {
                break;
            }
            match self.conversations.save(self.chat, &stored, &next, self.clock.now()).await {
                Ok(Saved::Ours) => break,
                // Looked at again: an update was faster, or nobody knows.
                Ok(Saved::Lost) | Err(StoreError::OutcomeUnknown(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let stored = self.conversations.load(self.chat).await?;
        let ours_is_there = matches!(&stored, Stored::Present { conversation, .. }
            if *conversation != without_ours(conversation, before, marks));
        if ours_is_there {
            return Err(Failed::refused(
                "the canary's draft could not be taken out of the chat; it ends by itself",
            ));
        }
        Ok(((), "nothing of the canary is left in the conversation".into()))
    }

    async fn say(&self, message_id: i64, text: &str) -> Result<Value, Failed> {
        let chat = self.chat;
        let message = json!({
            "message_id": message_id,
            "from": {"id": chat, "is_bot": false, "first_name": NAME},
            "chat": {"id": chat, "type": "private", "first_name": NAME},
            "date": self.clock.now().seconds(),
            "text": text,
        });
        self.post(&json!({"update_id": message_id, "message": message})).await
    }

    async fn press(&self, of: &str, marks: Marks, message_id: i64, data: &str) -> Result<Value, Failed> {
        let chat = self.chat;
        let query = json!({
            "id": format!("canary-{of}{}", marks.first),
            "from": {"id": chat, "is_bot": false, "first_name": NAME},
            "chat_instance": "canary",
            "data": data,
            "message": {
                "message_id": message_id,
                "chat": {"id": chat, "type": "private", "first_name": NAME},
                "date": self.clock.now().seconds(),
            },
        });
        self.post(&json!({"update_id": message_id, "callback_query": query})).await
    }

    /// The method that the webhook's answer holds.
    async fn post(&self, update: &Value) -> Result<Value, Failed> {
        match self.webhook.post(update).await {
            Exchange::NotSent(cause) => {
                Err(Failed::unreachable(format!("nobody answers at WEBHOOK_URL: {cause}")))
            }
            Exchange::Lost(cause) => {
                Err(Failed::unreachable(format!("the webhook's answer did not come: {cause}")))
            }
            Exchange::Answered { status: 200..=299, body, .. } => serde_json::from_slice(&body)
                .ok()
                .filter(Value::is_object)
                .ok_or_else(|| Failed::refused("the webhook took the update and said nothing")),
            Exchange::Answered { status, .. } => Err(Failed::refused(refusal(status))),
        }
    }
}

fn refusal(status: u16) -> String {
    match status {
        401 => "401: the webhook knows another secret than WEBHOOK_SECRET; a function takes up a changed one within five \
                minutes, and docket webhook set tells it to Telegram"
            .into(),
        403 | 404 => format!("{status}: WEBHOOK_URL is not where the webhook is; take it from the stack's output Settings"),
        405 => "405: WEBHOOK_URL takes no POST; take it from the stack's output Settings".into(),
        500..=599 => format!("{status}: the webhook failed on its own side; its log says why, and docket doctor"),
        _ => format!("{status}: this is not the webhook's answer; take WEBHOOK_URL from the stack's output Settings"),
    }
}

/// A person began or ended an enquiry in the chat while the canary was there.
fn begun_meanwhile() -> Failed {
    Failed::refused("somebody used the chat at the same moment; their enquiry is left alone, try again later")
}

/// The first button of an answer, and what it asks for.
fn first_button(answer: &Value) -> Result<(String, Verb), Failed> {
    let data = answer["reply_markup"]["inline_keyboard"][0][0]["callback_data"].as_str();
    data.and_then(|data| Some((data.to_owned(), Verb::parse(data)?)))
        .ok_or_else(|| Failed::refused("the webhook's answer has no button that this release knows"))
}

/// A notice over the chat says that a button did nothing.
fn is_taken(answer: &Value) -> Result<(), Failed> {
    match answer["method"].as_str() {
        Some("sendMessage" | "editMessageText") => Ok(()),
        _ => Err(Failed::refused(
            "the webhook did not take its own button: somebody used the chat at the same moment",
        )),
    }
}

/// The first reference in a text.
fn reference_in(text: &str) -> Option<Reference> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .find_map(|word| word.trim_matches('-').parse().ok())
}

fn draft_of(stored: &Stored) -> Option<&Draft> {
    match stored {
        Stored::Present { conversation, .. } => conversation.draft.as_ref(),
        Stored::Absent | Stored::Unreadable { .. } => None,
    }
}

fn without_ours(conversation: &Conversation, before: &Conversation, marks: Marks) -> Conversation {
    let mut next = conversation.clone();
    next.draft = next.draft.filter(|draft| draft.id != marks.new_command());
    let remembered = next.confirmed.len();
    next.confirmed.retain(|confirmed| confirmed.message_id != marks.summary());
    if next.confirmed.len() < remembered {
        // Only so many are remembered, and ours displaced the oldest.
        let displaced = before.confirmed.iter().filter(|old| !next.confirmed.contains(old)).cloned();
        let room = before.confirmed.len().max(next.confirmed.len()) - next.confirmed.len();
        let back: Vec<_> = displaced.take(room).collect();
        next.confirmed.extend(back);
    }
    next
}

#[cfg(test)]
mod tests {
    use docket_domain::intake::{ConfirmedMessage, DraftStep};

    use super::*;

    fn now() -> Moment {
        Moment::from_millis(1_772_356_500_000)
    }

    fn confirmed(message_id: i64) -> ConfirmedMessage {
        ConfirmedMessage { message_id, reference: Reference::derive(1, 2, message_id) }
    }

    fn draft(id: i64) -> Draft {
        Draft { id, sender_id: 2, expires_at: now(), step: DraftStep::ChoosingType {} }
    }

    #[test]
    fn our_ids_are_below_telegrams_and_grow_from_canary_to_canary() {
        let far = Moment::parse("9999-12-31T23:59:59Z").expect("a moment");
        let next = Marks::at(now().plus_millis(1));
        assert!(Marks::at(far).card() < 0 && Marks::at(now()).card() < next.new_command());
    }

    #[test]
    fn what_is_ours_goes_and_what_it_displaced_comes_back() {
        let marks = Marks::at(now());
        let before = Conversation { draft: None, confirmed: [9, 8, 7, 6, 5].map(confirmed).to_vec() };
        let mut after = before.clone();
        after.confirmed.insert(0, confirmed(marks.summary()));
        after.confirmed.truncate(5);
        assert_eq!(without_ours(&after, &before, marks), before);
        // A person's own draft and their newest enquiry stay.
        after.draft = Some(draft(31));
        after.confirmed =
            vec![confirmed(30), confirmed(marks.summary()), confirmed(9), confirmed(8), confirmed(7)];
        let next = without_ours(&after, &before, marks);
        assert_eq!(next.draft, Some(draft(31)));
        assert_eq!(next.confirmed, [30, 9, 8, 7, 6].map(confirmed));
        let begun = Conversation { draft: Some(draft(marks.new_command())), confirmed: vec![] };
        assert_eq!(without_ours(&begun, &begun, marks), Conversation::default());
    }

    #[test]
    fn the_reference_is_found_in_whatever_sentence_holds_it() {
        let reference = Reference::derive(1, 2, 3);
        for text in
            [format!("({reference})."), format!("Ihre Anfrage {reference}: erhalten"), reference.to_string()]
        {
            assert_eq!(reference_in(&text), Some(reference.clone()), "{text}");
        }
        assert_eq!(reference_in("Thank you - DK-1."), None);
    }
}
