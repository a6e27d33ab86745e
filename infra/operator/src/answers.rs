//! The four questions that must always have an answer, for any reference.

use docket_domain::status::{
    AckState, Acknowledgement, Cause, Record, ReviewReason, WriteReview, WriteState,
};

use crate::words;
use crate::zone::Zone;

/// The answers, in the order of the questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answers {
    pub confirmed_and_recorded: String,
    pub row: String,
    pub acknowledgement: String,
    pub attention: String,
}

/// The questions themselves.
pub const QUESTIONS: [&str; 4] = [
    "Was it confirmed and recorded?",
    "Is its row known to exist?",
    "Did its acknowledgement complete?",
    "What still needs attention?",
];

impl Answers {
    #[must_use]
    pub fn of(record: &Record, zone: &Zone) -> Self {
        Self {
            confirmed_and_recorded: format!(
                "Yes: confirmed by the customer at {}, and kept.",
                zone.shown(record.submission.confirmed_at)
            ),
            row: row(record, zone),
            acknowledgement: acknowledgement(record, zone),
            attention: attention(record, zone),
        }
    }

    #[must_use]
    pub fn lines(&self) -> [&str; 4] {
        [&self.confirmed_and_recorded, &self.row, &self.acknowledgement, &self.attention]
    }
}

fn row(record: &Record, zone: &Zone) -> String {
    match &record.write.state {
        WriteState::Confirmed { evidence } if record.erased_at.is_some() => {
            let evidence = words::of_evidence(evidence);
            if record.erased_rows == Some(0) {
                format!(
                    "It was known to exist ({evidence}); when its customer's data were erased, no row was found."
                )
            } else {
                format!("Its row was there ({evidence}), and was deleted with its customer's data.")
            }
        }
        WriteState::Uncertain { attempt, cause, .. } if *cause == Cause::found_before_append() => {
            format!(
                "Not known: what was found at {}, right before another append, does not settle it.",
                zone.shown(attempt.at)
            )
        }
        // Nobody saw it then; that is all.
        WriteState::Pending { cause, .. } if record.write.is_looked_for_first() => {
            let last = cause
                .as_ref()
                .map(|cause| format!("; the last try was turned away: {}", words::of_cause(cause)));
            format!(
                "Not known: no row was seen when an operator ordered another append{}.",
                last.unwrap_or_default()
            )
        }
        WriteState::Pending { cause: None, .. } => "No: it has not been appended yet.".into(),
        WriteState::Pending { cause: Some(cause), .. } => {
            let why = words::of_cause(cause);
            format!("No: it is not in the sheet; the last try was turned away: {why}.")
        }
        WriteState::Attempting { attempt } => {
            format!("Not known: an append is under way since {}.", zone.shown(attempt.at))
        }
        WriteState::Uncertain { attempt, cause, .. } => {
            let (at, why) = (zone.shown(attempt.at), words::of_cause(cause));
            format!("Not known: the append of {at} ended without a usable answer: {why}.")
        }
        WriteState::Confirmed { evidence } => format!("Yes: {}.", words::of_evidence(evidence)),
        WriteState::Abandoned => "Given up by an operator.".into(),
    }
}

fn acknowledgement(record: &Record, zone: &Zone) -> String {
    let Some(ack) = &record.acknowledgement else {
        return match record.write.state {
            WriteState::Abandoned => "No: it was given up, and nobody was told.".into(),
            WriteState::Pending { .. }
            | WriteState::Attempting { .. }
            | WriteState::Uncertain { .. }
            | WriteState::Confirmed { .. } => "No: nothing is said before the row is known to exist.".into(),
        };
    };
    let told = message(ack, zone);
    match &record.words {
        // The operator's own words, and no one's secret; a page shows them escaped.
        Some(words) => format!("{told} It says, in an operator's words: {words}"),
        None => told,
    }
}

fn message(ack: &Acknowledgement, zone: &Zone) -> String {
    match &ack.state {
        AckState::Pending { cause: None, .. } => "Not yet: it is about to be sent.".into(),
        AckState::Pending { cause: Some(cause), due_at } => {
            format!("Not yet: not sent: {}; again at {}.", words::of_cause(cause), zone.shown(*due_at))
        }
        AckState::Attempting { attempt } => {
            format!("Not known: it is being sent since {}.", zone.shown(attempt.at))
        }
        AckState::Uncertain { attempt, cause, .. } => {
            let (at, why) = (zone.shown(attempt.at), words::of_cause(cause));
            format!("Not known: the message of {at} may have been sent: {why}.")
        }
        AckState::Confirmed { message_id: Some(id) } => {
            format!("Yes: Telegram accepted it as message {id}.")
        }
        AckState::Confirmed { message_id: None } => "Yes.".into(),
        AckState::Refused { cause } => {
            format!("No: Telegram refuses this chat for good: {}.", words::of_cause(cause))
        }
        AckState::Abandoned => "Left by an operator.".into(),
    }
}

fn attention(record: &Record, zone: &Zone) -> String {
    let reviews = record.reviews();
    if !reviews.is_empty() {
        let reasons: Vec<String> = reviews
            .iter()
            .map(|r| format!("{} since {}: {}", r.reason.as_str(), zone.shown(r.since), meaning(r.reason)))
            .collect();
        return format!("A person: {}", reasons.join("; "));
    }
    match record.due() {
        Some((step, at)) => {
            format!("Nobody: a machine looks at it ({}) at {}.", step.as_str(), zone.shown(at))
        }
        None => "Nothing.".into(),
    }
}

/// What a review reason says is known.
#[must_use]
pub fn meaning(reason: ReviewReason) -> &'static str {
    match reason {
        ReviewReason::Write(WriteReview::NoMatchingRow) => {
            "appended perhaps, and not seen after the settle time"
        }
        ReviewReason::Write(WriteReview::SeveralRows) => {
            "written at least once, several rows carry the reference"
        }
        ReviewReason::Write(WriteReview::RowDiffers) => "a row with this reference says something else",
        ReviewReason::Write(WriteReview::MisplacedRow) => "written in the wrong place",
        ReviewReason::Write(WriteReview::WriteRefused) => "definitely not written, and tries are used up",
        ReviewReason::Write(WriteReview::SheetUnreadable) => "nothing could be learned for a day",
        ReviewReason::AckUncertain => "the message was perhaps sent",
        ReviewReason::Conflict => "another content arrived under this reference; the first was kept",
    }
}
