//! Two writers at once: FIFO keeps them apart, and when it does not, the records do.

use docket_world::world::write_event;

use crate::write_side::{appends, each_is_written_once, world};

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
