//! What is shown, scene by scene. Each ends with what must hold; the rules are checked over everything at the end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use docket_domain::reference::Reference;
use docket_domain::row::Row;
use docket_domain::status::{AckEvent, AckState, Cause, Record, WriteEvent, WriteState};
use docket_world::Tampering;
use docket_world::sheets::{Behaviour, On};
use docket_world::wire::{Fault, Plan, Side};
use docket_world::workers::WEBHOOK_SECRET;
use futures::{StreamExt as _, stream};
use serde_json::json;

use crate::deployment::{Deployment, STACK, VISIBILITY_SECONDS};

const ANN: i64 = 7_100_000_001;
const OPERATOR: i64 = ANN + 1_000_000;
const BURST: usize = 500;
const BURST_CHAT: i64 = 7_200_000_000;

pub(crate) async fn play(deployment: &mut Deployment) {
    let begun = Instant::now();
    let scene = |name: &str| println!("\n== {name} ({} s)", begun.elapsed().as_secs());
    scene("The main story");
    main_story(deployment).await;
    scene("A wrong secret");
    wrong_secret(deployment).await;
    scene("Events that are somebody else's");
    foreign_events(deployment).await;
    scene("A call that no role allows");
    denied(deployment).await;
    scene("An append's answer is lost");
    lost_append_answer(deployment).await;
    scene("A writer is killed in mid-append");
    killed_writer(deployment).await;
    scene("An acknowledgement's answer is lost");
    let unacknowledged = lost_acknowledgement(deployment).await;
    scene("A burst of 500");
    burst(deployment).await;
    scene("Dead letters are redriven");
    redriven(deployment).await;
    scene("An upgrade with records in every state");
    let mut by_hand = upgrade(deployment).await;
    scene("The schedule has run");
    schedule(deployment).await;
    scene("The operator asks whether all is well");
    doctor(deployment).await;
    scene("The operator sends a canary, and closes what is perhaps told");
    canary(deployment).await;
    watched(deployment, &unacknowledged).await;
    closed(deployment, &unacknowledged).await;
    scene("A customer asks to be forgotten");
    let forgotten = erased(deployment).await;
    scene("DESIGN's rules over table, sheet and messages");
    by_hand.extend([unacknowledged, forgotten]);
    rules(deployment, by_hand).await;
}

fn is_finished(record: &Record) -> bool {
    record.finished()
}

fn in_review(record: &Record) -> bool {
    !record.reviews().is_empty()
}

/// The other side does what it is asked next, and its answer never arrives.
fn lose_next_answer(deployment: &Deployment, worker: &str, side: Side, operation: &str) {
    deployment.world.wire.set_plan(Plan::at_operation(worker, side, operation, 1, Fault::LoseAnswer));
}

fn shown(text: &str) {
    println!("   ✓ {text}");
}

async fn main_story(deployment: &Deployment) {
    let ann = deployment.world.customer(ANN, "Ann");
    deployment.say(ann.text("/new")).await;
    deployment.say(ann.press_button("A quote")).await;
    deployment.say(ann.text("New gutters for the north side, please.")).await;
    let confirm = ann.press_button("Confirm");
    deployment.say(confirm.clone()).await;
    let first = deployment.told_reference(&ann);
    // No sweep: the doorbells alone.
    let end = Instant::now() + Duration::from_secs(30);
    while !deployment.world.record(&first).await.finished() {
        if Instant::now() > end {
            deployment.fail("the first enquiry did not get through").await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(deployment.world.rows_of(&first), 1);
    assert_eq!(deployment.world.acknowledgements(ANN), [format!("Your enquiry {first} is recorded.")]);
    shown("typed, confirmed, one row, one message");
    deployment.say(confirm).await;
    let second = deployment.submit(&ann, "New gutters for the north side, please.").await;
    deployment.sweep_until("the second enquiry", &second, 30, is_finished).await;
    assert_ne!(first, second);
    assert_eq!((deployment.world.rows().len(), deployment.world.acknowledgements(ANN).len()), (2, 2));
    shown("the same Confirm again changes nothing; a second enquiry with the same words is a second row");
    let ran = deployment.cloud.docket(&deployment.settings, &["show", first.as_str(), "--json"]).await;
    let page: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
    assert_eq!((ran.status, &page["write"]["state"]), (0, &json!("confirmed")), "{}", ran.stderr);
    shown("docket show says so, with the settings that the stack gives out");
}

async fn wrong_secret(deployment: &Deployment) {
    let before = deployment.world.items().await.len();
    let update = deployment.world.customer(ANN + 1, "Eve").text("/new").to_string();
    for secret in [None, Some("wrong"), Some("")] {
        let (status, body) = deployment.post(secret, update.clone()).await;
        assert!((400..500).contains(&status), "{status}");
        assert!(body.is_empty(), "{body:?}");
    }
    assert_eq!(deployment.world.items().await.len(), before);
    assert!(deployment.world.conversation(ANN + 1).await.is_none());
    shown("refused, and nothing is stored");
}

/// A function wired to the wrong source: it may fail or say that there is nothing to do, and changes nothing.
async fn foreign_events(deployment: &Deployment) {
    let request = json!({"version": "2.0", "rawPath": "/telegram", "requestContext": {"http": {"method": "POST"}}, "body": "{}"});
    let record = json!({"Records": [{"messageId": "m-1", "eventSource": "aws:s3", "body": "{}"}]});
    let seen = async || {
        let world = &deployment.world;
        let told = world.telegram.calls().iter().filter(|call| call.method == "sendMessage").count();
        (world.items().await, world.rows(), told)
    };
    let (items, rows, told) = seen().await;
    for (function, foreign) in [("webhook", &record), ("writer", &request), ("acknowledger", &request)] {
        for event in ["{}".to_owned(), foreign.to_string()] {
            let name = format!("{STACK}-{function}");
            let invoke = ["lambda", "invoke", "--function-name", &name, "--payload", &event, "/dev/null"];
            deployment.cloud.query(&invoke).await;
        }
    }
    let (items_then, rows_then, told_then) = seen().await;
    assert!(items.len() == items_then.len() && items.iter().all(|item| items_then.contains(item)));
    assert_eq!((rows_then, told_then), (rows, told));
    shown("no record, row or message comes of them");
}

/// Without this every other scene would pass in a cloud that lets everybody do everything.
async fn denied(deployment: &Deployment) {
    let (id, secret) = deployment.keys_with_the_policy_of("Sweeper").await;
    let table = format!("{STACK}-submissions");
    let due = [
        "--key-condition-expression",
        "due_shard = :step",
        "--expression-attribute-values",
        r#"{":step":{"S":"append"}}"#,
    ];
    let query = [&["dynamodb", "query", "--table-name", &table, "--index-name", "due"][..], &due].concat();
    let allowed = deployment.cloud.aws_as((&id, &secret), &query).await;
    assert_eq!(allowed.status, 0, "{}", allowed.stderr);
    for call in [
        &["dynamodb", "scan", "--table-name", &table][..],
        &["ssm", "get-parameters", "--names", "/docket/bot-token", "--with-decryption"],
        &["sqs", "purge-queue", "--queue-url", &deployment.world.queues.write],
    ] {
        let ran = deployment.cloud.aws_as((&id, &secret), call).await;
        assert!(
            ran.status != 0 && ran.stderr.contains("AccessDenied"),
            "{call:?}: {}{}",
            ran.stdout,
            ran.stderr
        );
    }
    shown("by the sweeper's policy the index can be read, and no table, secret or queue beyond it");
}

async fn lost_append_answer(deployment: &Deployment) {
    let bob = deployment.world.customer(ANN + 2, "Bob");
    lose_next_answer(deployment, "writer", Side::Sheets, "append");
    let reference = deployment.submit(&bob, "A skylight.").await;
    let record = deployment.sweep_until("the read-back", &reference, 60, is_finished).await;
    deployment.world.wire.heal();
    assert!(record.write.lookups >= 1, "{record:?}");
    assert_eq!(deployment.world.rows_of(&reference), 1);
    shown("uncertain, read back, confirmed; one row");
}

async fn killed_writer(deployment: &Deployment) {
    let carol = deployment.world.customer(ANN + 3, "Carol");
    // Google has the request and takes its time.
    deployment.world.sheets.next(On::Appends, Behaviour::serves().held());
    let reference = deployment.submit(&carol, "A porch.").await;
    let end = Instant::now() + Duration::from_secs(30);
    while deployment.world.sheets.waiting() == 0 {
        assert!(Instant::now() < end, "no append began");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let writers = deployment.processes_of("writer");
    assert!(!writers.is_empty(), "no writer's process was found");
    for pid in &writers {
        let killed = tokio::process::Command::new("kill").args(["-9", &pid.to_string()]).status().await;
        assert!(killed.unwrap().success());
    }
    let record = deployment.world.record(&reference).await;
    assert!(matches!(record.write.state, WriteState::Attempting { .. }), "{:?}", record.write.state);
    deployment.world.sheets.let_go();
    let record = deployment.sweep_until("the read-back", &reference, 150, is_finished).await;
    assert!(record.write.lookups >= 1 && record.write.attempts == 1, "{record:?}");
    assert_eq!(deployment.world.rows_of(&reference), 1);
    shown("its lease ran out, the sheet was read, one row");
}

async fn lost_acknowledgement(deployment: &Deployment) -> Reference {
    let dora = deployment.world.customer(ANN + 4, "Dora");
    lose_next_answer(deployment, "acknowledger", Side::Telegram, "sendMessage");
    let reference = deployment.submit(&dora, "A fence.").await;
    let record = deployment.sweep_until("the review", &reference, 60, in_review).await;
    deployment.world.wire.heal();
    assert!(matches!(record.write.state, WriteState::Confirmed { .. }), "{record:?}");
    for _ in 0..3 {
        deployment.sweep().await;
    }
    assert_eq!(deployment.world.acknowledgements(ANN + 4).len(), 1);
    let ran = deployment.cloud.docket(&deployment.settings, &["reviews", "--json"]).await;
    let open: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
    assert_eq!(open[0]["reference"], reference.as_str(), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(open[0]["reason"], "ack_uncertain");
    shown("perhaps sent: a review, not a second message; docket reviews lists it");
    reference
}

async fn burst(deployment: &Deployment) {
    let begun = Instant::now();
    let before = deployment.world.sheets.write_requests().len();
    let references: Vec<Reference> = stream::iter(0..BURST)
        .map(|number| async move {
            let chat = BURST_CHAT + i64::try_from(number).unwrap();
            let customer = deployment.world.customer(chat, "Finn");
            deployment.submit(&customer, &format!("Enquiry {number} of many.")).await
        })
        .buffer_unordered(8)
        .collect()
        .await;
    let said = begun.elapsed().as_secs();
    for reference in &references {
        deployment.sweep_until("a row of the burst", reference, 180, is_finished).await;
        assert_eq!(deployment.world.rows_of(reference), 1);
    }
    let requests = deployment.world.sheets.write_requests().len() - before;
    for number in 0..BURST {
        let chat = BURST_CHAT + i64::try_from(number).unwrap();
        assert_eq!(deployment.world.acknowledgements(chat).len(), 1, "chat {number}");
    }
    shown(&format!(
        "{BURST} conversations in {said} s, all recorded and told after {} s, in {requests} append requests",
        begun.elapsed().as_secs()
    ));
}

async fn redriven(deployment: &Deployment) {
    let world = &deployment.world;
    let erin = world.customer(ANN + 5, "Erin");
    let finished = deployment.submit(&erin, "A shed.").await;
    deployment.sweep_until("the enquiry", &finished, 60, is_finished).await;
    let (rows, told) = (world.rows().len(), world.acknowledgements(ANN + 5).len());
    let client = world.engines.sqs_client();
    for (letters, queue) in [
        (&world.queues.write_dead_letters, &world.queues.write),
        (&world.queues.acknowledge_dead_letters, &world.queues.acknowledge),
    ] {
        for reference in [finished.as_str(), "DK-8M4T-K2QX-7RZ9"] {
            ring(deployment, letters, &json!({"v": 1, "reference": reference}).to_string()).await;
        }
        // This cloud has no StartMessageMoveTask; its work is done by hand.
        loop {
            let received =
                client.receive_message().queue_url(letters).max_number_of_messages(10).send().await.unwrap();
            let messages = received.messages.unwrap_or_default();
            if messages.is_empty() {
                break;
            }
            for message in messages {
                ring(deployment, queue, message.body().unwrap()).await;
                let receipt = message.receipt_handle().unwrap();
                client.delete_message().queue_url(letters).receipt_handle(receipt).send().await.unwrap();
            }
        }
    }
    let end = Instant::now() + Duration::from_secs(60);
    for queue in [
        &world.queues.write_dead_letters,
        &world.queues.acknowledge_dead_letters,
        &world.queues.write,
        &world.queues.acknowledge,
    ] {
        while waiting(deployment, queue).await > 0 {
            assert!(Instant::now() < end, "{queue} does not become empty");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
    assert_eq!((world.rows().len(), world.acknowledgements(ANN + 5).len()), (rows, told));
    assert!(is_finished(&world.record(&finished).await));
    shown("a finished enquiry's and nobody's: consumed, nothing done twice");
}

/// Sends any body to a queue.
async fn ring(deployment: &Deployment, queue: &str, body: &str) {
    let client = deployment.world.engines.sqs_client();
    let mut send = client.send_message().queue_url(queue).message_body(body);
    if queue.ends_with(".fifo") {
        let number = NUMBER.fetch_add(1, Ordering::SeqCst);
        send = send.message_group_id("sheet").message_deduplication_id(format!("by-hand-{number}"));
    }
    send.send().await.unwrap();
}

static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Messages in a queue, visible or under work.
async fn waiting(deployment: &Deployment, queue: &str) -> u64 {
    let get = ["sqs", "get-queue-attributes", "--queue-url", queue, "--attribute-names"];
    let names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"];
    let attributes = deployment.cloud.query(&[&get[..], &names].concat()).await;
    names.iter().map(|name| attributes["Attributes"][name].as_str().unwrap().parse::<u64>().unwrap()).sum()
}

/// Another release and other settings over records in every state. The references whose rows or reviews were made by hand.
async fn upgrade(deployment: &mut Deployment) -> Vec<Reference> {
    let table_before = table_id(deployment).await;
    let world = &deployment.world;
    let mut references = Vec::new();
    for number in 0..6 {
        references.push(world.record_by_hand(ANN + 20 + number, "Kept over an upgrade.").await);
    }
    let [pending, attempting, uncertain, ack_pending, ack_attempting, ack_uncertain] =
        references.as_slice().first_chunk::<6>().unwrap().clone();
    world.somebody_claims_the_write(&attempting).await;
    world.somebody_claims_the_write(&uncertain).await;
    let unknown = WriteEvent::Unknown { cause: Cause::new("timeout"), settle_seconds: 20 };
    world.write_meets(&uncertain, unknown).await;
    for reference in [&ack_pending, &ack_attempting, &ack_uncertain] {
        let record = world.somebody_claims_the_write(reference).await;
        let row = Row::of(&record.submission);
        let cells: Vec<serde_json::Value> = row.cells().iter().map(|cell| json!(cell)).collect();
        let number = world.sheets.rows("Intake").len() + 1;
        world.sheets.put_row("Intake", number, &cells);
        world
            .write_meets(reference, WriteEvent::Applied { range: format!("Intake!A{number}:F{number}") })
            .await;
    }
    for reference in [&ack_attempting, &ack_uncertain] {
        world.somebody_claims_the_acknowledgement(reference).await;
    }
    let unknown = AckEvent::Unknown { cause: Cause::new("timeout") };
    world.acknowledgement_meets(&ack_uncertain, unknown).await;

    let before: Vec<u32> = deployment.processes_of("webhook");
    deployment.deploy("next", &["RetentionDays=400", "LogLevel=DEBUG"]).await;
    assert_eq!(table_id(deployment).await, table_before, "the table was replaced");
    shown("the stack is upgraded, its table is the same");

    deployment.sweep_until("the pending one", &pending, 90, is_finished).await;
    deployment.sweep_until("the untold one", &ack_pending, 60, is_finished).await;
    for (reference, reason) in [
        (&attempting, "no_matching_row"),
        (&uncertain, "no_matching_row"),
        (&ack_attempting, "ack_uncertain"),
        (&ack_uncertain, "ack_uncertain"),
    ] {
        let record = deployment.sweep_until(reason, reference, 120, in_review).await;
        assert_eq!(record.reviews()[0].reason.as_str(), reason, "{reference}");
    }
    assert_eq!(deployment.world.acknowledgements(ANN + 20).len(), 1);
    assert_eq!(deployment.world.acknowledgements(ANN + 23).len(), 1);
    shown("pending went on, claimed and uncertain were read back, perhaps sent is a review");
    let gina = deployment.world.customer(ANN + 6, "Gina");
    let reference = deployment.submit(&gina, "A gate.").await;
    deployment.sweep_until("an enquiry after the upgrade", &reference, 60, is_finished).await;
    // An old process may still be there; it serves nobody.
    let now = deployment.processes_of("webhook");
    assert!(now.iter().any(|pid| !before.contains(pid)), "no process of the new release");
    shown("the next enquiry goes through the new release");
    references
}

async fn table_id(deployment: &Deployment) -> serde_json::Value {
    let table = format!("{STACK}-submissions");
    let described = deployment.cloud.query(&["dynamodb", "describe-table", "--table-name", &table]).await;
    json!([described["Table"]["TableId"], described["Table"]["CreationDateTime"]])
}

async fn schedule(deployment: &Deployment) {
    let sweeps = deployment.logged("sweeper").await.iter().filter(|line| line.contains("\"swept\"")).count();
    assert!(sweeps > 0, "no sweep was logged");
    let name = format!("{STACK}-sweeper");
    let schedule = deployment.cloud.query(&["scheduler", "get-schedule", "--name", &name]).await;
    assert_eq!(
        (&schedule["State"], &schedule["ScheduleExpression"]),
        (&json!("ENABLED"), &json!("rate(1 minute)")),
        "{schedule}"
    );
    shown(&format!("{sweeps} sweeps are logged, and the schedule is on"));
}

async fn doctor(deployment: &Deployment) {
    let cloud = &deployment.cloud;
    // Telegram takes https alone, and this cloud's door has none.
    let mut settings = deployment.settings.clone();
    settings.retain(|(name, _)| name != "WEBHOOK_URL");
    settings.push(("WEBHOOK_URL".to_owned(), "https://docket.example.org/telegram".to_owned()));
    let set = cloud.docket(&settings, &["webhook", "set", "--now"]).await;
    assert_eq!(set.status, 0, "{}", set.stderr);
    let name = format!("{STACK}-sweeper");
    // This deployment is a rehearsal, whose queues hide a message for as long as its own time-outs need.
    let rehearsal = ["write.fifo", "acknowledge"].map(|queue| {
        format!(
            "queue {STACK}-{queue}: it hides a message for {VISIBILITY_SECONDS} s; a function may take so long that 540 s are \
             needed"
        )
    });
    let complaints = async || {
        let ran = cloud.docket(&settings, &["doctor", "--json"]).await;
        let report: Vec<serde_json::Value> =
            serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr));
        assert!(report.len() > 25, "{report:?}");
        let (expected, found): (Vec<String>, Vec<String>) = report
            .iter()
            .filter(|line| line["result"] != "ok")
            .map(|line| format!("{}: {}", line["check"].as_str().unwrap(), line["found"].as_str().unwrap()))
            // The message of which nobody knows whether it came is closed in a later scene.
            .partition(|line| rehearsal.contains(line) || line.starts_with("open reviews: "));
        assert_eq!(expected.len(), rehearsal.len() + 1, "{expected:?} {found:?}");
        found
    };
    assert_eq!(complaints().await, [format!("heartbeat of {name}: no sweep in the last 10 minutes")]);
    shown(
        "docket doctor finds everything as it must be, and misses the heartbeat that nobody has passed on yet",
    );
    deployment.sweep().await;
    deployment.extract_metrics("sweeper").await;
    assert_eq!(complaints().await, Vec::<String>::new());
    shown("with the metrics out of the sweeper's log, every check is ok");
    let alarm = format!("{STACK}: reviews are open");
    let described = cloud.query(&["cloudwatch", "describe-alarms", "--alarm-names", &alarm]).await;
    assert_eq!(described["MetricAlarms"][0]["StateValue"], "ALARM", "{described}");
    shown("those metrics set off the alarm for open reviews");

    let schedule = cloud.query(&["scheduler", "get-schedule", "--name", &name]).await;
    let off = |state: &str| {
        json!({
            "Name": name,
            "State": state,
            "ScheduleExpression": schedule["ScheduleExpression"],
            "FlexibleTimeWindow": schedule["FlexibleTimeWindow"],
            "Target": schedule["Target"],
        })
        .to_string()
    };
    cloud.aws(&["scheduler", "update-schedule", "--cli-input-json", &off("DISABLED")]).await;
    assert_eq!(complaints().await, [format!("schedule {name}: it is switched off")]);
    cloud.aws(&["scheduler", "update-schedule", "--cli-input-json", &off("ENABLED")]).await;
    assert_eq!(complaints().await, Vec::<String>::new());
    shown("a schedule that is switched off is named");
}

async fn canary(deployment: &Deployment) {
    let operator = deployment.world.customer(OPERATOR, "Olga");
    // Telegram sends nothing to a chat that has never written to the bot.
    deployment.say(operator.text("/start")).await;
    deployment.say(operator.text("/cancel")).await;
    let (items, rows) = (deployment.world.items().await.len(), deployment.world.rows().len());
    let mut settings = deployment.settings.clone();
    settings.push(("OPERATOR_CHAT".to_owned(), OPERATOR.to_string()));
    let ran = deployment.cloud.docket(&settings, &["canary", "--json", "--wait", "60"]).await;
    assert_eq!(ran.status, 0, "{} {}", ran.stdout, ran.stderr);
    assert_eq!((deployment.world.items().await.len(), deployment.world.rows().len()), (items, rows));
    assert_eq!(deployment.world.acknowledgements(OPERATOR).len(), 1);
    shown("docket canary went the whole way and took its row and its record away again");
}

async fn closed(deployment: &Deployment, unacknowledged: &Reference) {
    let docket = async |arguments: &[&str]| {
        let ran = deployment.cloud.docket(&deployment.settings, arguments).await;
        assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
        serde_json::from_str::<serde_json::Value>(&ran.stdout).unwrap_or_default()
    };
    let order = [
        "resolve",
        "--reason",
        "ack_uncertain",
        "--leave",
        "--because",
        "we rang them up",
        "--apply",
        "--json",
    ];
    let done = docket(&order).await;
    assert!(done.as_array().is_some_and(|lines| !lines.is_empty()), "{done}");
    assert!(done.as_array().is_some_and(|lines| lines.iter().all(|line| line["done"] == true)), "{done}");
    let page = docket(&["show", unacknowledged.as_str(), "--json"]).await;
    let last = page["history"].as_array().and_then(|history| history.last()).cloned().unwrap_or_default();
    assert_eq!((&last["step"], &last["why"]), (&json!("ordered_leave"), &json!("we rang them up")));
    assert!(last["by"].as_str().is_some_and(|by| by.starts_with("operator arn:")), "{last}");
    let looked = docket(&["recheck", unacknowledged.as_str(), "--json"]).await;
    assert_eq!((&looked["changed"], &looked["found"]["kind"]), (&json!(false), &json!("one_equal_row")));
    shown("docket resolve closes it with the operator's name from AWS, docket recheck finds its row");
}

/// Before it is closed.
async fn watched(deployment: &Deployment, unacknowledged: &Reference) {
    let ran = deployment.cloud.docket(&deployment.settings, &["watch", "--once"]).await;
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    let open = |line: &&str| line.starts_with(unacknowledged.as_str()) && line.contains("ack_uncertain");
    assert_eq!(ran.stdout.lines().filter(open).count(), 1, "{}", ran.stdout);
    assert!(ran.stdout.lines().any(|line| line.starts_with("due now: append ")), "{}", ran.stdout);
    shown("docket watch --once prints the open review, and what is due");
}

/// An enquiry whose row is in the sheet is forgotten, by the command that asks nobody. Its reference.
async fn erased(deployment: &Deployment) -> Reference {
    const HERS: &str = "A pergola behind 7 Elm Street.";
    let world = &deployment.world;
    let hilda = world.customer(ANN + 7, "Hildegard");
    let reference = deployment.submit(&hilda, HERS).await;
    let before = deployment.sweep_until("the enquiry", &reference, 60, is_finished).await;
    assert_eq!(world.rows_of(&reference), 1);
    let others = || -> Vec<Vec<serde_json::Value>> {
        world.sheets.rows("Intake").into_iter().filter(|row| row[0] != reference.as_str()).collect()
    };
    let (rows, records) = (others(), world.items().await.len());

    let order =
        ["erase", "--reference", reference.as_str(), "--because", "asked by letter", "--yes", "--json"];
    let first = deployment.cloud.docket(&deployment.settings, &order).await;
    assert_eq!(first.status, 0, "{}{}", first.stdout, first.stderr);
    let gone: serde_json::Value = serde_json::from_str(&first.stdout).unwrap_or_default();
    assert_eq!(gone[0]["reference"], reference.as_str(), "{gone}");
    assert_eq!(gone[0]["rows"].as_array().map(Vec::len), Some(1), "{gone}");
    let after = world.record(&reference).await;
    assert!(after.erased_at.is_some() && after.finished(), "{after:?}");
    assert_eq!(after.submission.confirmed_at, before.submission.confirmed_at);
    let kept = format!("{:?} {:?}", world.items().await, world.sheets.rows("Intake"));
    for hers in [HERS, "Hildegard", &(ANN + 7).to_string()] {
        assert!(!kept.contains(hers), "{hers} is left");
    }
    shown("docket erase takes her row and her words; of the record its states and moments stay");

    let page = deployment.cloud.docket(&deployment.settings, &["show", reference.as_str()]).await;
    assert_eq!(page.status, 0, "{}", page.stderr);
    for told in ["Its customer was erased at ", "and was deleted with its customer's data."] {
        assert!(page.stdout.contains(told), "{told}: {}", page.stdout);
    }
    assert!(!page.stdout.contains("pergola"), "{}", page.stdout);
    shown("docket show says that it was erased, and still answers the four questions");

    let again = deployment.cloud.docket(&deployment.settings, &order).await;
    assert_eq!(again.status, 0, "{}{}", again.stdout, again.stderr);
    let gone: serde_json::Value = serde_json::from_str(&again.stdout).unwrap_or_default();
    assert_eq!(gone[0]["rows"], json!([]), "{gone}");
    deployment.sweep().await;
    assert_eq!((others(), world.items().await.len()), (rows, records), "somebody else's was touched");
    assert_eq!((world.rows_of(&reference), world.acknowledgements(ANN + 7).len()), (0, 1));
    shown("everybody else's rows are as they were, and the same order again does no harm");
    reference
}

async fn rules(deployment: &Deployment, by_hand: Vec<Reference>) {
    let world = &deployment.world;
    let tampering = Tampering { rows_of: by_hand, ..Tampering::default() };
    world.check_rules_but_for(&tampering).await;
    let records = world.records().await;
    let settled = records.iter().filter(|record| record.finished()).count();
    let open = records.iter().filter(|record| in_review(record)).count();
    assert_eq!(settled + open, records.len(), "{}", world.picture().await);
    let told = records
        .iter()
        .filter(|record| {
            record.acknowledgement.as_ref().is_some_and(|ack| matches!(ack.state, AckState::Confirmed { .. }))
        })
        .count();
    shown(&format!("{} records: {settled} finished, {open} in review, {told} told", records.len()));
    for function in ["webhook", "writer", "acknowledger", "sweeper"] {
        for line in deployment.logged(function).await {
            for hidden in [WEBHOOK_SECRET, "world-bot-token", "PRIVATE KEY", "Enquiry 1 of", "gutters", "eyJ"]
            {
                assert!(!line.contains(hidden), "{function} shows {hidden}: {line}");
            }
        }
    }
    shown("no secret and no customer's words in any log");
}
