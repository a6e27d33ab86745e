//! One order: for which reviews it is there, what must be true of the sheet, and what it makes of the record.

use docket_domain::moment::Moment;
use docket_domain::status::{
    AckEvent, AckOrder, By, ConflictEvent, Finding, NotPossible, Record, ReviewReason, WriteEvent,
    WriteOrder, WriteReview,
};

use crate::Stopped;
use crate::orders::seen_in_the_sheet;

/// What is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The row is there, or was put there by hand.
    Recorded,
    /// Another append.
    AppendAgain,
    /// No row, and nobody is told.
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
        match (self, reason) {
            (Self::Abandon, ReviewReason::Write(_))
            | (Self::Seen | Self::SendAgain | Self::Leave, ReviewReason::AckUncertain)
            | (Self::KeepFirst, ReviewReason::Conflict) => true,
            (Self::Recorded, ReviewReason::Write(reason)) => reason != WriteReview::WriteRefused,
            (Self::AppendAgain, ReviewReason::Write(reason)) => match reason {
                WriteReview::NoMatchingRow
                | WriteReview::MisplacedRow
                | WriteReview::WriteRefused
                | WriteReview::SheetUnreadable => true,
                WriteReview::SeveralRows | WriteReview::RowDiffers => false,
            },
            (
                Self::Recorded | Self::AppendAgain | Self::Abandon,
                ReviewReason::AckUncertain | ReviewReason::Conflict,
            )
            | (Self::Seen | Self::SendAgain | Self::Leave, ReviewReason::Write(_) | ReviewReason::Conflict)
            | (Self::KeepFirst, ReviewReason::Write(_) | ReviewReason::AckUncertain) => false,
        }
    }

    pub(super) fn said(self) -> &'static str {
        match self {
            Self::Recorded => "The row counts as written; the customer will be told.",
            Self::AppendAgain => {
                "The writer will append it again, within a minute, unless its row has come by then."
            }
            Self::Abandon => "Nothing more is written for it, and nobody is told.",
            Self::Seen => "The message counts as sent.",
            Self::SendAgain => "The customer will be told again, within a minute.",
            Self::Leave => "No further message is sent.",
            Self::KeepFirst => "The first content stands.",
        }
    }
}

/// What may be ordered for a review of this reason, as the command line has it.
#[must_use]
pub fn orders_for(reason: ReviewReason) -> Vec<&'static str> {
    let recheck = super::recheck::may_learn(reason).then_some("docket recheck");
    recheck
        .into_iter()
        .chain(Kind::ALL.into_iter().filter(|kind| kind.closes(reason)).map(Kind::option))
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
    pub(super) fn check_against(&self, found: &Finding, without_row: bool) -> Result<(), Stopped> {
        let shown = seen_in_the_sheet(found);
        match (self.kind, found) {
            (Kind::Recorded, Finding::None | Finding::Unreadable(_)) if !without_row => {
                let message = format!(
                    "in the sheet: {shown}; --without-row takes your word for a row that is elsewhere"
                );
                Err(match found {
                    Finding::Unreadable(_) => Stopped::Unreachable(message),
                    Finding::None
                    | Finding::OneEqual { .. }
                    | Finding::OneDiffers { .. }
                    | Finding::Several { .. } => Stopped::Refused(message),
                })
            }
            (
                Kind::AppendAgain,
                Finding::OneEqual { .. } | Finding::OneDiffers { .. } | Finding::Several { .. },
            ) => {
                Err(Stopped::Refused(format!("in the sheet: {shown}; another append would be one too many")))
            }
            (Kind::AppendAgain, Finding::Unreadable(_)) => Err(Stopped::Unreachable(format!(
                "in the sheet: {shown}; nothing is appended again without having looked"
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
        let why = self.why.clone();
        match self.kind {
            Kind::Recorded => record.write_after(&WriteEvent::Ordered(WriteOrder::Recorded { why }), now, by),
            Kind::AppendAgain => {
                record.write_after(&WriteEvent::Ordered(WriteOrder::AppendAgain { why }), now, by)
            }
            Kind::Abandon => record.write_after(&WriteEvent::Ordered(WriteOrder::Abandon { why }), now, by),
            Kind::Seen => record.acknowledgement_after(&AckEvent::Ordered(AckOrder::Seen { why }), now, by),
            Kind::SendAgain => {
                record.acknowledgement_after(&AckEvent::Ordered(AckOrder::SendAgain { why }), now, by)
            }
            Kind::Leave => record.acknowledgement_after(&AckEvent::Ordered(AckOrder::Leave { why }), now, by),
            Kind::KeepFirst => record.conflict_after(&ConflictEvent::KeepFirst { why }, now, by),
        }
    }
}
