//! The acceptance run: the template as it is and the zips as they are, deployed on a local cloud that enforces IAM, and
//! driven over HTTP as Telegram does it.
//!
//! What it shows is printed and checked; the exit status is 0 only if all of it held. Started by `tests/acceptance/run`,
//! which makes the zips and starts the cloud.
#![expect(clippy::print_stdout, reason = "the run says what it shows")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a run that cannot go on has failed")]

mod cloud;
mod deployment;
mod scenes;

use std::path::PathBuf;
use std::process::ExitCode;

use cloud::Cloud;
use deployment::Deployment;

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(aws), Some(folder), Some(docket)) =
        (arguments.next(), arguments.next(), arguments.next(), arguments.next())
    else {
        println!("usage: docket-acceptance CLOUD_URL AWS_COMMAND FOLDER_OF_TEMPLATES DOCKET_COMMAND");
        return ExitCode::from(2);
    };
    let cloud = Cloud { url, aws: PathBuf::from(aws), docket: PathBuf::from(docket) };
    let mut deployment = Deployment::make(cloud, PathBuf::from(folder)).await;
    scenes::play(&mut deployment).await;
    println!("\nEverything held.");
    ExitCode::SUCCESS
}
