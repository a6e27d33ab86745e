//! `docket sheet init`: makes what is missing, and keeps its hands off everything that stands there.

use docket_domain::row::HEADER;
use docket_world::World;
use docket_world::sheets::{Behaviour, CLIENT_EMAIL, FailureBody, Kind, On};
use docket_world::wire::Side;
use docket_world::workers::SPREADSHEET_ID;
use serde_json::{Value, json};

use crate::executables::Environment;
use crate::operator::docket;

pub(crate) fn environment(world: &World, tab: &str) -> Environment {
    Environment::default()
        .with("GOOGLE_CREDENTIALS", world.google_credentials())
        .with("SPREADSHEET_ID", SPREADSHEET_ID)
        .with("SHEET_NAME", tab)
        .with("SHEETS_ENDPOINT", world.url("writer", Side::Sheets))
}

/// The executable reads the machine's clock, and Google compares the assertion with its own.
async fn world() -> (World, tokio::task::JoinHandle<()>) {
    let world = World::start().await;
    let following = world.clock.follow_real_time();
    (world, following)
}

fn header_of(world: &World, tab: &str) -> Vec<Value> {
    world.sheets.rows(tab).into_iter().next().unwrap_or_default()
}

fn changes(world: &World) -> usize {
    world
        .sheets
        .requests()
        .iter()
        .filter(|seen| matches!(seen.kind, Kind::Update | Kind::BatchUpdate))
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tab_that_is_missing_is_made_with_its_header_and_a_second_time_nothing_is_done() {
    let (world, _following) = world().await;
    for tab in ["Enquiries", "Jon's 50% #1/2", "CRM26"] {
        let made = docket(&environment(&world, tab), &["sheet", "init"]);
        assert_eq!((made.status, made.stderr.as_str()), (0, ""), "{tab}");
        assert!(made.stdout.contains("made: the tab, the header"), "{}", made.stdout);
        assert_eq!(header_of(&world, tab), HEADER.map(Value::from).to_vec());
        // Without an input option Google refuses to write, and with the other one it would read the names as if typed.
        let written = world.sheets.requests().into_iter().rfind(|seen| seen.kind == Kind::Update);
        assert_eq!(written.map(|seen| seen.query).as_deref(), Some("valueInputOption=RAW"));
        assert_eq!(world.sheets.frozen_rows(tab), 1);
        let before = changes(&world);
        let again = docket(&environment(&world, tab), &["sheet", "init"]);
        assert_eq!(again.status, 0);
        assert!(again.stdout.contains("nothing was changed"), "{}", again.stdout);
        assert_eq!(changes(&world), before);
    }
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_tab_gets_its_header_and_any_other_is_shown_and_left_alone() {
    let (world, _following) = world().await;
    world.sheets.add_tab("Empty", &[]);
    let made = docket(&environment(&world, "Empty"), &["sheet", "init"]);
    assert_eq!(made.status, 0, "{}", made.stderr);
    assert!(made.stdout.contains("made: the header."), "{}", made.stdout);
    assert_eq!(header_of(&world, "Empty"), HEADER.map(Value::from).to_vec());

    let [a, b, c, d, e, f] = HEADER;
    world.sheets.add_tab("Swapped", &[a, b, d, c, e, f]);
    world.sheets.add_tab("Somebody's", &["Name", "Phone"]);
    world.sheets.add_tab("Below", &[]);
    world.sheets.put_row("Below", 7, &[json!("notes")]);
    let before = changes(&world);
    for (tab, shown) in
        [("Swapped", "summary | request_type"), ("Somebody's", "Name | Phone"), ("Below", "blank")]
    {
        let rows = world.sheets.rows(tab);
        let ran = docket(&environment(&world, tab), &["sheet", "init"]);
        assert!(ran.refused(1).contains(shown), "{}", ran.stderr);
        assert_eq!(world.sheets.rows(tab), rows, "{tab} was touched");
    }
    assert_eq!(changes(&world), before);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_settled_by_looking_again_and_no_change_is_repeated() {
    let (world, _following) = world().await;
    for (number, lost) in [
        Behaviour::writes_then_hangs_up(),
        Behaviour::writes_then_fails(503, FailureBody::Html),
        Behaviour::writes_then_answers_empty(),
    ]
    .into_iter()
    .enumerate()
    {
        let tab = format!("Lost {number}");
        let before = changes(&world);
        world.sheets.next(On::Changes, lost.clone());
        world.sheets.next(On::Changes, lost);
        let ran = docket(&environment(&world, &tab), &["sheet", "init"]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        assert_eq!(changes(&world) - before, 2);
        assert_eq!(header_of(&world, &tab), HEADER.map(Value::from).to_vec());
    }
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_google_refuses_is_told_with_its_cure() {
    let (world, _following) = world().await;
    world.sheets.share_for_viewing_only(true);
    let viewer = docket(&environment(&world, "New"), &["sheet", "init"]);
    assert!(
        viewer.refused(1).contains(&format!("share the spreadsheet with {CLIENT_EMAIL}")),
        "{}",
        viewer.stderr
    );
    world.sheets.share_for_viewing_only(false);
    assert!(!world.sheets.tabs().contains(&"New".to_owned()));

    for (behaviour, words, status) in [
        (Behaviour::permission_denied(), "share the spreadsheet with", 1),
        (Behaviour::not_found(), "SPREADSHEET_ID", 1),
        (Behaviour::office_file(), "Excel", 1),
        (Behaviour::fails(500, FailureBody::Json), "http_500", 3),
        (Behaviour::hangs_up(), "try again", 3),
    ] {
        world.sheets.next(On::Reads, behaviour);
        let ran = docket(&environment(&world, "New"), &["sheet", "init"]);
        assert!(ran.refused(status).contains(words), "{}", ran.stderr);
    }
    // A new tab needs 26,000 cells.
    world.sheets.set_grid("Intake", 10_000_000 - 25_999, 1);
    let full = docket(&environment(&world, "New"), &["sheet", "init"]);
    assert!(full.refused(1).contains("remove tabs, columns or empty rows"), "{}", full.stderr);
    world.sheets.set_grid("Intake", 1_000, 26);

    // Google takes "intake" for the name of Intake, and a deployment must not.
    let changed = changes(&world);
    let alike = docket(&environment(&world, "intake"), &["sheet", "init"]);
    assert!(alike.refused(1).contains("write SHEET_NAME as Intake"), "{}", alike.stderr);
    assert_eq!(changes(&world), changed);

    // A refusal that lasts is not to be waited for.
    world.sheets.next(On::Changes, Behaviour::fails(400, FailureBody::Json));
    let refused = docket(&environment(&world, "New"), &["sheet", "init"]);
    assert!(refused.refused(1).contains("http_400"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("try again"), "{}", refused.stderr);

    let missing = environment(&world, "New").without("SHEET_NAME");
    assert!(docket(&missing, &["sheet", "init"]).refused(2).contains("SHEET_NAME"));
    let malformed = environment(&world, "New").with("GOOGLE_CREDENTIALS", "hidden");
    assert!(docket(&malformed, &["sheet", "init"]).refused(2).contains("GOOGLE_CREDENTIALS"));
    assert_eq!(world.sheets.tabs(), ["Intake"]);
    world.check_rules().await;
}
