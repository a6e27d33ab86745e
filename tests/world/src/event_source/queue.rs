//! A model of one SQS queue on the turned clock.
//!
//! Owns which message is visible, what blocks a FIFO group, the receive counts, and the ways in which SQS may
//! misbehave. Pure: the time is passed in, and nothing is sent anywhere.

use std::collections::HashMap;

use super::engine::Arrived;
use super::{Mapping, Waiting};

/// One receive of one message. A later receive of the same message makes it worthless.
#[derive(Debug, Clone)]
pub(super) struct Receipt {
    pub(super) message_id: String,
    /// Two deliveries of one message at once are two copies.
    copy: u64,
    receive: u64,
}

/// A message in the queue.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) message: Arrived,
    pub(super) sent_ms: i64,
    pub(super) first_received_ms: i64,
    pub(super) receive_count: u32,
    pub(super) last_receive: u64,
    copy: u64,
    visible_at_ms: i64,
    forget_deletion: bool,
}

#[derive(Debug)]
pub(super) struct Queue {
    fifo: bool,
    batch_size: usize,
    visibility_ms: i64,
    max_receive_count: u32,
    /// In the order of sending.
    stored: Vec<Stored>,
    copies: u64,
    receives: u64,
    duplicates: usize,
    reverse: bool,
}

impl Queue {
    pub(super) fn new(mapping: &Mapping) -> Self {
        Self {
            fifo: mapping.fifo,
            batch_size: mapping.batch_size,
            visibility_ms: mapping.visibility_seconds * 1000,
            max_receive_count: mapping.max_receive_count,
            stored: Vec::new(),
            copies: 0,
            receives: 0,
            duplicates: 0,
            reverse: false,
        }
    }

    pub(super) fn push(&mut self, message: Arrived, now_ms: i64) {
        assert_eq!(message.fifo.is_some(), self.fifo, "the mapping and the queue are of the same kind");
        self.copies += 1;
        self.stored.push(Stored {
            message,
            sent_ms: now_ms,
            first_received_ms: now_ms,
            receive_count: 0,
            last_receive: 0,
            copy: self.copies,
            visible_at_ms: now_ms,
            forget_deletion: false,
        });
    }

    /// Receives the next batch: hides its messages and counts the receive.
    pub(super) fn receive(&mut self, now_ms: i64) -> Vec<Receipt> {
        let mut batch = self.visible(now_ms);
        // Kept for later if there is nothing to reverse yet.
        if !batch.is_empty() && std::mem::take(&mut self.reverse) {
            batch.reverse();
        }
        batch.truncate(self.batch_size);
        batch.into_iter().map(|position| self.receive_one(position, now_ms)).collect()
    }

    /// Receives a second copy of messages that were just received.
    pub(super) fn copy_in_flight(&mut self, receipts: &[Receipt]) -> Vec<Receipt> {
        let mut second = Vec::new();
        for receipt in receipts {
            let Some(position) = self.position(receipt) else { continue };
            let mut copy = self.stored[position].clone();
            self.copies += 1;
            self.receives += 1;
            copy.copy = self.copies;
            copy.last_receive = self.receives;
            copy.receive_count += 1;
            copy.forget_deletion = false;
            second.push(receipt_of(&copy));
            // Beside the original, so that a FIFO group keeps its order.
            self.stored.insert(position + 1, copy);
        }
        second
    }

    /// The messages behind receipts that nobody else has received since.
    pub(super) fn received(&self, receipts: &[Receipt]) -> Vec<&Stored> {
        receipts
            .iter()
            .filter_map(|receipt| self.position(receipt))
            .map(|position| &self.stored[position])
            .collect()
    }

    /// Deletes what was received. Returns false if the message comes (or came) again nevertheless.
    pub(super) fn delete(&mut self, receipt: &Receipt, now_ms: i64) -> bool {
        // Received by somebody else in the meantime: SQS asks for the latest receipt.
        let Some(position) = self.position(receipt) else { return false };
        let stored = &mut self.stored[position];
        // A FIFO queue refuses a receipt whose time has run out, a standard queue takes it.
        if self.fifo && stored.visible_at_ms <= now_ms {
            return false;
        }
        if std::mem::take(&mut stored.forget_deletion) {
            if !self.fifo {
                stored.visible_at_ms = now_ms;
            }
            return false;
        }
        self.stored.remove(position);
        true
    }

    /// Removes what has been received often enough and would be received again.
    pub(super) fn remove_dead(&mut self, now_ms: i64) -> Vec<Arrived> {
        let mut visible = self.visible(now_ms);
        visible.retain(|&position| self.stored[position].receive_count >= self.max_receive_count);
        // From the end, so that the earlier positions stay true.
        let mut dead: Vec<_> =
            visible.iter().rev().map(|&position| self.stored.remove(position).message).collect();
        dead.reverse();
        dead
    }

    pub(super) fn duplicate_next(&mut self, count: usize) {
        self.duplicates += count;
    }

    pub(super) fn reverse_next(&mut self) {
        self.reverse = true;
    }

    pub(super) fn waiting(&self, now_ms: i64) -> Waiting {
        let visible = self.visible(now_ms).len();
        Waiting { visible, hidden: self.stored.len() - visible }
    }

    pub(super) fn next_visible_at_ms(&self) -> Option<i64> {
        self.takeable_at_ms().into_iter().min()
    }

    fn visible(&self, now_ms: i64) -> Vec<usize> {
        let moments = self.takeable_at_ms().into_iter().enumerate();
        moments.filter(|&(_, moment_ms)| moment_ms <= now_ms).map(|(position, _)| position).collect()
    }

    /// When each message can be received: one of a FIFO group only once no other of its group is in flight.
    fn takeable_at_ms(&self) -> Vec<i64> {
        let mut groups: HashMap<&str, i64> = HashMap::new();
        for stored in &self.stored {
            if let Some(fifo) = &stored.message.fifo {
                let latest_ms = groups.entry(&fifo.group).or_insert(stored.visible_at_ms);
                *latest_ms = stored.visible_at_ms.max(*latest_ms);
            }
        }
        let moments = self.stored.iter().map(|stored| match &stored.message.fifo {
            Some(fifo) => groups[fifo.group.as_str()],
            None => stored.visible_at_ms,
        });
        moments.collect()
    }

    fn receive_one(&mut self, position: usize, now_ms: i64) -> Receipt {
        self.receives += 1;
        let stored = &mut self.stored[position];
        if stored.receive_count == 0 {
            stored.first_received_ms = now_ms;
        }
        stored.receive_count += 1;
        stored.last_receive = self.receives;
        stored.visible_at_ms = now_ms + self.visibility_ms;
        if self.duplicates > 0 && !stored.forget_deletion {
            self.duplicates -= 1;
            stored.forget_deletion = true;
        }
        receipt_of(stored)
    }

    fn position(&self, receipt: &Receipt) -> Option<usize> {
        self.stored
            .iter()
            .position(|stored| stored.copy == receipt.copy && stored.last_receive == receipt.receive)
    }
}

fn receipt_of(stored: &Stored) -> Receipt {
    Receipt { message_id: stored.message.message_id.clone(), copy: stored.copy, receive: stored.last_receive }
}
