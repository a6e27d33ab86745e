//! A fake Telegram: the Bot API that Docket calls, and the other half of a chat that calls Docket.
//!
//! It owns what Telegram would remember: chats and their messages, the webhook's settings, who blocked the bot. It
//! imitates documented behaviour, refusals included, so that a wrong request fails here as it would there. It shares
//! no code with Docket: a fake that parses with the code under test would agree with its mistakes.

mod chat;
mod customer;
mod delivery;
mod entities;
mod methods;
mod refusal;
mod webhook;

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use tokio::sync::watch;

pub use chat::{Button, Card, Chat, Line, Sent, Speaker};
pub use customer::Customer;
pub use delivery::{Deliveries, Delivery, Ended, WebhookAnswer};

use crate::clock::TurnedClock;
use crate::exchange::{Answer, Fake, Request};
use chat::ChatState;
use refusal::Refusal;
use webhook::WebhookSettings;

/// The bot's user name.
pub const BOT_USERNAME: &str = "OurBot";

/// Telegram, as far as one bot sees it. Clones are the same Telegram.
#[derive(Clone)]
pub struct FakeTelegram(Arc<Shared>);

struct Shared {
    clock: TurnedClock,
    token: String,
    state: Mutex<State>,
}

/// A call to the Bot API, answered or not.
#[derive(Debug, Clone)]
pub struct BotCall {
    /// The turned clock at arrival.
    pub at_ms: i64,
    /// As written in the path: `sendMessage`.
    pub method: String,
    /// The parameters, from the query and the body together.
    pub parameters: Value,
    /// The description of the refusal, if the method was refused.
    pub refused: Option<String>,
}

struct State {
    bot_id: i64,
    chats: BTreeMap<i64, ChatState>,
    conditions: BTreeMap<i64, Condition>,
    script: VecDeque<Scripted>,
    flood_until_ms: i64,
    one_message_a_second: bool,
    calls: Vec<BotCall>,
    webhook: WebhookSettings,
    next_update_id: i64,
    callback_queries: BTreeMap<String, i64>,
    silent_refusals: Vec<String>,
    /// Calls that are still to be held.
    to_be_held: usize,
    held: usize,
    let_go: watch::Sender<u64>,
}

/// Why a chat cannot be written to.
#[derive(Debug, Clone)]
enum Condition {
    Blocked,
    Kicked,
    Deactivated,
    NotFound,
    NoRights,
    Migrated(i64),
}

/// What happens to the next call instead of, or after, what would happen by itself.
enum Scripted {
    /// The method is not carried out.
    Instead(Answer),
    /// The method is carried out, and this is answered.
    After(Answer),
    /// The method is carried out, and its answer is cut off after so many bytes.
    CutAfter(usize),
}

impl FakeTelegram {
    /// A Telegram that knows one bot, by this token (`123456:letters`).
    #[must_use]
    pub fn new(clock: TurnedClock, token: &str) -> Self {
        let bot_id = token.split(':').next().and_then(|id| id.parse().ok()).unwrap_or(1);
        let state = State {
            bot_id,
            chats: BTreeMap::new(),
            conditions: BTreeMap::new(),
            script: VecDeque::new(),
            flood_until_ms: i64::MIN,
            one_message_a_second: false,
            calls: Vec::new(),
            webhook: WebhookSettings::default(),
            next_update_id: 810_000_001,
            callback_queries: BTreeMap::new(),
            silent_refusals: Vec::new(),
            to_be_held: 0,
            held: 0,
            let_go: watch::Sender::new(0),
        };
        Self(Arc::new(Shared { clock, token: token.to_owned(), state: Mutex::new(state) }))
    }

    /// What `sendMessage` calls to the Bot API put into this chat, oldest first: the acknowledgements. What the webhook
    /// said in its HTTP answers is not among them; [`Chat::transcript`] has both.
    #[must_use]
    pub fn messages(&self, chat_id: i64) -> Vec<Sent> {
        self.state().chats.get(&chat_id).map(|chat| chat.sent.clone()).unwrap_or_default()
    }

    /// Every call to the Bot API with the right token, refused and scripted ones too.
    #[must_use]
    pub fn calls(&self) -> Vec<BotCall> {
        self.state().calls.clone()
    }

    /// The chat with this id, as the people in it see it.
    #[must_use]
    pub fn chat(&self, chat_id: i64) -> Chat {
        Chat::new(self.clone(), chat_id)
    }

    /// A person who writes to the bot in a private chat.
    #[must_use]
    pub fn customer(&self, user_id: i64, first_name: &str, username: Option<&str>) -> Customer {
        Customer::new(self.clone(), user_id, first_name, username)
    }

    /// The user blocked the bot: 403.
    pub fn block(&self, chat_id: i64) {
        self.set_condition(chat_id, Condition::Blocked);
    }

    /// The bot was removed from the group: 403.
    pub fn kick(&self, chat_id: i64) {
        self.set_condition(chat_id, Condition::Kicked);
    }

    /// The user's account is gone: 403.
    pub fn deactivate(&self, chat_id: i64) {
        self.set_condition(chat_id, Condition::Deactivated);
    }

    /// There is no such chat for this bot: 400. All other chats are taken for known.
    pub fn chat_not_found(&self, chat_id: i64) {
        self.set_condition(chat_id, Condition::NotFound);
    }

    /// The bot may not write there: 400.
    pub fn no_rights(&self, chat_id: i64) {
        self.set_condition(chat_id, Condition::NoRights);
    }

    /// The group became a supergroup with another id: 400 with `migrate_to_chat_id`.
    pub fn migrate(&self, chat_id: i64, to: i64) {
        self.set_condition(chat_id, Condition::Migrated(to));
    }

    /// The next call is not carried out and gets this answer. Scripted answers queue up, and any method takes one.
    pub fn answer_next(&self, status: u16, body: &str) {
        self.script(Scripted::Instead(refusal::raw(status, body)));
    }

    /// As [`Self::answer_next`], with these headers beside the body's own.
    pub fn answer_next_with(&self, status: u16, headers: &[(&str, &str)], body: &str) {
        let mut answer = refusal::raw(status, body);
        if let Answer::Reply { headers: own, .. } = &mut answer {
            own.extend(headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        }
        self.script(Scripted::Instead(answer));
    }

    /// The next call meets a front server's 502 page and is not carried out.
    pub fn html_502(&self) {
        let page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1>\
                    </center>\r\n<hr><center>nginx/1.18.0</center>\r\n</body>\r\n</html>\r\n";
        self.answer_next(502, page);
    }

    /// The next call is carried out and gets this answer, such as a 500 "restart" after a delivery.
    pub fn deliver_then(&self, status: u16, body: &str) {
        self.script(Scripted::After(refusal::raw(status, body)));
    }

    /// The next call is carried out, and the connection closes without an answer.
    pub fn deliver_then_hang_up(&self) {
        self.script(Scripted::After(Answer::HangUp));
    }

    /// The next call is carried out and never answered.
    pub fn deliver_then_never(&self) {
        self.script(Scripted::After(Answer::Never));
    }

    /// The next call is carried out, and the connection closes after `sent` bytes of the true answer.
    pub fn deliver_then_half(&self, sent: usize) {
        self.script(Scripted::CutAfter(sent));
    }

    /// The next call arrives, and nothing happens until [`Self::let_go`].
    pub fn hold_next(&self) {
        self.state().to_be_held += 1;
    }

    /// Calls that wait to be let go.
    #[must_use]
    pub fn held(&self) -> usize {
        self.state().held
    }

    /// Every held call is served.
    pub fn let_go(&self) {
        self.state().let_go.send_modify(|times| *times += 1);
    }

    async fn hold(&self) {
        let mut let_go = {
            let mut state = self.state();
            if state.to_be_held == 0 {
                return;
            }
            state.to_be_held -= 1;
            state.held += 1;
            state.let_go.subscribe()
        };
        // The sender lives as long as the Telegram that this call holds on to.
        let _ = let_go.changed().await;
        self.state().held -= 1;
    }

    /// From now until `retry_after_seconds` have passed on the turned clock every sending is refused with 429, which
    /// names the seconds that are left.
    pub fn flood(&self, retry_after_seconds: i64) {
        self.state().flood_until_ms = self.0.clock.now_ms() + retry_after_seconds * 1000;
    }

    /// From now on a chat takes one message a second by the turned clock, and refuses the others with 429.
    pub fn enforce_one_message_a_second(&self) {
        self.state().one_message_a_second = true;
    }

    /// Every chat can be written to, no script is left, nothing is limited. Messages and settings stay.
    pub fn heal(&self) {
        let mut state = self.state();
        state.conditions.clear();
        state.script.clear();
        state.flood_until_ms = i64::MIN;
        state.one_message_a_second = false;
    }

    /// The next update has this id. After a week without updates Telegram draws ids anew, and they may be smaller.
    pub fn go_on_from_update_id(&self, update_id: i64) {
        self.state().next_update_id = update_id;
    }

    /// Carries out the method that the webhook's HTTP answer names, if it names one. The outcome goes nowhere, as with
    /// Telegram; a refusal is kept for [`Self::silent_refusals`].
    pub fn take_webhook_answer(&self, body: &[u8]) {
        let Ok(Value::Object(mut parameters)) = serde_json::from_slice::<Value>(body) else { return };
        let Some(Value::String(method)) = parameters.remove("method") else { return };
        let mut state = self.state();
        if let Err(refusal) = state.carry_out(self.0.clock.now_ms(), &method, &parameters) {
            state.silent_refusals.push(format!("{method}: {}", refusal.description));
        }
    }

    /// Methods named in the webhook's HTTP answers that Telegram refused. The bot never hears of them, so a test has to
    /// look here.
    #[must_use]
    pub fn silent_refusals(&self) -> Vec<String> {
        self.state().silent_refusals.clone()
    }

    /// The secret that Telegram would send with each update, if one was set by `setWebhook`.
    #[must_use]
    pub fn webhook_secret(&self) -> Option<String> {
        self.state().webhook.secret_token.clone()
    }

    fn set_condition(&self, chat_id: i64, condition: Condition) {
        self.state().conditions.insert(chat_id, condition);
    }

    fn script(&self, scripted: Scripted) {
        self.state().script.push_back(scripted);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A test that panicked elsewhere must not hide its own message behind a poisoned lock.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn respond(&self, request: &Request) -> Answer {
        let not_found = || Refusal::new(404, "Not Found").answer();
        let Some((token, method)) = request
            .path
            .strip_prefix("/bot")
            .and_then(|rest| rest.split_once('/'))
            .filter(|(_, m)| !m.is_empty())
        else {
            return not_found();
        };
        if token != self.0.token {
            // What has the shape of a token is looked up and unknown; anything else is not even a path.
            let shaped = token.split_once(':').is_some_and(|(id, _)| id.parse::<u64>().is_ok());
            return if shaped { Refusal::new(401, "Unauthorized").answer() } else { not_found() };
        }
        let parameters = match refusal::parameters_of(request) {
            Ok(parameters) => parameters,
            Err(refusal) => return refusal.answer(),
        };
        self.respond_to_method(method, &parameters)
    }

    fn respond_to_method(&self, method: &str, parameters: &Map<String, Value>) -> Answer {
        let at_ms = self.0.clock.now_ms();
        let mut state = self.state();
        let mut call = BotCall {
            at_ms,
            method: method.to_owned(),
            parameters: Value::Object(parameters.clone()),
            refused: None,
        };
        let scripted = state.script.pop_front();
        if let Some(Scripted::Instead(answer)) = scripted {
            state.calls.push(call);
            return answer;
        }
        let outcome = state.carry_out(at_ms, method, parameters);
        match &outcome {
            Ok(done) => state.keep_sent(at_ms, method, parameters, &done.result),
            Err(refusal) => call.refused = Some(refusal.description.clone()),
        }
        state.calls.push(call);
        let truly = outcome.map_or_else(|refusal| refusal.answer(), |done| done.answer());
        match scripted {
            None => truly,
            Some(Scripted::Instead(answer) | Scripted::After(answer)) => answer,
            Some(Scripted::CutAfter(sent)) => refusal::cut(truly, sent),
        }
    }
}

impl Fake for FakeTelegram {
    fn answer(&self, request: Request) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>> {
        Box::pin(async move {
            self.hold().await;
            self.respond(&request)
        })
    }
}
