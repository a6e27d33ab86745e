//! A newcomer keeps the demo's world up and uses the operator's command from a terminal of its own.
//!
//! Both are the executables that `cargo demo -- --stay` and `cargo docket` run, and all that the one is told by the other is
//! what the newcomer can paste.

use std::time::{Duration, Instant};

use docket_world::executable::Executable;
use serde_json::{Value, json};

use crate::executables::{Environment, built};
use crate::operator::docket;

/// The demo after its story.
struct Demo {
    running: Executable,
    /// What it printed for the other terminal.
    environment: Environment,
}

impl Demo {
    fn start() -> Self {
        let running = Executable::start(&built("docket-demo"), &["--stay"], &[]);
        let mut demo = Self { running, environment: Environment::default() };
        demo.until("the story's end", |line| line == "Ctrl-C ends it.");
        demo.environment = demo
            .running
            .stdout()
            .iter()
            .filter_map(|line| line.strip_prefix("export ")?.split_once('='))
            .fold(Environment::default(), |set, (name, value)| set.with(name, unquoted(value)));
        demo
    }

    /// Waits until a line is printed.
    fn until(&mut self, what: &str, is_it: impl Fn(&str) -> bool) {
        let end = Instant::now() + Duration::from_secs(120);
        while !self.running.stdout().iter().any(|line| is_it(line)) {
            let printed = || (self.running.stdout().join("\n"), self.running.stderr().join("\n"));
            assert!(Instant::now() < end, "{what} did not come about: {:?}", printed());
            assert!(self.running.lives(), "it ended before {what}: {:?}", self.running.stderr());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn reviews(&self) -> Vec<(String, String)> {
        let word = |review: &Value, name: &str| review[name].as_str().unwrap().to_owned();
        let listed = docket(&self.environment, &["reviews", "--json"]).json();
        let listed = listed.as_array().unwrap().iter();
        listed.map(|review| (word(review, "reason"), word(review, "reference"))).collect()
    }

    fn in_review(&self, reason: &str) -> String {
        let reviews = self.reviews();
        let found = reviews.iter().find(|(of, _)| of == reason);
        found.unwrap_or_else(|| panic!("{reason}: {reviews:?}")).1.clone()
    }

    fn show(&self, reference: &str) -> Value {
        docket(&self.environment, &["show", reference, "--json"]).json()
    }
}

/// As a shell reads a word that stands in single quotes, or in none.
fn unquoted(word: &str) -> String {
    let inner = word.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    inner.map_or_else(|| word.to_owned(), |inner| inner.replace(r"'\''", "'"))
}

#[test]
fn a_newcomer_closes_reviews_of_the_demo_and_sees_the_row_and_the_messages() {
    let mut demo = Demo::start();
    let reasons: Vec<String> = demo.reviews().into_iter().map(|(reason, _)| reason).collect();
    for reason in ["no_matching_row", "row_differs", "several_rows", "ack_uncertain", "conflict"] {
        assert!(reasons.iter().any(|open| open == reason), "{reason}: {reasons:?}");
    }

    let lost = demo.in_review("no_matching_row");
    assert_eq!(demo.show(&lost)["write"]["state"], "uncertain");
    let looked = docket(&demo.environment, &["recheck", &lost, "--json"]).json();
    assert_eq!(looked["found"]["kind"], "no_row");
    let order = ["resolve", &lost, "--append-again", "--because", "not in the sheet", "--yes"];
    let ordered = docket(&demo.environment, &order);
    assert_eq!((ordered.status, ordered.stderr.as_str()), (0, ""));
    demo.until("the row", |line| line.starts_with(&format!("a new row: {lost}")));
    demo.until("the message", |line| line.starts_with("a message to chat") && line.contains(&lost));
    let shown = demo.show(&lost);
    assert_eq!((&shown["write"]["state"], &shown["write"]["review"]), (&json!("confirmed"), &Value::Null));
    assert_eq!(shown["acknowledgement"]["state"], "confirmed");

    let unheard = demo.in_review("ack_uncertain");
    let order = ["resolve", &unheard, "--send-again", "--because", "the customer has not got it"];
    assert_eq!(docket(&demo.environment, &order).status, 0);
    demo.until("the second message", |line| line.starts_with("a message to chat") && line.contains(&unheard));

    let left: Vec<String> = demo.reviews().into_iter().map(|(_, reference)| reference).collect();
    assert!(!left.contains(&lost) && !left.contains(&unheard) && left.len() == 3, "{left:?}");
}

#[test]
fn every_command_that_the_demo_proposes_is_taken() {
    let mut demo = Demo::start();
    let proposed: Vec<String> = demo
        .running
        .stdout()
        .iter()
        .filter_map(|line| line.strip_prefix("cargo docket ").map(str::to_owned))
        .collect();
    assert!(proposed.len() >= 11, "{proposed:?}");
    for line in proposed {
        let (before, because) = line
            .split_once(" --because \"")
            .map_or((line.as_str(), None), |(before, rest)| (before, rest.split_once('"')));
        let mut arguments: Vec<&str> = before.split(' ').collect();
        if let Some((because, after)) = because {
            arguments.extend(["--because", because]);
            arguments.extend(after.split_whitespace());
        }
        let ran = docket(&demo.environment, &arguments);
        // What the story left in the sheet does not all fit, and audit says so by its status.
        let fits = if line == "audit" { ran.status <= 1 } else { ran.status == 0 };
        assert!(fits && ran.stderr.is_empty(), "{line}: {} {}{}", ran.status, ran.stdout, ran.stderr);
    }
    assert_eq!(demo.reviews(), Vec::new());
    demo.running.interrupt();
    let ended = demo.running.ended(Duration::from_secs(60));
    assert_eq!(ended.status.code(), Some(0), "{:?}", ended.stderr);
    assert_eq!(ended.stdout.last().map(String::as_str), Some("The world is gone."));
    assert_eq!(ended.stderr, Vec::<String>::new());
}
