//! AWS does not answer: the connection stays open and nothing comes, whether or not the call was carried out. The enumeration
//! of every placement leaves this fault out towards AWS, since each costs real time; here it meets each kind of call that the
//! story makes.
//!
//! Once, so that the SDK's own second try goes through; and as often as the SDK tries. Of a read nobody can tell whether it was
//! carried out, so a read hangs in one way.

use docket_domain::reference::Reference;
use docket_domain::status::ReviewReason;
use docket_world::wire::{Fault, Plan, Side};
use docket_world::{Settings, World};

use crate::write_side::{ALONE_AND_IN_COMPANY, appends, each, each_is_written_once, world_with};

const CHAT: i64 = 7_100_000_001;

/// Which call never gets an answer, how often, and of how many enquiries.
#[derive(Debug, Clone, Copy)]
struct Hanging {
    #[expect(dead_code, reason = "printed by Debug")]
    place: &'static str,
    worker: &'static str,
    side: Side,
    operation: &'static str,
    nth: usize,
    fault: Fault,
    times: usize,
    count: usize,
}

impl Hanging {
    fn plan(self) -> Plan {
        Plan::at_operation(self.worker, self.side, self.operation, self.nth, self.fault).times(self.times)
    }
}

/// Both faults, once and for all of the SDK's tries.
fn at(
    place: &'static str,
    worker: &'static str,
    side: Side,
    operation: &'static str,
    nth: usize,
    count: usize,
) -> Vec<Hanging> {
    let tries = usize::try_from(Settings::default().patience.attempts_max).unwrap();
    let mut hanging = Vec::new();
    for fault in [Fault::Hang, Fault::ApplyThenHang] {
        // In company each record's call may be hit.
        for times in [1, tries * count] {
            hanging.push(Hanging { place, worker, side, operation, nth, fault, times, count });
        }
    }
    hanging
}

/// A read that hangs, once and for all of the SDK's tries.
fn reading(
    place: &'static str,
    worker: &'static str,
    operation: &'static str,
    nth: usize,
    count: usize,
) -> impl Iterator<Item = Hanging> {
    let hanging = at(place, worker, Side::DynamoDb, operation, nth, count).into_iter();
    hanging.filter(|hanging| hanging.fault == Fault::Hang)
}

/// A world whose patience with AWS is the tests' usual one, and with everybody else long.
async fn world() -> World {
    let usual = Settings::default().patience;
    world_with(|settings| settings.patience = usual).await
}

/// After the fault everything settles by itself: one row and one message each, and nothing is left.
async fn all_is_well(mut world: World, references: &[Reference], hanging: Hanging) {
    assert!(!world.wire.faults_that_hit().is_empty(), "nothing hung");
    world.wire.heal();
    each_is_written_once(&mut world, references).await;
    assert_eq!(appends(&world), 1, "{hanging:?}");
    assert_eq!(world.records().await.len(), references.len());
    world.check_rules().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_or_queue_that_hangs_under_the_writer_doubles_and_loses_nothing() {
    let [alone, company] = ALONE_AND_IN_COMPANY;
    let mut cases = at("the claim", "writer", Side::DynamoDb, "UpdateItem", 1, alone);
    cases.extend(at("the mark", "writer", Side::DynamoDb, "UpdateItem", 2, alone));
    cases.extend(at("the ring", "writer", Side::Sqs, "SendMessage", 1, alone));
    cases.extend(at("the marks", "writer", Side::DynamoDb, "UpdateItem", company + 1, company));
    cases.extend(at("the rings", "writer", Side::Sqs, "SendMessageBatch", 1, company));
    cases.extend(reading("the record", "writer", "GetItem", 1, alone));
    cases.extend(reading("what is due for a look", "writer", "Query", 1, alone));
    cases.extend(reading("what is due for an append", "writer", "Query", 2, alone));
    cases.extend(reading("whether a row is misplaced", "writer", "Query", 3, alone));
    each(cases, |hanging| async move {
        let mut world = world().await;
        let references = world.record_enquiries(hanging.count).await;
        world.wire.set_plan(hanging.plan());
        world.poll_writer().await;
        all_is_well(world, &references, hanging).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_hangs_under_the_claims_of_several_records_writes_each_once() {
    let [_, company] = ALONE_AND_IN_COMPANY;
    each(at("the claims", "writer", Side::DynamoDb, "UpdateItem", 1, company), |hanging| async move {
        let mut world = world().await;
        let references = world.record_enquiries(hanging.count).await;
        world.wire.set_plan(hanging.plan());
        world.poll_writer().await;
        assert!(!world.wire.faults_that_hit().is_empty(), "nothing hung");
        world.wire.heal();
        each_is_written_once(&mut world, &references).await;
        // Those that could be claimed do not wait for those that could not.
        assert!((1..=2).contains(&appends(&world)), "{hanging:?}");
        world.check_rules().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_hangs_under_the_acknowledger_costs_no_second_message_and_no_first_one() {
    let mut cases = at("the claim", "acknowledger", Side::DynamoDb, "UpdateItem", 1, 1);
    cases.extend(at("the mark", "acknowledger", Side::DynamoDb, "UpdateItem", 2, 1));
    cases.extend(reading("the record", "acknowledger", "GetItem", 1, 1));
    let tries = usize::try_from(Settings::default().patience.attempts_max).unwrap();
    each(cases, move |hanging| async move {
        let mut world = world().await;
        let references = world.record_enquiries(1).await;
        world.poll_writer().await;
        world.wire.set_plan(hanging.plan());
        world.poll_acknowledger().await;
        // Sent, and the mark never got there: whether it was sent only a person can find out.
        let never_marked = hanging.operation == "UpdateItem"
            && (hanging.nth, hanging.fault, hanging.times) == (2, Fault::Hang, tries);
        if !never_marked {
            all_is_well(world, &references, hanging).await;
            return;
        }
        assert!(!world.wire.faults_that_hit().is_empty(), "nothing hung");
        world.wire.heal();
        world.settle().await;
        let record = world.record(&references[0]).await;
        let reviews: Vec<ReviewReason> = record.reviews().iter().map(|review| review.reason).collect();
        assert_eq!(reviews, [ReviewReason::AckUncertain], "{hanging:?}");
        assert_eq!(world.acknowledgements(record.submission.chat_id.0).len(), 1, "{hanging:?}");
        world.check_rules().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_hangs_under_a_conversation_costs_its_customer_nothing() {
    let mut cases = at("the draft", "webhook", Side::DynamoDb, "PutItem", 1, 1);
    cases.extend(at("the card", "webhook", Side::DynamoDb, "PutItem", 3, 1));
    cases.extend(reading("the conversation", "webhook", "GetItem", 1, 1));
    cases.extend(reading("the draft at its confirmation", "webhook", "GetItem", 4, 1));
    each(cases, |hanging| async move {
        let mut world = world().await;
        let ann = world.customer(CHAT, "Ann");
        world.wire.set_plan(hanging.plan());
        // Each update as often as Telegram delivers it.
        let reference = world.submit(&ann, "A quote", "New gutters, please.").await;
        all_is_well(world, &[reference], hanging).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_hangs_under_the_sweeper_is_asked_again_by_the_next_sweep() {
    let mut cases: Vec<Hanging> = reading("the reviews", "sweeper", "Query", 1, 1).collect();
    cases.extend(reading("what is due", "sweeper", "Query", ReviewReason::ALL.len() + 1, 1));
    each(cases, |hanging| async move {
        let mut world = world().await;
        let references = world.record_enquiries(1).await;
        assert_eq!(world.lose_rings_for_the_write().await, 1);
        world.wire.set_plan(hanging.plan());
        world.sweep().await;
        all_is_well(world, &references, hanging).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_or_queue_that_hangs_under_confirm_records_the_enquiry_once() {
    let mut cases = at("the record", "webhook", Side::DynamoDb, "TransactWriteItems", 1, 1);
    cases.extend(at("the ring", "webhook", Side::Sqs, "SendMessage", 1, 1));
    each(cases, |hanging| async move {
        let mut world = world().await;
        let ann = world.customer(CHAT, "Ann");
        world.write_card(&ann, "A quote", "New gutters, please.").await;
        world.wire.set_plan(hanging.plan());
        // As often as Telegram delivers it.
        world.say(ann.press_button("Confirm")).await;
        let records = world.records().await;
        let references: Vec<_> = records.into_iter().map(|record| record.submission.reference).collect();
        assert_eq!(references.len(), 1, "{hanging:?}");
        all_is_well(world, &references, hanging).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_hangs_under_the_sweeper_is_rung_again_by_the_next_sweep() {
    let [alone, company] = ALONE_AND_IN_COMPANY;
    let mut cases = at("the ring for the write", "sweeper", Side::Sqs, "SendMessage", 1, alone);
    cases.extend(at("the rings for the writes", "sweeper", Side::Sqs, "SendMessageBatch", 1, company));
    each(cases, |hanging| async move {
        let mut world = world().await;
        let references = world.record_enquiries(hanging.count).await;
        assert_eq!(world.lose_rings_for_the_write().await, hanging.count);
        world.wire.set_plan(hanging.plan());
        world.sweep().await;
        all_is_well(world, &references, hanging).await;
    })
    .await;
    let mut cases = at("the ring for the message", "sweeper", Side::Sqs, "SendMessage", 1, alone);
    cases.extend(at("the rings for the messages", "sweeper", Side::Sqs, "SendMessageBatch", 1, company));
    each(cases, |hanging| async move {
        let mut world = world().await;
        let references = world.record_enquiries(hanging.count).await;
        world.poll_writer().await;
        assert_eq!(world.lose_rings_for_the_acknowledgement().await, hanging.count);
        world.wire.set_plan(hanging.plan());
        world.sweep().await;
        all_is_well(world, &references, hanging).await;
    })
    .await;
}
