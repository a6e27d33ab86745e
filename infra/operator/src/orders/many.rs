//! The same order for many reviews of one reason: shown first, and carried out one by one.

use docket_domain::limits::REFERENCES_PER_LOOKUP_MAX;
use docket_domain::moment::Moment;
use docket_domain::ports::{Clock, Submissions, WholeSheet};
use docket_domain::reference::Reference;
use docket_domain::status::{Record, ReviewReason};

use super::{Desk, Kind, Look, Order};
use crate::{Listed, Stopped};

/// Which reviews.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Which {
    pub reason: ReviewReason,
    pub older_than_seconds: u64,
}

/// What became of one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub reference: Reference,
    pub since: Moment,
    /// What was seen before it was closed, where the sheet matters. None: not tried, in a dry run or after a side was lost.
    pub done: Option<Result<Option<String>, Stopped>>,
}

/// Orders the same for all of them, or only lists them. After a side that could not be reached the rest is not tried.
///
/// Another append is never ordered for many: each needs its own look and its own yes.
///
/// # Errors
/// The order does not fit the reason, or the reviews cannot be listed.
pub async fn order_many<S: Submissions, H: WholeSheet, C: Clock>(
    desk: &Desk<S, H, C>,
    which: Which,
    order: &Order,
    without_row: bool,
    dry_run: bool,
) -> Result<Vec<Outcome>, Stopped> {
    if !order.kind.closes(which.reason) {
        return Err(Stopped::Refused(format!("{} closes no {}", order.kind.option(), which.reason.as_str())));
    }
    if order.kind == Kind::AppendAgain {
        return Err(Stopped::Refused("--append-again goes one reference at a time".into()));
    }
    let now = desk.clock.now();
    let wanted = crate::reviews(&desk.submissions).await?.into_iter().filter(|listed| {
        listed.review.reason == which.reason
            && now.seconds_since(listed.review.since) >= which.older_than_seconds
    });
    let listed: Vec<Listed> = wanted.collect();
    let mut outcomes = Vec::new();
    let mut lost = dry_run;
    // One look serves as many as one read may name.
    for group in listed.chunks(REFERENCES_PER_LOOKUP_MAX) {
        let records: Vec<&Record> = group.iter().filter_map(|listed| listed.record.as_ref()).collect();
        let looked = !lost && order.concerns_the_sheet();
        let mut looks =
            if looked { desk.sheet()?.look(&records, false).await } else { Vec::new() }.into_iter();
        for listed in group {
            let done = match &listed.record {
                _ if lost => None,
                Some(record) => Some(
                    desk.order_knowing(record.clone(), looks.next(), order, without_row, |_| false).await,
                ),
                None => Some(Err(Stopped::Refused("this release cannot read the record".into()))),
            };
            lost |= matches!(done, Some(Err(Stopped::Unreachable(_))));
            outcomes.push(Outcome {
                reference: listed.reference.clone(),
                since: listed.review.since,
                done: done.map(|done| done.map(|done| done.found.as_ref().map(Look::sentence))),
            });
        }
    }
    Ok(outcomes)
}

/// What all of it comes to: a side that was lost counts more than an order that was refused.
#[must_use]
pub fn exit_status(outcomes: &[Outcome]) -> u8 {
    let stopped = outcomes.iter().filter_map(|outcome| outcome.done.as_ref()?.as_ref().err());
    stopped.map(Stopped::exit_status).max().unwrap_or(0)
}
