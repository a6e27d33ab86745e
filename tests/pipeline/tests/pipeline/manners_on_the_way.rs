//! How the command behaves when a side fails that it asks before its own work: a stack's outputs, settings in SSM, who the
//! caller is, and Google's tokens.
//!
//! As in `manners`: one clear line on standard error that says what to do next, the right exit status, no secret.

use std::sync::Arc;

use docket_domain::reference::Reference;
use docket_domain::status::{ReviewReason, WriteReview};
use docket_world::engines::Engines;
use docket_world::parameters::FakeParameters;
use docket_world::wire::{Backend, Gate, Side};
use docket_world::workers::NOBODY;
use docket_world::{Settings, World};
use serde_json::Value;

use crate::doctor_of_aws::{Says, saying};
use crate::manners::{Asks, ROWS, Refusing, Row, row, settings};
use crate::operator::docket;
use crate::orders::in_review;

const HTML: &[(&str, &str)] = &[("content-type", "text/html")];
const NO_AWS: &str =
    "whoever answers there is not this service of AWS's: look at AWS_REGION, AWS_ENDPOINT_URL";
const NOBODY_THERE: &str = "nobody answers there: look at the network, AWS_REGION and AWS_ENDPOINT_URL";

async fn refusing(world: &World, code: &'static str) -> Gate {
    world.wire.gate("operator", Side::Parameters, Backend::Fake(Arc::new(Refusing { code }))).await
}

async fn with_html(world: &World, status: u16) -> Gate {
    saying(world, Says { status, headers: HTML, body: b"<html>hidden</html>".to_vec() }).await
}

/// What fails, by its address; the exit status of whoever needs it, and a part of what is said.
type Failing = Vec<(String, i32, &'static str)>;

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_that_gives_no_settings_is_told_by_every_command_that_takes_them_from_it() {
    let world = World::start().await;
    let unknown = refusing(&world, "ValidationError").await;
    let denied = refusing(&world, "AccessDenied").await;
    let expired = refusing(&world, "ExpiredToken").await;
    let busy = refusing(&world, "Throttling").await;
    let (absent, page, trouble) =
        (with_html(&world, 404).await, with_html(&world, 200).await, with_html(&world, 503).await);
    let failing: Failing = vec![
        (NOBODY.into(), 3, NOBODY_THERE),
        (unknown.url(), 1, "there is no stack docket here: look at its name and at the region"),
        (denied.url(), 1, "AccessDenied; allow yourself cloudformation:DescribeStacks on it"),
        (expired.url(), 1, "ExpiredToken; sign in again, and look at this machine's clock"),
        (busy.url(), 3, "Throttling; try again in a minute"),
        (absent.url(), 3, NO_AWS),
        (page.url(), 3, NO_AWS),
        (trouble.url(), 3, "http_503; try again in a minute"),
    ];
    for (address, status, words) in failing {
        let there = settings(&world).with("AWS_ENDPOINT_URL_CLOUDFORMATION", address);
        for row in ROWS.into_iter().filter(|row| row.asks != Asks::Nobody) {
            row.of_stack("docket").refused(&there, status, words);
        }
    }
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_that_cannot_be_read_are_told_by_every_command_that_reads_one() {
    let world = World::start().await;
    let empty = Backend::Fake(Arc::new(FakeParameters::of([])));
    let empty = world.wire.gate("operator", Side::Parameters, empty).await;
    let denied = refusing(&world, "AccessDeniedException").await;
    let expired = refusing(&world, "ExpiredTokenException").await;
    let (absent, trouble) = (with_html(&world, 404).await, with_html(&world, 503).await);
    let failing: Failing = vec![
        (NOBODY.into(), 3, NOBODY_THERE),
        (
            empty.url(),
            1,
            "_PARAMETER names no SSM parameter here: look at its name and at AWS_REGION, or put it",
        ),
        (
            denied.url(),
            1,
            "AccessDeniedException; allow yourself to use the deployment's tables and parameters",
        ),
        (expired.url(), 1, "ExpiredTokenException; sign in again"),
        (absent.url(), 3, NO_AWS),
        (trouble.url(), 3, "http_503; try again in a minute"),
    ];
    let in_parameters =
        ["GOOGLE_CREDENTIALS", "BOT_TOKEN", "WEBHOOK_SECRET"].iter().fold(settings(&world), |set, name| {
            set.without(name).with(&format!("{name}_PARAMETER"), format!("/docket/{name}"))
        });
    let reading = |row: &Row| match row.command {
        "recheck" | "erase" | "audit" | "canary" | "sheet init" => true,
        "webhook set" | "webhook info" | "webhook delete" => true,
        // The other one is about no row.
        "resolve" => row.arguments.contains(&"--abandon"),
        _ => false,
    };
    let reading: Vec<Row> = ROWS.into_iter().filter(reading).collect();
    assert_eq!(reading.len(), 9);
    for (address, status, words) in failing {
        let there = in_parameters.clone().with("AWS_ENDPOINT_URL_SSM", address);
        for row in &reading {
            row.refused(&there, status, words);
        }
        let doctor = row("doctor", &[], Asks::All).run(&there);
        assert_eq!((doctor.status, doctor.stderr.as_str()), (1, ""), "{}", doctor.stdout);
        assert!(doctor.stdout.contains("parameter"), "{}", doctor.stdout);
    }
    world.check_rules().await;
}

/// An order is better kept in a key's name than not at all.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_does_not_wait_for_aws_to_say_who_orders() {
    let (world, reference) = in_review(ReviewReason::Write(WriteReview::NoMatchingRow)).await;
    let following = world.clock.follow_real_time();
    let denied = refusing(&world, "AccessDenied").await;
    let unknown = refusing(&world, "InvalidClientTokenId").await;
    let absent = with_html(&world, 404).await;
    let addresses = [NOBODY.to_owned(), denied.url(), unknown.url(), absent.url()];
    for (number, address) in addresses.iter().enumerate() {
        let there = settings(&world).with("AWS_ENDPOINT_URL_STS", address);
        let because = format!("by {number}");
        let resolve = ["resolve", reference.as_str(), "--abandon", "--because", &because];
        let ran = match number {
            3 => docket(&there, &resolve),
            _ => docket(&there, &["recheck", reference.as_str()]),
        };
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{address}: {}", ran.stdout);
        let record = world.record(&reference).await;
        let last = record.history.entries().last().unwrap();
        assert_eq!(last.by, "operator with the key …ROLE (AWS did not say who)", "{address}");
    }
    following.abort();
    world.is_not_checked("its orders were given by another clock");
}

/// The credentials with every address of a token elsewhere.
fn with_tokens_of(credentials: &str, address: &str) -> String {
    let mut credentials: Value = serde_json::from_str(credentials).unwrap();
    for (name, path) in [
        ("token_uri", "token"),
        ("token_url", "v1/token"),
        (
            "service_account_impersonation_url",
            "v1/projects/-/serviceAccounts/a@example.org:generateAccessToken",
        ),
    ] {
        if let Some(known) = credentials.get_mut(name) {
            *known = format!("{address}/{path}").into();
        }
    }
    credentials.to_string()
}

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

async fn of_token(world: &World, status: u16, error: &str) -> Gate {
    let body = format!("{{\"error\":\"{error}\",\"error_description\":\"hidden words of Google's\"}}");
    saying(world, Says { status, headers: JSON, body: body.into_bytes() }).await
}

const PASSES: &str =
    "try again in a minute; if it stays, look at the network, the endpoints and Google's status page";

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_gets_no_token_is_told_by_every_command_that_looks_at_the_sheet() {
    let (world, reference) = in_review(ReviewReason::Write(WriteReview::NoMatchingRow)).await;
    let following = world.clock.follow_real_time();
    let invalid = of_token(&world, 400, "invalid_grant").await;
    let unauthorized = of_token(&world, 401, "invalid_client").await;
    let page = with_html(&world, 401).await;
    let refused =
        "credentials_refused; Google refuses the credentials: put a key that works into the parameter";
    let failing: Failing = vec![
        (NOBODY.into(), 3, PASSES),
        (invalid.url(), 1, refused),
        (unauthorized.url(), 1, refused),
        (page.url(), 3, PASSES),
    ];
    for (address, status, words) in failing {
        let credentials = with_tokens_of(world.google_credentials(), &address);
        let there = settings(&world).with("GOOGLE_CREDENTIALS", credentials);
        for arguments in of_the_sheet(&reference) {
            let ran = docket(&there, &arguments);
            let said = ran.refused(status);
            assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
            assert!(said.starts_with("docket: ") && said.contains(words), "{arguments:?}: {said}");
        }
        // What failed stands in the reports of these.
        let many = ["resolve", "--reason", "no_matching_row", "--recorded", "--because", "a test", "--apply"];
        for (arguments, status) in
            [(&many[..], status), (&["canary", "--wait", "1"], status), (&["doctor"], 1)]
        {
            let ran = docket(&there, arguments);
            assert_eq!((ran.status, ran.stderr.as_str()), (status, ""), "{arguments:?}: {}", ran.stdout);
            assert!(ran.stdout.contains(words.split("; ").last().unwrap_or_default()), "{}", ran.stdout);
            assert!(!ran.stdout.contains("hidden"), "{}", ran.stdout);
        }
    }
    following.abort();
    world.check_rules().await;
}

fn of_the_sheet(reference: &Reference) -> [Vec<&str>; 6] {
    let reference = reference.as_str();
    let because = ["--because", "a test"];
    [
        vec!["recheck", reference],
        [&["resolve", reference, "--recorded"][..], &because].concat(),
        [&["resolve", reference, "--append-again", "--yes"][..], &because].concat(),
        [&["erase", "--reference", reference, "--settle", "abandoned", "--yes"][..], &because].concat(),
        vec!["audit"],
        vec!["sheet", "init"],
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_gets_no_token_is_told_with_the_step_that_refused_it() {
    let keyless = Settings { keyless: true, ..Settings::default() };
    let world = World::with(Arc::new(Engines::start().await), keyless).await;
    let following = world.clock.follow_real_time();
    let invalid = of_token(&world, 400, "invalid_grant").await;
    let unauthorized = of_token(&world, 401, "unauthorized_client").await;
    let lends: &str = "impersonation_refused; this AWS role may not borrow";
    let asks: &str = "federation_refused; Google does not let this AWS role in";
    let all_elsewhere = |address: &str| with_tokens_of(world.google_credentials(), address);
    // The first step is well, and the second one is not.
    let second_elsewhere = |address: &str| {
        let mut credentials: Value = serde_json::from_str(world.google_credentials()).unwrap();
        let elsewhere: Value = serde_json::from_str(&all_elsewhere(address)).unwrap();
        let name = "service_account_impersonation_url";
        credentials[name] = elsewhere[name].clone();
        credentials.to_string()
    };
    for (credentials, status, words) in [
        (all_elsewhere(NOBODY), 3, PASSES),
        (all_elsewhere(&invalid.url()), 1, asks),
        (all_elsewhere(&unauthorized.url()), 1, asks),
        (second_elsewhere(NOBODY), 3, PASSES),
        (second_elsewhere(&unauthorized.url()), 1, lends),
    ] {
        let there = settings(&world).with("GOOGLE_CREDENTIALS", credentials);
        for row in ROWS.into_iter().filter(|row| row.asks == Asks::Sheet || row.command == "erase") {
            row.refused(&there, status, words);
        }
    }
    following.abort();
    world.check_rules().await;
}
