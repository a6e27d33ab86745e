//! `docket doctor`: a good deployment is called good, each slip is named with its cure, and no secret is ever shown.

use aws_sdk_sqs::types::QueueAttributeName;
use docket_domain::row::HEADER;
use docket_world::World;
use docket_world::sheets::{Behaviour, CLIENT_EMAIL, Kind, On};
use docket_world::wire::Side;
use docket_world::workers::{BOT_TOKEN, NOBODY};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::executables::{Environment, environment_of_operator};
use crate::operator::{docket, shows_no_secret};
use crate::setup_webhook::post;

pub(crate) const CHAT: i64 = 7_100_000_001;
const URL: &str = "https://docket.example.org/telegram";
/// What no embedded engine knows: recovery of tables.
const NOT_KNOWN_HERE: &str = "recovery of";

/// A deployment as it should be, on this machine.
pub(crate) struct Deployment {
    pub(crate) world: World,
    following: JoinHandle<()>,
    pub(crate) environment: Environment,
    write: String,
    write_letters: String,
    acknowledge: String,
}

impl Deployment {
    pub(crate) async fn good() -> Self {
        let world = World::start().await;
        let following = world.clock.follow_real_time();
        let prefix = world.tables.submissions.trim_end_matches("-submissions").to_owned();
        let client = world.engines.sqs_client();
        let write_letters = queue(&client, &format!("{prefix}-d-letters.fifo"), 540, None).await;
        let letters = queue(&client, &format!("{prefix}-d-letters"), 540, None).await;
        let write = queue(&client, &format!("{prefix}-d-write.fifo"), 540, Some((&write_letters, 10))).await;
        let acknowledge = queue(&client, &format!("{prefix}-d-ack"), 540, Some((&letters, 10))).await;
        let environment = environment_of_operator(&world)
            .with("AWS_ENDPOINT_URL_SQS", world.engines.sqs_url())
            .with("WRITE_QUEUE_URL", &write)
            .with("ACKNOWLEDGE_QUEUE_URL", &acknowledge)
            .with("WEBHOOK_URL", URL)
            .with("TELEGRAM_ENDPOINT", world.url("acknowledger", Side::Telegram));
        assert_eq!(docket(&environment, &["webhook", "set"]).status, 0);
        Self { world, following, environment, write, write_letters, acknowledge }
    }

    fn with(&self, name: &str, value: impl Into<String>) -> Environment {
        self.environment.clone().with(name, value)
    }
}

/// A queue; its dead letters and the tries before them.
async fn queue(
    client: &aws_sdk_sqs::Client,
    name: &str,
    visibility: u32,
    letters: Option<(&str, u32)>,
) -> String {
    let mut create = client
        .create_queue()
        .queue_name(name)
        .attributes(QueueAttributeName::VisibilityTimeout, visibility.to_string());
    if name.ends_with(".fifo") {
        create = create.attributes(QueueAttributeName::FifoQueue, "true");
    }
    if let Some((letters, tries)) = letters {
        let arn = format!("arn:aws:sqs:us-east-1:000000000000:{}", letters.rsplit('/').next().unwrap());
        let policy = json!({"deadLetterTargetArn": arn, "maxReceiveCount": tries});
        create = create.attributes(QueueAttributeName::RedrivePolicy, policy.to_string());
    }
    create.send().await.unwrap().queue_url.unwrap()
}

/// The lines of the report that are not ok, but for what nobody can know on this machine.
pub(crate) fn complaints(environment: &Environment) -> Vec<Value> {
    let ran = docket(environment, &["doctor", "--json"]);
    shows_no_secret(&ran);
    let report: Vec<Value> =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr));
    assert!(report.len() > 10, "{report:?}");
    for line in &report {
        assert_eq!(line["cure"].is_null(), line["result"] == "ok", "{line}");
    }
    assert_eq!(ran.status, i32::from(report.iter().any(|line| line["result"] != "ok")));
    report
        .into_iter()
        .filter(|line| line["result"] != "ok")
        .filter(|line| {
            !line["check"].as_str().unwrap().starts_with(NOT_KNOWN_HERE) || line["result"] != "not known"
        })
        .collect()
}

/// Exactly this is wrong, and these words stand in what was found or in its cure.
#[track_caller]
pub(crate) fn complains(environment: &Environment, check: &str, words: &str) {
    let complaints = complaints(environment);
    let about =
        |line: &&Value| line["check"].as_str().unwrap().starts_with(check) && line["result"] == "wrong";
    let found = complaints.iter().find(about).unwrap_or_else(|| panic!("nothing of {check}: {complaints:?}"));
    let said = format!("{} {}", found["found"], found["cure"]);
    assert!(said.contains(words), "{words}: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_as_it_should_be_is_called_so_and_what_cannot_be_known_is_not_called_ok() {
    let deployment = Deployment::good().await;
    let left = complaints(&deployment.environment);
    // No schedule was named; nothing else is amiss.
    let names: Vec<&str> = left.iter().map(|line| line["check"].as_str().unwrap()).collect();
    assert_eq!(names, ["setting SWEEPER_SCHEDULE"], "{left:?}");
    let page = docket(&deployment.environment, &["doctor"]);
    shows_no_secret(&page);
    assert!(page.stdout.contains("not known  recovery of"), "{}", page.stdout);
    assert!(page.stdout.contains(&format!("{CLIENT_EMAIL} may edit")), "{}", page.stdout);
    // It changed nothing.
    assert_eq!(deployment.world.sheets.rows("Intake").len(), 1);
    assert_eq!(deployment.world.sheets.tabs(), ["Intake"]);
    deployment.world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_slip_in_a_setting_is_named() {
    let deployment = Deployment::good().await;
    let world = &deployment.world;
    let client = world.engines.sqs_client();
    let short = queue(&client, "doctor-short.fifo", 90, Some((&deployment.write_letters, 10))).await;
    let hasty = queue(&client, "doctor-hasty.fifo", 540, Some((&deployment.write_letters, 3))).await;
    let alone = queue(&client, "doctor-alone.fifo", 540, None).await;
    for (name, value, check, words) in [
        ("TELEGRAM_BOT", "OurBot:7", "bot and token", "BOT_TOKEN is bot 4242's"),
        ("TELEGRAM_BOT", "OtherBot:4242", "bot", "the token is of @OurBot"),
        ("TELEGRAM_BOT", "@hidden", "setting TELEGRAM_BOT", "without @"),
        ("WEBHOOK_SECRET", "hidden secret", "setting WEBHOOK_SECRET", "1 to 256"),
        ("WEBHOOK_URL", "https://other.example.org/telegram", "webhook", "not https://other.example.org"),
        ("BOT_TOKEN", "hidden", "setting BOT_TOKEN", "is not a bot token"),
        ("GOOGLE_CREDENTIALS", "hidden", "spreadsheet", "GOOGLE_CREDENTIALS"),
        ("SHEET_NAME", "Enquiries", "tab", "there are: Intake"),
        ("SUBMISSIONS_TABLE", "nobody", "table nobody", "none of this name"),
        ("SUBMISSIONS_TABLE", &world.tables.conversations, "table", "its key is not reference (S)"),
        ("CONVERSATIONS_TABLE", &world.tables.submissions, "table", "its key is not chat_id (N)"),
        ("WRITE_QUEUE_URL", &deployment.acknowledge, "queue", "it must be FIFO"),
        ("ACKNOWLEDGE_QUEUE_URL", &deployment.write, "queue", "it must be a standard queue"),
        ("WRITE_QUEUE_URL", &short, "queue doctor-short.fifo", "hides a message for 90 s"),
        ("WRITE_QUEUE_URL", &hasty, "queue doctor-hasty.fifo", "after 3 tries"),
        ("WRITE_QUEUE_URL", &alone, "queue doctor-alone.fifo", "no dead-letter queue"),
    ] {
        complains(&deployment.with(name, value), check, words);
    }
    complains(
        &deployment.environment.clone().without("SPREADSHEET_ID"),
        "setting SPREADSHEET_ID",
        "is missing",
    );
    // Another side that is away is not known, and hides nothing else.
    let away = deployment.with("TELEGRAM_ENDPOINT", NOBODY);
    let left = complaints(&away);
    let bot = left.iter().find(|line| line["check"] == "bot").unwrap();
    assert_eq!(bot["result"], "not known");
    assert!(!left.iter().any(|line| line["check"].as_str().unwrap().starts_with("queue")), "{left:?}");
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_mishap_of_the_other_sides_is_named() {
    let deployment = Deployment::good().await;
    let (world, environment) = (&deployment.world, &deployment.environment);
    let [a, b, c, d, e, f] = HEADER;
    world.sheets.set_header("Intake", &[a, b, d, c, e, f]);
    complains(environment, "tab and header", "summary | request_type");
    world.sheets.set_header("Intake", &HEADER);

    world.sheets.share_for_viewing_only(true);
    complains(environment, "permission to write", CLIENT_EMAIL);
    world.sheets.share_for_viewing_only(false);

    world.sheets.protect("Intake", true);
    complains(environment, "protection", CLIENT_EMAIL);
    world.sheets.protect("Intake", false);

    for (behaviour, words) in [
        (Behaviour::permission_denied(), CLIENT_EMAIL),
        (Behaviour::not_found(), "SPREADSHEET_ID"),
        (Behaviour::office_file(), "Excel"),
    ] {
        world.sheets.next(On::Reads, behaviour);
        complains(environment, "spreadsheet", words);
    }
    world.sheets.token().next(Behaviour::invalid_grant());
    complains(environment, "spreadsheet", "clock");

    let client = world.engines.sqs_client();
    let send = client.send_message().queue_url(&deployment.write_letters).message_body("{}");
    send.message_group_id("sheet").message_deduplication_id("1").send().await.unwrap();
    complains(environment, "dead letters", "start-message-move-task");

    // A webhook that gets no buttons.
    let endpoint = world.url("acknowledger", Side::Telegram);
    let forgetful = json!({"url": URL, "allowed_updates": ["message"]});
    post(&format!("{endpoint}/bot{BOT_TOKEN}/setWebhook"), &forgetful).await;
    complains(environment, "webhook", "callback_query");

    // This machine's clock and the others' differ.
    deployment.following.abort();
    world.clock.turn(600_000);
    complains(environment, "clock", "set it by NTP");
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workbook_into_which_no_row_fits_is_named_before_a_customer_meets_it() {
    let deployment = Deployment::good().await;
    let (world, environment) = (&deployment.world, &deployment.environment);
    // Intake has 1,000 rows of 26 cells; the archive leaves room for one row more, then for none.
    world.sheets.add_tab("Archive", &[]);
    for (cells_left, fits) in [(26, true), (25, false), (0, false)] {
        world.sheets.set_grid("Archive", 10_000_000 - 26_000 - cells_left, 1);
        let named: Vec<Value> = complaints(environment);
        assert_eq!(named.iter().any(|line| line["check"] == "room"), !fits, "{cells_left}: {named:?}");
        // Only cells are lacking: the permission is there, and it is not doubted.
        assert!(!named.iter().any(|line| line["check"] == "permission to write"), "{named:?}");
    }
    complains(environment, "room", "10000000 of 10000000 cells");
    complains(environment, "room", "remove tabs, columns or empty rows");
    // Google leaves out whatever is not asked for.
    let asked = world.sheets.read_requests().into_iter().filter(|seen| seen.kind == Kind::Tabs);
    let asked: Vec<String> = asked.map(|seen| seen.query.replace("%2C", ",")).collect();
    assert!(!asked.is_empty());
    assert!(asked.iter().all(|query| query.contains("gridProperties(rowCount,columnCount)")), "{asked:?}");
    world.sheets.set_grid("Archive", 1, 1);
    let page = docket(environment, &["doctor"]).stdout;
    assert!(
        page.contains("26001 of 10000000 cells are used, empty ones too; 383615 rows more fit"),
        "{page}"
    );
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_nobody_does_is_named() {
    let deployment = Deployment::good().await;
    // Due since long before: the table of a world whose clock stood still.
    let old = World::start().await;
    old.record_by_hand(CHAT, "Hidden gutters.").await;
    let environment = Environment::of_aws(old.engines.dynamodb_url())
        .with("SUBMISSIONS_TABLE", &old.tables.submissions)
        .with("CONVERSATIONS_TABLE", &old.tables.conversations);
    complains(&environment, "work that is due", "something has been due for");
    assert!(deployment.world.records().await.is_empty());
    for world in [&old, &deployment.world] {
        world.check_rules().await;
    }
}
