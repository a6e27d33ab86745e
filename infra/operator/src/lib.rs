//! The operator's command: what is known about an enquiry, what needs a person, and whether a deployment is set up well.
//!
//! Of records it changes only what a person orders, and those of its own canary. Data goes to standard output, messages to standard error; the
//! exit status says what became of it: 0 done, 1 refused or not found, 2 usage, 3 the other side could not be reached, 130
//! interrupted by Ctrl-C.

pub mod answers;
pub mod audit;
pub mod canary;
pub mod cli;
pub mod cure;
pub mod doctor;
pub mod find;
pub mod interrupt;
pub mod json;
pub mod orders;
pub mod page;
pub mod reach;
pub mod scan;
pub mod stats;
pub mod table;
pub mod refusal;
mod removal;
pub mod erase;
pub mod sheet;
pub mod visible;
pub mod watch;
pub mod webhook;
pub mod words;
pub mod zone;

use docket_domain::ports::{StoreError, Submissions};
use docket_domain::reference::Reference;
use docket_domain::status::{Cause, OpenReview, Record, ReviewReason};

use crate::refusal::{Asked, Refusal};

/// Why a command did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// Refused, or there is no such thing.
    Refused(String),
    /// The command line or a setting is wrong.
    Usage(String),
    /// The other side could not be reached.
    Unreachable(String),
    /// A person ended it.
    Interrupted(String),
}

impl Stopped {
    #[must_use]
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Refused(_) => 1,
            Self::Usage(_) => 2,
            Self::Unreachable(_) => 3,
            // As a shell has it for whatever Ctrl-C ended.
            Self::Interrupted(_) => 130,
        }
    }

    /// A call of a table's that failed, as a sentence.
    #[must_use]
    pub fn by_aws(sentence: &str, cause: &Cause) -> Self {
        Self::by_aws_about(Asked::Table, sentence, cause)
    }

    /// The same of whatever was asked for.
    #[must_use]
    pub fn by_aws_about(asked: Asked, sentence: &str, cause: &Cause) -> Self {
        match Refusal::explained(asked, sentence, cause) {
            (message, Some(_)) => Self::Refused(message),
            (message, None) => Self::Unreachable(message),
        }
    }

    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::Refused(message)
            | Self::Usage(message)
            | Self::Unreachable(message)
            | Self::Interrupted(message) => message,
        }
    }
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotApplied(cause) | StoreError::OutcomeUnknown(cause) => {
                Self::by_aws("the table could not be read", &cause)
            }
            StoreError::Unreadable(cause) => Self::Refused(format!("the record cannot be read: {cause}")),
        }
    }
}

/// One open review.
#[derive(Debug)]
pub struct Listed {
    pub reference: Reference,
    pub review: OpenReview,
    /// None: this release cannot read it, and the review is as the index has it.
    pub record: Option<Record>,
}

/// The record of one reference.
///
/// # Errors
/// Not found, not readable, or not reachable.
pub async fn show<S: Submissions>(submissions: &S, reference: &Reference) -> Result<Record, Stopped> {
    submissions
        .get(reference)
        .await?
        .ok_or_else(|| {
            Stopped::Refused(format!(
                "no submission has the reference {reference}: look for the enquiry with docket find, by --chat or --text; a \
                 finished one is forgotten after RETENTION_DAYS"
            ))
        })
}

/// Every open review, oldest first; a record with several has several lines.
///
/// # Errors
/// Not reachable.
pub async fn reviews<S: Submissions>(submissions: &S) -> Result<Vec<Listed>, Stopped> {
    /// More than anybody reads; the count of a longer list is the dashboard's.
    const EACH_MAX: usize = 1_000;
    reviews_up_to(submissions, EACH_MAX).await
}

/// The same, of each reason at most so many.
///
/// # Errors
/// Not reachable.
pub async fn reviews_up_to<S: Submissions>(submissions: &S, each_max: usize) -> Result<Vec<Listed>, Stopped> {
    let mut listed = Vec::new();
    for reason in ReviewReason::ALL {
        for (reference, indexed) in submissions.reviews(reason, each_max).await? {
            // The index lags behind the record, and the record decides, where it can be read.
            let (record, open) = match submissions.get(&reference).await {
                Ok(None) => continue,
                Ok(Some(record)) => {
                    let open = record.reviews();
                    (Some(record), open)
                }
                Err(StoreError::Unreadable(_)) => (None, vec![indexed]),
                Err(error) => return Err(error.into()),
            };
            for review in open {
                let known =
                    |other: &Listed| other.reference == reference && other.review.reason == review.reason;
                if !listed.iter().any(known) {
                    listed.push(Listed { reference: reference.clone(), review, record: record.clone() });
                }
            }
        }
    }
    listed.sort_by(|a, b| {
        let key = |listed: &Listed| (listed.review.since, listed.reference.clone());
        key(a).cmp(&key(b))
    });
    Ok(listed)
}
