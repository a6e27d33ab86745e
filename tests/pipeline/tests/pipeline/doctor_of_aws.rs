//! `docket doctor` where AWS itself is not as it must be, or does not let the operator look; and what waits for a person.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType, TimeToLiveSpecification,
};
use docket_domain::status::{ReviewReason, WriteReview};
use docket_world::World;
use docket_world::exchange::{Answer, Fake, Request};
use docket_world::parameters::FakeParameters;
use docket_world::telegram::{Deliveries, WebhookAnswer};
use docket_world::wire::{Backend, Gate, Side};
use docket_world::workers::BOT_TOKEN;
use serde_json::json;

use crate::doctor::{CHAT, Deployment, complains, complaints};
use crate::executables::Environment;
use crate::orders::in_review;

/// Another side that answers every call alike.
pub(crate) struct Says {
    pub(crate) status: u16,
    pub(crate) headers: &'static [(&'static str, &'static str)],
    pub(crate) body: Vec<u8>,
}

impl Fake for Says {
    fn answer(&self, _request: Request) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>> {
        let headers =
            self.headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let body = self.body.clone();
        Box::pin(async move { Answer::Reply { status: self.status, headers, body } })
    }
}

pub(crate) async fn saying(world: &World, says: Says) -> Gate {
    world.wire.gate("operator", Side::Parameters, Backend::Fake(Arc::new(says))).await
}

/// An error as the services that speak JSON put it.
fn refusing(status: u16, code: &'static str, headers: &'static [(&'static str, &'static str)]) -> Says {
    let body = json!({"__type": code, "message": "it is not shown"}).to_string().into_bytes();
    Says { status, headers, body }
}

/// CloudWatch speaks CBOR (Smithy RPC v2): a map of one entry, put together by hand.
const CBOR: &[(&str, &str)] = &[("smithy-protocol", "rpc-v2-cbor"), ("content-type", "application/cbor")];

fn cbor(name: &str, value: &[u8]) -> Vec<u8> {
    let length = u8::try_from(name.len()).unwrap();
    [&[0xa1, 0x60 + length], name.as_bytes(), value].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parameter_that_is_missing_is_named_with_the_command_that_puts_it() {
    let deployment = Deployment::good().await;
    let store = FakeParameters::of([("/docket/bot-token", BOT_TOKEN.to_owned())]);
    let backend = Backend::Fake(Arc::new(store));
    let gate = deployment.world.wire.gate("operator", Side::Parameters, backend).await;
    let aside = deployment.environment.clone().without("BOT_TOKEN").without("WEBHOOK_SECRET");
    let environment = aside
        .with("AWS_ENDPOINT_URL_SSM", gate.url())
        .with("BOT_TOKEN_PARAMETER", "/docket/bot-token")
        .with("WEBHOOK_SECRET_PARAMETER", "/docket/webhook-secret");
    complains(
        &environment,
        "parameter /docket/webhook-secret",
        "there is none of this name for WEBHOOK_SECRET",
    );
    complains(
        &environment,
        "parameter /docket/webhook-secret",
        "--type SecureString --name /docket/webhook-secret",
    );
    // The one that is there is read, and hidden by nothing.
    let left = complaints(&environment);
    assert!(!left.iter().any(|line| line["check"].as_str().unwrap().contains("bot")), "{left:?}");
    deployment.world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_never_forgets_or_has_another_index_is_named() {
    let deployment = Deployment::good().await;
    let world = &deployment.world;
    let client = world.engines.dynamodb_client();
    let off = TimeToLiveSpecification::builder().attribute_name("expires_at").enabled(false).build().unwrap();
    let call = client.update_time_to_live().table_name(&world.tables.conversations);
    call.time_to_live_specification(off).send().await.unwrap();
    let check = format!("expiry of {}", world.tables.conversations);
    complains(&deployment.environment, &check, "enable TTL on the attribute expires_at");

    // One index over another attribute, the other one missing.
    let attribute = |name: &str, kind: ScalarAttributeType| {
        AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build().unwrap()
    };
    let key = |name: &str, kind: KeyType| {
        KeySchemaElement::builder().attribute_name(name).key_type(kind).build().unwrap()
    };
    let keys_only = Projection::builder().projection_type(ProjectionType::KeysOnly).build();
    let due = GlobalSecondaryIndex::builder()
        .index_name("due")
        .key_schema(key("due_shard", KeyType::Hash))
        .key_schema(key("review_since", KeyType::Range))
        .projection(keys_only)
        .build()
        .unwrap();
    client
        .create_table()
        .table_name("doctor-other-index")
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(attribute("reference", ScalarAttributeType::S))
        .attribute_definitions(attribute("due_shard", ScalarAttributeType::S))
        .attribute_definitions(attribute("review_since", ScalarAttributeType::N))
        .key_schema(key("reference", KeyType::Hash))
        .global_secondary_indexes(due)
        .send()
        .await
        .unwrap();
    let other = deployment.environment.clone().with("SUBMISSIONS_TABLE", "doctor-other-index");
    complains(&other, "table doctor-other-index", "its index due is not over due_shard and due_at");
    complains(&other, "table doctor-other-index", "it has no index reviews");
    complains(&other, "table doctor-other-index", "deploy the template again");
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_telegram_refuses_and_its_last_error_are_named() {
    let deployment = Deployment::good().await;
    let world = &deployment.world;
    let revoked = deployment.environment.clone().with("BOT_TOKEN", "4242:revoked");
    complains(&revoked, "bot", "put the bot's token, as BotFather gives it, into its parameter");

    let ann = world.customer(CHAT, "Ann");
    let mut deliveries = Deliveries::new(&world.telegram);
    for (status, cure) in [(503, "the webhook's log group says why"), (401, "docket webhook set")] {
        deliveries.push(ann.text("/start"));
        let answer = WebhookAnswer { status, retry_after_seconds: None, body: Vec::new() };
        deliveries.deliver_due(async |_| Some(answer.clone())).await;
        complains(&deployment.environment, "webhook", "Telegram's last error");
        complains(&deployment.environment, "webhook", &status.to_string());
        complains(&deployment.environment, "webhook", cure);
        deliveries = Deliveries::new(&world.telegram);
    }
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_that_is_absent_off_or_rare_and_a_sweeper_that_is_silent_are_named() {
    let deployment = Deployment::good().await;
    let world = &deployment.world;
    let named = deployment.environment.clone().with("SWEEPER_SCHEDULE", "docket-sweeper");
    let absent = &[("x-amzn-errortype", "ResourceNotFoundException")];
    let gate = saying(world, refusing(404, "ResourceNotFoundException", absent)).await;
    let environment = named.clone().with("AWS_ENDPOINT_URL_SCHEDULER", gate.url());
    complains(&environment, "schedule docket-sweeper", "there is none of this name");
    complains(
        &environment,
        "schedule docket-sweeper",
        "SWEEPER_SCHEDULE names another deployment's, or deploy",
    );

    let schedule = |state: &str, expression: &str| {
        let target = json!({"Arn": "arn:aws:lambda:us-east-1:000000000000:function:docket-sweeper", "RoleArn": "arn:aws:iam::000000000000:role/r"});
        let body = json!({"Name": "docket-sweeper", "State": state, "ScheduleExpression": expression, "Target": target});
        Says { status: 200, headers: &[], body: body.to_string().into_bytes() }
    };
    for (state, expression, words) in [
        ("DISABLED", "rate(1 minute)", "it is switched off"),
        ("ENABLED", "rate(1 hour)", "it runs by rate(1 hour)"),
    ] {
        let gate = saying(world, schedule(state, expression)).await;
        let environment = named.clone().with("AWS_ENDPOINT_URL_SCHEDULER", gate.url());
        complains(&environment, "schedule docket-sweeper", words);
    }

    // On, and not heard of; then heard of three times.
    let gate = saying(world, schedule("ENABLED", "rate(1 minute)")).await;
    let on = named.with("AWS_ENDPOINT_URL_SCHEDULER", gate.url());
    let silent = saying(world, Says { status: 200, headers: CBOR, body: vec![0xa0] }).await;
    let environment = on.clone().with("AWS_ENDPOINT_URL_CLOUDWATCH", silent.url());
    complains(&environment, "heartbeat of docket-sweeper", "no sweep in the last 10 minutes");
    complains(&environment, "heartbeat of docket-sweeper", "look at the sweeper's log group");
    let three = [&[0x81], cbor("Sum", &[&[0xfb], &3.0_f64.to_be_bytes()[..]].concat()).as_slice()].concat();
    let heard = Says { status: 200, headers: CBOR, body: cbor("Datapoints", &three) };
    let heard = saying(world, heard).await;
    let left = complaints(&on.with("AWS_ENDPOINT_URL_CLOUDWATCH", heard.url()));
    assert!(left.is_empty(), "{left:?}");
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_denied_is_named_with_the_permission_that_it_needs() {
    let deployment = Deployment::good().await;
    let world = &deployment.world;
    let headers = &[("x-amzn-errortype", "AccessDeniedException")];
    let denies = saying(world, refusing(400, "AccessDeniedException", headers)).await;
    let denied = cbor("__type", &[&[0x60 + 21], &b"AccessDeniedException"[..]].concat());
    let denies_in_cbor = saying(world, Says { status: 400, headers: CBOR, body: denied }).await;
    let schedule = json!({
        "State": "ENABLED",
        "ScheduleExpression": "rate(1 minute)",
        "Target": {"Arn": "arn:aws:lambda:us-east-1:000000000000:function:docket-sweeper", "RoleArn": "r"},
    });
    let on = Says { status: 200, headers: &[], body: schedule.to_string().into_bytes() };
    let on = saying(world, on).await;
    let named = deployment
        .environment
        .clone()
        .with("SWEEPER_SCHEDULE", "docket-sweeper")
        .with("AWS_ENDPOINT_URL_SCHEDULER", on.url());
    for (service, gate, check, permission) in [
        ("DYNAMODB", &denies, "table ", "dynamodb:DescribeTable"),
        ("DYNAMODB", &denies, "work that is due", "dynamodb:Query on the index due"),
        ("DYNAMODB", &denies, "open reviews", "dynamodb:Query on the index reviews"),
        ("SQS", &denies, "queue ", "sqs:GetQueueAttributes"),
        ("SSM", &denies, "parameters in SSM", "ssm:GetParameters on them"),
        ("SCHEDULER", &denies, "schedule ", "scheduler:GetSchedule"),
        ("CLOUDWATCH", &denies_in_cbor, "heartbeat ", "cloudwatch:GetMetricStatistics"),
    ] {
        let environment = named.clone().with(&format!("AWS_ENDPOINT_URL_{service}"), gate.url());
        let environment = match service {
            "SSM" => environment.without("BOT_TOKEN").with("BOT_TOKEN_PARAMETER", "/docket/bot-token"),
            _ => environment,
        };
        complains(&environment, check, &format!("allow yourself {permission}"));
    }
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_person_is_counted_by_reason_and_a_misplaced_row_stops_the_sheet() {
    let of = |world: &World| {
        Environment::of_aws(world.engines.dynamodb_url())
            .with("SUBMISSIONS_TABLE", &world.tables.submissions)
            .with("CONVERSATIONS_TABLE", &world.tables.conversations)
    };
    for (reason, words) in [
        (ReviewReason::Write(WriteReview::MisplacedRow), "1 misplaced_row, for which the sheet stops"),
        (ReviewReason::AckUncertain, "1 ack_uncertain"),
    ] {
        let (world, _) = in_review(reason).await;
        complains(&of(&world), "open reviews", words);
        complains(&of(&world), "open reviews", "docket reviews, then docket show REFERENCE");
        world.check_rules().await;
    }
}
