//! The Telegram Bot API, as far as Docket uses it: what comes in, what goes back in the answer, and the one call out.

mod messenger;
mod method;
mod update;

pub use self::messenger::TelegramMessenger;
pub use self::method::method;
pub use self::update::{Incoming, NotAnUpdate, parse};
