//! The writer without a key: its AWS role borrows the service account, and whatever goes wrong on the way costs no enquiry.

use std::sync::Arc;

use docket_domain::metric::Metric;
use docket_world::engines::Engines;
use docket_world::sheets::{Behaviour, FailureBody, On};
use docket_world::wire::{Fault, Plan, Side};
use docket_world::{Settings, World};

use crate::binaries::{rehearsal, says_what_it_may};
use crate::stage::Stage;
use crate::write_side::*;

const CHAT: i64 = 7_100_000_001;

async fn keyless_world() -> World {
    world_with(|settings| settings.keyless = true).await
}

/// The two requests for a token that reached Google so far, each counted.
fn asked(world: &World) -> (usize, usize) {
    (world.wire.count(Side::Token, "federate"), world.wire.count(Side::Token, "generateAccessToken"))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_enquiry_is_recorded_and_acknowledged_without_any_key() {
    let mut world = keyless_world().await;
    assert!(!world.google_credentials().contains("PRIVATE KEY"));
    let ann = world.customer(CHAT, "Ann");
    let reference = world.submit(&ann, "A quote", "New gutters, please.").await;
    world.work().await;
    assert_eq!(world.acknowledgements(CHAT), [format!("Your enquiry {reference} is recorded.")]);
    let more = world.record_enquiries(5).await;
    each_is_written_once(&mut world, &more).await;
    assert_eq!(asked(&world), (1, 1), "one token serves many appends");
    assert_eq!(world.wire.count(Side::Token, "token"), 0);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_hour_later_a_new_token_is_asked_for_with_that_hours_signature() {
    let mut world = keyless_world().await;
    let mut references = world.record_enquiries(1).await;
    world.work().await;
    for hour in 2..=4 {
        world.turn_seconds(3_600);
        references.extend(world.record_enquiries(1).await);
        world.work().await;
        assert_eq!(asked(&world), (hour, hour));
    }
    // No append met a 401: the old token was not even tried.
    assert_eq!(appends(&world), references.len());
    each_is_written_once(&mut world, &references).await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_is_refused_stops_the_sheet_by_its_name_until_it_is_allowed() {
    for (on, behaviour, cause) in [
        (On::Federations, Behaviour::rejected_by_the_attribute_condition(), "pending federation_refused"),
        (On::Impersonations, Behaviour::lending_denied(), "pending impersonation_refused"),
    ] {
        let mut world = keyless_world().await;
        let references = world.record_enquiries(3).await;
        world.sheets.from_now_on(on, behaviour);
        world.work().await;
        world.run_minutes(3).await;
        all_are(&world, &references, cause).await;
        assert!(is_said_to_have_stopped(&world));
        assert_eq!(appends(&world), 0);
        nobody_is_told(&world, &references).await;
        world.sheets.heal();
        each_is_written_once(&mut world, &references).await;
        assert_eq!(world.recorder().last(Metric::SheetHalted), Some(0.0));
        world.check_rules().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn trouble_at_either_step_is_tried_again_later() {
    let steps = [(On::Federations, "federation"), (On::Impersonations, "impersonation")];
    let troubles = [
        (Behaviour::fails(503, FailureBody::Json), "http_503"),
        (Behaviour::fails(502, FailureBody::Html), "http_502"),
        (Behaviour::hangs_up(), "cut"),
        (Behaviour::quota_exhausted(), "http_429"),
        (Behaviour::serves_body_cut_to(30), "unreadable_answer"),
    ];
    let rows = steps.into_iter().flat_map(|step| troubles.clone().map(|trouble| (step, trouble)));
    each(rows, |((on, step), (behaviour, word))| async move {
        let mut world = keyless_world().await;
        let references = world.record_enquiries(2).await;
        world.sheets.next(on, behaviour);
        world.work().await;
        all_are(&world, &references, &format!("pending {step}_{word}")).await;
        assert_eq!(appends(&world), 0);
        each_is_written_once(&mut world, &references).await;
        world.check_rules().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_hears_nothing_or_dies_on_the_way_to_its_token_loses_nothing() {
    let places = ["federate", "generateAccessToken"].into_iter().flat_map(|operation| {
        [Fault::Hang, Fault::LoseAnswer, Fault::CrashBefore, Fault::CrashAfter]
            .map(|fault| (operation, fault))
    });
    each(places, |(operation, fault)| async move {
        let mut world = world_with(|settings| {
            settings.keyless = true;
            settings.timing.append_timeout_ms = 600;
        })
        .await;
        let references = world.record_enquiries(2).await;
        world.wire.set_plan(Plan::at_operation("writer", Side::Token, operation, 1, fault));
        world.work().await;
        assert_eq!(world.wire.faults_that_hit().len(), 1);
        world.wire.heal();
        each_is_written_once(&mut world, &references).await;
        assert_eq!(appends(&world), 1);
        world.check_rules().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_may_be_given_up_and_taken_back_by_a_deployment() {
    let mut world = world().await;
    let mut references = Vec::new();
    for keyless in [false, true, false] {
        world.deploy(|settings| settings.keyless = keyless);
        references.extend(world.record_enquiries(1).await);
        world.work().await;
    }
    assert_eq!((asked(&world), world.wire.count(Side::Token, "token")), ((1, 1), 2));
    each_is_written_once(&mut world, &references).await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_writers_executable_does_its_work_by_its_role_alone() {
    let settings = Settings { keyless: true, ..Settings::default() };
    let world = World::with(Arc::new(Engines::start().await), settings).await;
    let mut stage = Stage::set_in(world, rehearsal).await;
    let ann = stage.world.customer(CHAT, "Ann");
    // The first try is refused at the second step, in the executable's own words.
    stage.world.sheets.next(On::Impersonations, Behaviour::lending_denied());
    let reference = stage.submit(&ann, "Hidden gutters, please.").await;
    stage.poll_writer().await;
    assert_eq!(known(&stage.world.record(&reference).await), "pending impersonation_refused");
    let other = stage.submit(&ann, "Hidden gutters, please.").await;
    stage.poll_writer().await;
    stage.poll_acknowledger().await;
    assert!(stage.world.record(&other).await.finished(), "{}", stage.world.picture().await);
    assert_eq!(stage.world.rows_of(&other), 1);
    assert!(asked(&stage.world).0 >= 2);
    says_what_it_may("writer", stage.process("writer"));
    stage.world.check_rules().await;
}
