//! The command line.

use clap::{Parser, Subcommand};
use docket_adapters::clock::SystemClock;
use docket_adapters::config::Environment;
use docket_adapters::telegram::Webhook;
use docket_domain::ports::Clock;
use docket_domain::reference::Reference;

use crate::reach::{self, usage};
use crate::{Stopped, canary, doctor, json, page, sheet, webhook};

/// What is known about an enquiry, and what needs a person.
#[derive(Debug, Parser)]
#[command(
    name = "docket",
    version,
    after_help = "Exit status: 0 done, 1 refused or not found, 2 usage, 3 the other side could not be reached.\nSettings are read from the environment: what the stack's output Settings names, and what the AWS SDK reads itself (AWS_REGION, AWS_PROFILE, AWS_ENDPOINT_URL …)."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Everything that is known about one enquiry.
    #[command(after_help = "Example: docket show DK-8M4T-K2QX-7RZ9")]
    Show {
        /// As the customer was told it; case, dashes, O for 0 and I for 1 do not matter.
        reference: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// What needs a person, oldest first.
    Reviews {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Whether the deployment is set up well: every check with its cure; exit status 1 if one is not ok.
    Doctor {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// A marked enquiry through the whole deployment, from a signed webhook call to a message in the operator's chat.
    #[command(
        after_help = "It needs OPERATOR_CHAT, the id of a private chat that has started the bot, beside WEBHOOK_URL, WEBHOOK_SECRET, TELEGRAM_BOT, \
both tables and the sheet's settings. It takes its row and its record away again when every step went well; otherwise it \
removes nothing and says what is left. A chat with an unfinished enquiry is left alone.\n\
Exit status: 0 the whole way works, 1 a step failed, 2 usage, 3 a side could not be reached."
    )]
    Canary {
        /// Seconds to wait for the row and the message, 1 to 3600.
        #[arg(long, value_name = "SECONDS", default_value_t = canary::WAIT_SECONDS, value_parser = clap::value_parser!(u64).range(1..=3_600))]
        wait: u64,
        /// Leave the row and the record.
        #[arg(long)]
        keep: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Where Telegram calls.
    #[command(subcommand)]
    Webhook(WebhookCommand),
    /// The spreadsheet's tab.
    #[command(subcommand)]
    Sheet(SheetCommand),
}

#[derive(Debug, Subcommand)]
enum WebhookCommand {
    /// Tell Telegram where to call, with the secret, and make sure that it remembers it so.
    Set {
        /// Connections that Telegram may hold at once, 1 to 100.
        #[arg(long, default_value_t = webhook::MAX_CONNECTIONS, value_parser = clap::value_parser!(u64).range(1..=100))]
        max_connections: u64,
        /// Do not wait for a function that may still hold the secret of before.
        #[arg(long)]
        now: bool,
    },
    /// What Telegram remembers; exit status 1 if that is wrong.
    Info {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Tell Telegram to call nobody; updates wait for a day.
    Delete,
}

#[derive(Debug, Subcommand)]
enum SheetCommand {
    /// Make the tab and its header where they are missing. What stands there already is never touched.
    Init,
}

/// What a command printed, and its exit status: not 0 where it found something wrong.
#[derive(Debug)]
pub struct Printed {
    pub text: String,
    pub exit_status: u8,
}

impl From<String> for Printed {
    fn from(text: String) -> Self {
        Self { text, exit_status: 0 }
    }
}

/// Runs one command. What it prints on standard output.
///
/// # Errors
/// Why it was not done.
pub async fn run(cli: Cli, environment: &Environment) -> Result<Printed, Stopped> {
    match cli.command {
        Command::Show { reference, json: as_json } => {
            let reference = Reference::from_person(&reference).map_err(usage)?;
            let record = crate::show(&reach::submissions(environment).await?, &reference).await?;
            Ok(if as_json { pretty(&json::record(&record)) } else { page::record(&record) }.into())
        }
        Command::Reviews { json: as_json } => {
            let listed = crate::reviews(&reach::submissions(environment).await?).await?;
            let now = SystemClock.now();
            Ok(if as_json { pretty(&json::reviews(&listed)) } else { page::reviews(&listed, now) }.into())
        }
        Command::Doctor { json: as_json } => {
            let report = doctor::examine(environment, SystemClock.now()).await;
            let text = if as_json { pretty(&report.json()) } else { report.page() };
            Ok(Printed { text, exit_status: u8::from(!report.all_well()) })
        }
        Command::Canary { wait, keep, json: as_json } => {
            let report = reach::canary(environment, wait, keep).await?.run().await?;
            let text = if as_json { pretty(&report.json()) } else { report.page() };
            Ok(Printed { text, exit_status: report.exit_status() })
        }
        Command::Webhook(command) => of_webhook(command, environment).await,
        Command::Sheet(SheetCommand::Init) => {
            let environment = reach::with_parameters(environment, &["GOOGLE_CREDENTIALS"]).await?;
            sheet::init(&reach::sheet(&environment)?).await.map(Printed::from)
        }
    }
}

async fn of_webhook(command: WebhookCommand, environment: &Environment) -> Result<Printed, Stopped> {
    match command {
        WebhookCommand::Set { max_connections, now } => {
            let used = ["BOT_TOKEN", "WEBHOOK_SECRET"];
            let (environment, put_at) =
                reach::with_dated_parameters(environment, &used, "WEBHOOK_SECRET").await?;
            let secret = environment.webhook_secret().map_err(usage)?;
            let url = environment.webhook_url().map_err(usage)?;
            let wanted = Webhook { url, secret, max_connections };
            let bot = reach::bot(&environment)?;
            if let Some(put_at) = put_at.filter(|_| !now) {
                webhook::is_taken_up(&bot, &wanted.url, put_at, SystemClock.now()).await?;
            }
            webhook::set(&bot, &wanted).await.map(Printed::from)
        }
        WebhookCommand::Info { json: as_json } => {
            let environment = reach::with_parameters(environment, &["BOT_TOKEN"]).await?;
            let url = environment.webhook_url().map_err(usage)?;
            let remembered = webhook::info(&reach::bot(&environment)?, &url, SystemClock.now()).await?;
            let text = if as_json { pretty(&remembered.json()) } else { remembered.page() };
            Ok(Printed { text, exit_status: u8::from(!remembered.wrong.is_empty()) })
        }
        WebhookCommand::Delete => {
            let environment = reach::with_parameters(environment, &["BOT_TOKEN"]).await?;
            reach::bot(&environment)?.delete_webhook().await?;
            Ok("Telegram calls nobody now. It keeps what customers write for a day.".to_owned().into())
        }
    }
}

fn pretty(value: &serde_json::Value) -> String {
    format!("{value:#}")
}
