//! `docket canary`: it goes the whole way and leaves nothing behind, and when a step fails it says so and removes nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use docket::Stopped;
use docket::canary::{Canary, Report, SUMMARY, Step};
use docket_adapters::aws::{self, Patience};
use docket_adapters::config::Secret;
use docket_adapters::dynamodb::{DynamoConversations, DynamoSubmissions};
use docket_adapters::sheets::{Credentials, GoogleSheet, SheetSettings};
use docket_adapters::telegram::WebhookCaller;
use docket_domain::intake::Bot;
use docket_domain::moment::Moment;
use docket_domain::ports::Clock;
use docket_domain::reference::Reference;
use docket_domain::status::AckState;
use docket_domain::submission::ChatId;
use docket_world::clock::TurnedClock;
use docket_world::engines::clients;
use docket_world::sheets::{Behaviour, FailureBody, Kind, On};
use docket_world::telegram::Customer;
use docket_world::wire::{Backend, Fault, Gate, Plan, Side};
use docket_world::workers::{BOT_ID, NOBODY, SPREADSHEET_ID, WEBHOOK_SECRET, role};
use docket_world::{Tampering, World};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::executables::{Environment, environment_of_operator};
use crate::operator::{Ran, docket, shows_no_secret};

/// The operator's chat.
const CHAT: i64 = 7_100_000_009;
const OTHER_CHAT: i64 = 7_100_000_001;
/// More than the SDK's own tries.
const FOR_GOOD: usize = 99;

/// What happens in the world while the canary waits, pause by pause.
#[derive(Clone, Copy)]
enum Meanwhile {
    /// All functions work.
    Work,
    /// The writer alone works.
    WriterAlone,
    /// Nothing works.
    Nothing,
    /// All functions work, and then somebody does this.
    WorkThen(fn(&World)),
}

/// The canary's clock: its pauses are the world's time to work in.
struct Pauses {
    clock: TurnedClock,
    world: Arc<Mutex<World>>,
    meanwhile: Meanwhile,
    taken: Arc<AtomicU64>,
}

impl Clock for Pauses {
    fn now(&self) -> Moment {
        self.clock.now()
    }

    async fn pause_ms(&self, milliseconds: u64) {
        self.taken.fetch_add(1, Ordering::SeqCst);
        let mut world = self.world.lock().await;
        self.clock.turn(i64::try_from(milliseconds).unwrap());
        match self.meanwhile {
            Meanwhile::Work => world.work().await,
            Meanwhile::WriterAlone => drop(world.poll_writer().await),
            Meanwhile::Nothing => {}
            Meanwhile::WorkThen(act) => {
                world.work().await;
                act(&world);
            }
        }
    }
}

/// A world, and the operator's ways into it.
struct Yard {
    world: Arc<Mutex<World>>,
    clock: TurnedClock,
    webhook: Gate,
    dynamodb: Gate,
    pauses: Arc<AtomicU64>,
    secret: String,
    wait_seconds: u64,
    keep: bool,
    bot_id: i64,
}

impl Yard {
    async fn open() -> Self {
        let world = World::start().await;
        let backend = Backend::Engine { url: world.engines.dynamodb_url().to_owned() };
        Self {
            clock: world.clock.clone(),
            webhook: world.webhook_door("operator").await,
            dynamodb: world.wire.gate("operator", Side::DynamoDb, backend).await,
            world: Arc::new(Mutex::new(world)),
            pauses: Arc::default(),
            secret: WEBHOOK_SECRET.into(),
            wait_seconds: 120,
            keep: false,
            bot_id: BOT_ID,
        }
    }

    async fn run(&self, meanwhile: Meanwhile) -> Result<Report, Stopped> {
        let world = self.world.lock().await;
        let patience = Patience {
            attempts_max: 2,
            first_backoff_ms: 1,
            attempt_timeout_ms: 500,
            operation_timeout_ms: 3_000,
        };
        let plain = clients::dynamodb_at(&self.dynamodb.url());
        let config = plain.config().to_builder().retry_config(aws::retries(patience));
        let client =
            aws_sdk_dynamodb::Client::from_conf(config.timeout_config(aws::timeouts(patience)).build());
        let settings = SheetSettings {
            endpoint: world.url("writer", Side::Sheets),
            spreadsheet_id: SPREADSHEET_ID.into(),
            tab: "Intake".into(),
            credentials: Credentials::parse(world.google_credentials(), &role()).unwrap(),
            append_timeout_ms: 1_000,
            read_timeout_ms: 1_000,
        };
        let (submissions, conversations) = (&world.tables.submissions, &world.tables.conversations);
        let url = format!("{}/telegram", self.webhook.url());
        let canary = Canary {
            submissions: DynamoSubmissions::new(client.clone(), submissions, 365),
            conversations: DynamoConversations::new(client, conversations, submissions),
            sheet: GoogleSheet::new(settings, self.clock.clone()).unwrap(),
            webhook: WebhookCaller::new(url, Secret::new(&self.secret)).unwrap(),
            clock: Pauses {
                clock: self.clock.clone(),
                world: Arc::clone(&self.world),
                meanwhile,
                taken: Arc::clone(&self.pauses),
            },
            bot: Bot { username: "OurBot".into(), id: self.bot_id },
            chat: ChatId(CHAT),
            wait_seconds: self.wait_seconds,
            keep: self.keep,
        };
        drop(world);
        canary.run().await
    }

    /// The report of a run that began.
    async fn report(&self, meanwhile: Meanwhile) -> Report {
        self.run(meanwhile).await.unwrap_or_else(|stopped| panic!("{}", stopped.message()))
    }

    async fn person(&self) -> Customer {
        self.world.lock().await.customer(CHAT, "Olga")
    }

    /// An enquiry of somebody else, recorded and acknowledged.
    async fn another_enquiry(&self, words: &str) -> Reference {
        let mut world = self.world.lock().await;
        let ann = world.customer(OTHER_CHAT, "Ann");
        let reference = world.submit(&ann, "A quote", words).await;
        world.settle().await;
        reference
    }

    /// The operator's own next conversation in that chat goes as if there had been no canary.
    async fn the_chat_works(&self) {
        let mut world = self.world.lock().await;
        let olga = world.customer(CHAT, "Olga");
        let reference = world.submit(&olga, "An appointment", "Tuesday, please.").await;
        world.settle().await;
        assert_eq!(world.rows_of(&reference), 1);
        let last = world.acknowledgements(CHAT).pop().unwrap();
        assert!(last.contains(reference.as_str()), "{last}");
    }

    async fn the_rules_hold(&self) {
        self.world.lock().await.check_rules().await;
    }

    async fn deletions(&self) -> usize {
        let world = self.world.lock().await;
        world.sheets.requests().iter().filter(|seen| seen.kind == Kind::BatchUpdate).count()
    }
}

#[track_caller]
fn failed<'a>(report: &'a Report, step: &str, words: &str) -> &'a Step {
    let found =
        report.steps.iter().find(|step| !step.ok).unwrap_or_else(|| panic!("all went well: {report:?}"));
    assert_eq!(found.name, step, "{report:?}");
    assert!(found.found.contains(words), "{words}: {}", found.found);
    assert!(!report.removed);
    found
}

/// The row and the record are there, and the report says so.
async fn all_is_left(yard: &Yard, report: &Report) -> Reference {
    let reference = report.reference.clone().unwrap();
    let world = yard.world.lock().await;
    assert_eq!(world.rows_of(&reference), 1);
    world.record(&reference).await;
    let left = report.left.as_deref().unwrap();
    assert!(left.contains(&format!("docket show {reference}")), "{left}");
    reference
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_way_works_and_nothing_is_left_but_one_message() {
    let yard = Yard::open().await;
    let first = yard.another_enquiry("New gutters, please.").await;
    let (rows, records) = {
        let world = yard.world.lock().await;
        (world.rows(), world.records().await)
    };
    let report = yard.report(Meanwhile::Work).await;
    let names: Vec<&str> = report.steps.iter().map(|step| step.name).collect();
    assert_eq!(
        names,
        [
            "sheet",
            "new",
            "type",
            "summary",
            "confirm",
            "record",
            "write",
            "row",
            "acknowledgement",
            "row removed",
            "record removed",
            "chat"
        ]
    );
    assert!(report.steps.iter().all(|step| step.ok), "{report:?}");
    assert_eq!((report.exit_status(), report.removed, report.left.as_deref()), (0, true, None));
    let reference = report.reference.clone().unwrap();
    {
        let world = yard.world.lock().await;
        assert_eq!(world.rows(), rows);
        assert_eq!(world.records().await, records);
        let messages = world.acknowledgements(CHAT);
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert!(messages[0].contains(reference.as_str()));
        assert_eq!(world.rows_of(&first), 1);
    }
    yard.the_chat_works().await;
    // Once more, and with another reference.
    let again = yard.report(Meanwhile::Work).await;
    assert_eq!(again.exit_status(), 0, "{again:?}");
    assert_ne!(again.reference, report.reference);
    yard.world.lock().await.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_chat_remembers_of_its_person_is_as_it_was() {
    let yard = Yard::open().await;
    let mut written = Vec::new();
    {
        let mut world = yard.world.lock().await;
        let olga = world.customer(CHAT, "Olga");
        // As many as are remembered: the canary's own displaces the oldest of them.
        for number in 1..=5 {
            let message_id = world.write_card(&olga, "A quote", &format!("Gutter {number}.")).await;
            world.say(olga.press_button("Confirm")).await;
            written.push(message_id);
        }
        world.settle().await;
    }
    let before = yard.world.lock().await.conversation(CHAT).await.unwrap()["conversation"].clone();
    assert_eq!(yard.report(Meanwhile::Work).await.exit_status(), 0);
    let after = yard.world.lock().await.conversation(CHAT).await.unwrap()["conversation"].clone();
    assert_eq!(after, before);
    let olga = yard.person().await;
    let mut world = yard.world.lock().await;
    world.say(olga.edit(written[0], "Gutter one.")).await;
    let told = olga.chat().last_words().unwrap();
    assert!(told.contains("was confirmed before"), "{told}");
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_and_a_record_that_shall_be_kept_are_kept() {
    let yard = Yard { keep: true, ..Yard::open().await };
    let report = yard.report(Meanwhile::Work).await;
    assert_eq!((report.exit_status(), report.removed), (0, false), "{report:?}");
    let reference = all_is_left(&yard, &report).await;
    let world = yard.world.lock().await;
    let record = world.record(&reference).await;
    assert_eq!(record.submission.summary.as_str(), SUMMARY);
    assert_eq!(record.submission.contact.as_str(), "Docket canary");
    assert!(record.finished());
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_or_an_acknowledger_that_does_not_run_is_named_and_nothing_is_removed() {
    let yard = Yard { wait_seconds: 30, ..Yard::open().await };
    let report = yard.report(Meanwhile::Nothing).await;
    failed(&report, "write", "the write is still pending");
    assert_eq!(report.exit_status(), 1);
    assert_eq!(yard.pauses.load(Ordering::SeqCst), 30, "a look a second, and no more");
    let reference = report.reference.clone().unwrap();
    assert!(report.left.as_deref().unwrap().contains(reference.as_str()));
    assert!(report.page().contains("The canary failed at: write"), "{}", report.page());
    // The enquiry is still one: when the writer runs again it is written.
    yard.world.lock().await.settle().await;
    all_is_left(&yard, &report).await;
    yard.the_chat_works().await;

    let report = yard.report(Meanwhile::WriterAlone).await;
    failed(&report, "acknowledgement", "the acknowledgement is still pending");
    all_is_left(&yard, &report).await;
    assert_eq!(yard.deletions().await, 0);
    yard.the_rules_hold().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_person_is_not_waited_for() {
    let yard = Yard::open().await;
    yard.world.lock().await.telegram.deliver_then_hang_up();
    let report = yard.report(Meanwhile::Work).await;
    failed(&report, "acknowledgement", "ack_uncertain");
    assert!(yard.pauses.load(Ordering::SeqCst) < 5);
    all_is_left(&yard, &report).await;

    yard.world.lock().await.telegram.block(CHAT);
    let report = yard.report(Meanwhile::Work).await;
    failed(&report, "acknowledgement", "must have started the bot");
    let reference = all_is_left(&yard, &report).await;
    let record = yard.world.lock().await.record(&reference).await;
    assert!(matches!(record.acknowledgement.unwrap().state, AckState::Refused { .. }));
    yard.the_rules_hold().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_right_row_is_deleted_wherever_people_put_it() {
    let yard = Yard::open().await;
    for words in ["One.", "Two.", "Three."] {
        yard.another_enquiry(words).await;
    }
    let rows = yard.world.lock().await.rows();
    // Descending and back, so that ours stands first, in the middle or last.
    for act in [
        (|world: &World| world.sheets.sort_by_column("Intake", "A")) as fn(&World),
        |world| world.sheets.sort_by_column("Intake", "D"),
        |world| {
            world.sheets.insert_row("Intake", 2);
            world.sheets.put_row("Intake", 2, &[json!("a note of somebody's")]);
        },
    ] {
        let report = yard.report(Meanwhile::WorkThen(act)).await;
        assert_eq!(report.exit_status(), 0, "{report:?}");
        let reference = report.reference.unwrap();
        let world = yard.world.lock().await;
        assert_eq!(world.rows_of(&reference), 0);
        let left: Vec<Vec<Value>> = world.rows();
        assert!(rows.iter().all(|row| left.contains(row)), "{left:?}");
        world.check_rules().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_is_not_exactly_ours_is_not_deleted() {
    for (act, step, words) in [
        (
            (|world: &World| {
                let rows = world.sheets.rows("Intake");
                let mut changed = rows.last().unwrap().clone();
                changed[3] = json!("changed by hand");
                world.sheets.put_row("Intake", rows.len(), &changed);
            }) as fn(&World),
            "row",
            "says something else",
        ),
        (
            |world: &World| {
                let rows = world.sheets.rows("Intake");
                world.sheets.put_row("Intake", rows.len() + 1, rows.last().unwrap());
            },
            "row",
            "rows have the reference",
        ),
        (|world: &World| world.sheets.delete_row("Intake", 2), "row", "no row has the reference"),
    ] {
        let yard = Yard { wait_seconds: 20, ..Yard::open().await };
        let report = yard.report(Meanwhile::WorkThen(act)).await;
        failed(&report, step, words);
        assert_eq!(yard.deletions().await, 0);
        let reference = report.reference.clone().unwrap();
        let world = yard.world.lock().await;
        world.record(&reference).await;
        let tampering = Tampering { rows_of: vec![reference], ordered: vec![] };
        world.check_rules_but_for(&tampering).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_moves_at_the_very_moment_of_its_deletion_is_told() {
    let yard = Yard::open().await;
    let other = yard.another_enquiry("One.").await;
    // The deletion waits at Google while somebody inserts a row above.
    yard.world.lock().await.sheets.next(On::Changes, Behaviour::serves().held());
    let sheets = yard.world.lock().await.sheets.clone();
    let meddling = async {
        while sheets.waiting() == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        sheets.insert_row("Intake", 2);
        sheets.put_row("Intake", 2, &[json!("a note of somebody's")]);
        sheets.let_go();
    };
    let (report, ()) = tokio::join!(yard.report(Meanwhile::Work), meddling);
    failed(&report, "row removed", "another row may have been deleted");
    assert!(report.page().contains("Version history"));
    all_is_left(&yard, &report).await;
    // The other's row is gone: that it can be is why it is told.
    let tampering = Tampering { rows_of: vec![other], ordered: vec![] };
    yard.world.lock().await.check_rules_but_for(&tampering).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_to_the_rows_deletion_is_settled_by_looking_again() {
    for lost in [
        Behaviour::writes_then_hangs_up(),
        Behaviour::writes_then_fails(503, FailureBody::Html),
        Behaviour::writes_then_answers_empty(),
        Behaviour::writes_then_never_answers(),
    ] {
        let yard = Yard::open().await;
        yard.world.lock().await.sheets.next(On::Changes, lost);
        let report = yard.report(Meanwhile::Work).await;
        assert_eq!((report.exit_status(), report.removed), (0, true), "{report:?}");
        assert_eq!(yard.deletions().await, 1);
        yard.the_rules_hold().await;
    }
    // It never arrived, which nobody can know at once.
    for (lost, status, words) in [
        (Behaviour::hangs_up(), 3, "is still there"),
        (Behaviour::fails(500, FailureBody::Json), 3, "is still there"),
        (Behaviour::permission_denied(), 1, "was not deleted: permission_denied"),
        (Behaviour::quota_exhausted(), 3, "was not deleted"),
    ] {
        let yard = Yard::open().await;
        yard.world.lock().await.sheets.next(On::Changes, lost);
        let report = yard.report(Meanwhile::Work).await;
        failed(&report, "row removed", words);
        assert_eq!(report.exit_status(), status, "{report:?}");
        assert_eq!(yard.deletions().await, 1, "it is not sent again");
        all_is_left(&yard, &report).await;
        yard.the_rules_hold().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_to_the_records_deletion_is_settled_by_looking_again() {
    for (fault, times, removed) in [
        (Fault::LoseAnswer, 1, true),
        (Fault::LoseAnswer, FOR_GOOD, true),
        (Fault::Answer500After, FOR_GOOD, true),
        (Fault::FailBefore, 1, true),
        (Fault::FailBefore, FOR_GOOD, false),
        (Fault::Throttle, FOR_GOOD, false),
    ] {
        let yard = Yard::open().await;
        let plan = Plan::at_operation("operator", Side::DynamoDb, "DeleteItem", 1, fault).times(times);
        yard.world.lock().await.wire.set_plan(plan);
        let report = yard.report(Meanwhile::Work).await;
        let world = yard.world.lock().await;
        let plan = world.wire.plan_to_string();
        assert!(!world.wire.faults_that_hit().is_empty());
        assert_eq!(report.removed, removed, "{plan}\n{report:?}");
        assert_eq!(world.records().await.is_empty(), removed, "{plan}");
        assert_eq!(world.rows().len(), 0);
        if !removed {
            failed(&report, "record removed", "");
            assert_eq!(report.exit_status(), 3, "{plan}");
            assert!(report.left.as_deref().unwrap().contains("whose row is removed"), "{report:?}");
        }
        let tampering = Tampering { rows_of: Vec::from_iter(report.reference), ordered: vec![] };
        world.check_rules_but_for(&tampering).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unfinished_enquiry_in_the_chat_is_left_alone() {
    let yard = Yard::open().await;
    let olga = yard.person().await;
    let updates = [
        |olga: &Customer| olga.text("/new"),
        |olga: &Customer| olga.press_button("A question"),
        |olga: &Customer| olga.text("Half a question"),
    ];
    for update in updates {
        let before = {
            let mut world = yard.world.lock().await;
            world.say(update(&olga)).await;
            world.conversation(CHAT).await
        };
        let Err(Stopped::Refused(message)) = yard.run(Meanwhile::Work).await else { panic!("it ran") };
        assert!(message.contains("unfinished enquiry"), "{message}");
        let world = yard.world.lock().await;
        assert_eq!(world.conversation(CHAT).await, before);
        assert_eq!(world.wire.count(Side::Webhook, "update"), 0);
    }
    {
        let mut world = yard.world.lock().await;
        world.say(olga.press_button("Confirm")).await;
        world.settle().await;
        assert_eq!(world.rows().len(), 1);
        // One that is forgotten ends by itself.
        world.say(olga.text("/new")).await;
        world.turn_seconds(24 * 3_600);
    }
    assert_eq!(yard.report(Meanwhile::Work).await.exit_status(), 0);
    yard.the_rules_hold().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_canary_that_stops_half_way_leaves_no_draft_in_the_chat() {
    for (nth, step) in [(1, "new"), (2, "type"), (3, "summary"), (4, "confirm")] {
        for (fault, status) in [(Fault::LoseAnswer, 3), (Fault::FailBefore, 3), (Fault::Answer500Before, 1)] {
            let yard = Yard::open().await;
            let plan = Plan::at_operation("operator", Side::Webhook, "update", nth, fault);
            yard.world.lock().await.wire.set_plan(plan);
            let report = yard.report(Meanwhile::Work).await;
            failed(&report, step, "");
            assert_eq!(report.exit_status(), status, "{step} {fault}");
            let stored = step == "confirm" && fault == Fault::LoseAnswer;
            assert_eq!(yard.world.lock().await.records().await.len(), usize::from(stored), "{step} {fault}");
            assert_eq!(report.left.is_some(), stored, "{step} {fault}: {report:?}");
            yard.the_chat_works().await;
            yard.the_rules_hold().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_that_a_canary_left_behind_is_no_hindrance_for_long() {
    let yard = Yard::open().await;
    // It cannot even tidy up: the table is away from its third update on.
    let plan = Plan::at_operation("operator", Side::Webhook, "update", 2, Fault::FailBefore)
        .and(Plan::at_operation("operator", Side::DynamoDb, "GetItem", 2, Fault::FailBefore).times(FOR_GOOD));
    yard.world.lock().await.wire.set_plan(plan);
    let report = yard.report(Meanwhile::Work).await;
    assert_eq!(report.steps.last().map(|step| (step.name, step.ok)), Some(("chat", false)), "{report:?}");
    yard.world.lock().await.wire.heal();
    let Err(Stopped::Refused(message)) = yard.run(Meanwhile::Work).await else { panic!("it ran") };
    assert!(message.contains("another canary"), "{message}");
    // Its person is not hindered at all, and the next canary after two minutes is not either.
    yard.world.lock().await.turn_seconds(121);
    assert_eq!(yard.report(Meanwhile::Work).await.exit_status(), 0);
    yard.the_chat_works().await;
    yard.the_rules_hold().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_set_up_wrongly_is_said_and_nothing_is_made() {
    let wrong = Yard { secret: "hidden-other-secret".into(), ..Yard::open().await };
    let report = wrong.report(Meanwhile::Work).await;
    failed(&report, "new", "401: the webhook knows another secret");
    assert_eq!(report.exit_status(), 1);
    assert!(!report.page().contains("hidden") && !report.json().to_string().contains("hidden"));

    let other = Yard { bot_id: 7, ..Yard::open().await };
    let report = other.report(Meanwhile::Work).await;
    failed(&report, "summary", "TELEGRAM_BOT");
    other.the_chat_works().await;
    other.the_rules_hold().await;

    let unshared = Yard::open().await;
    unshared.world.lock().await.sheets.next(On::Reads, Behaviour::permission_denied());
    let report = unshared.report(Meanwhile::Work).await;
    failed(&report, "sheet", "share the spreadsheet");
    assert_eq!(report.exit_status(), 1);
    for yard in [wrong, unshared] {
        let world = yard.world.lock().await;
        assert!(world.records().await.is_empty() && world.rows().is_empty());
        assert_eq!(world.conversation(CHAT).await, None);
        world.check_rules().await;
    }
}

// ---- The executable -------------------------------------------------------------------------------------------------

fn environment(world: &World, webhook: &str) -> Environment {
    environment_of_operator(world)
        .with("WEBHOOK_URL", format!("{webhook}/telegram"))
        .with("OPERATOR_CHAT", CHAT.to_string())
}

/// Runs the executable while the functions work.
async fn ran(world: &mut World, environment: &Environment, arguments: &'static [&'static str]) -> Ran {
    let environment = environment.clone();
    let mut running = tokio::task::spawn_blocking(move || docket(&environment, arguments));
    loop {
        tokio::select! {
            ran = &mut running => return ran.unwrap(),
            () = tokio::time::sleep(Duration::from_millis(50)) => world.work().await,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_prints_every_step_and_never_a_secret() {
    let mut world = World::start().await;
    let _following = world.clock.follow_real_time();
    let door = world.webhook_door("operator").await;
    let environment = environment(&world, &door.url());
    let good = ran(&mut world, &environment, &["canary", "--json"]).await;
    shows_no_secret(&good);
    let report = good.json();
    crate::shapes::fits("canary", &report);
    assert_eq!((&report["removed"], &report["left"]), (&json!(true), &Value::Null));
    let steps = report["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 12);
    for step in steps {
        assert!(
            step["ok"] == true
                && step["ms"].is_u64()
                && step["step"].is_string()
                && step["found"].is_string()
        );
    }
    let reference = report["reference"].as_str().unwrap().to_owned();
    assert!(world.acknowledgements(CHAT)[0].contains(&reference));
    assert!(world.rows().is_empty() && world.records().await.is_empty());

    let kept = ran(&mut world, &environment, &["canary", "--keep"]).await;
    shows_no_secret(&kept);
    assert_eq!((kept.status, kept.stderr.as_str()), (0, ""));
    assert!(
        kept.stdout.contains("The whole way works") && kept.stdout.contains("docket show DK-"),
        "{}",
        kept.stdout
    );
    assert_eq!(world.rows().len(), 1);

    let wrong = environment.clone().with("WEBHOOK_SECRET", "hidden-other-secret");
    let refused = ran(&mut world, &wrong, &["canary"]).await;
    shows_no_secret(&refused);
    assert_eq!(refused.status, 1);
    assert!(
        refused.stdout.contains("401") && refused.stdout.contains("Nothing of it is left"),
        "{}",
        refused.stdout
    );

    let away = environment.clone().with("WEBHOOK_URL", format!("{NOBODY}/telegram"));
    let unreachable = ran(&mut world, &away, &["canary", "--json"]).await;
    assert_eq!(unreachable.status, 3, "{}", unreachable.stdout);

    let olga = world.customer(CHAT, "Olga");
    world.say(olga.text("/new")).await;
    let busy = ran(&mut world, &environment, &["canary"]).await;
    assert!(busy.refused(1).contains("unfinished enquiry"), "{}", busy.stderr);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setting_that_is_missing_or_wrong_is_named_before_anybody_is_called() {
    let world = World::start().await;
    let door = world.webhook_door("operator").await;
    let good = environment(&world, &door.url());
    for name in [
        "OPERATOR_CHAT",
        "WEBHOOK_URL",
        "WEBHOOK_SECRET",
        "TELEGRAM_BOT",
        "SUBMISSIONS_TABLE",
        "CONVERSATIONS_TABLE",
        "GOOGLE_CREDENTIALS",
        "SPREADSHEET_ID",
        "SHEET_NAME",
    ] {
        let ran = docket(&good.clone().without(name), &["canary"]);
        assert!(ran.refused(2).contains(name), "{name}: {}", ran.stderr);
    }
    for chat in ["-7", "0", "hidden"] {
        assert!(
            docket(&good.clone().with("OPERATOR_CHAT", chat), &["canary"])
                .refused(2)
                .contains("OPERATOR_CHAT")
        );
    }
    for wait in ["0", "3601", "long"] {
        assert_eq!(docket(&good, &["canary", "--wait", wait]).status, 2);
    }
    assert_eq!(world.wire.calls().len(), 0);
    world.check_rules().await;
}
