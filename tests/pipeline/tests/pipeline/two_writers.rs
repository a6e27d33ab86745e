//! Two writers at once: FIFO keeps them apart, and when it does not, the records do.
//!
//! Where a test is about one record, the calls of both writers are held until both have decided: they do overlap.

use docket_domain::metric::Metric;
use docket_domain::reference::Reference;
use docket_domain::status::WriteState;
use docket_world::World;
use docket_world::sheets::Behaviour;
use docket_world::wire::Side;
use docket_world::world::write_event;

use crate::write_side::{ALONE_AND_IN_COMPANY, all_are, appends, each_is_written_once, uncertain, world};

/// Two writers take the same rings, the second one so many milliseconds after the first; both come to this call, `calls` of
/// them a writer, and neither has heard from the other side when all are let go.
async fn two_overlap_at(
    world: &World,
    references: &[Reference],
    side: Side,
    operation: &str,
    calls: usize,
    apart_ms: i64,
) {
    let event = write_event(references);
    for _ in 0..2 * calls {
        world.wire.hold_next("writer", side, operation);
    }
    let first = world.invoke_another_writer(event.clone());
    let second = async {
        world.wire.until_held(calls).await;
        world.clock.turn(apart_ms);
        world.invoke_another_writer(event).await
    };
    let both = async {
        world.wire.until_held(2 * calls).await;
        world.wire.let_go();
    };
    let (one, other, ()) = tokio::join!(first, second, both);
    assert!(one.is_some() && other.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_writers_that_look_for_the_same_uncertain_rows_settle_each_once() {
    for count in ALONE_AND_IN_COMPANY {
        for apart_ms in [0, 1_000] {
            let mut world = world().await;
            let references = uncertain(&mut world, count, Behaviour::writes_then_hangs_up()).await;
            world.turn_seconds(60);
            two_overlap_at(&world, &references, Side::Sheets, "batch_read", 1, apart_ms).await;
            all_are(&world, &references, "confirmed read_back").await;
            for reference in &references {
                assert_eq!(
                    world.record(reference).await.write.lookups,
                    1,
                    "the other look counts for nothing"
                );
            }
            each_is_written_once(&mut world, &references).await;
            assert_eq!(appends(&world), 1);
            world.check_rules().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_writers_that_keep_what_they_saw_of_the_same_rows_at_once_keep_it_once() {
    for (behaviour, minutes, wanted) in [
        (Behaviour::writes_then_hangs_up(), 1, "confirmed read_back"),
        (Behaviour::hangs_up(), 1, "uncertain"),
        (Behaviour::hangs_up(), 6, "uncertain, review no_matching_row"),
    ] {
        for count in ALONE_AND_IN_COMPANY {
            for apart_ms in [0, 1_000] {
                let mut world = world().await;
                let references = uncertain(&mut world, count, behaviour.clone()).await;
                world.turn_seconds(60 * minutes);
                two_overlap_at(&world, &references, Side::DynamoDb, "UpdateItem", count, apart_ms).await;
                all_are(&world, &references, wanted).await;
                for reference in &references {
                    assert_eq!(world.record(reference).await.write.lookups, 1, "{wanted}");
                }
                world.settle().await;
                assert_eq!(appends(&world), 1, "nobody appends what is uncertain");
                assert_eq!(world.dead_letters().await, Vec::<String>::new());
                world.check_rules().await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_writers_that_find_the_same_lease_over_read_the_sheet_and_append_nothing() {
    // The dead writer's row is there, or is not.
    for (is_there, wanted) in [(true, "confirmed read_back"), (false, "uncertain, review no_matching_row")] {
        for count in ALONE_AND_IN_COMPANY {
            for apart_ms in [0, 1_000] {
                let mut world = world().await;
                let references = world.record_enquiries(count).await;
                world.lose_rings_for_the_write().await;
                for (number, reference) in references.iter().enumerate() {
                    let claimed = world.somebody_claims_the_write(reference).await;
                    if is_there {
                        let row = docket_domain::row::Row::of(&claimed.submission);
                        let cells: Vec<_> = row.cells().iter().map(|cell| serde_json::json!(cell)).collect();
                        world.sheets.put_row("Intake", 2 + number, &cells);
                    }
                }
                world.turn_seconds(121);
                // Leases are ended one after the other, so the first is where they meet.
                two_overlap_at(&world, &references, Side::DynamoDb, "UpdateItem", 1, apart_ms).await;
                for reference in &references {
                    let state = world.record(reference).await.write.state;
                    assert!(
                        matches!(state, WriteState::Uncertain { .. } | WriteState::Confirmed { .. }),
                        "{state:?}"
                    );
                }
                world.settle().await;
                all_are(&world, &references, wanted).await;
                assert_eq!(appends(&world), 0, "a lease that is over is no leave to append");
                assert_eq!(world.dead_letters().await, Vec::<String>::new());
                world.check_rules().await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_writers_that_claim_the_same_pending_records_one_appends_each() {
    for count in ALONE_AND_IN_COMPANY {
        for apart_ms in [0, 1_000] {
            let mut world = world().await;
            let references = world.record_enquiries(count).await;
            two_overlap_at(&world, &references, Side::DynamoDb, "UpdateItem", count, apart_ms).await;
            assert!(appends(&world) <= 2);
            each_is_written_once(&mut world, &references).await;
            assert_eq!(
                world.recorder().sum(Metric::WriteConfirmed),
                f64::from(u32::try_from(count).unwrap())
            );
            world.check_rules().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_saw_no_row_undoes_nothing_of_what_a_later_look_has_proved() {
    // Both look after the settle time; the row appears between the two looks.
    let mut world = world().await;
    let references = uncertain(&mut world, 1, Behaviour::hangs_up_and_writes_later(400_000)).await;
    world.turn_seconds(399);
    let event = write_event(&references);
    world.wire.hold_next("writer", Side::DynamoDb, "UpdateItem");
    let saw_nothing = world.invoke_another_writer(event.clone());
    let saw_the_row = async {
        world.wire.until_held(1).await;
        world.turn_seconds(10);
        world.invoke_another_writer(event).await.unwrap();
        all_are(&world, &references, "confirmed read_back").await;
        world.wire.let_go();
    };
    let (answer, ()) = tokio::join!(saw_nothing, saw_the_row);
    assert!(answer.is_some());
    // What the slower one did not see undoes nothing.
    all_are(&world, &references, "confirmed read_back").await;
    each_is_written_once(&mut world, &references).await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_writers_with_the_same_rings_write_each_row_once() {
    for round in 0..5 {
        let mut world = world().await;
        let references = world.record_enquiries(10).await;
        let event = write_event(&references);
        let answers = futures::future::join(
            world.invoke_another_writer(event.clone()),
            world.invoke_another_writer(event),
        )
        .await;
        assert!(answers.0.is_some() && answers.1.is_some(), "round {round}");
        each_is_written_once(&mut world, &references).await;
        // A record is in one request or in the other, never in both.
        assert!(appends(&world) <= 2, "round {round}");
        world.check_rules().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_with_different_rings_and_the_same_due_records_write_each_row_once() {
    let mut world = world().await;
    let references = world.record_enquiries(30).await;
    let events = references.chunks(10).map(write_event);
    let answers = futures::future::join_all(events.map(|event| world.invoke_another_writer(event))).await;
    assert!(answers.iter().all(Option::is_some));
    each_is_written_once(&mut world, &references).await;
    world.check_rules().await;
}
