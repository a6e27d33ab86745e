//! How the command behaves when something is wrong: every subcommand, against every side that fails.
//!
//! One clear line on standard error, the right exit status, no secret. A subcommand without a row here fails the first test.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use clap::CommandFactory as _;
use docket_domain::reference::Reference;
use docket_world::World;
use docket_world::exchange::{Answer, Fake, Request};
use docket_world::wire::{Backend, Fault, Plan, Side};
use docket_world::workers::NOBODY;

use crate::executables::{Environment, environment_of_operator};
use crate::operator::{Ran, docket, left_by, shows_no_secret, started};

/// Whom a command asks first, and so who can fail it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asks {
    /// The records' table.
    Table,
    /// The sheet alone.
    Sheet,
    /// Telegram alone.
    Telegram,
    /// All of them: what failed stands in its report, and its exit status is 1.
    All,
    Nobody,
}

/// A subcommand, as somebody types it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) command: &'static str,
    pub(crate) arguments: &'static [&'static str],
    pub(crate) asks: Asks,
    stack: Option<&'static str>,
}

pub(crate) const fn row(command: &'static str, arguments: &'static [&'static str], asks: Asks) -> Row {
    Row { command, arguments, asks, stack: None }
}

/// Nobody's; it is well formed.
const NOBODYS: &str = "DK-8M4T-K2QX-7RZ9";

pub(crate) const ROWS: [Row; 18] = [
    row("show", &[NOBODYS], Asks::Table),
    row("reviews", &[], Asks::Table),
    row("watch", &["--once"], Asks::Table),
    row("recheck", &[NOBODYS], Asks::Table),
    row("resolve", &[NOBODYS, "--abandon", "--because", "a test"], Asks::Table),
    row("resolve", &["--reason", "conflict", "--keep-first", "--because", "a test"], Asks::Table),
    row("find", &[], Asks::Table),
    row("stats", &[], Asks::Table),
    row("audit", &[], Asks::Sheet),
    row("export", &["--format", "csv", "--after", NOBODYS], Asks::Table),
    row("erase", &["--reference", NOBODYS, "--because", "a test", "--yes"], Asks::Table),
    row("doctor", &[], Asks::All),
    row("canary", &["--wait", "1"], Asks::Table),
    row("completions", &["bash"], Asks::Nobody),
    row("webhook set", &["--now"], Asks::Telegram),
    row("webhook info", &[], Asks::Telegram),
    row("webhook delete", &[], Asks::Telegram),
    row("sheet init", &[], Asks::Sheet),
];

impl Row {
    /// With its settings from this stack.
    pub(crate) fn of_stack(self, stack: &'static str) -> Self {
        Self { stack: Some(stack), ..self }
    }

    pub(crate) fn run(&self, environment: &Environment) -> Ran {
        let stack = self.stack.into_iter().flat_map(|stack| ["--stack", stack]);
        let arguments: Vec<&str> =
            self.command.split(' ').chain(self.arguments.iter().copied()).chain(stack).collect();
        let ran = docket(environment, &arguments);
        shows_no_secret(&ran);
        assert!(!ran.stderr.contains("panicked"), "{self:?}: {}", ran.stderr);
        ran
    }

    /// One line on standard error and nothing on standard output.
    pub(crate) fn refused(&self, environment: &Environment, status: i32, words: &str) {
        let ran = self.run(environment);
        assert_eq!((ran.status, ran.stdout.as_str()), (status, ""), "{self:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{self:?}: {}", ran.stderr);
        assert!(ran.stderr.starts_with("docket: ") && ran.stderr.contains(words), "{self:?}: {}", ran.stderr);
    }
}

/// The last words of every way to a subcommand.
fn subcommands() -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), docket::cli::Cli::command())];
    while let Some((name, command)) = open.pop() {
        if !command.has_subcommands() {
            found.push(name.trim().to_owned());
        }
        for below in command.get_subcommands() {
            open.push((format!("{name} {}", below.get_name()), below.clone()));
        }
    }
    found.sort();
    found
}

#[test]
fn every_subcommand_has_a_row_here() {
    let mut rows: Vec<&str> = ROWS.iter().map(|row| row.command).collect();
    rows.sort_unstable();
    rows.dedup();
    assert_eq!(subcommands(), rows);
}

/// A deployment's settings; whoever is called at an address that is not the world's is nobody.
pub(crate) fn settings(world: &World) -> Environment {
    environment_of_operator(world)
        .with("WRITE_QUEUE_URL", format!("{NOBODY}/000000000000/write.fifo"))
        .with("ACKNOWLEDGE_QUEUE_URL", format!("{NOBODY}/000000000000/acknowledge"))
        .with("OPERATOR_CHAT", "7100000001")
        .with("WEBHOOK_URL", format!("{NOBODY}/telegram"))
        .with("TELEGRAM_ENDPOINT", world.url("acknowledger", Side::Telegram))
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_answers_each_command_says_so_and_ends_with_3() {
    let world = World::start().await;
    let following = world.clock.follow_real_time();
    let stopped = ["AWS_ENDPOINT_URL", "SHEETS_ENDPOINT", "TELEGRAM_ENDPOINT"]
        .iter()
        .fold(settings(&world), |set, name| set.with(name, NOBODY));
    for row in ROWS {
        match row.asks {
            Asks::Table => row.refused(&stopped, 3, "nobody answers there: look at the network"),
            Asks::Sheet => row.refused(&stopped, 3, "look at the network"),
            Asks::Telegram => row.refused(&stopped, 3, "look at the network and TELEGRAM_ENDPOINT"),
            Asks::All => {
                let ran = row.run(&stopped);
                assert_eq!((ran.status, ran.stderr.as_str()), (1, ""), "{row:?}: {}", ran.stdout);
                assert!(ran.stdout.contains("connection_failed"), "{row:?}: {}", ran.stdout);
                says_each_cure_once(&ran.stdout);
            }
            Asks::Nobody => assert_eq!(row.run(&stopped).status, 0),
        }
    }
    following.abort();
    world.check_rules().await;
}

/// Many checks fail for one and the same reason, and each still has its line.
fn says_each_cure_once(page: &str) {
    let cures: Vec<&str> = page.lines().filter(|line| line.trim_start().starts_with('→')).collect();
    let mut once = cures.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(cures.len(), once.len(), "{page}");
    let failed = page.lines().filter(|line| line.contains("connection_failed")).count();
    let pointing = page.lines().filter(|line| line.contains(" → as for table ")).count();
    assert!(failed > 5 && pointing >= failed - 1, "{page}");
}

/// AWS that knows whoever asks and refuses, with words that are nobody's business.
pub(crate) struct Refusing {
    pub(crate) code: &'static str,
}

impl Fake for Refusing {
    fn answer(&self, request: Request) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>> {
        let is_query =
            request.headers.iter().any(|(name, value)| name == "content-type" && value.contains("form"));
        let (code, words) = (self.code, "the hidden words of AWS");
        let (kind, body) = if is_query {
            let error =
                format!("<Error><Type>Sender</Type><Code>{code}</Code><Message>{words}</Message></Error>");
            ("text/xml", format!("<ErrorResponse>{error}</ErrorResponse>"))
        } else {
            let kind = "application/x-amz-json-1.0";
            (
                kind,
                format!("{{\"__type\":\"com.amazonaws.dynamodb.v20120810#{code}\",\"message\":\"{words}\"}}"),
            )
        };
        let headers = vec![("content-type".to_owned(), kind.to_owned())];
        Box::pin(async move { Answer::Reply { status: 400, headers, body: body.into_bytes() } })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_region_and_a_missing_permission_are_told_apart_and_end_with_1() {
    let mut world = World::start().await;
    let following = world.clock.follow_real_time();
    for (code, cure) in [
        ("ResourceNotFoundException", "there is no such table here: look at its setting and at AWS_REGION"),
        ("AccessDeniedException", "allow yourself to use the deployment's tables"),
    ] {
        let gate =
            world.wire.gate("operator", Side::DynamoDb, Backend::Fake(Arc::new(Refusing { code }))).await;
        let elsewhere =
            settings(&world).with("AWS_ENDPOINT_URL", gate.url()).with("AWS_REGION", "eu-north-1");
        for row in ROWS {
            match row.asks {
                Asks::Table => row.refused(&elsewhere, 1, cure),
                // The sheet is well, and the table is asked after it.
                Asks::Sheet if row.command == "audit" => row.refused(&elsewhere, 1, cure),
                Asks::All => {
                    let ran = row.run(&elsewhere);
                    assert_eq!((ran.status, ran.stderr.as_str()), (1, ""), "{row:?}: {}", ran.stdout);
                }
                Asks::Sheet | Asks::Telegram | Asks::Nobody => {}
            }
        }
    }
    // Another region's table of the same name is another table: the engine says the same of one that it does not hold.
    let another = settings(&world).with("SUBMISSIONS_TABLE", "of-another-region");
    // The canary asks for the chat first, which is in the other table.
    let found: Vec<Row> =
        ROWS.into_iter().filter(|row| row.asks == Asks::Table && row.command != "canary").collect();
    for row in found {
        row.refused(&another, 1, "ResourceNotFoundException; there is no such table here");
    }
    following.abort();
    world.settle().await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reference_of_nobodys_ends_with_1_and_a_malformed_one_with_2_before_anybody_is_asked() {
    let world = World::start().await;
    let following = world.clock.follow_real_time();
    let there = settings(&world);
    let nobody = ["AWS_ENDPOINT_URL", "SHEETS_ENDPOINT"]
        .iter()
        .fold(there.clone(), |set, name| set.with(name, NOBODY));
    let with_one: Vec<Row> = ROWS.into_iter().filter(|row| row.arguments.contains(&NOBODYS)).collect();
    assert_eq!(with_one.len(), 5);
    for row in with_one {
        if row.command != "export" {
            row.refused(&there, 1, &format!("no submission has the reference {NOBODYS}"));
        }
        for malformed in ["DK-8M4T", "DK-8M4T-K2QX-7RZU", "7100000001", "", "DK-8M4T-K2QX-7RZ9-0"] {
            let arguments: Vec<&str> = [row.command]
                .into_iter()
                .chain(row.arguments.iter().map(|word| if *word == NOBODYS { malformed } else { word }))
                .collect();
            let ran = docket(&nobody, &arguments);
            assert_eq!(ran.refused(2).lines().count(), 1, "{arguments:?}: {}", ran.stderr);
        }
    }
    following.abort();
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_work_that_is_interrupted_says_how_to_go_on() {
    let mut world = World::start().await;
    let following = world.clock.follow_real_time();
    let mut references = Vec::new();
    // Two pages of a scan.
    for chat_id in 1..=201 {
        references.push(world.record_by_hand(chat_id, "New gutters, please.").await);
    }
    let backend = Backend::Engine { url: world.engines.dynamodb_url().to_owned() };
    let gate = world.wire.gate("operator", Side::DynamoDb, backend).await;
    let there = settings(&world).with("AWS_ENDPOINT_URL", gate.url());
    for (arguments, words) in [
        (&["find"][..], "docket find begins anew"),
        (&["stats"], "docket stats begins anew"),
        (&["audit"], "docket audit begins anew"),
        (&["export", "--format", "json-lines"], "go on with --after DK-"),
    ] {
        world.wire.clear_log();
        // The second page never comes.
        world.wire.set_plan(Plan::at_operation("operator", Side::DynamoDb, "Scan", 2, Fault::Hang).times(9));
        let mut running = started(&there, arguments);
        let second = || {
            world
                .wire
                .calls_of("operator", Side::DynamoDb)
                .iter()
                .filter(|call| call.operation == "Scan")
                .count()
                >= 2
        };
        let end = std::time::Instant::now() + Duration::from_secs(30);
        while !second() {
            assert!(
                std::time::Instant::now() < end && running.lives(),
                "{arguments:?}: {:?}",
                running.stderr()
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        running.interrupt();
        let ran = left_by(running.ended(Duration::from_secs(30)));
        world.wire.heal();
        assert_eq!(ran.status, 130, "{arguments:?}: {}", ran.stderr);
        let said = ran.stderr.lines().last().unwrap();
        assert!(said.starts_with("docket: interrupted") && said.contains(words), "{arguments:?}: {said}");
        shows_no_secret(&ran);
        let Some((_, after)) = said.split_once("--after ") else {
            assert_eq!(ran.stdout, "", "{arguments:?}");
            continue;
        };
        // Both parts together are the whole, each enquiry once.
        let rest = docket(&there, &[arguments, &["--after", after]].concat());
        let reference = |line: &str| -> Reference {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            record["reference"].as_str().unwrap().parse().unwrap()
        };
        let mut exported: Vec<Reference> =
            ran.stdout.lines().chain(rest.stdout.lines()).map(reference).collect();
        exported.sort();
        references.sort();
        assert_eq!(exported, references);
    }
    following.abort();
    world.settle().await;
    world.check_rules().await;
}
