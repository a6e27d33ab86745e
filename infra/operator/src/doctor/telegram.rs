//! The bot: its token, its webhook, and whether this machine's clock agrees with the other side's.

use docket_adapters::config::Environment;
use docket_adapters::http::server_time;
use docket_adapters::telegram::BotError;
use docket_domain::moment::Moment;

use super::Check;
use crate::zone::Zone;
use crate::{reach, webhook};

/// Google refuses assertions of a clock that is off by minutes; a minute is noticed.
const SKEW_SECONDS_MAX: u64 = 60;

pub(super) async fn check(environment: &Environment, now: Moment, zone: &Zone, checks: &mut Vec<Check>) {
    if let Ok(endpoint) = environment.telegram_endpoint() {
        checks.push(clock(&endpoint, now).await);
    }
    let bot = match reach::bot(environment) {
        Ok(bot) => bot,
        Err(stopped) => {
            checks.push(Check::wrong("bot", stopped.message(), "mend the setting that is named"));
            return;
        }
    };
    match bot.me().await {
        Err(error) => checks.push(failed(
            "bot",
            &error,
            "put the bot's token, as BotFather gives it, into its parameter",
        )),
        Ok(me) => {
            let wanted = environment.bot().ok();
            let is_it = wanted
                .as_ref()
                .is_none_or(|bot| bot.id == me.id && bot.username.eq_ignore_ascii_case(&me.username));
            checks.push(if is_it {
                Check::ok("bot", format!("@{}, {}", me.username, me.id))
            } else {
                Check::wrong(
                    "bot",
                    format!("the token is of @{}, {}", me.username, me.id),
                    "deploy with this TelegramBot, or put the other bot's token into its parameter",
                )
            });
        }
    }
    let Ok(url) = environment.webhook_url() else { return };
    match webhook::info(&bot, &url, now, zone).await {
        Err(error) => checks.push(Check::not_known("webhook", error.to_string(), "mend the bot first")),
        Ok(remembered) if remembered.wrong.is_empty() => checks.push(Check::ok(
            "webhook",
            format!("{}; {} updates wait", remembered.info.url, remembered.info.pending_update_count),
        )),
        Ok(remembered) => {
            let found: Vec<&str> = remembered.wrong.iter().map(|wrong| wrong.what.as_str()).collect();
            let mut cures: Vec<&str> = Vec::new();
            for wrong in &remembered.wrong {
                if !cures.contains(&wrong.next) {
                    cures.push(wrong.next);
                }
            }
            checks.push(Check::wrong("webhook", found.join("; "), cures.join("; ")));
        }
    }
}

fn failed(name: &str, error: &BotError, cure: &str) -> Check {
    match error {
        BotError::Refused { .. } => Check::wrong(name, error.to_string(), cure),
        BotError::Unreachable(_) => {
            Check::not_known(name, error.to_string(), "try again; look at the network")
        }
    }
}

async fn clock(endpoint: &str, now: Moment) -> Check {
    const NAME: &str = "clock";
    match server_time(endpoint).await {
        None => {
            Check::not_known(NAME, "the other side does not tell its time", "try again; look at the network")
        }
        Some(theirs) => {
            let skew = now.seconds_since(theirs).max(theirs.seconds_since(now));
            if skew <= SKEW_SECONDS_MAX {
                Check::ok(NAME, "this machine's agrees with Telegram's")
            } else {
                Check::wrong(
                    NAME,
                    format!("this machine's is {skew} s off"),
                    "set it by NTP; Google refuses keys otherwise",
                )
            }
        }
    }
}
