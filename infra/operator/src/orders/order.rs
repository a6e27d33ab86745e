//! One order: for which reviews it is there, what must be true of the sheet, and what it makes of the record.

use docket_domain::moment::Moment;
use docket_domain::status::{
    AckEvent, AckOrder, By, ConflictEvent, Finding, NotPossible, Record, ReviewReason, WriteEvent,
    WriteOrder, WriteReview,
};

use crate::Stopped;
use crate::orders::look::Look;

/// What is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The row is there, or was put there by hand.
    Recorded,
    /// Another append.
    AppendAgain,
    /// No row; its customer hears nothing, or what the operator says.
    Abandon,
    /// The customer has the message.
    Seen,
    /// Another message.
    SendAgain,
    /// The message is left as it is, perhaps sent.
    Leave,
    /// The first content stands.
    KeepFirst,
}

/// An order with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub kind: Kind,
    pub why: String,
    /// With "abandon": what the customer is told.
    pub tell: Option<String>,
}

impl Kind {
    pub const ALL: [Self; 7] = [
        Self::Recorded,
        Self::AppendAgain,
        Self::Abandon,
        Self::Seen,
        Self::SendAgain,
        Self::Leave,
        Self::KeepFirst,
    ];

    /// As the command line has it.
    #[must_use]
    pub fn option(self) -> &'static str {
        match self {
            Self::Recorded => "--recorded",
            Self::AppendAgain => "--append-again",
            Self::Abandon => "--abandon",
            Self::Seen => "--seen",
            Self::SendAgain => "--send-again",
            Self::Leave => "--leave",
            Self::KeepFirst => "--keep-first",
        }
    }

    /// Whether it closes a review of this reason.
    #[must_use]
    pub fn closes(self, reason: ReviewReason) -> bool {
        match reason {
            ReviewReason::Write(reason) => {
                self.of_the_write(String::new()).is_some_and(|order| reason.allows(&order))
            }
            ReviewReason::AckUncertain => self.of_the_acknowledgement(String::new()).is_some(),
            ReviewReason::Conflict => self == Self::KeepFirst,
        }
    }

    fn of_the_write(self, why: String) -> Option<WriteOrder> {
        match self {
            Self::Recorded => Some(WriteOrder::Recorded { why }),
            Self::AppendAgain => Some(WriteOrder::AppendAgain { why }),
            Self::Abandon => Some(WriteOrder::Abandon { why }),
            Self::Seen | Self::SendAgain | Self::Leave | Self::KeepFirst => None,
        }
    }

    fn of_the_acknowledgement(self, why: String) -> Option<AckOrder> {
        match self {
            Self::Seen => Some(AckOrder::Seen { why }),
            Self::SendAgain => Some(AckOrder::SendAgain { why }),
            Self::Leave => Some(AckOrder::Leave { why }),
            Self::Recorded | Self::AppendAgain | Self::Abandon | Self::KeepFirst => None,
        }
    }

    pub(super) fn said(self) -> &'static str {
        match self {
            Self::Recorded => "The row counts as written; the customer will be told.",
            Self::AppendAgain => {
                "The writer will append it again, within a minute, unless its row has come by then."
            }
            Self::Abandon => "Nothing more is written for it.",
            Self::Seen => "The message counts as sent.",
            Self::SendAgain => "The customer will be told again, within a minute.",
            Self::Leave => "No further message is sent.",
            Self::KeepFirst => "The first content stands.",
        }
    }
}

/// What may be ordered for a review of this reason, as the command line has it. A look that can only help where a person
/// put the row there themselves is not offered.
#[must_use]
pub fn orders_for(reason: ReviewReason) -> Vec<&'static str> {
    let may_learn = matches!(reason, ReviewReason::Write(reason) if reason != WriteReview::WriteRefused);
    let recheck = may_learn.then_some("docket recheck");
    recheck
        .into_iter()
        .chain(Kind::ALL.into_iter().filter(|kind| kind.closes(reason)).map(Kind::option))
        .collect()
}

/// When `--recorded` is refused for a review of this reason, and what `--without-row` then says; none where a row was seen in
/// its place.
#[must_use]
pub fn without_row_for(reason: ReviewReason) -> Option<&'static str> {
    match reason {
        ReviewReason::Write(WriteReview::NoMatchingRow) => {
            Some("only if its row is in the tab by now; if it is recorded elsewhere, add --without-row")
        }
        ReviewReason::Write(WriteReview::MisplacedRow) => {
            Some("only if its row is in its place by now; if it may stay where it is, add --without-row")
        }
        ReviewReason::Write(WriteReview::SheetUnreadable) => Some(
            "only if the sheet can be read and has its row; if it is recorded where Docket cannot look, add --without-row",
        ),
        ReviewReason::Write(
            WriteReview::SeveralRows | WriteReview::RowDiffers | WriteReview::WriteRefused,
        )
        | ReviewReason::AckUncertain
        | ReviewReason::Conflict => None,
    }
}

/// `orders_for` as whole commands, for the version of the record that is being looked at, each with what must be known of it.
#[must_use]
pub fn commands_for(reason: ReviewReason, record: &Record) -> Vec<(String, Option<&'static str>)> {
    let (reference, version) = (&record.submission.reference, record.version);
    orders_for(reason)
        .into_iter()
        .map(|order| {
            let note = (order == Kind::Recorded.option()).then(|| without_row_for(reason)).flatten();
            let command = if order.starts_with("--") {
                format!("docket resolve {reference} --if-version {version} {order} --because \"…\"")
            } else {
                format!("{order} {reference}")
            };
            (command, note)
        })
        .collect()
}

impl Order {
    /// Whether the sheet must be looked at first.
    #[must_use]
    pub fn concerns_the_sheet(&self) -> bool {
        match self.kind {
            Kind::Recorded | Kind::AppendAgain | Kind::Abandon => true,
            Kind::Seen | Kind::SendAgain | Kind::Leave | Kind::KeepFirst => false,
        }
    }

    /// Only for a review that it closes.
    pub(super) fn check_allowed(&self, record: &Record) -> Result<(), Stopped> {
        let reviews = record.reviews();
        if reviews.iter().any(|review| self.kind.closes(review.reason)) {
            return Ok(());
        }
        let (reference, option) = (&record.submission.reference, self.kind.option());
        if reviews.is_empty() {
            return Err(Stopped::Refused(format!("{option}: {reference} has no open review")));
        }
        let open: Vec<String> = reviews
            .iter()
            .map(|review| format!("{} ({})", review.reason.as_str(), orders_for(review.reason).join(", ")))
            .collect();
        Err(Stopped::Refused(format!("{option} closes no open review of {reference}: {}", open.join("; "))))
    }

    /// Whether what is in the sheet lets it be.
    pub(super) fn check_against(
        &self,
        record: &Record,
        look: &Look,
        without_row: bool,
    ) -> Result<(), Stopped> {
        let sentence = look.sentence();
        // Nobody could look for a day: that is what its review says.
        let is_unreadable = record.is_in_review(ReviewReason::Write(WriteReview::SheetUnreadable));
        match (self.kind, &look.finding) {
            (Kind::Recorded, Finding::None) if !without_row => Err(Stopped::Refused(format!(
                "{sentence} Add --without-row if it is recorded elsewhere, by your own word"
            ))),
            (Kind::Recorded, Finding::Unreadable(_)) if !without_row => look.readable(),
            (Kind::AppendAgain, Finding::Unreadable(_)) => look.readable(),
            // Whoever gives up without looking may tell a customer that nothing is recorded while it is.
            (Kind::Abandon, Finding::Unreadable(_)) if !without_row && !is_unreadable => look.readable(),
            (
                Kind::AppendAgain,
                Finding::OneEqual { .. } | Finding::OneDiffers { .. } | Finding::Several { .. },
            ) => Err(Stopped::Refused(format!(
                "{sentence} Another append would make one row too many: docket recheck, or --recorded where it is allowed"
            ))),
            (Kind::AppendAgain, Finding::None) if !look.astray.is_empty() => Err(Stopped::Refused(format!(
                "{sentence} Another append would make one row too many: delete that row first, or move it to its place and recheck"
            ))),
            // Given up as not recorded, while it is: the customer would be told nothing, and the record be wrong.
            (Kind::Abandon, Finding::OneEqual { .. }) => Err(Stopped::Refused(format!(
                "{sentence} It is recorded: docket recheck confirms it; to give it up, delete that row first"
            ))),
            (
                Kind::Recorded
                | Kind::AppendAgain
                | Kind::Abandon
                | Kind::Seen
                | Kind::SendAgain
                | Kind::Leave
                | Kind::KeepFirst,
                _,
            ) => Ok(()),
        }
    }

    /// The record after the order.
    pub(super) fn after(&self, record: &Record, now: Moment, by: &By) -> Result<Record, NotPossible> {
        let why = || self.why.clone();
        if let Some(order) = self.kind.of_the_write(why()) {
            let next = record.write_after(&WriteEvent::Ordered(order), now, by)?;
            return match &self.tell {
                Some(words) => next.with_words(words.clone(), now),
                None => Ok(next),
            };
        }
        if let Some(order) = self.kind.of_the_acknowledgement(why()) {
            return record.acknowledgement_after(&AckEvent::Ordered(order), now, by);
        }
        record.conflict_after(&ConflictEvent::KeepFirst { why: why() }, now, by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_may_count_a_row_as_written_that_nobody_sees_is_told_of_without_row() {
        let told: Vec<&str> = ReviewReason::ALL
            .into_iter()
            .filter(|reason| without_row_for(*reason).is_some_and(|note| note.contains("--without-row")))
            .map(ReviewReason::as_str)
            .collect();
        assert_eq!(told, ["no_matching_row", "misplaced_row", "sheet_unreadable"]);
        for reason in ReviewReason::ALL {
            assert!(
                without_row_for(reason).is_none() || Kind::Recorded.closes(reason),
                "{}",
                reason.as_str()
            );
        }
    }
}
