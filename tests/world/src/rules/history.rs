//! Rule 12: the four questions, asked of a record alone. What its states say must be what its history tells, or the operator
//! who asks later is told two things.

use docket_domain::limits::HISTORY_MAX;
use docket_domain::status::history::Entry;
use docket_domain::status::{Record, ReviewReason, WriteState};

/// Which of the four questions the record does not answer.
pub(super) fn unanswered(record: &Record) -> Vec<String> {
    let name = record.submission.reference.as_str();
    let entries = record.history.entries();
    let of = |wanted: Subject| {
        entries.iter().filter(|entry| Subject::of(entry) == wanted).collect::<Vec<&Entry>>()
    };
    let (write, ack) = (of(Subject::Write), of(Subject::Acknowledgement));
    let mut broken = Vec::new();
    let mut object = |what: &str| broken.push(format!("rule 12: of {name} {what}"));

    // Was it confirmed by its customer, and recorded?
    if entries.first().is_none_or(|entry| entry.step != "recorded") {
        object("nothing says that it was recorded");
    }
    // Is its row known to exist, and how?
    if write.last().and_then(|entry| entry.to.as_deref()) != Some(record.write.state.as_str()) {
        object("the history ends in another state of the write");
    }
    if let WriteState::Confirmed { evidence } = &record.write.state {
        let evidence = evidence.to_string();
        let confirms = |entry: &&&Entry| entry.to.as_deref() == Some("confirmed");
        let told = write.iter().rev().find(confirms).and_then(|entry| entry.evidence.as_deref());
        // Beside an operator's word stands what they saw in the sheet.
        if !told.is_some_and(|told| told == evidence || told.starts_with(&format!("{evidence}; "))) {
            object("nothing says how its row is known to be there");
        }
    }
    // Did its acknowledgement complete?
    let told = ack.last().and_then(|entry| entry.to.as_deref());
    let stands = record.acknowledgement.as_ref().map(|ack| ack.state.as_str());
    if told != stands && !(told.is_none() && stands == Some("pending")) {
        object("the history ends in another state of the acknowledgement");
    }
    // What still needs attention?
    for review in record.reviews() {
        let explained = match review.reason {
            ReviewReason::Write(_) => write.last().is_some_and(|entry| entry.why.is_some()),
            ReviewReason::AckUncertain => {
                ack.last().is_some_and(|entry| entry.why.is_some() || entry.step == "ack_lease_ran_out")
            }
            ReviewReason::Conflict => {
                !record.conflicts.is_empty() && entries.iter().any(|entry| entry.step == "conflict_arrived")
            }
        };
        if !explained {
            object(&format!("nothing says why a person must look ({})", review.reason.as_str()));
        }
    }
    // Of a full history the middle is gone.
    if entries.len() < HISTORY_MAX && [&write, &ack].into_iter().any(|steps| !follow_each_other(steps)) {
        object("a step of the history does not begin where the one before it ended");
    }
    broken
}

/// What a step is about.
#[derive(PartialEq, Eq)]
enum Subject {
    Write,
    Acknowledgement,
    Conflict,
}

impl Subject {
    fn of(entry: &Entry) -> Self {
        match entry.step.as_str() {
            "conflict_arrived" | "kept_first" => Self::Conflict,
            "ordered_seen" | "ordered_send_again" | "ordered_leave" => Self::Acknowledgement,
            step if step.starts_with("ack_") => Self::Acknowledgement,
            _ => Self::Write,
        }
    }
}

fn follow_each_other(steps: &[&Entry]) -> bool {
    steps.windows(2).all(|pair| pair[1].from == pair[0].to)
}
