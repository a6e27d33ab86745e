//! The settings, those in parameters too: each is there, well formed, and fits the others.

use aws_sdk_ssm::types::ParameterType;
use aws_types::SdkConfig;
use docket_adapters::config::{ConfigError, Environment};
use docket_adapters::parameters::{self, Found};

use super::{Check, aws_failed};

/// Settings that may stand in a parameter, and whether they are secret.
const IN_PARAMETERS: [(&str, bool); 5] = [
    ("WEBHOOK_SECRET", true),
    ("WEBHOOK_SECRET_PREVIOUS", true),
    ("BOT_TOKEN", true),
    ("GOOGLE_CREDENTIALS", true),
    ("CATALOG", false),
];

/// The environment with what could be read of the parameters that it names.
pub(super) async fn with_parameters(
    environment: &Environment,
    sdk: Option<&SdkConfig>,
    checks: &mut Vec<Check>,
) -> Environment {
    let used = IN_PARAMETERS.map(|(name, _)| name);
    let wanted = match environment.parameters(&used) {
        Ok(wanted) => wanted,
        Err(error) => {
            checks.push(Check::wrong("parameters", error.to_string(), "set one of the two"));
            return environment.clone();
        }
    };
    let Some(sdk) = sdk.filter(|_| !wanted.is_empty()) else { return environment.clone() };
    let found = match parameters::read(wanted, &aws_sdk_ssm::Client::new(sdk)).await {
        Ok(found) => found,
        Err(error) => {
            checks.push(aws_failed("parameters in SSM", &error.cause.0, "ssm:GetParameters on them"));
            return environment.clone();
        }
    };
    let mut filled = environment.clone();
    for Found { setting, name: parameter, parameter: found } in found {
        let name = format!("parameter {parameter}");
        let secret = IN_PARAMETERS.iter().any(|(known, secret)| *known == setting && *secret);
        match found {
            None => checks.push(Check::wrong(
                name,
                format!("there is none of this name for {setting}"),
                format!("aws ssm put-parameter --type SecureString --name {parameter} --value …"),
            )),
            Some(found) if secret && found.r#type() != Some(&ParameterType::SecureString) => {
                filled = filled.with(&setting, found.value().unwrap_or_default());
                checks.push(Check::wrong(
                    name,
                    "it is not encrypted",
                    "delete it and put it again with --type SecureString; then replace the secret: it was readable",
                ));
            }
            Some(found) => {
                filled = filled.with(&setting, found.value().unwrap_or_default());
                checks.push(Check::ok(name, format!("read, version {}", found.version())));
            }
        }
    }
    filled
}

type Read = fn(&Environment) -> Result<(), ConfigError>;

/// Every setting by itself, then those that must fit each other.
pub(super) fn check(environment: &Environment, checks: &mut Vec<Check>) {
    let settings: [(&str, Read); 17] = [
        ("SUBMISSIONS_TABLE", |e| e.submissions_table().map(drop)),
        ("CONVERSATIONS_TABLE", |e| e.conversations_table().map(drop)),
        ("WRITE_QUEUE_URL", |e| e.queue_url("WRITE_QUEUE_URL").map(drop)),
        ("ACKNOWLEDGE_QUEUE_URL", |e| e.queue_url("ACKNOWLEDGE_QUEUE_URL").map(drop)),
        ("TELEGRAM_BOT", |e| e.bot().map(drop)),
        ("WEBHOOK_SECRET", |e| e.webhook_secrets().map(drop)),
        ("WEBHOOK_URL", |e| e.webhook_url().map(drop)),
        ("BOT_TOKEN", |e| e.bot_token().map(drop)),
        ("GOOGLE_CREDENTIALS", |e| e.google_credentials().map(drop)),
        ("SPREADSHEET_ID", |e| e.spreadsheet_id().map(drop)),
        ("SHEET_NAME", |e| e.sheet_name().map(drop)),
        ("SHEETS_ENDPOINT", |e| e.sheets_endpoint().map(drop)),
        ("TELEGRAM_ENDPOINT", |e| e.telegram_endpoint().map(drop)),
        ("CATALOG", |e| e.catalog().map(drop)),
        ("RETENTION_DAYS", |e| e.retention_days().map(drop)),
        ("SETTLE_SECONDS", |e| e.settle_seconds().map(drop)),
        ("SWEEPER_SCHEDULE", |e| e.sweeper_schedule().map(drop)),
    ];
    for (name, read) in settings {
        checks.push(match read(environment) {
            Ok(()) => Check::ok(format!("setting {name}"), "well formed"),
            Err(error) => Check::wrong(
                format!("setting {name}"),
                error.to_string(),
                "take the line from the stack's output Settings, or mend its parameter",
            ),
        });
    }
    if let (Ok(bot), Ok(token)) = (environment.bot(), environment.bot_token()) {
        let of_token = token.expose().split(':').next().unwrap_or_default().to_owned();
        checks.push(if of_token == bot.id.to_string() {
            Check::ok("bot and token", format!("both are of bot {of_token}"))
        } else {
            Check::wrong(
                "bot and token",
                format!("TELEGRAM_BOT is bot {}, and BOT_TOKEN is bot {of_token}'s", bot.id),
                "put the right token into its parameter, or deploy with the right TelegramBot",
            )
        });
    }
}
