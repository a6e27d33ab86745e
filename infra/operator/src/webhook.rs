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
use crate::zone::Zone;

/// Connections that Telegram may hold at once when nobody says otherwise; it takes 1 to 100.
pub const MAX_CONNECTIONS: u64 = 20;
/// An error older than this is over: Telegram does not forget it when updates get through again.
pub const RECENT_SECONDS: u64 = 3_600;
/// More updates waiting than this says that they do not get through.
pub const PENDING_MAX: u64 = 20;

/// What mends whatever Telegram remembers otherwise than it should.
const SET: &str = "docket webhook set";

impl From<BotError> for Stopped {
    fn from(error: BotError) -> Self {
        let said = |next: &str| format!("{}; {next}", visible(&error.to_string()));
        match &error {
            // What it says of a token that is none of its own, or none any more.
            BotError::Refused { code: 401 | 404, .. } => {
                Self::Refused(said("put the bot's token, as BotFather gives it, into its parameter"))
            }
            BotError::Refused { code: 429, .. } => Self::Refused(said("try again in a minute")),
            BotError::Refused { .. } => {
                Self::Refused(said("it will say so again: docket doctor looks at the settings"))
            }
            BotError::Unreachable(_) => Self::Unreachable(said(
                "try again in a minute; if it stays, look at the network and TELEGRAM_ENDPOINT",
            )),
        }
    }
}

/// Makes sure that the functions know a secret before Telegram does: until then they would refuse what customers write.
/// Where Telegram does not call yet, no function has a secret of before.
///
/// # Errors
/// The secret is too new, or Telegram cannot be asked.
pub async fn is_taken_up(
    bot: &BotApi,
    url: &str,
    put_at: Moment,
    now: Moment,
    zone: &Zone,
) -> Result<(), Stopped> {
    let known_at = put_at.plus_seconds(PARAMETERS_TRUSTED_SECONDS);
    if known_at <= now || !calls(&bot.webhook_info().await?, url) {
        return Ok(());
    }
    Err(Stopped::Refused(format!(
        "the secret was put at {}, and a function may know only the one of before until {}: try again in {} s (or --now, \
         where the functions were started since)",
        zone.shown(put_at),
        zone.shown(known_at),
        known_at.seconds_since(now)
    )))
}

/// A slash at the end is no difference: `wanted_url` has none, and Telegram keeps what it was told.
fn calls(info: &WebhookInfo, wanted_url: &str) -> bool {
    info.url.trim_end_matches('/') == wanted_url
}

/// What Telegram was told, and remembers so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set {
    pub url: String,
    pub max_connections: u64,
    pub pending_update_count: u64,
}

impl Set {
    #[must_use]
    pub fn page(&self) -> String {
        format!(
            "Telegram calls {} for {} on up to {} connections; {} updates wait.",
            self.url,
            ALLOWED_UPDATES.join(", "),
            self.max_connections,
            self.pending_update_count
        )
    }

    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "url": self.url,
            "allowed_updates": ALLOWED_UPDATES,
            "max_connections": self.max_connections,
            "pending_update_count": self.pending_update_count,
        })
    }
}

/// Sets the webhook, and makes sure that it is set.
///
/// # Errors
/// Refused, not reachable, or remembered otherwise than it was told.
pub async fn set(bot: &BotApi, wanted: &Webhook) -> Result<Set, Stopped> {
    bot.set_webhook(wanted).await?;
    let info = bot.webhook_info().await?;
    let mut wrong: Vec<String> =
        differences(&info, &wanted.url).into_iter().map(|wrong| wrong.what).collect();
    if info.max_connections != Some(wanted.max_connections) {
        let remembered = info.max_connections.map_or("none".into(), |number| number.to_string());
        wrong.push(format!("max_connections is {remembered}, and {} was set", wanted.max_connections));
    }
    if wrong.is_empty() {
        return Ok(Set {
            url: wanted.url.clone(),
            max_connections: wanted.max_connections,
            pending_update_count: info.pending_update_count,
        });
    }
    Err(Stopped::Refused(format!(
        "Telegram says that the webhook is set, and remembers otherwise: {}; {SET} once more, and if it stays, look who else \
         has the bot's token",
        wrong.join("; ")
    )))
}

/// What Telegram remembers, and what is wrong with it.
#[derive(Debug)]
pub struct Remembered {
    pub info: WebhookInfo,
    pub wrong: Vec<Wrong>,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    pub what: String,
    /// What to do about it.
    pub next: &'static str,
}

impl Wrong {
    /// Telling Telegram again mends what it remembers and a secret that it has wrong (401), and nothing else.
    fn mended_by_setting(what: String) -> Self {
        Self { what, next: SET }
    }

    fn of_the_function(what: String) -> Self {
        Self {
            what,
            next: "the webhook's log group says why it fails; Telegram delivers again by itself for a day",
        }
    }

    #[must_use]
    pub fn sentence(&self) -> String {
        format!("{}; {}", self.what, self.next)
    }
}

/// Asks Telegram what it remembers; compared with the address where the webhook should be.
///
/// # Errors
/// Refused or not reachable.
pub async fn info(bot: &BotApi, wanted_url: &str, now: Moment, zone: &Zone) -> Result<Remembered, BotError> {
    let info = bot.webhook_info().await?;
    let mut wrong = differences(&info, wanted_url);
    wrong.extend(last_error(&info, now, zone));
    if info.pending_update_count > PENDING_MAX {
        let what = format!("{} updates wait and do not get through", info.pending_update_count);
        wrong.push(Wrong::of_the_function(what));
    }
    Ok(Remembered { info, wrong })
}

/// The last error, if it is of the last hour.
fn last_error(info: &WebhookInfo, now: Moment, zone: &Zone) -> Option<Wrong> {
    let at = Moment::from_seconds(info.last_error_date?);
    if now.seconds_since(at) > RECENT_SECONDS {
        return None;
    }
    let words = info.last_error_message.as_deref().unwrap_or("no reason given");
    let what = format!("Telegram's last error, at {}: {}", zone.shown(at), visible(words));
    Some(if words.contains("401") { Wrong::mended_by_setting(what) } else { Wrong::of_the_function(what) })
}

/// What Telegram remembers otherwise than it should.
fn differences(info: &WebhookInfo, wanted_url: &str) -> Vec<Wrong> {
    if info.url.is_empty() {
        return vec![Wrong::mended_by_setting("no webhook is set".to_owned())];
    }
    let mut wrong = Vec::new();
    if !calls(info, wanted_url) {
        let what = format!("it calls {}, not {wanted_url}", visible(&info.url));
        wrong.push(Wrong::mended_by_setting(what));
    }
    let mut remembered: Vec<&str> = info.allowed_updates.iter().flatten().map(String::as_str).collect();
    let mut wanted = ALLOWED_UPDATES.to_vec();
    remembered.sort_unstable();
    wanted.sort_unstable();
    if remembered != wanted {
        let names =
            if remembered.is_empty() { "what it sends by default".into() } else { remembered.join(", ") };
        let what = format!("it sends {}, not {}", visible(&names), ALLOWED_UPDATES.join(", "));
        wrong.push(Wrong::mended_by_setting(what));
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
            "wrong": self.wrong.iter().map(Wrong::sentence).collect::<Vec<String>>(),
        })
    }

    #[must_use]
    pub fn page(&self, zone: &Zone) -> String {
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
            let at = zone.shown(Moment::from_seconds(at));
            lines.push(format!("last error       {at} {}", visible(words)));
        }
        lines.extend(self.wrong.iter().map(|wrong| format!("wrong: {}", wrong.sentence())));
        lines.join("\n")
    }
}
