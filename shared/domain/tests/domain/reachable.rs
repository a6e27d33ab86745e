//! Every record that can come about from a fresh one, searched breadth first: whatever machines and operators do, in
//! whatever order, the rules of the design hold in each of them.
//!
//! Two records count as the same when no rule and no later step can tell them apart: the history is left out, times
//! are taken relative to the present, counts are taken as far as they are compared.

use std::collections::{BTreeMap, HashMap, VecDeque};

use docket_domain::moment::Moment;
use docket_domain::status::{
    AckEvent, AckOrder, AckState, By, ConflictEvent, DueStep, Evidence, History, Record, Wait, WriteEvent,
    WriteOrder, WriteState,
};
use docket_domain::submission::ChatId;

use super::samples::{
    LEASE_SECONDS, SETTLE_SECONDS, ack_orders, at, cause, conflict, findings, not_applied, not_sent, range,
    recorded, token, why, write_orders,
};

/// Orders of each kind that an operator gives on one path, at most: enough to repeat an effect, and to do it again.
const ORDERS_MAX: u32 = 2;
/// From "still leased" over "not settled" and "settled" to "a day later".
const WAITS_SECONDS: [u64; 4] = [35, 90, 300, 90_000];

#[derive(Debug, Clone)]
enum Step {
    Wait(u64),
    Write(WriteEvent),
    Acknowledge(AckEvent),
    Conflict(ConflictEvent),
}

/// A record, and what the other sides may have seen of it.
#[derive(Debug, Clone)]
struct Node {
    record: Record,
    now: Moment,
    /// Appends that started and are not known to have been without effect.
    appends: u32,
    append_orders: u32,
    /// Messages that were begun and are not known not to have been sent.
    messages: u32,
    message_orders: u32,
    path: Vec<String>,
}

fn steps(now: Moment) -> Vec<Step> {
    let claimed = WriteEvent::Claimed { token: token("ours"), lease_seconds: LEASE_SECONDS };
    let mut writes = vec![
        claimed,
        WriteEvent::LeaseRanOut,
        WriteEvent::Applied { range: range() },
        WriteEvent::Misplaced { range: "'Intake'!D3:I3".to_owned() },
        WriteEvent::Unknown { cause: cause("timeout"), settle_seconds: SETTLE_SECONDS },
    ];
    writes.extend(not_applied().map(|reason| WriteEvent::NotApplied { reason, jitter_seconds: 3 }));
    writes.extend(findings().map(|finding| WriteEvent::LookedUp {
        finding,
        started_at: now,
        settle_seconds: SETTLE_SECONDS,
    }));
    writes.extend(write_orders().map(WriteEvent::Ordered));
    let mut acks = vec![
        AckEvent::Claimed { token: token("ours"), lease_seconds: LEASE_SECONDS },
        AckEvent::LeaseRanOut,
        AckEvent::Accepted { message_id: Some(77) },
        AckEvent::Refused { cause: cause("http_403") },
        AckEvent::Moved { to: ChatId(-1_002_000_000_009) },
        AckEvent::Unknown { cause: cause("timeout") },
    ];
    acks.extend(not_sent().map(AckEvent::NotSent));
    acks.extend(ack_orders().map(AckEvent::Ordered));
    let conflicts =
        [ConflictEvent::Arrived(conflict("Thirteen chairs", now)), ConflictEvent::KeepFirst { why: why() }];
    WAITS_SECONDS
        .map(Step::Wait)
        .into_iter()
        .chain(writes.into_iter().map(Step::Write))
        .chain(acks.into_iter().map(Step::Acknowledge))
        .chain(conflicts.map(Step::Conflict))
        .collect()
}

impl Node {
    fn after(&self, step: &Step) -> Option<Self> {
        let mut next = self.clone();
        match step {
            Step::Wait(seconds) => {
                next.now = self.now.plus_seconds(*seconds);
            }
            Step::Write(event) => {
                next.record = self.record.write_after(event, self.now, &By::Writer).ok()?;
                match (event, &self.record.write.state) {
                    (WriteEvent::Claimed { .. }, _) => next.appends += 1,
                    (WriteEvent::NotApplied { .. }, WriteState::Attempting { .. }) => next.appends -= 1,
                    (WriteEvent::Ordered(WriteOrder::AppendAgain { .. }), state) => {
                        // What was refused for sure needs no allowance; the order is one all the same.
                        assert!(!matches!(state, WriteState::Attempting { .. }));
                        next.append_orders += 1;
                    }
                    _ => {}
                }
            }
            Step::Acknowledge(event) => {
                next.record = self.record.acknowledgement_after(event, self.now, &By::Acknowledger).ok()?;
                match event {
                    AckEvent::Claimed { .. } => next.messages += 1,
                    AckEvent::NotSent(_) | AckEvent::Moved { .. } | AckEvent::Refused { .. } => {
                        next.messages -= 1
                    }
                    AckEvent::Ordered(AckOrder::SendAgain { .. }) => next.message_orders += 1,
                    _ => {}
                }
            }
            Step::Conflict(event) => {
                next.record = self.record.conflict_after(event, self.now, &By::Webhook).ok()?;
            }
        }
        next.record.history = History::default();
        (next.append_orders <= ORDERS_MAX && next.message_orders <= ORDERS_MAX).then_some(next)
    }

    /// All that later steps and the rules can tell apart.
    fn key(&self) -> String {
        let left = |moment: Moment| (moment.millis() - self.now.millis()).clamp(0, 200_000);
        // Beyond the settle time and its last lookup, only a whole day makes a difference.
        let age = |moment: Moment| match self.now.seconds_since(moment) {
            seconds if seconds < 400 => seconds,
            seconds if seconds < 86_400 => 400,
            _ => 86_400,
        };
        let write = match &self.record.write.state {
            WriteState::Pending { wait, cause } => {
                let wait = match wait {
                    Wait::Due(due_at) => format!("due in {}", left(*due_at)),
                    Wait::Review { reason, .. } => reason.as_str().to_owned(),
                };
                format!("pending {wait} {cause:?} {}", self.record.write.attempts.min(3))
            }
            WriteState::Attempting { attempt } => {
                format!("attempting {} {}", left(attempt.lease_until), self.record.write.attempts.min(3))
            }
            WriteState::Uncertain { attempt, wait, .. } => {
                let wait = match wait {
                    Wait::Due(due_at) => format!("due in {}", left(*due_at)),
                    Wait::Review { reason, .. } => reason.as_str().to_owned(),
                };
                format!("uncertain {wait} since {}", age(attempt.at))
            }
            WriteState::Confirmed { evidence } => format!("confirmed {}", evidence.kind()),
            WriteState::Abandoned => "abandoned".to_owned(),
        };
        let ack = self.record.acknowledgement.as_ref().map(|ack| {
            let state = match &ack.state {
                AckState::Pending { due_at, .. } => format!("pending {}", left(*due_at)),
                AckState::Attempting { attempt } => format!("attempting {}", left(attempt.lease_until)),
                other => other.as_str().to_owned(),
            };
            format!("{state} {} {:?}", ack.attempts.min(3), ack.moved_to)
        });
        format!(
            "{write} | {ack:?} | {} {} | {} {} {} {}",
            self.record.conflicts.len(),
            self.record.conflict_review.is_some(),
            self.appends,
            self.append_orders,
            self.messages,
            self.message_orders
        )
    }

    fn check(&self) {
        let record = &self.record;
        let path = || self.path.join(" > ");
        // Rule 2.
        assert!(self.appends <= 1 + self.append_orders, "{} appends: {}", self.appends, path());
        assert!(self.messages <= 1 + self.message_orders, "{} messages: {}", self.messages, path());
        // Rule 3: what confirms without an operator's word was an append that started.
        if let WriteState::Confirmed { evidence } = &record.write.state {
            // What a person sent off again is looked for first, and may have been put there by hand; so may what was turned away
            // for good.
            let by_hand =
                self.append_orders >= 1 || self.path.iter().any(|step| step == "append_not_applied");
            let vouched = matches!(evidence, Evidence::Operator { .. }) || by_hand;
            assert!(vouched || self.appends >= 1, "confirmed without an append: {}", path());
        }
        // Rule 5.
        let written = matches!(record.write.state, WriteState::Confirmed { .. });
        assert_eq!(record.acknowledgement.is_some(), written, "{}", path());
        assert!(written || self.messages == 0, "{}", path());
        // Rule 6.
        let looked_after = record.due().is_some() || !record.reviews().is_empty();
        assert_ne!(record.finished(), looked_after, "{}", path());
        assert_eq!(record.submission, recorded().submission, "{}", path());
    }

    /// Whatever is due can be acted on when it is: nothing that is rung for is turned away at the door.
    fn check_due(&self) {
        let Some((step, due_at)) = self.record.due() else { return };
        let now = due_at.max(self.now);
        let claim = WriteEvent::Claimed { token: token("ours"), lease_seconds: LEASE_SECONDS };
        let possible = match step {
            DueStep::Append => self.record.write_after(&claim, now, &By::Writer).is_ok(),
            DueStep::LookUp => {
                let look = WriteEvent::LookedUp {
                    finding: docket_domain::status::Finding::None,
                    started_at: now,
                    settle_seconds: SETTLE_SECONDS,
                };
                [WriteEvent::LeaseRanOut, look]
                    .iter()
                    .any(|event| self.record.write_after(event, now, &By::Writer).is_ok())
            }
            DueStep::Acknowledge => [
                AckEvent::Claimed { token: token("ours"), lease_seconds: LEASE_SECONDS },
                AckEvent::LeaseRanOut,
            ]
            .iter()
            .any(|event| self.record.acknowledgement_after(event, now, &By::Acknowledger).is_ok()),
        };
        assert!(possible, "{step:?} is due and nothing can be done: {}", self.path.join(" > "));
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "says how much was searched")]
fn the_rules_hold_in_every_record_that_can_come_about() {
    let start = Node {
        record: recorded(),
        now: at(0),
        appends: 0,
        append_orders: 0,
        messages: 0,
        message_orders: 0,
        path: Vec::new(),
    };
    let mut seen = HashMap::from([(start.key(), 0_usize)]);
    let mut queue = VecDeque::from([start]);
    let (mut steps_taken, mut deepest) = (0_usize, 0);
    let mut words: BTreeMap<String, usize> = BTreeMap::new();
    while let Some(node) = queue.pop_front() {
        node.check();
        node.check_due();
        deepest = deepest.max(node.path.len());
        let ack = node.record.acknowledgement.as_ref().map_or("none", |ack| ack.state.as_str());
        *words.entry(format!("{} / {ack}", node.record.write.state.as_str())).or_default() += 1;
        for step in steps(node.now) {
            let Some(mut next) = node.after(&step) else { continue };
            steps_taken += 1;
            let key = next.key();
            if !seen.contains_key(&key) {
                seen.insert(key, seen.len());
                next.path.push(match &step {
                    Step::Wait(seconds) => format!("{seconds} s"),
                    Step::Write(event) => event.as_str().to_owned(),
                    Step::Acknowledge(event) => event.as_str().to_owned(),
                    Step::Conflict(_) => "conflict".to_owned(),
                });
                queue.push_back(next);
            }
        }
    }
    println!("{} records, {steps_taken} steps, {deepest} steps deep: {words:#?}", seen.len());
    // The interesting ones did occur.
    for state in [
        "pending / none",
        "attempting / none",
        "uncertain / none",
        "abandoned / none",
        "confirmed / pending",
        "confirmed / attempting",
        "confirmed / uncertain",
        "confirmed / confirmed",
        "confirmed / refused",
        "confirmed / abandoned",
    ] {
        assert!(words.contains_key(state), "{state} was never reached");
    }
    assert_eq!(words.len(), 10, "another pair of states came about");
}
