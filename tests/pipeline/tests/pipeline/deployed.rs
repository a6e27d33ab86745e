//! The deployed template against what the functions really do: the settings that they read, and the calls that they make;
//! and against what the operator's command reads.

use std::collections::BTreeSet;

use docket_template::Template;
use docket_template::environment::given_to_command;
use docket_template::shape::allowed;
use docket_template::sources::FUNCTIONS;
use docket_world::World;
use docket_world::parameters::FakeParameters;
use docket_world::sheets::{Behaviour, On};
use docket_world::wire::{Backend, Side};
use docket_world::workers::{BOT_TOKEN, WEBHOOK_SECRET};
use serde_json::Value;

use crate::executables::{Environment, environment_of};
use crate::old_cards::conflicting_card;
use crate::operator::docket;
use crate::settings::refusal;
use crate::stage::{Process, until};

const CHAT: i64 = 7_100_000_001;

/// The variables that the template gives a function, with their values in this world: what the world has of its own, else
/// what stands in the template.
async fn environment_in_template(
    template: &Template,
    function: &str,
    world: &World,
) -> Vec<(String, String)> {
    let own = environment_of(&function.to_lowercase(), world);
    let globals = template.at("/Globals/Function/Environment/Variables").as_object().unwrap();
    let variables = template.properties(function)["Environment"]["Variables"].as_object().unwrap();
    let mut pairs = Vec::new();
    for (name, value) in globals.iter().chain(variables) {
        let value = value["Fn::If"].as_array().map_or(value, |chosen| &chosen[1]);
        let known = own.pairs().iter().find(|(own, _)| own == name).map(|(_, value)| value.clone());
        let value = match name.strip_suffix("_PARAMETER") {
            Some(setting) => format!("/docket/{setting}"),
            // Its default is empty, and leaves it out.
            None if name == "OPERATOR_CHAT" => CHAT.to_string(),
            None => known.or_else(|| template.filled(value)).unwrap(),
        };
        pairs.push((name.clone(), value));
    }
    pairs
}

#[tokio::test(flavor = "multi_thread")]
async fn the_template_gives_each_function_exactly_the_settings_that_it_reads() {
    let template = Template::deployed();
    let world = World::start().await;
    let parameters = FakeParameters::of([
        ("/docket/WEBHOOK_SECRET", WEBHOOK_SECRET.to_owned()),
        ("/docket/WEBHOOK_SECRET_PREVIOUS", WEBHOOK_SECRET.to_owned()),
        ("/docket/BOT_TOKEN", BOT_TOKEN.to_owned()),
        ("/docket/GOOGLE_CREDENTIALS", world.google_credentials().to_owned()),
        ("/docket/CATALOG", "{}".to_owned()),
    ]);
    let backend = Backend::Fake(std::sync::Arc::new(parameters));
    let mut read = 0;
    for function in FUNCTIONS {
        let name: &'static str = match function {
            "Webhook" => "webhook",
            "Writer" => "writer",
            "Acknowledger" => "acknowledger",
            _ => "sweeper",
        };
        let gate = world.wire.gate(name, Side::Parameters, backend.clone()).await;
        let given = environment_in_template(&template, function, &world).await;
        let mut environment = Environment::of_aws(&world.url(name, Side::DynamoDb))
            .with("AWS_ENDPOINT_URL_SQS", world.url(name, Side::Sqs))
            .with("AWS_ENDPOINT_URL_SSM", gate.url());
        for (variable, value) in &given {
            environment = environment.with(variable, value);
        }
        // With these, and nothing else but what Lambda itself gives, it starts.
        let mut process = Process::start(name, environment.clone()).await;
        let api = &process.api;
        until("the first poll", || api.polls() > 0).await;
        assert!(process.executable.lives(), "{function}: {:?}", process.executable.stdout());
        // And each of them is read: one that nobody read could be misspelt.
        for (variable, _) in &given {
            let said = refusal(name, environment.clone().with(variable, "")).await;
            assert_eq!(said, format!("{variable} is empty"), "{function} does not read {variable}");
            read += 1;
        }
    }
    assert!(read > 20, "{read} settings");
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stack_gives_out_exactly_the_settings_that_the_command_reads() {
    let template = Template::deployed();
    let world = World::start().await;
    let given: Vec<String> = given_to_command(&template).into_keys().collect();
    let all_empty = given.iter().filter(|name| !name.ends_with("_PARAMETER"));
    let all_empty = all_empty.fold(Environment::of_aws(world.engines.dynamodb_url()), |environment, name| {
        environment.with(name, "")
    });
    let doctor = docket(&all_empty, &["doctor", "--json"]);
    let report: Vec<Value> = serde_json::from_str(&doctor.stdout).unwrap();
    let canary = docket(&all_empty, &["canary"]);
    for name in &given {
        // A parameter's name that is empty is found before its setting is looked for.
        let said = match name.strip_suffix("_PARAMETER") {
            Some(_) => docket(&all_empty.clone().with(name, ""), &["doctor", "--json"]).stdout,
            None => format!("{} {}", doctor.stdout, canary.stderr),
        };
        assert!(said.contains(&format!("{name} is empty")), "the command does not read {name}: {said}");
    }
    // And whatever doctor looks for is there to be taken.
    let looked_for = report.iter().filter_map(|line| line["check"].as_str()?.strip_prefix("setting "));
    let looked_for: Vec<&str> = looked_for.chain(["WEBHOOK_SECRET_PREVIOUS", "OPERATOR_CHAT"]).collect();
    assert!(looked_for.len() > 15, "{looked_for:?}");
    for name in looked_for {
        let is_given = given.iter().any(|given| given.trim_end_matches("_PARAMETER") == name);
        assert!(is_given, "the stack does not give out {name}: {given:?}");
    }
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_template_allows_each_function_exactly_what_it_does() {
    let template = Template::deployed();
    let mut world = World::start().await;
    let ann = world.customer(CHAT, "Ann");
    // A whole story; an answer lost and read back; a conflict; a burst's worth of due records; lost
    // doorbells, and the sweep that makes them good.
    let reference = world.submit(&ann, "A quote", "New gutters.").await;
    world.say(ann.text(&format!("/status {reference}"))).await;
    world.sheets.next(On::Appends, Behaviour::writes_then_hangs_up());
    world.settle().await;
    let bob = world.customer(CHAT + 1, "Bob");
    conflicting_card(&mut world, &bob).await;
    world.say(bob.press_button("Confirm")).await;
    world.record_enquiries(12).await;
    world.poll_writer().await;
    assert!(world.lose_rings_for_the_acknowledgement().await > 0);
    world.settle().await;
    world.sweep().await;

    assert_eq!(wrong_permissions(&template, &world), Vec::<String>::new());
    // And a slip is found.
    for (written, slip, finding) in [
        (
            "[dynamodb:GetItem, dynamodb:PutItem, dynamodb:UpdateItem]",
            "[dynamodb:GetItem, dynamodb:PutItem]",
            "Webhook may not",
        ),
        (
            "[dynamodb:GetItem, dynamodb:PutItem]",
            "[dynamodb:GetItem, dynamodb:PutItem, dynamodb:Scan]",
            "Webhook never does",
        ),
        ("                  - !Sub ${SubmissionsTable.Arn}/index/reviews\n", "", "Writer may not"),
        ("sqs:ReceiveMessage, sqs:DeleteMessage", "sqs:ReceiveMessage", "Writer may not"),
        (
            "parameter${ParameterPrefix}/bot-token",
            "parameter${ParameterPrefix}/token",
            "Acknowledger may not",
        ),
        (
            "[!GetAtt WriteQueue.Arn, !GetAtt AcknowledgeQueue.Arn]",
            "[!GetAtt WriteQueue.Arn]",
            "Sweeper may not",
        ),
        ("Resource: !GetAtt SweeperLogs.Arn", "Resource: !GetAtt WriterLogs.Arn", "Sweeper may not"),
    ] {
        let text = Template::text();
        assert!(text.contains(written), "the template has no longer: {written}");
        let found = wrong_permissions(&Template::parse(&text.replacen(written, slip, 1)), &world);
        assert!(found.iter().any(|wrong| wrong.contains(finding)), "{written} -> {slip}: {found:?}");
    }
    world.check_rules().await;
}

/// What each function did in this world and may not do, and what it may do and did not.
fn wrong_permissions(template: &Template, world: &World) -> Vec<String> {
    let mut wrong = Vec::new();
    for function in FUNCTIONS {
        let mut done = BTreeSet::new();
        for call in world.wire.calls().iter().filter(|call| call.worker == function.to_lowercase()) {
            match call.side {
                Side::DynamoDb => done.extend(of_dynamodb(world, &call.operation, &call.json())),
                // A batch needs no permission of its own (SQS developer guide, "Amazon SQS API permissions").
                Side::Sqs => {
                    let body = call.json();
                    let url = body["QueueUrl"].as_str().unwrap();
                    let queue = if url == world.queues.write { "WriteQueue" } else { "AcknowledgeQueue" };
                    done.insert(("sqs:SendMessage".to_owned(), queue.to_owned()));
                }
                Side::Parameters | Side::Sheets | Side::Token | Side::Telegram | Side::Webhook => {}
            }
        }
        assert!(!done.is_empty(), "{function} did nothing");
        done.extend(for_lambda(template, function));
        let may: BTreeSet<(String, String)> = allowed(template, function).into_iter().collect();
        wrong.extend(done.difference(&may).map(|lacks| format!("{function} may not {lacks:?}")));
        wrong.extend(may.difference(&done).map(|needless| format!("{function} never does {needless:?}")));
    }
    wrong
}

fn of_dynamodb(world: &World, operation: &str, body: &Value) -> Vec<(String, String)> {
    let table = |body: &Value| {
        let name = body["TableName"].as_str().unwrap();
        let table = if name == world.tables.submissions { "SubmissionsTable" } else { "ConversationsTable" };
        match body["IndexName"].as_str() {
            Some(index) => format!("{table}/{index}"),
            None => table.to_owned(),
        }
    };
    if operation != "TransactWriteItems" {
        return vec![(format!("dynamodb:{operation}"), table(body))];
    }
    let parts = body["TransactItems"].as_array().unwrap();
    parts
        .iter()
        .flat_map(|part| part.as_object().unwrap())
        .map(|(kind, part)| {
            let action = match kind.as_str() {
                "Put" => "dynamodb:PutItem",
                "Update" => "dynamodb:UpdateItem",
                "Delete" => "dynamodb:DeleteItem",
                "ConditionCheck" => "dynamodb:ConditionCheckItem",
                other => panic!("{other} is no part of a transaction"),
            };
            (action.to_owned(), table(part))
        })
        .collect()
}

/// What Lambda does with a function's role: write its logs, take what its queue holds; and what the function does before
/// anything else, read its parameters.
fn for_lambda(template: &Template, function: &str) -> Vec<(String, String)> {
    let mut actions: Vec<(String, String)> = ["logs:CreateLogStream", "logs:PutLogEvents"]
        .map(|action| (action.to_owned(), format!("{function}Logs")))
        .to_vec();
    let properties = template.properties(function);
    for event in properties["Events"].as_object().into_iter().flat_map(|events| events.values()) {
        if event["Type"] == "SQS" {
            let queue = event["Properties"]["Queue"]["Fn::GetAtt"].as_str().unwrap().trim_end_matches(".Arn");
            actions.extend(
                ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]
                    .map(|action| (action.to_owned(), queue.to_owned())),
            );
        }
    }
    for (name, value) in properties["Environment"]["Variables"].as_object().unwrap() {
        if name.ends_with("_PARAMETER") {
            let value = value["Fn::If"].as_array().map_or(value, |chosen| &chosen[1]);
            let named = value["Fn::Sub"].as_str().map(str::to_owned);
            let named = named.unwrap_or_else(|| format!("${{{}}}", value["Ref"].as_str().unwrap()));
            actions.push(("ssm:GetParameters".to_owned(), named));
        }
    }
    actions
}
