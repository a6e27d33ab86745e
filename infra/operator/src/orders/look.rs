//! A look at the sheet before an order, and how it is told.

use std::collections::{BTreeMap, BTreeSet};

use docket_domain::outcome::NotApplied;
use docket_domain::ports::WholeSheet;
use docket_domain::reference::Reference;
use docket_domain::row::Row;
use docket_domain::status::{Cause, Finding, Record, ReviewReason, WriteReview};

use crate::Stopped;
use crate::cure::by_google;
use crate::visible::visible;

/// The sheet that orders look at.
#[derive(Debug)]
pub struct Sheet<H> {
    pub sheet: H,
    /// Where that is, for whoever reads what was found.
    pub place: String,
    /// The address with which the spreadsheet is shared.
    pub account: String,
    /// How long after an attempt an absent row says anything.
    pub settle_seconds: u64,
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    pub place: String,
    pub finding: Finding,
    /// Cells outside the reference column that hold the reference: a misplaced row lies there.
    pub astray: Vec<String>,
    /// Why nothing was learned.
    stopped: Option<Stopped>,
}

impl<H: WholeSheet> Sheet<H> {
    /// Looks for these rows, all in one look. `everywhere` also searches the tab for each beside its column.
    pub(super) async fn look(&self, records: &[&Record], everywhere: bool) -> Vec<Look> {
        let rows: Vec<Row> = records.iter().map(|record| Row::of(&record.submission)).collect();
        let findings = match self.sheet.look_up(&rows).await {
            Ok(findings) => findings,
            Err(reason) => return rows.iter().map(|_| self.unreadable(&reason)).collect(),
        };
        // A row that went to another place is not in the reference column, and is there all the same.
        let misplaced = ReviewReason::Write(WriteReview::MisplacedRow);
        let sought: BTreeSet<Reference> = records
            .iter()
            .filter(|record| everywhere || record.is_in_review(misplaced))
            .map(|record| record.submission.reference.clone())
            .collect();
        let astray = if sought.is_empty() { Ok(BTreeMap::new()) } else { self.sheet.astray(&sought).await };
        let missing = std::iter::repeat(Finding::Unreadable(Cause::new("row_not_read")));
        records
            .iter()
            .map(|record| &record.submission.reference)
            .zip(findings.into_iter().chain(missing))
            .map(|(reference, finding)| match (finding, &astray) {
                (Finding::Unreadable(cause), _) => self.unreadable(&NotApplied::TryAgain(cause)),
                (_, Err(reason)) if sought.contains(reference) => self.unreadable(reason),
                (finding, astray) => {
                    let found = astray.as_ref().ok().and_then(|found| found.get(reference));
                    let astray = found.cloned().unwrap_or_default();
                    Look { place: self.place.clone(), finding, astray, stopped: None }
                }
            })
            .collect()
    }

    fn unreadable(&self, reason: &NotApplied) -> Look {
        let what = format!("{} could not be read, so nothing was learned", self.place);
        Look {
            place: self.place.clone(),
            finding: Finding::Unreadable(reason.cause()),
            astray: Vec::new(),
            stopped: Some(by_google(&what, reason, &self.account)),
        }
    }
}

impl Look {
    /// Stops where nothing was learned.
    pub(super) fn readable(&self) -> Result<(), Stopped> {
        self.stopped.clone().map_or(Ok(()), Err)
    }

    /// What was seen, without where.
    #[must_use]
    pub fn words(&self) -> String {
        let seen = match &self.finding {
            Finding::OneEqual { range } => format!("one row that says the same, at {}", visible(range)),
            Finding::OneDiffers { range } => {
                format!("one row that says something else, at {}", visible(range))
            }
            Finding::Several { rows } => format!("{rows} rows with this reference"),
            Finding::None if self.astray.is_empty() => "no row with this reference".into(),
            Finding::None => "no row with this reference in its place".into(),
            Finding::Unreadable(cause) => format!("not known, it cannot be read ({cause})"),
        };
        if self.astray.is_empty() {
            return seen;
        }
        let cells: Vec<String> = self.astray.iter().map(|cell| visible(cell)).collect();
        format!("{seen}; the reference stands astray at {}", cells.join(", "))
    }

    /// What was seen, and where.
    #[must_use]
    pub fn sentence(&self) -> String {
        format!("In {}: {}.", self.place, self.words())
    }
}
