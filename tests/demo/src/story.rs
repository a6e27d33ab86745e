//! How the story is printed, and whether everything it said was true.

use std::process::ExitCode;
use std::time::Instant;

use anstyle::{AnsiColor, Style};

const TITLE: Style = AnsiColor::Cyan.on_default().bold();
const TRUE: Style = AnsiColor::Green.on_default();
const FALSE: Style = AnsiColor::Red.on_default().bold();
const FAINT: Style = Style::new().dimmed();

/// The teller.
pub(crate) struct Story {
    begun: Instant,
    held: usize,
    failed: usize,
    scenes: usize,
}

impl Story {
    pub(crate) fn begin() -> Self {
        anstream::println!(
            "{TITLE}Docket{TITLE:#}: confirmed enquiries from a Telegram chat into a Google Sheet."
        );
        anstream::println!(
            "{FAINT}Real functions and AWS SDK; embedded DynamoDB and SQS; a fake sheet and a fake Telegram on loopback.{FAINT:#}"
        );
        Self { begun: Instant::now(), held: 0, failed: 0, scenes: 0 }
    }

    pub(crate) fn scene(&mut self, title: &str) {
        self.scenes += 1;
        anstream::println!("\n{TITLE}{}. {title}{TITLE:#}", self.scenes);
    }

    pub(crate) fn heading(&self, title: &str) {
        anstream::println!("\n{TITLE}{title}{TITLE:#}");
    }

    /// Something that happens.
    pub(crate) fn tell(&self, text: &str) {
        for line in text.lines() {
            anstream::println!("   {line}");
        }
    }

    /// Somebody says something.
    pub(crate) fn quote(&self, who: &str, text: &str) {
        for (index, line) in text.lines().enumerate() {
            let who = if index == 0 { format!("{who}:") } else { String::new() };
            anstream::println!("   {FAINT}{who:<10}{FAINT:#} {line}");
        }
    }

    /// Something that must be so.
    pub(crate) fn check(&mut self, text: &str, holds: bool) {
        if holds {
            self.held += 1;
            anstream::println!("   {TRUE}✓{TRUE:#} {text}");
        } else {
            self.failed += 1;
            anstream::println!("   {FALSE}✗ NOT TRUE:{FALSE:#} {text}");
        }
    }

    pub(crate) fn end(self) -> ExitCode {
        let seconds = self.begun.elapsed().as_secs_f64();
        anstream::println!();
        if self.failed == 0 {
            anstream::println!("{TRUE}All {} claims held{TRUE:#}, in {seconds:.1} s.", self.held);
            ExitCode::SUCCESS
        } else {
            anstream::println!(
                "{FALSE}{} of {} claims did not hold.{FALSE:#}",
                self.failed,
                self.held + self.failed
            );
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a demo ends in which these claims were made.
    fn ends(claims: &[bool]) -> ExitCode {
        let mut story = Story::begin();
        for holds in claims {
            story.check("a claim", *holds);
        }
        story.end()
    }

    #[test]
    fn one_claim_that_does_not_hold_fails_the_demo_wherever_it_is_made() {
        assert_eq!(ends(&[true]), ExitCode::SUCCESS);
        assert_eq!(ends(&[true, true, true]), ExitCode::SUCCESS);
        for claims in [&[false][..], &[false, true, true], &[true, false, true], &[true, true, false]] {
            assert_eq!(ends(claims), ExitCode::FAILURE, "{claims:?}");
        }
    }
}
