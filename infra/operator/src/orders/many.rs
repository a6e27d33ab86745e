//! The same order for many reviews of one reason: shown first, and carried out one by one.

use docket_domain::moment::Moment;
use docket_domain::ports::{Clock, Sheet, Submissions};
use docket_domain::reference::Reference;
use docket_domain::status::ReviewReason;

use super::{Desk, Kind, Order, Terms};
use crate::Stopped;

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
    /// None in a dry run.
    pub done: Option<Result<(), Stopped>>,
}

/// Orders the same for all of them, or only lists them.
///
/// Another append is never ordered for many: each needs its own look and its own yes.
///
/// # Errors
/// The order does not fit the reason, or the reviews cannot be listed.
pub async fn order_many<S: Submissions, H: Sheet, C: Clock>(
    desk: &Desk<S, H, C>,
    which: Which,
    order: &Order,
    dry_run: bool,
) -> Result<Vec<Outcome>, Stopped> {
    if !order.kind.closes(which.reason) {
        return Err(Stopped::Refused(format!("{} closes no {}", order.kind.option(), which.reason.as_str())));
    }
    if order.kind == Kind::AppendAgain {
        return Err(Stopped::Refused("--append-again goes one reference at a time".into()));
    }
    let now = desk.clock.now();
    let mut outcomes = Vec::new();
    for listed in crate::reviews(&desk.submissions).await? {
        let old = now.seconds_since(listed.review.since) >= which.older_than_seconds;
        if listed.review.reason != which.reason || !old {
            continue;
        }
        let (reference, since) = (listed.reference, listed.review.since);
        let seen = Terms { seen_version: listed.record.map(|record| record.version), ..Terms::default() };
        let done =
            if dry_run { None } else { Some(desk.order(&reference, order, seen, |_| false).await.map(drop)) };
        outcomes.push(Outcome { reference, since, done });
    }
    Ok(outcomes)
}
