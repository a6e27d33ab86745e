//! From the settings to the other sides: the tables, the parameters, the bot.

use aws_types::SdkConfig;
use docket_adapters::aws::{self, Person};
use docket_adapters::clock::SystemClock;
use docket_adapters::config::{ConfigError, Environment};
use docket_adapters::dynamodb::{DynamoConversations, DynamoSubmissions};
use docket_adapters::parameters::{self, Found};
use docket_adapters::sheets::{Credentials, CredentialsError, GoogleSheet, SheetSettings};
use docket_adapters::telegram::{BotApi, WebhookCaller};
use docket_domain::limits::{APPEND_TIMEOUT_MS, READ_TIMEOUT_MS};
use docket_domain::moment::Moment;
use docket_domain::outcome::sheets::quoted;
use docket_domain::status::By;
use docket_domain::submission::ChatId;

use crate::Stopped;
use crate::canary::Canary;
use crate::erase::Eraser;
use crate::orders::{self, Desk};
use crate::refusal::Asked;
use crate::removal;
use crate::zone::Zone;

/// A wrong setting or command line.
pub fn usage(error: impl std::fmt::Display) -> Stopped {
    let said = error.to_string();
    // Of a setting, and of nothing that the command line says.
    if said.ends_with(" is missing") || said.ends_with("_PARAMETER)") || said.ends_with(" is empty") {
        return Stopped::Usage(format!(
            "{said}: add --stack NAME, or load what the stack's output Settings names"
        ));
    }
    Stopped::Usage(said)
}

/// What the command line said, under names that no shell can have set.
const REGION: &str = "--region";
const PROFILE: &str = "--profile";

/// What the command line chose, before anything is looked at.
#[derive(Debug, Clone, Default)]
pub struct Chosen {
    pub stack: Option<String>,
    pub region: Option<String>,
    pub profile: Option<String>,
}

/// The environment as the command line has it: with a stack, its own settings in place of whatever the shell still holds of
/// another one.
///
/// # Errors
/// There is no such stack, it gives nothing out, or it could not be asked.
pub async fn chosen(mut environment: Environment, chosen: &Chosen) -> Result<Environment, Stopped> {
    for (name, value) in [(REGION, &chosen.region), (PROFILE, &chosen.profile)] {
        if let Some(value) = value {
            environment = environment.with(name, value);
        }
    }
    let Some(stack) = &chosen.stack else { return Ok(environment) };
    let sdk = sdk(&environment).await.map_err(usage)?;
    let described =
        aws_sdk_cloudformation::Client::new(&sdk).describe_stacks().stack_name(stack).send().await;
    let described = described.map_err(|error| {
        let cause = aws::cause(&error);
        // What CloudFormation says of a name that it does not know (API reference, DescribeStacks).
        if cause.0 == "ValidationError" {
            return Stopped::Refused(format!(
                "there is no stack {stack} here: look at its name and at the region"
            ));
        }
        Stopped::by_aws_about(Asked::Stack, &format!("the stack {stack} could not be looked at"), &cause)
    })?;
    let outputs = described.stacks().first().map(|stack| stack.outputs()).unwrap_or_default();
    let settings = outputs
        .iter()
        .find(|output| output.output_key() == Some("Settings"))
        .and_then(|output| output.output_value())
        .ok_or_else(|| {
            Stopped::Refused(format!(
                "the stack {stack} gives out no Settings: it is not Docket's, or its deployment is not done; look at its name"
            ))
        })?;
    Ok(settings.lines().filter_map(|line| line.split_once('=')).fold(
        environment,
        |environment, (name, value)| {
            let value = value.trim();
            let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
            let name = name.trim();
            // A value that the shell still holds would stand beside the parameter's.
            let setting = name.strip_suffix("_PARAMETER").unwrap_or(name);
            environment.without(setting).with(name, inner)
        },
    ))
}

/// The AWS SDK as this person has it set up.
///
/// # Errors
/// No region, or no credentials.
pub async fn sdk(environment: &Environment) -> Result<SdkConfig, ConfigError> {
    let person = Person { region: environment.optional(REGION)?, profile: environment.optional(PROFILE)? };
    let sdk = aws::for_person(aws::Patience::default(), &person).await?;
    match (aws::check_credentials(&sdk).await, &person.profile) {
        (Ok(()), _) => Ok(sdk),
        // The environment was not even looked at.
        (Err(_), Some(profile)) => {
            Err(ConfigError::of(PROFILE, format!("{profile} gives no AWS credentials")))
        }
        (Err(error), None) => Err(error),
    }
}

/// The records' table.
///
/// # Errors
/// A setting is missing or wrong.
pub async fn submissions(environment: &Environment) -> Result<DynamoSubmissions, Stopped> {
    let table = environment.submissions_table().map_err(usage)?;
    let retention_days = environment.retention_days().map_err(usage)?;
    let sdk = sdk(environment).await.map_err(usage)?;
    Ok(DynamoSubmissions::new(aws_sdk_dynamodb::Client::new(&sdk), table, retention_days))
}

/// Who orders: what AWS knows this person as; where that cannot be asked, the end of their key, so that history never holds
/// an order of nobody's.
///
/// # Errors
/// No region or no credentials.
pub async fn caller(environment: &Environment) -> Result<By, Stopped> {
    let sdk = sdk(environment).await.map_err(usage)?;
    let asked = aws_sdk_sts::Client::new(&sdk).get_caller_identity().send().await;
    if let Some(arn) = asked.ok().and_then(|identity| identity.arn) {
        return Ok(By::Operator(arn));
    }
    let key = aws::key_id_of(&sdk).await.map_err(usage)?;
    let end: String = key.chars().skip(key.chars().count().saturating_sub(4)).collect();
    Ok(By::Operator(format!("with the key …{end} (AWS did not say who)")))
}

/// The environment with the settings that live in SSM parameters filled in; SSM is asked only if there are any.
///
/// # Errors
/// A parameter cannot be read.
pub async fn with_parameters(environment: &Environment, used: &[&str]) -> Result<Environment, Stopped> {
    let found = in_parameters(environment, used).await?;
    parameters::fill(environment.clone(), &found).map_err(usage)
}

/// As [`with_parameters`], and when the parameter that holds `dated` was last put; none when it is no parameter's.
///
/// # Errors
/// A parameter cannot be read.
pub async fn with_dated_parameters(
    environment: &Environment,
    used: &[&str],
    dated: &str,
) -> Result<(Environment, Option<Moment>), Stopped> {
    let found = in_parameters(environment, used).await?;
    let put_at = found
        .iter()
        .find(|found| found.setting == dated)
        .and_then(|found| found.parameter.as_ref()?.last_modified_date())
        .map(|at| Moment::from_seconds(at.secs()));
    Ok((parameters::fill(environment.clone(), &found).map_err(usage)?, put_at))
}

async fn in_parameters(environment: &Environment, used: &[&str]) -> Result<Vec<Found>, Stopped> {
    let wanted = environment.parameters(used).map_err(usage)?;
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let sdk = sdk(environment).await.map_err(usage)?;
    let found = parameters::read(wanted, &aws_sdk_ssm::Client::new(&sdk)).await;
    let found = found.map_err(|error| {
        let sentence = format!("{} could not be read from SSM", error.settings);
        Stopped::by_aws_about(Asked::Parameters, &sentence, &error.cause)
    })?;
    match found.iter().find(|found| found.parameter.is_none()) {
        None => Ok(found),
        // Not the name itself: somebody may have set the secret in its place.
        Some(Found { setting, .. }) => Err(Stopped::Refused(format!(
            "{setting}_PARAMETER names no SSM parameter here: look at its name and at AWS_REGION, or put it (README, Deploy, \
             step 3)"
        ))),
    }
}

/// The sheet. Without a key, whoever calls AWS here is who Google is shown.
///
/// # Errors
/// A setting is missing or wrong.
pub async fn sheet(environment: &Environment) -> Result<GoogleSheet<SystemClock>, Stopped> {
    let setting = environment.google_credentials().map_err(usage)?;
    let credentials = match Credentials::parse_for(setting.expose(), None) {
        Err(CredentialsError::NoCaller) => {
            let sdk = sdk(environment).await.map_err(usage)?;
            let caller = aws::Caller::of_sdk(&sdk).await.map_err(usage)?;
            Credentials::parse(setting.expose(), &caller)
        }
        parsed => parsed,
    };
    let credentials = credentials.map_err(|error| usage(ConfigError::of("GOOGLE_CREDENTIALS", error)))?;
    let settings = SheetSettings {
        endpoint: environment.sheets_endpoint().map_err(usage)?,
        spreadsheet_id: environment.spreadsheet_id().map_err(usage)?,
        tab: environment.sheet_name().map_err(usage)?,
        credentials,
        append_timeout_ms: APPEND_TIMEOUT_MS,
        read_timeout_ms: READ_TIMEOUT_MS,
    };
    GoogleSheet::new(settings, SystemClock).map_err(usage)
}

/// Where orders are given, in whose time they are told; with the sheet, if one looks at it. All settings are read before
/// anybody is called.
///
/// # Errors
/// A setting is missing or wrong, or a parameter cannot be read.
pub async fn desk(
    environment: &Environment,
    with_sheet: bool,
    zone: Zone,
) -> Result<Desk<DynamoSubmissions, GoogleSheet<SystemClock>, SystemClock>, Stopped> {
    let submissions = submissions(environment).await?;
    let sheet = if with_sheet { Some(sheet_of_orders(environment).await?) } else { None };
    Ok(Desk { submissions, sheet, clock: SystemClock, by: caller(environment).await?, zone })
}

async fn sheet_of_orders(
    environment: &Environment,
) -> Result<orders::Sheet<GoogleSheet<SystemClock>>, Stopped> {
    let settle_seconds = environment.settle_seconds().map_err(usage)?;
    let spreadsheet = environment.spreadsheet_id().map_err(usage)?;
    let place =
        format!("{} of the spreadsheet {spreadsheet}", quoted(&environment.sheet_name().map_err(usage)?));
    let sheet = sheet(&with_parameters(environment, &["GOOGLE_CREDENTIALS"]).await?).await?;
    let account = sheet.account().to_owned();
    Ok(orders::Sheet { sheet, place, account, settle_seconds })
}

/// What forgets a customer. All settings are read before anybody is called.
///
/// # Errors
/// A setting is missing or wrong, or a parameter cannot be read.
pub async fn eraser(
    environment: &Environment,
    zone: Zone,
) -> Result<Eraser<SystemClock, SystemClock>, Stopped> {
    let conversations = environment.conversations_table().map_err(usage)?;
    let table = environment.submissions_table().map_err(usage)?;
    let orders::Sheet { sheet, place, .. } = sheet_of_orders(environment).await?;
    let client = aws_sdk_dynamodb::Client::new(&sdk(environment).await.map_err(usage)?);
    Ok(Eraser {
        submissions: submissions(environment).await?,
        conversations: DynamoConversations::new(client, conversations, table),
        sheet,
        place,
        clock: SystemClock,
        by: caller(environment).await?,
        zone,
        says: removal::says,
    })
}

/// The bot.
///
/// # Errors
/// A setting is missing or wrong.
pub fn bot(environment: &Environment) -> Result<BotApi, Stopped> {
    let token = environment.bot_token().map_err(usage)?;
    let endpoint = environment.telegram_endpoint().map_err(usage)?;
    BotApi::new(&endpoint, &token).map_err(usage)
}

/// A canary over this deployment. All settings are read before anybody is called.
///
/// # Errors
/// A setting is missing or wrong, or a parameter cannot be read.
pub async fn canary(
    environment: &Environment,
    wait_seconds: u64,
    keep: bool,
) -> Result<Canary<DynamoSubmissions, DynamoConversations, SystemClock, SystemClock>, Stopped> {
    let chat = ChatId(environment.operator_chat().map_err(usage)?);
    let url = environment.webhook_url().map_err(usage)?;
    let bot = environment.bot().map_err(usage)?;
    let submissions = environment.submissions_table().map_err(usage)?;
    let conversations = environment.conversations_table().map_err(usage)?;
    let retention_days = environment.retention_days().map_err(usage)?;
    environment.spreadsheet_id().map_err(usage)?;
    environment.sheet_name().map_err(usage)?;
    let environment = with_parameters(environment, &["WEBHOOK_SECRET", "GOOGLE_CREDENTIALS"]).await?;
    let secret = environment.webhook_secret().map_err(usage)?;
    let sheet = sheet(&environment).await?;
    let webhook = WebhookCaller::new(url, secret).map_err(usage)?;
    let client = aws_sdk_dynamodb::Client::new(&sdk(&environment).await.map_err(usage)?);
    Ok(Canary {
        submissions: DynamoSubmissions::new(client.clone(), submissions.clone(), retention_days),
        conversations: DynamoConversations::new(client, conversations, submissions),
        sheet,
        webhook,
        clock: SystemClock,
        bot,
        chat,
        wait_seconds,
        keep,
    })
}
