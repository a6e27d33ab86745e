//! The command line.

use clap::{Parser, Subcommand};
use docket_adapters::aws;
use docket_adapters::clock::SystemClock;
use docket_adapters::config::{ConfigError, Environment};
use docket_adapters::dynamodb::DynamoSubmissions;
use docket_domain::ports::Clock;
use docket_domain::reference::Reference;

use crate::{Stopped, json, page};

/// What is known about an enquiry, and what needs a person.
#[derive(Debug, Parser)]
#[command(
    name = "docket",
    version,
    after_help = "Exit status: 0 done, 1 refused or not found, 2 usage, 3 the other side could not be reached.\nSettings are read from the environment: SUBMISSIONS_TABLE, and what the AWS SDK reads itself (AWS_REGION, AWS_PROFILE, AWS_ENDPOINT_URL …)."
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
}

/// Runs one command. What it prints on standard output.
///
/// # Errors
/// Why it was not done.
pub async fn run(cli: Cli, environment: &Environment) -> Result<String, Stopped> {
    let usage = |error: &dyn std::fmt::Display| Stopped::Usage(error.to_string());
    let table = environment.submissions_table().map_err(|error| usage(&error))?;
    let retention = environment.retention_days().map_err(|error| usage(&error))?;
    match cli.command {
        Command::Show { reference, json: as_json } => {
            let reference = Reference::from_person(&reference).map_err(|error| usage(&error))?;
            let record = crate::show(&submissions(table, retention).await?, &reference).await?;
            Ok(if as_json { pretty(&json::record(&record)) } else { page::record(&record) })
        }
        Command::Reviews { json: as_json } => {
            let listed = crate::reviews(&submissions(table, retention).await?).await?;
            Ok(if as_json {
                pretty(&json::reviews(&listed))
            } else {
                page::reviews(&listed, SystemClock.now())
            })
        }
    }
}

async fn submissions(table: String, retention_days: u64) -> Result<DynamoSubmissions, Stopped> {
    let usage = |error: ConfigError| Stopped::Usage(error.to_string());
    let sdk = aws::for_person(aws::Patience::default()).await.map_err(usage)?;
    aws::check_credentials(&sdk).await.map_err(usage)?;
    Ok(DynamoSubmissions::new(aws_sdk_dynamodb::Client::new(&sdk), table, retention_days))
}

fn pretty(value: &serde_json::Value) -> String {
    format!("{value:#}")
}
