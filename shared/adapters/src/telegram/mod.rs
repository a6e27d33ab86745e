//! The Telegram Bot API, as far as Docket uses it: what comes in, what goes back in the answer, the one call out, and what sets a
//! bot up.

mod bot;
mod messenger;
mod method;
mod update;
mod caller;

pub use self::bot::{ALLOWED_UPDATES, BotApi, BotError, Me, Webhook, WebhookInfo};
pub use self::caller::{SECRET_HEADER, WebhookCaller};
pub use self::messenger::TelegramMessenger;
pub use self::method::method;
pub use self::update::{Incoming, NotAnUpdate, parse};
