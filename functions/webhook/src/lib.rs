//! The webhook: Telegram's updates come in, answers go out in the HTTP response.
//!
//! It holds no bot token and calls nothing but AWS. What it says is never more than what is stored.

pub mod handler;
pub mod step;

pub use handler::Handler;
pub use step::Webhook;
