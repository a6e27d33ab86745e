//! A writer that dies: before its lease ends nobody touches the record, afterwards the sheet is read before anything else.

use docket_domain::status::{Record, WriteState};
use docket_world::sheets::{Behaviour, On};
use docket_world::wire::{Fault, Plan, Side};
use docket_world::world::write_event;

use crate::write_side::{ALONE_AND_IN_COMPANY, all_are, appends, known, world};

/// Where a writer dies, what is known in the end of the record whose call it was, and what may be of those beside it.
struct Death {
    side: Side,
    operation: &'static str,
    nth: usize,
    fault: Fault,
    ending: &'static str,
    beside: &'static [&'static str],
}

/// At the last claim, at the request, and at the first, the middle and the last mark; before and after each.
///
/// The claims and the marks of a batch are under way at the same time: those beside the one that is hit may have been taken
/// or not.
fn deaths(count: usize) -> Vec<Death> {
    const ANSWERED: &str = "confirmed append_answer";
    const READ: &str = "confirmed read_back";
    const ABSENT: &str = "uncertain, review no_matching_row";
    let at_update = |nth, fault, ending, beside| Death {
        side: Side::DynamoDb,
        operation: "UpdateItem",
        nth,
        fault,
        ending,
        beside,
    };
    let at_append = |fault, ending, beside| Death {
        side: Side::Sheets,
        operation: "append",
        nth: 1,
        fault,
        ending,
        beside,
    };
    let mut deaths = vec![
        at_update(count, Fault::CrashBefore, ANSWERED, &[ANSWERED, ABSENT][..]),
        at_update(count, Fault::CrashAfter, ABSENT, &[ANSWERED, ABSENT]),
        at_append(Fault::CrashBefore, ABSENT, &[ABSENT][..]),
        at_append(Fault::CrashAfter, READ, &[READ]),
    ];
    let mut marks = vec![1, count.div_ceil(2), count];
    marks.dedup();
    for mark in marks {
        deaths.push(at_update(count + mark, Fault::CrashBefore, READ, &[READ, ANSWERED]));
        deaths.push(at_update(count + mark, Fault::CrashAfter, ANSWERED, &[READ, ANSWERED]));
    }
    deaths
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_died_is_followed_by_a_look_never_by_a_blind_append() {
    let mut held = Vec::new();
    let all =
        ALONE_AND_IN_COMPANY.into_iter().flat_map(|count| deaths(count).into_iter().map(move |d| (count, d)));
    for (count, Death { side, operation, nth, fault, ending, beside }) in all {
        let what = format!("{fault} at {operation} {nth} of {count} records");
        let mut world = world().await;
        let references = world.record_enquiries(count).await;
        world.wire.set_plan(Plan::at_operation("writer", side, operation, nth, fault));
        world.poll_writer().await;
        let hit = world.wire.faults_that_hit();
        assert_eq!(hit.len(), 1, "{what}");
        world.wire.heal();

        let attempting = |record: &Record| matches!(record.write.state, WriteState::Attempting { .. });
        let mut all_attempting = true;
        for reference in &references {
            all_attempting &= attempting(&world.record(reference).await);
        }
        // Beside a claim or a mark that is hit others may still be under way; at the append all are claimed.
        if all_attempting && (count == 1 || side == Side::Sheets) {
            held.push(count);
            let asked = world.sheets.requests().len();
            assert!(world.invoke_another_writer(write_event(&references)).await.is_some(), "{what}");
            assert_eq!(
                world.sheets.requests().len(),
                asked,
                "before the lease's end nothing is asked: {what}"
            );
            for reference in &references {
                assert!(attempting(&world.record(reference).await), "{what}");
            }

            world.turn_seconds(i64::try_from(world.settings().timing.lease_seconds).unwrap() + 1);
            let appended = appends(&world);
            assert!(world.invoke_another_writer(write_event(&references)).await.is_some(), "{what}");
            assert!(world.sheets.requests().len() > asked, "after it the sheet is read: {what}");
            assert_eq!(appends(&world), appended, "and nothing is appended: {what}");
        }
        world.settle().await;
        let of_the_hit_call = hit[0].0.json()["Key"]["reference"]["S"].as_str().map(str::to_owned);
        let mut hit_ones = 0;
        for reference in &references {
            let known = known(&world.record(reference).await);
            if of_the_hit_call.as_deref().is_none_or(|hit| hit == reference.as_str()) {
                hit_ones += 1;
                assert_eq!(known, ending, "{reference}: {what}");
            } else {
                assert!(beside.contains(&known.as_str()), "{reference} beside it is {known}: {what}");
            }
            let rows = usize::from(known.starts_with("confirmed"));
            assert_eq!(world.rows_of(reference), rows, "{reference}: {what}");
        }
        assert_eq!(hit_ones, if side == Side::Sheets { count } else { 1 }, "{what}");
        world.check_rules().await;
    }
    let [alone, company] = ALONE_AND_IN_COMPANY;
    assert_eq!(
        held,
        [alone, alone, alone, alone, company, company],
        "the deaths between claim and marking leave a lease"
    );
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
