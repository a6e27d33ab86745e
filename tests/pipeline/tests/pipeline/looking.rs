//! Looking over everything: the audit of the sheet, searching, statistics, export.

use std::pin::Pin;
use std::sync::Arc;

use docket::audit::{Kind, Report, audit};
use docket_adapters::sheets::{Credentials, GoogleSheet, SheetSettings};
use docket_domain::status::WriteOrder;
use docket_world::clock::TurnedClock;
use docket_world::exchange::{Answer, Fake, Request};
use docket_world::sheets::{Behaviour, On};
use docket_world::wire::{Backend, Side};
use docket_world::workers::{NOBODY, SPREADSHEET_ID, role};
use docket_world::{Tampering, World};
use serde_json::json;

use crate::executables::{Environment, environment_of_operator};
use crate::operator::{docket, shows_no_secret};
use crate::write_side::{appends, uncertain, world};

/// The sheet as the operator's command looks at it.
pub(crate) fn sheet(world: &World) -> GoogleSheet<TurnedClock> {
    sheet_at(world, world.url("writer", Side::Sheets), world.google_credentials(), 5_000)
}

pub(crate) fn sheet_at(
    world: &World,
    endpoint: String,
    credentials: &str,
    timeout_ms: u64,
) -> GoogleSheet<TurnedClock> {
    let settings = SheetSettings {
        endpoint,
        spreadsheet_id: SPREADSHEET_ID.into(),
        tab: world.settings().tab.clone(),
        credentials: Credentials::parse(credentials, &role()).unwrap(),
        append_timeout_ms: timeout_ms.min(1_000),
        read_timeout_ms: timeout_ms,
    };
    GoogleSheet::new(settings, world.clock.clone()).unwrap()
}

async fn audited(world: &World) -> Report {
    audit(world.store(), &sheet(world), &world.clock, 365, |_| {}).await.unwrap()
}

fn kinds(report: &Report) -> Vec<(Kind, &str, usize)> {
    report.oddities.iter().map(|odd| (odd.kind, odd.reference.as_str(), odd.rows)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_names_whatever_does_not_fit_between_sheet_and_table_and_changes_nothing() {
    let mut world = world().await;
    let references = world.record_enquiries(6).await;
    world.settle().await;
    let good = audited(&world).await;
    assert_eq!((good.records, good.rows, good.equal, kinds(&good)), (6, 6, 6, vec![]));

    // One waits for a look, one for an append, one was given up.
    let lost = uncertain(&mut world, 1, Behaviour::hangs_up()).await;
    world.settle().await;
    let abandoned = world.order(&lost[0], WriteOrder::Abandon { why: "Nobody's.".into() }).await;
    let under_work = uncertain(&mut world, 1, Behaviour::writes_then_hangs_up()).await;
    world.sheets.from_now_on(On::Appends, Behaviour::permission_denied());
    let pending = world.record_enquiries(1).await;
    world.work().await;
    world.sheets.heal();
    assert!(audited(&world).await.oddities.is_empty(), "what is under work or given up is as it must be");

    // People.
    let row = |number: usize| world.sheets.rows("Intake")[number - 1].clone();
    let (changed, copied) = (row(3), row(4));
    let mut other = changed.clone();
    other[3] = json!("other words");
    world.sheets.put_row("Intake", 3, &other);
    let end = world.sheets.rows("Intake").len();
    world.sheets.put_row("Intake", end + 1, &copied);
    world.sheets.put_row("Intake", end + 2, &[json!("a note"), json!("of somebody's")]);
    let of_nobody = |at: &str| ["DK-8M4T-K2QX-7RZ9", at, "A quote", "x", "-", "7"].map(|cell| json!(cell));
    world.sheets.put_row("Intake", end + 3, &of_nobody("2026-02-01T00:00:00Z"));
    let mut old = of_nobody("2020-02-01T00:00:00Z");
    old[0] = json!("DK-8M4T-K2QX-7RZ8");
    world.sheets.put_row("Intake", end + 4, &old);
    world.sheets.put_row("Intake", end + 5, &[json!(abandoned.submission.reference.as_str())]);
    world.sheets.put_row("Intake", end + 6, &[json!(pending[0].as_str())]);
    world.sheets.delete_row("Intake", 2);
    let whole = world.damage_record(&references[5], "summary").await;

    let (before, asked) = (world.items().await, appends(&world));
    let report = audited(&world).await;
    let mut expected = vec![
        (Kind::RowGone, references[0].as_str(), 0),
        (Kind::RowDiffers, references[1].as_str(), 1),
        (Kind::Copies, references[2].as_str(), 2),
        (Kind::RowUnexpected, lost[0].as_str(), 1),
        (Kind::RowUnexpected, pending[0].as_str(), 1),
        (Kind::NoRecord, "DK-8M4T-K2QX-7RZ9", 1),
        (Kind::RecordUnreadable, references[5].as_str(), 1),
    ];
    expected.sort();
    assert_eq!(kinds(&report), expected);
    assert_eq!((report.foreign_rows, report.expired, report.records), (1, 1, 9));
    assert!(report.csv().contains(&format!("row_gone,{},0,confirmed", references[0])), "{}", report.csv());
    let page = report.page();
    assert!(page.contains("9 records, 2 of them confirmed with one equal row"), "{page}");
    assert_eq!((world.items().await, appends(&world)), (before, asked), "an audit changed something");

    world.repair_record(&references[5], "summary", whole).await;
    let touched = [references, lost, under_work, pending].concat();
    world.check_rules_but_for(&Tampering { rows_of: touched, ..Tampering::default() }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_says_what_it_did_not_compare() {
    let mut world = world().await;
    let references = uncertain(&mut world, 2, Behaviour::hangs_up()).await;
    world.settle().await;
    let following = world.clock.follow_real_time();
    let audit = docket(&environment_of_operator(&world), &["audit"]);
    following.abort();
    assert!(audit.stdout.contains("2 of the records wait for a settled write"), "{}", audit.stdout);
    assert!(audit.stdout.contains("Everything else fits."), "{}", audit.stdout);
    assert_eq!(world.record(&references[0]).await.reviews().len(), 1);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_by_command_ends_with_1_where_something_does_not_fit_and_3_where_nothing_can_be_seen() {
    let mut world = world().await;
    let references = world.record_enquiries(2).await;
    world.settle().await;
    // The command's clock is the real one, and Google looks at the time of an assertion.
    let following = world.clock.follow_real_time();
    let environment = environment_of_operator(&world);
    let fits = docket(&environment, &["audit"]);
    assert_eq!((fits.status, fits.stderr.as_str()), (0, ""), "{}", fits.stdout);
    assert!(fits.stdout.contains("Everything fits."), "{}", fits.stdout);
    world.sheets.delete_row("Intake", 2);
    let gone = docket(&environment, &["audit", "--json"]);
    assert_eq!(gone.status, 1);
    let report: serde_json::Value = serde_json::from_str(&gone.stdout).unwrap();
    let odd = json!({"kind": "row_gone", "reference": references[0], "rows": 0, "state": "confirmed"});
    assert_eq!(report["oddities"], json!([odd]));
    assert!(
        docket(&environment, &["audit", "--csv"]).stdout.starts_with("kind,reference,rows,state\nrow_gone,")
    );
    world.sheets.rename_tab("Intake", "Away");
    let blind = docket(&environment, &["audit"]);
    assert!(blind.refused(1).contains("no_such_tab"), "{}", blind.stderr);
    let nobody = environment.clone().with("AWS_ENDPOINT_URL_DYNAMODB", NOBODY);
    world.sheets.rename_tab("Away", "Intake");
    docket(&nobody, &["audit"]).refused(3);
    following.abort();
    let tampering = Tampering { rows_of: references, ..Tampering::default() };
    world.check_rules_but_for(&tampering).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn enquiries_are_found_counted_and_exported() {
    let mut world = world().await;
    let references = world.record_words(&["New GUTTERS, please.", "=1+1", "A \"roof\",\nof slate"]).await;
    world.settle().await;
    world.telegram.answer_next(500, "");
    let perhaps = world.record_by_hand(6_000_000_001, "Perhaps told.").await;
    world.ring_for_the_write(std::slice::from_ref(&perhaps)).await;
    world.work().await;
    let environment = environment_of_operator(&world);

    let found = |arguments: &[&str]| {
        let ran = docket(&environment, &[&["find", "--json"], arguments].concat()).json();
        let mut names: Vec<String> = ran
            .as_array()
            .unwrap()
            .iter()
            .map(|record| record["reference"].as_str().unwrap().into())
            .collect();
        names.sort();
        names
    };
    assert_eq!(found(&["--text", "gutters"]), [references[0].to_string()]);
    assert_eq!(found(&["--chat", "6000000001"]), [perhaps.to_string()]);
    assert_eq!(found(&["--text", "nothing like it"]), Vec::<String>::new());
    // Confirmed long ago by the command's own clock.
    assert_eq!(found(&["--since", "1h"]), Vec::<String>::new());
    assert_eq!(found(&["--since", "9999d"]).len(), 4);
    let page = docket(&environment, &["find", "--text", "told"]);
    assert!(page.stdout.contains(perhaps.as_str()) && page.stdout.contains("in review"), "{}", page.stdout);

    let stats = docket(&environment, &["stats", "--json"]).json();
    assert_eq!((&stats["records"], &stats["unreadable"]), (&json!(4), &json!(0)));
    assert_eq!(
        stats["states"],
        json!({"write confirmed, told confirmed": 3, "write confirmed, told uncertain": 1})
    );
    assert_eq!(stats["reviews"]["ack_uncertain"]["open"], 1);
    let in_world = {
        let mut stats = docket::stats::Stats::at(world.now());
        world.records().await.iter().for_each(|record| stats.count(record));
        stats.json()
    };
    assert_eq!(in_world["last_day"]["recorded"], 4);
    assert_eq!(in_world["last_day"]["written"]["count"], 4);
    assert_eq!(in_world["last_day"]["told"]["count"], 3);

    let lines = docket(&environment, &["export", "--format", "json-lines"]);
    let exported: Vec<serde_json::Value> =
        lines.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(exported.len(), 4);
    let shown = docket(&environment, &["show", perhaps.as_str(), "--json"]).json();
    assert!(exported.contains(&shown));
    let csv = docket(&environment, &["export", "--format", "csv"]);
    assert!(csv.stdout.starts_with("reference,confirmed_at,request_type,summary,contact,chat_id,write,"));
    for cell in ["\"'=1+1\"", "\"A \"\"roof\"\",", "\"6000000001\"", "\"uncertain\""] {
        assert!(csv.stdout.contains(cell), "{cell}: {}", csv.stdout);
    }
    // Behind the last one there is nothing more, and no second header.
    let all = world.store().scan(None, 100).await.unwrap();
    let last = all.records.last().unwrap().as_ref().unwrap().submission.reference.to_string();
    let rest = docket(&environment, &["export", "--format", "csv", "--after", &last]);
    assert_eq!((rest.status, rest.stdout.as_str()), (0, ""));
    let nobody = environment.clone().with("AWS_ENDPOINT_URL_DYNAMODB", NOBODY);
    for arguments in [&["find"][..], &["stats"], &["export", "--format", "csv", "--after", &last]] {
        let ran = docket(&nobody, arguments);
        assert_eq!(ran.status, 3, "{arguments:?}: {}", ran.stderr);
        shows_no_secret(&ran);
    }
    world.check_rules().await;
}

/// CloudFormation as far as the command asks it: `DescribeStacks` in the query protocol.
struct Stacks {
    name: &'static str,
    outputs: Vec<(&'static str, String)>,
}

impl Fake for Stacks {
    fn answer(&self, request: Request) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>> {
        let asked = String::from_utf8_lossy(&request.body).into_owned();
        let name = format!("StackName={}", self.name);
        let known = ["Action=DescribeStacks", &name]
            .iter()
            .all(|wanted| asked.split('&').any(|part| part == *wanted));
        let (status, body) = if known {
            let outputs: String = self
                .outputs
                .iter()
                .map(|(key, value)| {
                    let value = value.replace('&', "&amp;").replace('<', "&lt;");
                    format!("<member><OutputKey>{key}</OutputKey><OutputValue>{value}</OutputValue></member>")
                })
                .collect();
            let stack = format!(
                "<member><StackName>{}</StackName><CreationTime>2026-03-01T09:15:00Z</CreationTime>\
                 <StackStatus>CREATE_COMPLETE</StackStatus><Outputs>{outputs}</Outputs></member>",
                self.name
            );
            let result = format!("<DescribeStacksResult><Stacks>{stack}</Stacks></DescribeStacksResult>");
            (200, format!("<DescribeStacksResponse>{result}</DescribeStacksResponse>"))
        } else {
            let error =
                "<Type>Sender</Type><Code>ValidationError</Code><Message>Stack does not exist</Message>";
            (400, format!("<ErrorResponse><Error>{error}</Error></ErrorResponse>"))
        };
        let headers = vec![("content-type".to_owned(), "text/xml".to_owned())];
        Box::pin(async move { Answer::Reply { status, headers, body: body.into_bytes() } })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_taken_from_the_stack_by_its_name_whatever_the_shell_still_holds() {
    let mut world = world().await;
    let references = world.record_enquiries(1).await;
    world.settle().await;
    let given = format!(
        "SUBMISSIONS_TABLE={}\nSHEET_NAME=\"Q1 = \"quoted\"\"\nRETENTION_DAYS=365\n\n",
        world.tables.submissions
    );
    let stack = |name, outputs| Backend::Fake(Arc::new(Stacks { name, outputs }));
    let ours = stack("docket", vec![("Other", "x".into()), ("Settings", given)]);
    let ours = world.wire.gate("operator", Side::Parameters, ours).await;
    let others = stack("docket", vec![("Other", "x".into())]);
    let others = world.wire.gate("operator", Side::Parameters, others).await;
    let aws =
        Environment::of_aws(world.engines.dynamodb_url()).with("SUBMISSIONS_TABLE", "of-another-deployment");
    let environment = aws.clone().with("AWS_ENDPOINT_URL_CLOUDFORMATION", ours.url());
    let show = ["show", references[0].as_str(), "--json", "--stack", "docket"];
    let shown = docket(&environment, &show).json();
    assert_eq!(shown["write"]["state"], "confirmed");
    // Before or behind the command's name.
    assert_eq!(
        docket(&environment, &["--stack", "docket", "--region", "eu-north-1", "reviews", "--json"]).json(),
        json!([])
    );
    // The settle time is the stack's too, and a secret is where the stack says.
    let given = format!(
        "SUBMISSIONS_TABLE={}\nSETTLE_SECONDS=0\nGOOGLE_CREDENTIALS_PARAMETER=/docket/google-credentials\n",
        world.tables.submissions
    );
    let wrong =
        world.wire.gate("operator", Side::Parameters, stack("docket", vec![("Settings", given)])).await;
    let shell = aws.clone().with("SETTLE_SECONDS", "300").with("GOOGLE_CREDENTIALS", "hidden");
    let with_wrong = shell.with("AWS_ENDPOINT_URL_CLOUDFORMATION", wrong.url());
    let recheck = docket(&with_wrong, &["recheck", references[0].as_str(), "--stack", "docket"]);
    assert!(recheck.refused(2).contains("SETTLE_SECONDS must be between"), "{}", recheck.stderr);
    let doctor = docket(&with_wrong, &["doctor", "--stack", "docket"]);
    assert!(!doctor.stdout.contains("are both set"), "{}", doctor.stdout);
    assert!(docket(&environment, &["reviews", "--stack", "dockett"]).refused(1).contains("no stack dockett"));
    let no_settings = aws.clone().with("AWS_ENDPOINT_URL_CLOUDFORMATION", others.url());
    assert!(docket(&no_settings, &show).refused(1).contains("gives out no Settings"));
    let nobody = aws.clone().with("AWS_ENDPOINT_URL_CLOUDFORMATION", NOBODY);
    assert!(docket(&nobody, &show).refused(3).contains("could not be looked at"));
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_can_learn_the_command_without_any_setting() {
    for (shell, says) in [("bash", "_docket()"), ("zsh", "#compdef docket"), ("fish", "complete -c docket")] {
        let script = docket(&Environment::default(), &["completions", shell]);
        assert_eq!((script.status, script.stderr.as_str()), (0, ""));
        assert!(script.stdout.contains(says) && script.stdout.contains("--append-again"), "{shell}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_printed_is_said_and_is_no_success() {
    let mut world = world().await;
    world.record_enquiries(3).await;
    world.settle().await;
    let following = world.clock.follow_real_time();
    let environment = environment_of_operator(&world);
    let run = |arguments: &[&str], out: std::process::Stdio| {
        let mut command = std::process::Command::new(crate::executables::built("docket"));
        command.args(arguments).env_clear().envs(environment.pairs().iter().cloned()).stdout(out);
        let ran = command.stderr(std::process::Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
    };
    // A device that is always full: a backup that was cut must not look whole.
    for arguments in [
        &["export", "--format", "csv"][..],
        &["export", "--format", "json-lines"],
        &["audit", "--json"],
        &["stats"],
        &["find"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (status, said) = run(arguments, full.into());
        assert_eq!(status, Some(1), "{arguments:?}: {said}");
        assert!(said.contains("standard output takes no more") && said.contains("make room"), "{said}");
        assert!(!said.contains("panicked"), "{said}");
    }
    // Whoever reads has seen enough: `docket find | head -1`.
    for arguments in [&["export", "--format", "csv"][..], &["find"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(run(arguments, writer.into()), (Some(0), String::new()), "{arguments:?}");
    }
    following.abort();
    world.check_rules().await;
}
