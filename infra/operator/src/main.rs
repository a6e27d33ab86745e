//! Command line in, text out, exit status.

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

use clap::Parser as _;
use docket::cli::{self, Cli, Printed};
use docket_adapters::config::Environment;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match cli::run(Cli::parse(), &Environment::of_process()).await {
        Ok(printed) => shown(&printed),
        Err(stopped) => {
            anstream::eprintln!("docket: {}", stopped.message());
            ExitCode::from(stopped.exit_status())
        }
    }
}

/// What was done is done, whether or not somebody can read of it.
fn shown(printed: &Printed) -> ExitCode {
    let mut out = anstream::stdout();
    let line = if printed.text.is_empty() { Ok(()) } else { writeln!(out, "{}", printed.text) };
    match line.and_then(|()| out.flush()) {
        // Whoever reads it has seen enough.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            anstream::eprintln!(
                "docket: done, and standard output takes no more ({error}), so not all of it was printed: make room"
            );
            ExitCode::FAILURE
        }
        Err(_) | Ok(()) => ExitCode::from(printed.exit_status),
    }
}
