//! What a person orders about a review: recheck it, or close it.
//!
//! An order looks before it acts, and says what it found. It changes the record that was seen and no other: when somebody
//! was faster it has no effect and says what changed. It never appends and never sends: the writer and the acknowledger do,
//! by what the record says then.

mod look;
pub mod many;
mod order;
mod recheck;

use docket_domain::moment::Moment;
use docket_domain::ports::{Applied, Clock, StoreError, Submissions, WholeSheet};
use docket_domain::reference::Reference;
use docket_domain::status::{By, Cause, Record, WriteState};

pub use look::{Look, Sheet};
pub use order::{Kind, Order, commands_for, orders_for, without_row_for};
pub use recheck::recheck;

use crate::Stopped;
use crate::visible::visible;
use crate::words;
use crate::zone::Zone;

/// The surroundings of an order.
#[derive(Debug)]
pub struct Desk<S, H, C> {
    pub submissions: S,
    /// None where no order looks at it.
    pub sheet: Option<Sheet<H>>,
    pub clock: C,
    /// Who orders.
    pub by: By,
    /// In whose time a refusal is told.
    pub zone: Zone,
}

/// What one order did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// What was found in the sheet, where that was looked at.
    pub found: Option<Look>,
    /// What it means, in a sentence.
    pub said: String,
    /// Whether the record was changed.
    pub changed: bool,
    /// As it stands now.
    pub record: Record,
}

/// How an order is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Terms {
    /// The version of the record that the person saw; none for the one that is read now.
    pub seen_version: Option<u64>,
    /// "Recorded" although no row is seen.
    pub without_row: bool,
}

impl<S: Submissions, H: WholeSheet, C: Clock> Desk<S, H, C> {
    /// Carries one order out. `agreed` is asked, with what is known, before another append.
    ///
    /// # Errors
    /// It is not allowed for what the record waits for, not by what is in the sheet, not by the person; somebody was faster;
    /// or a side could not be reached.
    pub async fn order(
        &self,
        reference: &Reference,
        order: &Order,
        terms: Terms,
        agreed: impl FnOnce(&Facts<'_>) -> bool,
    ) -> Result<Done, Stopped> {
        let record = self.seen(reference, terms.seen_version).await?;
        order.check_allowed(&record)?;
        // The one order that could make a second row: an append that went astray may have lost its answer too.
        let everywhere = order.kind == Kind::AppendAgain;
        let found =
            if order.concerns_the_sheet() { Some(self.look(&record, everywhere).await?) } else { None };
        self.order_knowing(record, found, order, terms.without_row, agreed).await
    }

    /// The same, of a record that was read and looked for already.
    async fn order_knowing(
        &self,
        record: Record,
        found: Option<Look>,
        order: &Order,
        without_row: bool,
        agreed: impl FnOnce(&Facts<'_>) -> bool,
    ) -> Result<Done, Stopped> {
        if let Some(found) = &found {
            order.check_against(&record, found, without_row)?;
        }
        if order.kind == Kind::AppendAgain && !agreed(&Facts { record: &record, found: found.as_ref() }) {
            return Err(Stopped::Refused(
                "nothing was changed: another append needs a yes (or --yes)".into(),
            ));
        }
        let now = self.clock.now();
        let mut next =
            order.after(&record, now, &self.by).map_err(|error| Stopped::Refused(error.to_string()))?;
        if let Some(found) = &found {
            next.add_to_last_step(&found.sentence());
        }
        let record = self.keep(&record, next, now).await?;
        let told = match (order.kind, &order.tell) {
            (Kind::Abandon, Some(_)) => " The customer will be told so, within a minute.",
            (Kind::Abandon, None) => " Nobody is told.",
            _ => "",
        };
        Ok(Done { found, said: format!("{}{told}", order.kind.said()), changed: true, record })
    }

    /// The record, in the version that the person saw.
    async fn seen(&self, reference: &Reference, version: Option<u64>) -> Result<Record, Stopped> {
        let record = crate::show(&self.submissions, reference).await?;
        match version {
            Some(version) if version != record.version => Err(self.changed_meanwhile(&record, version)),
            Some(_) | None => Ok(record),
        }
    }

    /// What is in the sheet under this reference. A sheet that cannot be read is a finding too.
    async fn look(&self, record: &Record, everywhere: bool) -> Result<Look, Stopped> {
        let looks = self.sheet()?.look(&[record], everywhere).await;
        looks.into_iter().next().ok_or_else(|| Stopped::Usage("nothing was looked for".into()))
    }

    fn sheet(&self) -> Result<&Sheet<H>, Stopped> {
        self.sheet.as_ref().ok_or_else(|| Stopped::Usage("there is no sheet to look at".into()))
    }

    /// Keeps `next` in place of what was seen, or says what somebody else made of it.
    async fn keep(&self, seen: &Record, next: Record, now: Moment) -> Result<Record, Stopped> {
        let reference = &seen.submission.reference;
        match self.submissions.apply(seen, &next, now).await {
            Ok(Applied::Ours) => Ok(next),
            Ok(Applied::Lost(Some(current))) => Err(self.changed_meanwhile(&current, seen.version)),
            Ok(Applied::Lost(None)) => {
                Err(Stopped::Refused(format!("{reference} is not there any more; nothing was changed")))
            }
            Err(StoreError::NotApplied(cause)) => {
                Err(Stopped::by_aws("nothing was changed: the table could not be written to", &cause))
            }
            Err(StoreError::OutcomeUnknown(cause)) => Err(Stopped::Unreachable(format!(
                "it is not known whether the order was kept ({cause}): see docket show {reference}"
            ))),
            Err(error @ StoreError::Unreadable(_)) => Err(error.into()),
        }
    }

    /// What happened to the record after the version that was seen.
    fn changed_meanwhile(&self, current: &Record, seen_version: u64) -> Stopped {
        let steps = usize::try_from(current.version.saturating_sub(seen_version)).unwrap_or(usize::MAX);
        let entries = current.history.entries();
        let newest: Vec<String> = entries[entries.len().saturating_sub(steps.min(3))..]
            .iter()
            .map(|entry| format!("{} {} by {}", self.zone.shown(entry.at), entry.step, visible(&entry.by)))
            .collect();
        Stopped::Refused(format!(
            "nothing was changed: the record is not the one you saw (version {} instead of {seen_version}; {})",
            current.version,
            newest.join("; ")
        ))
    }
}

/// What is known before another append.
#[derive(Debug)]
pub struct Facts<'a> {
    record: &'a Record,
    found: Option<&'a Look>,
}

impl Facts<'_> {
    /// What a person reads before they agree.
    #[must_use]
    pub fn page(&self, zone: &Zone) -> String {
        let Self { record, found } = self;
        let mut facts = vec![format!("{}:", record.submission.reference)];
        for review in record.reviews() {
            let meaning = crate::answers::meaning(review.reason);
            facts.push(format!("  in review since {}: {meaning}", zone.shown(review.since)));
        }
        if let WriteState::Uncertain { attempt, cause, .. } = &record.write.state {
            let at = zone.shown(attempt.at);
            facts.push(if *cause == Cause::found_before_append() {
                format!("  a row was found at {at}, right before another append")
            } else {
                let why = words::of_cause(cause);
                format!("  the last append was at {at} and ended without a usable answer: {why}")
            });
        }
        let misplaced = record.history.entries().iter().rev().find(|entry| entry.step == "append_misplaced");
        if let Some(why) = misplaced.and_then(|entry| entry.why.as_deref()) {
            facts.push(format!("  when a row was misplaced, {}", visible(why)));
        }
        if let Some(found) = found {
            facts.push(format!("  now, in {}: {}", found.place, found.words()));
        }
        facts.push("  the writer looks once more right before it appends".into());
        facts.join("\n")
    }
}
