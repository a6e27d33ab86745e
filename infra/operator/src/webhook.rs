//! `docket webhook`: tells Telegram where to call, and asks what it remembers.
//!
//! Telegram answers "ok" to much that is not what was meant, and remembers lists of an earlier time. So after telling it,
//! it is asked, and whatever differs is said loudly.

use docket_adapters::telegram::{ALLOWED_UPDATES, BotApi, BotError, Webhook, WebhookInfo};
use docket_domain::limits::PARAMETERS_TRUSTED_SECONDS;
use docket_domain::moment::Moment;
use serde_json::{Value, json};

use crate::Stopped;
use crate::visible::visible;

/// Connections that Telegram may hold at once when nobody says otherwise; it takes 1 to 100.
pub const MAX_CONNECTIONS: u64 = 20;
/// An error older than this is over: Telegram does not forget it when updates get through again.
pub const RECENT_SECONDS: u64 = 3_600;
/// More updates waiting than this says that they do not get through.
pub const PENDING_MAX: u64 = 20;

impl From<BotError> for Stopped {
    fn from(error: BotError) -> Self {
        match &error {
            BotError::Refused { .. } => Self::Refused(visible(&error.to_string())),
            BotError::Unreachable(_) => Self::Unreachable(visible(&error.to_string())),
        }
    }
}

/// Makes sure that the functions know a secret before Telegram does: until then they would refuse what customers write.
/// Where Telegram does not call yet, no function has a secret of before.
///
/// # Errors
/// The secret is too new, or Telegram cannot be asked.
pub async fn is_taken_up(bot: &BotApi, url: &str, put_at: Moment, now: Moment) -> Result<(), Stopped> {
    let known_at = put_at.plus_seconds(PARAMETERS_TRUSTED_SECONDS);
    if known_at <= now || !calls(&bot.webhook_info().await?, url) {
        return Ok(());
    }
    Err(Stopped::Refused(format!(
        "the secret was put at {put_at}, and a function may know only the one of before until {known_at}: try again in \
         {} s (or --now, where the functions were started since)",
        known_at.seconds_since(now)
    )))
}

/// A slash at the end is no difference: `wanted_url` has none, and Telegram keeps what it was told.
fn calls(info: &WebhookInfo, wanted_url: &str) -> bool {
    info.url.trim_end_matches('/') == wanted_url
}

/// Sets the webhook, and makes sure that it is set.
///
/// # Errors
/// Refused, not reachable, or remembered otherwise than it was told.
pub async fn set(bot: &BotApi, wanted: &Webhook) -> Result<String, Stopped> {
    bot.set_webhook(wanted).await?;
    let info = bot.webhook_info().await?;
    let mut wrong = differences(&info, &wanted.url);
    if info.max_connections != Some(wanted.max_connections) {
        let remembered = info.max_connections.map_or("none".into(), |number| number.to_string());
        wrong.push(format!("max_connections is {remembered}, and {} was set", wanted.max_connections));
    }
    if wrong.is_empty() {
        return Ok(format!(
            "Telegram calls {} for {} on up to {} connections; {} updates wait.",
            wanted.url,
            ALLOWED_UPDATES.join(", "),
            wanted.max_connections,
            info.pending_update_count
        ));
    }
    Err(Stopped::Refused(format!(
        "Telegram says that the webhook is set, and remembers otherwise: {}",
        wrong.join("; ")
    )))
}

/// What Telegram remembers, and what is wrong with it.
#[derive(Debug)]
pub struct Remembered {
    pub info: WebhookInfo,
    pub wrong: Vec<String>,
}

/// Asks Telegram what it remembers; compared with the address where the webhook should be.
///
/// # Errors
/// Refused or not reachable.
pub async fn info(bot: &BotApi, wanted_url: &str, now: Moment) -> Result<Remembered, Stopped> {
    let info = bot.webhook_info().await?;
    let mut wrong = differences(&info, wanted_url);
    wrong.extend(last_error(&info, now));
    if info.pending_update_count > PENDING_MAX {
        wrong.push(format!("{} updates wait and do not get through", info.pending_update_count));
    }
    Ok(Remembered { info, wrong })
}

/// The last error, if it is of the last hour.
#[must_use]
pub fn last_error(info: &WebhookInfo, now: Moment) -> Option<String> {
    let at = Moment::from_seconds(info.last_error_date?);
    let words = info.last_error_message.as_deref().unwrap_or("no reason given");
    (now.seconds_since(at) <= RECENT_SECONDS)
        .then(|| format!("Telegram's last error, at {at}: {}", visible(words)))
}

/// What Telegram remembers otherwise than it should.
#[must_use]
pub fn differences(info: &WebhookInfo, wanted_url: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if info.url.is_empty() {
        wrong.push("no webhook is set".to_owned());
        return wrong;
    }
    if !calls(info, wanted_url) {
        wrong.push(format!("it calls {}, not {wanted_url}", visible(&info.url)));
    }
    let mut remembered: Vec<&str> = info.allowed_updates.iter().flatten().map(String::as_str).collect();
    let mut wanted = ALLOWED_UPDATES.to_vec();
    remembered.sort_unstable();
    wanted.sort_unstable();
    if remembered != wanted {
        let names =
            if remembered.is_empty() { "what it sends by default".into() } else { remembered.join(", ") };
        wrong.push(format!("it sends {}, not {}", visible(&names), ALLOWED_UPDATES.join(", ")));
    }
    wrong
}

impl Remembered {
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "url": self.info.url,
            "allowed_updates": self.info.allowed_updates,
            "max_connections": self.info.max_connections,
            "pending_update_count": self.info.pending_update_count,
            "last_error_at": self.info.last_error_date.map(|at| Moment::from_seconds(at).to_string()),
            "last_error_message": self.info.last_error_message,
            "wrong": self.wrong,
        })
    }

    #[must_use]
    pub fn page(&self) -> String {
        let info = &self.info;
        let url = if info.url.is_empty() { "none".into() } else { visible(&info.url) };
        let updates =
            info.allowed_updates.as_ref().map_or("what it sends by default".into(), |all| all.join(", "));
        let connections = info.max_connections.map_or("not told".into(), |number| number.to_string());
        let mut lines = vec![
            format!("url              {url}"),
            format!("updates          {}", visible(&updates)),
            format!("connections      {connections}"),
            format!("waiting updates  {}", info.pending_update_count),
        ];
        if let Some(at) = info.last_error_date {
            let words = info.last_error_message.as_deref().unwrap_or_default();
            lines.push(format!("last error       {} {}", Moment::from_seconds(at), visible(words)));
        }
        lines.extend(self.wrong.iter().map(|wrong| format!("wrong: {wrong}")));
        lines.join("\n")
    }
}
