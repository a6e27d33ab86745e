//! A writer that dies: before its lease ends nobody touches the record, afterwards the sheet is read before anything else.

use docket_domain::status::WriteState;
use docket_world::sheets::{Behaviour, On};
use docket_world::wire::{Fault, Plan, Side};
use docket_world::world::write_event;

use crate::write_side::{all_are, appends, known, world};

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_died_is_followed_by_a_look_never_by_a_blind_append() {
    // Where it dies, and what is known at the end.
    let deaths = [
        (Side::DynamoDb, "UpdateItem", 1, Fault::CrashBefore, "confirmed append_answer"),
        (Side::DynamoDb, "UpdateItem", 1, Fault::CrashAfter, "uncertain, review no_matching_row"),
        (Side::Sheets, "append", 1, Fault::CrashBefore, "uncertain, review no_matching_row"),
        (Side::Sheets, "append", 1, Fault::CrashAfter, "confirmed read_back"),
        (Side::DynamoDb, "UpdateItem", 2, Fault::CrashBefore, "confirmed read_back"),
        (Side::DynamoDb, "UpdateItem", 2, Fault::CrashAfter, "confirmed append_answer"),
    ];
    let mut held = 0;
    for (side, operation, nth, fault, wanted) in deaths {
        let what = format!("{fault} at {operation} {nth}");
        let mut world = world().await;
        let references = world.record_enquiries(1).await;
        world.wire.set_plan(Plan::at_operation("writer", side, operation, nth, fault));
        world.poll_writer().await;
        assert_eq!(world.wire.faults_that_hit().len(), 1, "{what}");
        world.wire.heal();

        let attempting = |record: &docket_domain::status::Record| {
            matches!(record.write.state, WriteState::Attempting { .. })
        };
        if attempting(&world.record(&references[0]).await) {
            held += 1;
            let asked = world.sheets.requests().len();
            assert!(world.invoke_another_writer(write_event(&references)).await.is_some(), "{what}");
            assert_eq!(
                world.sheets.requests().len(),
                asked,
                "before the lease's end nothing is asked: {what}"
            );
            assert!(attempting(&world.record(&references[0]).await), "{what}");

            world.turn_seconds(i64::try_from(world.settings().timing.lease_seconds).unwrap() + 1);
            let appended = appends(&world);
            assert!(world.invoke_another_writer(write_event(&references)).await.is_some(), "{what}");
            assert!(world.sheets.requests().len() > asked, "after it the sheet is read: {what}");
            assert_eq!(appends(&world), appended, "and nothing is appended: {what}");
        }
        world.settle().await;
        assert_eq!(known(&world.record(&references[0]).await), wanted, "{what}");
        world.check_rules().await;
    }
    assert_eq!(held, 4, "the deaths between claim and marking leave a lease");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_is_only_slow_overlaps_with_the_next_one_and_there_is_one_row() {
    // Its request arrives before anybody has given it up, or long after a person was called.
    for (seconds, at_the_end) in [(130, "confirmed read_back"), (1_000, "uncertain, review no_matching_row")]
    {
        for count in [1, 5] {
            let mut world = world().await;
            let references = world.record_enquiries(count).await;
            world.sheets.next(On::Appends, Behaviour::serves().held());
            let lease_end = i64::try_from(world.settings().timing.lease_seconds).unwrap() + 1;
            let slow = world.invoke_another_writer(write_event(&references));
            let meanwhile = async {
                while world.sheets.waiting() == 0 {
                    tokio::task::yield_now().await;
                }
                world.turn_seconds(lease_end);
                for _ in 0..4 {
                    assert!(world.invoke_another_writer(write_event(&references)).await.is_some());
                    world.turn_seconds((seconds - lease_end).max(0) / 4 + 1);
                }
                all_are(&world, &references, if seconds > 300 { at_the_end } else { "uncertain" }).await;
                world.sheets.let_go();
            };
            tokio::join!(slow, meanwhile);
            // Whatever the slow one learned comes too late to be believed over what the records say.
            assert_eq!(appends(&world), 1);
            world.settle().await;
            all_are(&world, &references, at_the_end).await;
            for reference in &references {
                assert_eq!(world.rows_of(reference), 1);
            }
            world.check_rules().await;
        }
    }
}
