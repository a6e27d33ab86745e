//! The settings: the only place that reads the environment.
//!
//! A missing, empty or malformed setting is one sentence that names it and never shows its value. Nothing gets a silent
//! default in place of a value that was set wrongly.

use std::collections::HashMap;
use std::fmt;

use docket_domain::catalog::Catalog;
use docket_domain::intake::Bot;
use docket_domain::limits::{self, Timing};
use docket_domain::submission::ChatId;

/// A value that must not be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    #[must_use]
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for the one place that sends or compares it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A setting that stops the function; the text is for whoever sets it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl ConfigError {
    /// `problem` completes the sentence that begins with the setting's name, and must not hold its value.
    #[must_use]
    pub fn of(name: &str, problem: impl fmt::Display) -> Self {
        Self(format!("{name} {problem}"))
    }
}

/// The environment variables, trimmed.
#[derive(Clone, PartialEq, Eq)]
pub struct Environment(HashMap<String, String>);

/// Settings that may be given by the name of an SSM parameter instead, in `NAME_PARAMETER`.
pub const MAY_BE_IN_PARAMETERS: [&str; 5] =
    ["WEBHOOK_SECRET", "WEBHOOK_SECRET_PREVIOUS", "BOT_TOKEN", "GOOGLE_CREDENTIALS", "CATALOG"];

impl Environment {
    /// Of this process.
    #[must_use]
    pub fn of_process() -> Self {
        // A value that is no text is kept as one that shows it: a setting must not count as absent for that.
        let pairs = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
        });
        Self::of(pairs)
    }

    /// Of these pairs: surrounding blanks and trailing newlines are no part of a value.
    pub fn of(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name, value.trim().to_owned())).collect())
    }

    /// The SSM parameters that must be read for `used`, as (setting, parameter name).
    pub fn parameters(&self, used: &[&str]) -> Result<Vec<(String, String)>, ConfigError> {
        let mut wanted = Vec::new();
        for name in MAY_BE_IN_PARAMETERS.into_iter().filter(|name| used.contains(name)) {
            // `WEBHOOK_SECRET_PREVIOUS` may be called by either order of its endings.
            let aliases = match name {
                "WEBHOOK_SECRET_PREVIOUS" => {
                    vec!["WEBHOOK_SECRET_PREVIOUS_PARAMETER", "WEBHOOK_SECRET_PARAMETER_PREVIOUS"]
                }
                _ => vec![],
            };
            let plain = format!("{name}_PARAMETER");
            let names = if aliases.is_empty() { vec![plain.as_str()] } else { aliases };
            if let [one, other] = names.as_slice()
                && self.0.contains_key(*one)
                && self.0.contains_key(*other)
            {
                return Err(ConfigError::of(
                    one,
                    format!("and {other} are both set; they mean the same, and one of them is enough"),
                ));
            }
            for parameter in names {
                let Some(value) = self.0.get(parameter) else { continue };
                if value.is_empty() {
                    return Err(ConfigError::of(parameter, "is empty"));
                }
                if self.0.contains_key(name) {
                    return Err(ConfigError::of(
                        name,
                        format!("and {parameter} are both set; one of them is enough"),
                    ));
                }
                wanted.push((name.to_owned(), value.clone()));
            }
        }
        Ok(wanted)
    }

    /// The same environment with a setting's value filled in from its parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.0.insert(name.to_owned(), value.trim().to_owned());
        self
    }

    /// The same environment without a setting.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.0.remove(name);
        self
    }

    /// A setting that must be there.
    pub fn required(&self, name: &str) -> Result<String, ConfigError> {
        match self.0.get(name) {
            None if MAY_BE_IN_PARAMETERS.contains(&name) && name != "CATALOG" => {
                Err(ConfigError::of(name, format!("is missing (or {name}_PARAMETER)")))
            }
            None => Err(ConfigError::of(name, "is missing")),
            Some(value) => checked(name, value),
        }
    }

    /// A setting that may be absent, but not empty.
    pub fn optional(&self, name: &str) -> Result<Option<String>, ConfigError> {
        match self.0.get(name) {
            None => Ok(None),
            Some(value) => checked(name, value).map(Some),
        }
    }

    fn number(&self, name: &str, default: u64) -> Result<u64, ConfigError> {
        match self.optional(name)? {
            None => Ok(default),
            Some(value) => value.parse().map_err(|_| ConfigError::of(name, "is not a whole number")),
        }
    }

    fn url(&self, name: &str, default: Option<&str>) -> Result<String, ConfigError> {
        let value = match (self.optional(name)?, default) {
            (Some(value), _) => value,
            (None, Some(default)) => default.to_owned(),
            (None, None) => return Err(ConfigError::of(name, "is missing")),
        };
        let parsed = reqwest::Url::parse(&value).map_err(|_| ConfigError::of(name, "is not a URL"))?;
        if !is_safe(&parsed) {
            return Err(ConfigError::of(name, "must be https, or http on a loopback address"));
        }
        Ok(value.trim_end_matches('/').to_owned())
    }

    pub fn submissions_table(&self) -> Result<String, ConfigError> {
        self.required("SUBMISSIONS_TABLE")
    }

    pub fn conversations_table(&self) -> Result<String, ConfigError> {
        self.required("CONVERSATIONS_TABLE")
    }

    /// The queue's URL as AWS gives it; requests go to the SDK's endpoint.
    pub fn queue_url(&self, name: &str) -> Result<String, ConfigError> {
        let value = self.required(name)?;
        let parsed = reqwest::Url::parse(&value).map_err(|_| ConfigError::of(name, "is not a URL"))?;
        if matches!(parsed.scheme(), "http" | "https") {
            Ok(value)
        } else {
            Err(ConfigError::of(name, "is not a URL"))
        }
    }

    /// `OurBot:123456789`.
    pub fn bot(&self) -> Result<Bot, ConfigError> {
        const NAME: &str = "TELEGRAM_BOT";
        let value = self.required(NAME)?;
        let malformed =
            || ConfigError::of(NAME, "must be the bot's user name without @ and its id: OurBot:123456789");
        let (username, id) = value.split_once(':').ok_or_else(malformed)?;
        let name_is_fit =
            !username.is_empty() && username.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let id: i64 = id.parse().map_err(|_| malformed())?;
        if name_is_fit && id > 0 { Ok(Bot { username: username.to_owned(), id }) } else { Err(malformed()) }
    }

    /// The current secret: what Telegram is told.
    pub fn webhook_secret(&self) -> Result<Secret, ConfigError> {
        Self::a_webhook_secret("WEBHOOK_SECRET", self.required("WEBHOOK_SECRET")?)
    }

    /// The current secret, and the previous one while it is being replaced.
    pub fn webhook_secrets(&self) -> Result<Vec<Secret>, ConfigError> {
        let mut secrets = vec![self.webhook_secret()?];
        if let Some(previous) = self.optional("WEBHOOK_SECRET_PREVIOUS")? {
            secrets.push(Self::a_webhook_secret("WEBHOOK_SECRET_PREVIOUS", previous)?);
        }
        Ok(secrets)
    }

    /// 1 to 256 of `A-Z a-z 0-9 _ -` (Bot API, setWebhook).
    fn a_webhook_secret(name: &str, value: String) -> Result<Secret, ConfigError> {
        let fit =
            value.len() <= 256 && value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if fit {
            Ok(Secret(value))
        } else {
            Err(ConfigError::of(name, "must be 1 to 256 of A-Z, a-z, 0-9, _ and -"))
        }
    }

    /// `123456789:AA…`.
    pub fn bot_token(&self) -> Result<Secret, ConfigError> {
        const NAME: &str = "BOT_TOKEN";
        let value = self.required(NAME)?;
        let fit = value.split_once(':').is_some_and(|(id, key)| {
            !id.is_empty()
                && id.bytes().all(|b| b.is_ascii_digit())
                && !key.is_empty()
                && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        });
        if fit { Ok(Secret(value)) } else { Err(ConfigError::of(NAME, "is not a bot token")) }
    }

    /// The JSON as it is; the Sheets adapter reads it.
    pub fn google_credentials(&self) -> Result<Secret, ConfigError> {
        self.required("GOOGLE_CREDENTIALS").map(Secret)
    }

    pub fn spreadsheet_id(&self) -> Result<String, ConfigError> {
        const NAME: &str = "SPREADSHEET_ID";
        let value = self.required(NAME)?;
        let fit = value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if fit {
            Ok(value)
        } else {
            Err(ConfigError::of(NAME, "is the part of the sheet's address after /d/, not the whole address"))
        }
    }

    /// The tab's name, any characters; Google takes up to 100.
    pub fn sheet_name(&self) -> Result<String, ConfigError> {
        const NAME: &str = "SHEET_NAME";
        let value = self.required(NAME)?;
        if value.chars().any(char::is_control) || value.chars().count() > 100 {
            return Err(ConfigError::of(NAME, "must be a tab's name of at most 100 characters"));
        }
        Ok(value)
    }

    pub fn sheets_endpoint(&self) -> Result<String, ConfigError> {
        self.url("SHEETS_ENDPOINT", Some("https://sheets.googleapis.com"))
    }

    pub fn telegram_endpoint(&self) -> Result<String, ConfigError> {
        self.url("TELEGRAM_ENDPOINT", Some("https://api.telegram.org"))
    }

    pub fn catalog(&self) -> Result<Catalog, ConfigError> {
        match self.optional("CATALOG")? {
            None => Ok(Catalog::default()),
            Some(json) => Catalog::parse(&json)
                .map_err(|error| ConfigError::of("CATALOG", format!("is refused: {error}"))),
        }
    }

    pub fn retention_days(&self) -> Result<u64, ConfigError> {
        const NAME: &str = "RETENTION_DAYS";
        match self.number(NAME, limits::RETENTION_DAYS)? {
            days @ 1..=36_500 => Ok(days),
            _ => Err(ConfigError::of(NAME, "must be between 1 and 36500")),
        }
    }

    /// The writer's timings, whose relations hold; a settle time shorter than Google's own processing only against a
    /// local fake.
    pub fn writer_timing(&self) -> Result<Timing, ConfigError> {
        let imitated = is_imitated(&self.sheets_endpoint()?);
        Timing {
            append_timeout_ms: self.number("APPEND_TIMEOUT_MS", limits::APPEND_TIMEOUT_MS)?,
            lease_seconds: self.number("LEASE_SECONDS", limits::LEASE_SECONDS)?,
            settle_seconds: self.number("SETTLE_SECONDS", limits::SETTLE_SECONDS)?,
            ..Timing::default()
        }
        .checked_for_appends(imitated)
        .map_err(|error| ConfigError(error.to_string()))
    }

    /// When a row that is not seen is a person's matter, by the writer's own rule. For the operator's command, which looks and
    /// never appends.
    pub fn settle_seconds(&self) -> Result<u64, ConfigError> {
        let settle_seconds = self.number("SETTLE_SECONDS", limits::SETTLE_SECONDS)?;
        let imitated = is_imitated(&self.sheets_endpoint()?);
        Timing { settle_seconds, ..Timing::default() }
            .checked_for_appends(imitated)
            .map_err(|error| ConfigError(error.to_string()))?;
        Ok(settle_seconds)
    }

    /// The acknowledger's timings, whose relations hold.
    pub fn acknowledger_timing(&self) -> Result<Timing, ConfigError> {
        Timing {
            send_timeout_ms: self.number("SEND_TIMEOUT_MS", limits::SEND_TIMEOUT_MS)?,
            lease_seconds: self.number("LEASE_SECONDS", limits::LEASE_SECONDS)?,
            ..Timing::default()
        }
        .checked_for_messages()
        .map_err(|error| ConfigError(error.to_string()))
    }

    /// Where Telegram calls: the stack's output `WebhookUrl`. For the operator's command.
    pub fn webhook_url(&self) -> Result<String, ConfigError> {
        const NAME: &str = "WEBHOOK_URL";
        let url = self.url(NAME, None)?;
        if url.ends_with("/telegram") { Ok(url) } else { Err(ConfigError::of(NAME, "must end in /telegram")) }
    }

    /// The private chat in which the operator hears of a canary; it has started the bot.
    pub fn operator_chat(&self) -> Result<i64, ConfigError> {
        const NAME: &str = "OPERATOR_CHAT";
        match self.required(NAME)?.parse() {
            Ok(chat) if chat > 0 => Ok(chat),
            Ok(_) | Err(_) => {
                Err(ConfigError::of(NAME, "must be the id of a private chat, a whole number above 0"))
            }
        }
    }

    /// The private chat in which the operator hears of open reviews; none where nobody is to hear there.
    pub fn operator_chat_if_set(&self) -> Result<Option<ChatId>, ConfigError> {
        match self.0.contains_key("OPERATOR_CHAT") {
            true => self.operator_chat().map(|chat| Some(ChatId(chat))),
            false => Ok(None),
        }
    }

    /// The name of the sweeper's schedule. For the operator's command.
    pub fn sweeper_schedule(&self) -> Result<String, ConfigError> {
        self.required("SWEEPER_SCHEDULE")
    }

    /// Where Lambda hands out events; the runtime's library reads it itself, and panics without it.
    pub fn runtime_api(&self) -> Result<String, ConfigError> {
        self.required("AWS_LAMBDA_RUNTIME_API")
    }

    /// The name under which Lambda runs this function: its metrics' dimension, since two deployments may share an account.
    #[must_use]
    pub fn function_name(&self) -> String {
        self.0.get("AWS_LAMBDA_FUNCTION_NAME").cloned().unwrap_or_default()
    }

    /// The level of our own log lines: Lambda's own setting for JSON logs.
    ///
    /// Lambda knows one level more, `FATAL`, which Docket has no lines for.
    pub fn log_level(&self) -> Result<tracing::Level, ConfigError> {
        const NAME: &str = "AWS_LAMBDA_LOG_LEVEL";
        match self.optional(NAME)?.as_deref() {
            None => Ok(tracing::Level::INFO),
            Some("FATAL") => Ok(tracing::Level::ERROR),
            Some(level) => level
                .parse()
                .map_err(|_| ConfigError::of(NAME, "must be TRACE, DEBUG, INFO, WARN, ERROR or FATAL")),
        }
    }
}

fn checked(name: &str, value: &str) -> Result<String, ConfigError> {
    if value.is_empty() {
        return Err(ConfigError::of(name, "is empty"));
    }
    if value.contains(char::REPLACEMENT_CHARACTER) {
        return Err(ConfigError::of(name, "is no text in UTF-8"));
    }
    Ok(value.to_owned())
}

/// Whether a secret may be sent there: https, or http that stays on this machine.
pub(crate) fn is_safe(url: &reqwest::Url) -> bool {
    url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url))
}

/// Whether the sheet is a fake on this machine.
fn is_imitated(endpoint: &str) -> bool {
    reqwest::Url::parse(endpoint).is_ok_and(|url| is_loopback(&url))
}

/// Whether requests to it stay on this machine.
fn is_loopback(url: &reqwest::Url) -> bool {
    match url.host_str() {
        Some("localhost" | "[::1]") => true,
        Some(host) => host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback()),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Environment {
        Environment::of(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())))
    }

    type Check = fn(&Environment) -> Option<ConfigError>;

    #[test]
    fn each_setting_that_is_missing_empty_or_blank_is_named() {
        let checks: [(&str, Check); 10] = [
            ("SUBMISSIONS_TABLE", |e| e.submissions_table().err()),
            ("CONVERSATIONS_TABLE", |e| e.conversations_table().err()),
            ("WRITE_QUEUE_URL", |e| e.queue_url("WRITE_QUEUE_URL").err()),
            ("ACKNOWLEDGE_QUEUE_URL", |e| e.queue_url("ACKNOWLEDGE_QUEUE_URL").err()),
            ("TELEGRAM_BOT", |e| e.bot().err()),
            ("WEBHOOK_SECRET", |e| e.webhook_secrets().err()),
            ("BOT_TOKEN", |e| e.bot_token().err()),
            ("GOOGLE_CREDENTIALS", |e| e.google_credentials().err()),
            ("SPREADSHEET_ID", |e| e.spreadsheet_id().err()),
            ("SHEET_NAME", |e| e.sheet_name().err()),
        ];
        for (name, check) in checks {
            for environment in [env(&[]), env(&[(name, "")]), env(&[(name, " \n")])] {
                let error = check(&environment).expect(name).to_string();
                assert!(error.starts_with(name), "{error}");
            }
        }
    }

    #[test]
    fn a_malformed_setting_is_named_and_its_value_is_not_shown() {
        let value = "hidden:value/é{";
        let checks: [(&str, Check); 15] = [
            ("WRITE_QUEUE_URL", |e| e.queue_url("WRITE_QUEUE_URL").err()),
            ("TELEGRAM_BOT", |e| e.bot().err()),
            ("WEBHOOK_SECRET", |e| e.webhook_secrets().err()),
            ("WEBHOOK_SECRET_PREVIOUS", |e| e.clone().with("WEBHOOK_SECRET", "good").webhook_secrets().err()),
            ("BOT_TOKEN", |e| e.bot_token().err()),
            ("SPREADSHEET_ID", |e| e.spreadsheet_id().err()),
            ("SHEETS_ENDPOINT", |e| e.sheets_endpoint().err()),
            ("TELEGRAM_ENDPOINT", |e| e.telegram_endpoint().err()),
            ("CATALOG", |e| e.catalog().err()),
            ("RETENTION_DAYS", |e| e.retention_days().err()),
            ("SETTLE_SECONDS", |e| e.writer_timing().err()),
            ("SETTLE_SECONDS", |e| e.settle_seconds().err()),
            ("APPEND_TIMEOUT_MS", |e| e.writer_timing().err()),
            ("SEND_TIMEOUT_MS", |e| e.acknowledger_timing().err()),
            ("LEASE_SECONDS", |e| e.writer_timing().err()),
        ];
        for (name, check) in checks {
            let error = check(&env(&[(name, value)])).expect(name).to_string();
            assert!(error.starts_with(name) && !error.contains("hidden"), "{error}");
        }
    }

    #[test]
    fn a_trailing_newline_is_no_part_of_a_secret() {
        let secrets = env(&[("WEBHOOK_SECRET", " good-1 \n")]).webhook_secrets().expect("well formed");
        assert_eq!(secrets, vec![Secret::new("good-1")]);
        assert_eq!(format!("{secrets:?}"), "[Secret(…)]");
    }

    #[test]
    fn a_short_settle_time_is_taken_only_against_a_fake_on_this_machine() {
        assert!(env(&[("SETTLE_SECONDS", "10")]).writer_timing().is_err());
        assert!(env(&[("SETTLE_SECONDS", "10")]).settle_seconds().is_err());
        assert_eq!(env(&[("SETTLE_SECONDS", "600"), ("LEASE_SECONDS", "1")]).settle_seconds(), Ok(600));
        assert!(
            env(&[("SETTLE_SECONDS", "10"), ("SHEETS_ENDPOINT", "https://127.0.0.1.example.org")])
                .writer_timing()
                .is_err()
        );
        for endpoint in ["http://127.0.0.1:9", "http://localhost:9", "http://[::1]:9"] {
            let timing = env(&[
                ("SETTLE_SECONDS", "10"),
                ("APPEND_TIMEOUT_MS", "1500"),
                ("LEASE_SECONDS", "12"),
                ("SHEETS_ENDPOINT", endpoint),
            ]);
            assert_eq!(timing.writer_timing().map(|t| t.settle_seconds), Ok(10), "{endpoint}");
        }
        assert!(env(&[("SHEETS_ENDPOINT", "http://sheets.example.org")]).sheets_endpoint().is_err());
    }

    #[test]
    fn timings_whose_relations_do_not_hold_are_refused() {
        for pairs in [
            [("APPEND_TIMEOUT_MS", "110000"), ("LEASE_SECONDS", "60")],
            [("APPEND_TIMEOUT_MS", "0"), ("LEASE_SECONDS", "60")],
        ] {
            assert!(env(&pairs).writer_timing().is_err(), "{pairs:?}");
        }
        assert!(env(&[("SEND_TIMEOUT_MS", "10000"), ("LEASE_SECONDS", "12")]).acknowledger_timing().is_err());
    }

    #[test]
    fn a_secret_comes_from_its_value_or_from_its_parameter_not_from_both() {
        let both = env(&[("BOT_TOKEN", "1:a"), ("BOT_TOKEN_PARAMETER", "/docket/token")]);
        assert!(both.parameters(&["BOT_TOKEN"]).is_err());
        let one = env(&[("BOT_TOKEN_PARAMETER", "/docket/token"), ("CATALOG_PARAMETER", "/docket/catalog")]);
        assert_eq!(one.parameters(&["BOT_TOKEN"]), Ok(vec![("BOT_TOKEN".into(), "/docket/token".into())]));
        assert!(env(&[("BOT_TOKEN_PARAMETER", " ")]).parameters(&["BOT_TOKEN"]).is_err());
    }

    #[test]
    fn the_previous_secret_is_found_by_either_name_of_its_parameter() {
        const NAME: &str = "WEBHOOK_SECRET_PREVIOUS";
        let found = |pairs: &[(&str, &str)]| env(pairs).parameters(&[NAME]);
        for name in ["WEBHOOK_SECRET_PREVIOUS_PARAMETER", "WEBHOOK_SECRET_PARAMETER_PREVIOUS"] {
            assert_eq!(found(&[(name, "/docket/old")]), Ok(vec![(NAME.into(), "/docket/old".into())]));
            assert!(found(&[(name, "")]).expect_err("refused").to_string().starts_with(name));
            let both = found(&[(name, "/docket/old"), (NAME, "old")]).expect_err("refused").to_string();
            assert!(both.starts_with(NAME) && both.contains(name), "{both}");
        }
        // Both at once, even with one value: nobody could say which of them counts.
        for other in ["/docket/old", "/docket/older", ""] {
            let twice = found(&[
                ("WEBHOOK_SECRET_PREVIOUS_PARAMETER", "/docket/old"),
                ("WEBHOOK_SECRET_PARAMETER_PREVIOUS", other),
            ]);
            assert_eq!(
                twice.expect_err("refused").to_string(),
                "WEBHOOK_SECRET_PREVIOUS_PARAMETER and WEBHOOK_SECRET_PARAMETER_PREVIOUS are both set; they mean the \
                 same, and one of them is enough"
            );
        }
    }

    #[test]
    fn what_is_not_set_is_what_the_contract_says() {
        let nothing = env(&[]);
        assert_eq!(nothing.sheets_endpoint().as_deref(), Ok("https://sheets.googleapis.com"));
        assert_eq!(nothing.telegram_endpoint().as_deref(), Ok("https://api.telegram.org"));
        assert_eq!(nothing.retention_days(), Ok(365));
        let timing = nothing.writer_timing().expect("the defaults fit each other");
        assert_eq!(
            (timing.settle_seconds, timing.append_timeout_ms, timing.lease_seconds),
            (300, 25_000, 120)
        );
        assert_eq!(nothing.acknowledger_timing().expect("they fit").send_timeout_ms, 15_000);
        assert_eq!(nothing.log_level(), Ok(tracing::Level::INFO));
    }

    #[test]
    fn a_value_that_is_no_text_counts_as_set() {
        let broken = String::from_utf8_lossy(b"3\xff0").into_owned();
        let pairs = |name: &str| env(&[(name, &broken)]);
        for name in ["SETTLE_SECONDS", "APPEND_TIMEOUT_MS", "LEASE_SECONDS", "SHEETS_ENDPOINT"] {
            let refused = pairs(name).writer_timing().expect_err("refused").to_string();
            assert_eq!(refused, format!("{name} is no text in UTF-8"));
        }
        assert!(
            pairs("CATALOG").catalog().expect_err("refused").to_string().starts_with("CATALOG is no text")
        );
        assert!(pairs("AWS_LAMBDA_LOG_LEVEL").log_level().is_err());
    }

    #[test]
    fn a_log_level_is_lambdas_or_refused() {
        let level = |value| env(&[("AWS_LAMBDA_LOG_LEVEL", value)]).log_level();
        assert_eq!(level("DEBUG"), Ok(tracing::Level::DEBUG));
        assert_eq!(level("FATAL"), Ok(tracing::Level::ERROR));
        for wrong in ["", "LOUD", "7 "] {
            assert!(
                level(wrong).expect_err("refused").to_string().starts_with("AWS_LAMBDA_LOG_LEVEL"),
                "{wrong}"
            );
        }
    }
}
