//! Command line in, text out, exit status.

use std::process::ExitCode;

use clap::Parser as _;
use docket::cli::{self, Cli};
use docket_adapters::config::Environment;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match cli::run(Cli::parse(), &Environment::of_process()).await {
        Ok(printed) => {
            if !printed.text.is_empty() {
                anstream::println!("{}", printed.text);
            }
            ExitCode::from(printed.exit_status)
        }
        Err(stopped) => {
            anstream::eprintln!("docket: {}", stopped.message());
            ExitCode::from(stopped.exit_status())
        }
    }
}
