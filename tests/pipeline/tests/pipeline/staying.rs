//! A newcomer keeps the demo's world up and uses the operator's command from a terminal of its own.
//!
//! Both are the executables that `cargo demo -- --stay` and `cargo docket` run, and all that the one is told by the other is
//! what the newcomer's shell takes from the file that the first one names.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use docket_world::executable::Executable;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::executables::{Environment, built};
use crate::operator::docket;

/// The demo after its story.
struct Demo {
    running: Executable,
    /// What it handed over to the other terminal.
    environment: Environment,
    /// Where it put that.
    file: PathBuf,
    /// What it takes for the machine's temporary folder.
    _temporary: TempDir,
}

impl Demo {
    fn start() -> Self {
        let temporary = TempDir::new().unwrap();
        let of_its_own = [("TMPDIR".to_owned(), temporary.path().to_str().unwrap().to_owned())];
        let running = Executable::start(&built("docket-demo"), &["--stay"], &of_its_own);
        let mut demo = Self {
            running,
            environment: Environment::default(),
            file: PathBuf::new(),
            _temporary: temporary,
        };
        demo.until("the story's end", |line| line == "Ctrl-C ends it.");
        let printed = demo.running.stdout();
        let line = printed.iter().find(|line| line.starts_with(". ")).unwrap();
        demo.file = PathBuf::from(&line[2..]);
        demo.environment = taken_by_a_shell(line);
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

/// What a shell has in its environment after this line, and had not before.
fn taken_by_a_shell(line: &str) -> Environment {
    let environment = |script: &str| {
        let ran = Command::new("sh").env_clear().args(["-c", &format!("{script}\nenv")]).output().unwrap();
        assert!(ran.status.success(), "{script}: {}", String::from_utf8_lossy(&ran.stderr));
        let lines = String::from_utf8(ran.stdout).unwrap();
        lines.lines().filter_map(|line| line.split_once('=')).map(owned).collect::<Vec<_>>()
    };
    let before = environment("");
    let new = environment(line).into_iter().filter(|pair| !before.contains(pair));
    new.fold(Environment::default(), |set, (name, value)| set.with(&name, value))
}

fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_settings_are_taken_from_a_file_that_nobody_else_reads_and_that_goes_with_the_world() {
    for signal in ["INT", "TERM", "HUP"] {
        let demo = Demo::start();
        let folder = demo.file.parent().unwrap().to_owned();
        assert_eq!((mode(&folder), mode(&demo.file)), (0o700, 0o600));
        let names: Vec<&str> = demo.environment.pairs().iter().map(|(name, _)| name.as_str()).collect();
        for wanted in ["SUBMISSIONS_TABLE", "GOOGLE_CREDENTIALS", "WEBHOOK_URL", "OPERATOR_CHAT"] {
            assert!(names.contains(&wanted), "{wanted}: {names:?}");
        }
        // Nothing that is worth hiding stands on the screen.
        assert!(demo.running.stdout().iter().all(|line| !line.contains("PRIVATE KEY")));
        demo.running.signal(signal);
        let ended = demo.running.ended(Duration::from_secs(60));
        assert_eq!((ended.status.code(), folder.exists()), (Some(0), false), "{signal}: {:?}", ended.stderr);
    }
}

#[test]
fn what_the_readme_shows_of_the_demo_is_what_it_prints() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let shown = readme.split("```text\n").nth(1).unwrap().split("\n```").next().unwrap();
    let demo = Demo::start();
    let printed = demo.running.stdout().join("\n");
    assert!(shown.contains("uncertain → confirmed"), "{shown}");
    assert!(printed.contains(&format!("\n{shown}\n")), "{shown}\n\n{printed}");
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
