//! The acknowledger dies, or its store fails, at each step of its way: before and after the claim, the message, the mark.
//!
//! Where nothing can have left, the customer is told in the end. Where a message may have left and nobody knows, a person
//! decides, and never a second message.

use std::sync::Arc;

use docket_domain::reference::Reference;
use docket_domain::status::{AckState, ReviewReason, WriteState};
use docket_world::engines::Engines;
use docket_world::wire::{Fault, Plan, Side};
use docket_world::{Settings, World};

const CHAT: i64 = 7_100_000_001;
/// More than the SDK's own tries.
const FOR_GOOD: usize = 99;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The Bot API accepted it.
    Told,
    /// `ack_uncertain`.
    Person,
}

fn reading(fault: Fault) -> Plan {
    Plan::at_operation("acknowledger", Side::DynamoDb, "GetItem", 1, fault)
}

fn claiming(fault: Fault) -> Plan {
    Plan::at_operation("acknowledger", Side::DynamoDb, "UpdateItem", 1, fault)
}

fn sending(fault: Fault) -> Plan {
    Plan::at_operation("acknowledger", Side::Telegram, "sendMessage", 1, fault)
}

fn marking(fault: Fault) -> Plan {
    Plan::at_operation("acknowledger", Side::DynamoDb, "UpdateItem", 2, fault)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_at_each_step_ends_with_one_message_or_with_a_person() {
    use Fault::{CrashAfter, CrashBefore};
    for (plan, end, messages) in [
        (reading(CrashBefore), End::Told, 1),
        (reading(CrashAfter), End::Told, 1),
        (claiming(CrashBefore), End::Told, 1),
        // Claimed, and nothing left: but nobody can know that.
        (claiming(CrashAfter), End::Person, 0),
        (sending(CrashBefore), End::Person, 0),
        (sending(CrashAfter), End::Person, 1),
        (marking(CrashBefore), End::Person, 1),
        (marking(CrashAfter), End::Told, 1),
    ] {
        ends(plan, end, messages).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_fails_at_each_step_ends_with_one_message_or_with_a_person() {
    use Fault::{Answer500Before, FailBefore, Throttle, TransactionConflict};
    for (plan, end, messages) in [
        (reading(Answer500Before).times(FOR_GOOD), End::Told, 1),
        (claiming(FailBefore), End::Told, 1),
        (claiming(FailBefore).times(FOR_GOOD), End::Told, 1),
        (claiming(Throttle).times(FOR_GOOD), End::Told, 1),
        (claiming(TransactionConflict), End::Told, 1),
        (marking(TransactionConflict), End::Told, 1),
        // Accepted, and the store did not take the mark for longer than the lease.
        (marking(FailBefore).times(FOR_GOOD), End::Person, 1),
        (marking(Throttle).times(FOR_GOOD), End::Person, 1),
    ] {
        ends(plan, end, messages).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_reported_as_failed_although_it_was_applied_is_its_owners() {
    use Fault::{Answer500After, LoseAnswer};
    for plan in [
        claiming(LoseAnswer),
        claiming(LoseAnswer).times(2),
        claiming(Answer500After),
        claiming(Answer500After).times(2),
        marking(LoseAnswer),
        marking(LoseAnswer).times(FOR_GOOD),
        marking(Answer500After).times(FOR_GOOD),
    ] {
        // At once, not after a lease.
        let mut world = written(&plan).await.0;
        world.poll_acknowledger().await;
        assert!(world.records().await[0].finished(), "{plan}");
        world.wire.heal();
        world.settle().await;
        assert_eq!(world.acknowledgements(CHAT).len(), 1, "{plan}");
        world.check_rules().await;
    }
}

async fn written(plan: &Plan) -> (World, Reference) {
    let mut settings = Settings::default();
    settings.timing.send_timeout_ms = 300;
    let mut world = World::with(Arc::new(Engines::start().await), settings).await;
    let reference = world.record_by_hand(CHAT, "New gutters, please.").await;
    world.ring_for_the_write(std::slice::from_ref(&reference)).await;
    world.poll_writer().await;
    world.wire.set_plan(plan.clone());
    (world, reference)
}

async fn ends(plan: Plan, end: End, messages: usize) {
    let (mut world, reference) = written(&plan).await;
    world.poll_acknowledger().await;
    assert!(!world.wire.faults_that_hit().is_empty(), "{plan} hit nothing");
    world.wire.heal();
    world.settle().await;
    let record = world.record(&reference).await;
    let state = &record.acknowledgement.as_ref().unwrap().state;
    match end {
        End::Told => assert!(matches!(state, AckState::Confirmed { .. }), "{plan}: {state:?}"),
        End::Person => {
            assert!(matches!(state, AckState::Uncertain { .. }), "{plan}: {state:?}");
            assert_eq!(record.reviews()[0].reason, ReviewReason::AckUncertain);
        }
    }
    assert!(matches!(record.write.state, WriteState::Confirmed { .. }));
    assert_eq!(world.acknowledgements(CHAT).len(), messages, "{plan}");
    assert!(world.wire.count(Side::Telegram, "sendMessage") <= 1, "{plan}");
    assert_eq!(world.acknowledge_source.dead_letters().await.len(), 0);
    world.check_rules().await;
}
