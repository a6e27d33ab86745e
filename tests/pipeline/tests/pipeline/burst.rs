//! Many at once: rows travel together, so that Google's quota, which counts requests, is never the limit.

use docket_domain::metric::Metric;
use docket_world::sheets::{Behaviour, On};

use crate::write_side::{all_are, appends, each_is_written_once, minutes_later, world};

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_enquiries_are_appended_in_at_most_ten_requests_and_within_the_quota() {
    let mut world = world().await;
    world.sheets.enforce_quota(true);
    let references = world.record_enquiries(1_000).await;
    each_is_written_once(&mut world, &references).await;
    assert!((1..=10).contains(&appends(&world)), "{} requests", appends(&world));
    let requests = world.sheets.requests();
    let most = requests
        .iter()
        .map(|first| {
            requests.iter().filter(|r| (first.at_ms..first.at_ms + 60_000).contains(&r.at_ms)).count()
        })
        .max();
    assert!(most < Some(60), "{most:?} requests in a minute");
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_whose_answer_is_lost_is_uncertain_whole_and_one_look_settles_all_of_it() {
    let mut world = world().await;
    world.sheets.next(On::Appends, Behaviour::writes_then_hangs_up());
    let references = world.record_enquiries(200).await;
    world.work().await;
    all_are(&world, &references, "uncertain").await;
    let reads = world.sheets.read_requests().len();
    minutes_later(&mut world, 1).await;
    all_are(&world, &references, "confirmed read_back").await;
    // The reference column, then the rows: one look, however many records it settles.
    assert_eq!(world.sheets.read_requests().len() - reads, 2);
    assert_eq!(world.recorder().sum(Metric::Lookups), 1.0);
    assert_eq!(appends(&world), 1);
    each_is_written_once(&mut world, &references).await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn enquiries_that_come_one_by_one_as_fast_as_they_can_stay_within_a_minutes_quota() {
    let mut world = world().await;
    world.sheets.enforce_quota(true);
    let mut references = Vec::new();
    for _ in 0..130 {
        references.extend(world.record_enquiries(1).await);
        world.poll_writer().await;
    }
    // Time passed only where the writer waited.
    assert_eq!(appends(&world), 130);
    let most = world.sheets.most_writes_in_any_minute();
    assert!((50..60).contains(&most), "{most} write requests in a minute");
    each_is_written_once(&mut world, &references).await;
    world.check_rules().await;
}
