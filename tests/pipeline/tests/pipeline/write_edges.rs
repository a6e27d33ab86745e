//! Where several things meet on the write side: a sheet that stops while a write is uncertain, time that runs short, a
//! batch with messages that mean nothing, a store that reports its own success as a failure, and people at the keyboard.

use docket_domain::limits::{CLAIMING_MS, MARKING_MS};
use docket_domain::metric::Metric;
use docket_domain::reference::Reference;
use docket_domain::row::HEADER;
use docket_domain::status::WriteState;
use docket_world::World;
use docket_world::sheets::{Behaviour, FailureBody, On};
use docket_world::wire::{Fault, Plan, Side};
use docket_world::world::{write_event, write_event_of};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use serde_json::{Value, json};

use crate::write_side::{
    ALONE_AND_IN_COMPANY, all_are, append_calls, appends, each, each_is_written_once,
    is_said_to_have_stopped, uncertain, world,
};

// ---- A sheet that stops while a write is uncertain -----------------------------------------------------------------------

/// What somebody did to the sheet.
#[derive(Debug, Clone, Copy)]
enum Mishap {
    TabRenamed,
    ColumnsSwapped,
    NoLongerShared,
    SpreadsheetGone,
}

impl Mishap {
    fn happen(self, world: &World) {
        match self {
            Self::TabRenamed => world.sheets.rename_tab("Intake", "Enquiries"),
            Self::ColumnsSwapped => {
                let [a, b, c, d, e, f] = HEADER;
                world.sheets.set_header("Intake", &[a, b, d, c, e, f]);
            }
            Self::NoLongerShared => {
                world.sheets.from_now_on(On::Appends, Behaviour::permission_denied());
                world.sheets.from_now_on(On::Reads, Behaviour::permission_denied());
            }
            Self::SpreadsheetGone => {
                world.sheets.from_now_on(On::Appends, Behaviour::not_found());
                world.sheets.from_now_on(On::Reads, Behaviour::not_found());
            }
        }
    }

    fn be_mended(self, world: &World) {
        match self {
            Self::TabRenamed => world.sheets.rename_tab("Enquiries", "Intake"),
            Self::ColumnsSwapped => world.sheets.set_header("Intake", &HEADER),
            Self::NoLongerShared | Self::SpreadsheetGone => world.sheets.heal(),
        }
    }

    fn cause(self) -> &'static str {
        match self {
            Self::TabRenamed => "no_such_tab",
            Self::ColumnsSwapped => "header_mismatch",
            Self::NoLongerShared => "permission_denied",
            Self::SpreadsheetGone => "spreadsheet_not_found",
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sheet_that_stops_with_a_write_uncertain_heals_into_every_row_once() {
    let mishaps =
        [Mishap::TabRenamed, Mishap::ColumnsSwapped, Mishap::NoLongerShared, Mishap::SpreadsheetGone];
    // By a process that saw the header before, and by a new one.
    let rows = mishaps.into_iter().flat_map(|mishap| [(mishap, false), (mishap, true)]);
    each(rows, |(mishap, new_process)| async move {
        let mut world = world().await;
        let unsettled = uncertain(&mut world, 1, Behaviour::writes_then_hangs_up()).await;
        let waiting = world.record_enquiries(5).await;
        mishap.happen(&world);
        if new_process {
            world.restart();
        } else {
            world.turn_seconds(61);
        }
        world.run_minutes(8).await;
        // Past the settle time, and a look that failed is still not an absent row.
        all_are(&world, &unsettled, "uncertain").await;
        all_are(&world, &waiting, &format!("pending {}", mishap.cause())).await;
        assert!(is_said_to_have_stopped(&world));
        assert_eq!(world.dead_letters().await, Vec::<String>::new());
        let alone = append_calls(&world).iter().filter(|call| rows_in(call) == 1).count();
        assert_eq!(alone, 1, "the uncertain one was appended again");

        mishap.be_mended(&world);
        each_is_written_once(&mut world, &[unsettled.clone(), waiting].concat()).await;
        all_are(&world, &unsettled, "confirmed read_back").await;
        assert_eq!(world.rows().len(), 6);
        world.check_rules().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sheet_that_is_gone_is_said_to_have_stopped_though_nothing_waits_to_be_appended() {
    for mishap in
        [Mishap::TabRenamed, Mishap::ColumnsSwapped, Mishap::NoLongerShared, Mishap::SpreadsheetGone]
    {
        let mut world = world().await;
        let unsettled = uncertain(&mut world, 1, Behaviour::writes_then_hangs_up()).await;
        assert!(!is_said_to_have_stopped(&world));
        mishap.happen(&world);
        world.run_minutes(2).await;
        all_are(&world, &unsettled, "uncertain").await;
        assert!(is_said_to_have_stopped(&world), "{mishap:?}");
        mishap.be_mended(&world);
        each_is_written_once(&mut world, &unsettled).await;
        world.check_rules().await;
    }
}

fn rows_in(call: &docket_world::wire::Call) -> usize {
    call.json()["values"].as_array().map_or(0, Vec::len)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tab_renamed_between_claim_and_append_is_a_refusal_and_every_row_goes_once() {
    let mut world = world().await;
    world.record_enquiries(1).await;
    world.settle().await;
    // The header was seen a moment ago: the append itself meets the renamed tab.
    let waiting = world.record_enquiries(5).await;
    Mishap::TabRenamed.happen(&world);
    world.poll_writer().await;
    assert_eq!(appends(&world), 2, "the append left");
    all_are(&world, &waiting, "pending no_such_tab").await;
    for reference in &waiting {
        let record = world.record(reference).await;
        assert_eq!(record.write.attempts, 0, "a halt is not the record's fault");
        assert!(record.history.entries().iter().any(|entry| entry.step == "claimed"));
    }
    world.run_minutes(3).await;
    assert_eq!(appends(&world), 2, "a sheet that stopped was sent more");
    Mishap::TabRenamed.be_mended(&world);
    each_is_written_once(&mut world, &waiting).await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_cannot_be_read_holds_up_nobody_and_is_never_appended_blindly() {
    let mut world = world().await;
    let references = world.record_enquiries(5).await;
    let (damaged, others) = references.split_first().unwrap();
    let summary = world.damage_record(damaged, "summary").await;
    world.work().await;
    all_are(&world, others, "confirmed append_answer").await;
    assert_eq!(world.rows_of(damaged), 0);
    world.run_minutes(5).await;
    assert!(world.recorder().sum(Metric::RecordUnreadable) >= 1.0);
    assert_eq!(world.dead_letters().await, Vec::<String>::new());
    // A release that can read it finds it still due.
    world.repair_record(damaged, "summary", summary).await;
    each_is_written_once(&mut world, &references).await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_makes_one_batch_uncertain_and_the_rest_waits() {
    let mut world = world().await;
    let header_seen = world.record_enquiries(1).await;
    world.settle().await;
    let first = world.record_enquiries(3).await;
    world.sheets.from_now_on(On::Sheets, Behaviour::fails(503, FailureBody::Html));
    world.work().await;
    all_are(&world, &first, "uncertain").await;
    let second = world.record_enquiries(4).await;
    world.work().await;
    all_are(&world, &second, "pending http_503").await;
    assert_eq!(appends(&world), 2, "Google in trouble was sent another batch");
    world.sheets.heal();
    each_is_written_once(&mut world, &[header_seen, second].concat()).await;
    world.settle().await;
    all_are(&world, &first, "uncertain, review no_matching_row").await;
    world.check_rules().await;
}

// ---- Time that runs short ----------------------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_started_that_the_remaining_time_cannot_finish() {
    let without_a_limit = world().await;
    without_a_limit.is_not_checked("nothing happens in it");
    let needed = without_a_limit.settings().timing.append_timeout_ms + CLAIMING_MS + MARKING_MS;
    let mut started = 0;
    for left_ms in [0, 1, MARKING_MS, needed - 1, needed, needed + 1_000] {
        let mut world = world().await;
        let references = world.record_enquiries(3).await;
        let deadline = world.now().plus_millis(left_ms);
        let answer = world.invoke_writer(write_event(&references), deadline).await;
        assert_eq!(answer, Some(json!({"batchItemFailures": []})), "{left_ms} ms");
        if left_ms < needed {
            all_are(&world, &references, "pending").await;
            assert_eq!(world.sheets.requests().len(), 0, "asked Google with {left_ms} ms left");
            for reference in &references {
                let record = world.record(reference).await;
                assert_eq!(
                    (record.version, record.history.entries().len()),
                    (1, 1),
                    "touched in {left_ms} ms"
                );
                assert!(record.due().is_some());
            }
        } else {
            started += 1;
            all_are(&world, &references, "confirmed append_answer").await;
        }
        each_is_written_once(&mut world, &references).await;
        world.check_rules().await;
    }
    assert_eq!(started, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_look_at_the_header_leaves_the_append_to_the_next_minute() {
    let mut world = world().await;
    let references = world.record_enquiries(3).await;
    let timeout_ms = i64::try_from(world.settings().timing.append_timeout_ms).unwrap();
    let deadline = world.now().plus_millis(world.settings().timing.append_timeout_ms + 4_000);
    world.sheets.next(On::Reads, Behaviour::serves().taking_ms(timeout_ms - 1_000));
    let answer = world.invoke_writer(write_event(&references), deadline).await;
    assert_eq!(answer, Some(json!({"batchItemFailures": []})));
    all_are(&world, &references, "pending").await;
    assert_eq!(appends(&world), 0);
    each_is_written_once(&mut world, &references).await;
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_is_not_begun_without_the_time_to_keep_what_it_finds() {
    let mut world = world().await;
    let references = uncertain(&mut world, 2, Behaviour::writes_then_hangs_up()).await;
    world.turn_seconds(60);
    let asked = world.sheets.requests().len();
    let short = world.now().plus_millis(world.settings().timing.append_timeout_ms);
    let answer = world.invoke_writer(write_event(&references), short).await;
    assert_eq!(answer, Some(json!({"batchItemFailures": []})));
    assert_eq!(world.sheets.requests().len(), asked);
    all_are(&world, &references, "uncertain").await;
    each_is_written_once(&mut world, &references).await;
    all_are(&world, &references, "confirmed read_back").await;
    world.check_rules().await;
}

// ---- A batch with messages that mean nothing ---------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn poison_in_a_batch_is_consumed_and_a_store_that_fails_returns_its_ring_and_all_later_ones() {
    let poison = [
        "no ring at all",
        "[]",
        r#"{"v":1}"#,
        r#"{"v":2,"reference":"DK-8M4T-K2QX-7RZ9"}"#,
        r#"{"v":1,"reference":"DK-8M4T"}"#,
        r#"{"v":1,"reference":7}"#,
        // Well formed, and no record of that name.
        r#"{"v":1,"reference":"DK-8M4T-K2QX-7RZ9"}"#,
    ];
    for failing in [None, Some(1), Some(2), Some(3)] {
        let mut world = world().await;
        let references = world.record_enquiries(3).await;
        let ring = |reference: &Reference| json!({"v": 1, "reference": reference, "extra": {}}).to_string();
        // A whole batch: good, poison, good, poison, good, poison.
        let mut bodies: Vec<String> = poison.map(str::to_owned).to_vec();
        let places = [0, 4, 8];
        for (place, reference) in places.into_iter().zip(&references) {
            bodies.insert(place, ring(reference));
        }
        assert_eq!(bodies.len(), 10);
        if let Some(nth) = failing {
            // The SDK's own second try fails too.
            let aim = Plan::at_operation("writer", Side::DynamoDb, "UpdateItem", nth, Fault::Answer500Before);
            world.wire.set_plan(aim.times(9));
        }
        let answer = world.invoke_writer(write_event_of(&bodies), world.deadline()).await.unwrap();
        let returned: Vec<&str> = answer["batchItemFailures"]
            .as_array()
            .unwrap()
            .iter()
            .map(|failure| failure["itemIdentifier"].as_str().unwrap())
            .collect();
        match failing {
            None => assert_eq!(returned, Vec::<&str>::new()),
            Some(_) => {
                // Some claim failed; from the first such ring on everything comes again, poison too.
                let first: usize = returned[0].strip_prefix("message-").unwrap().parse().unwrap();
                assert!(places.contains(&first), "{returned:?}");
                let all_later: Vec<String> = (first..bodies.len()).map(|n| format!("message-{n}")).collect();
                assert_eq!(returned, all_later);
            }
        }
        world.wire.heal();
        // A claim that failed for sure was not made: nothing waits for a lease.
        for reference in &references {
            let state = world.record(reference).await.write.state;
            assert!(!matches!(state, WriteState::Uncertain { .. }), "{state:?}");
        }
        each_is_written_once(&mut world, &references).await;
        world.check_rules().await;
    }
}

// ---- A store that reports its own success as a failure --------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn our_own_conditional_write_reported_as_failed_is_ours() {
    for count in ALONE_AND_IN_COMPANY {
        // Each claim and each marking, one after the other: the answer is lost, and the SDK's own second try is told
        // that the condition failed.
        for nth in 1..=2 * count {
            let mut world = world().await;
            let references = world.record_enquiries(count).await;
            world.wire.set_plan(Plan::at_operation(
                "writer",
                Side::DynamoDb,
                "UpdateItem",
                nth,
                Fault::LoseAnswer,
            ));
            world.poll_writer().await;
            assert_eq!(world.wire.faults_that_hit().len(), 1, "{nth} of {count}");
            // At once, with nobody's lease waited for and nothing read back.
            all_are(&world, &references, "confirmed append_answer").await;
            assert_eq!(appends(&world), 1);
            for reference in &references {
                let record = world.record(reference).await;
                assert_eq!((record.write.attempts, record.write.lookups), (1, 0), "{nth} of {count}");
                let claims = record.history.entries().iter().filter(|entry| entry.step == "claimed").count();
                assert_eq!(claims, 1, "{nth} of {count}");
            }
            world.wire.heal();
            each_is_written_once(&mut world, &references).await;
            world.check_rules().await;
        }
    }
}

// ---- People and writers at the same row -----------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn twenty_writers_at_once_overwrite_nothing() {
    let mut world = world().await;
    // Without INSERT_ROWS all of them would choose the same empty row.
    world.sheets.race_overwriting_appends(20);
    let mut references = Vec::new();
    let mut running = FuturesUnordered::new();
    for number in 1..=20 {
        let reference = world.record_by_hand(7_200_000_000 + number, "One of twenty.").await;
        world.sheets.next(On::Appends, Behaviour::serves().held());
        running.push(world.invoke_another_writer(write_event(std::slice::from_ref(&reference))));
        references.push(reference);
        // Each starts while all before it are still appending.
        while i64::try_from(world.sheets.waiting()).unwrap() < number {
            tokio::select! {
                answered = running.next() => panic!("a writer ended early: {answered:?}"),
                () = tokio::task::yield_now() => {}
            }
        }
    }
    world.sheets.let_go();
    while let Some(answer) = running.next().await {
        assert!(answer.is_some());
    }
    drop(running);
    assert_eq!(append_calls(&world).len(), 20);
    for call in append_calls(&world) {
        assert!(call.request.query.contains("insertDataOption=INSERT_ROWS"), "{}", call.request.query);
        assert!(call.request.query.contains("valueInputOption=RAW"), "{}", call.request.query);
    }
    each_is_written_once(&mut world, &references).await;
    assert_eq!(world.rows().len(), 20);
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_types_into_the_next_row_meanwhile_loses_nothing_and_takes_nothing() {
    let mut world = world().await;
    let references = world.record_enquiries(2).await;
    world.sheets.next(On::Appends, Behaviour::serves().held());
    let sheets = world.sheets.clone();
    let types = async {
        while sheets.waiting() == 0 {
            tokio::task::yield_now().await;
        }
        sheets.type_into_next_empty_row("Intake", &["call Ann back", "", "", "today"]);
        sheets.let_go();
    };
    tokio::join!(world.work(), types);
    each_is_written_once(&mut world, &references).await;
    let typed: Vec<Vec<Value>> = world.rows().into_iter().filter(|row| row[0] == "call Ann back").collect();
    assert_eq!(typed, vec![["call Ann back", "", "", "today"].map(Value::from).to_vec()]);
    world.check_rules().await;
}
