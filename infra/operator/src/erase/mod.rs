//! `docket erase`: a person's request to be forgotten. What they are writing goes first, then each enquiry: its rows, and then
//! their words in the record.
//!
//! What will go is shown before anything does. Before a row is deleted the record says so, as the writer's claim does: nobody is
//! told any more that the row is there, and no second command deletes what stands there by then. Whatever is broken off is
//! repeated, and finds less to do. Backups and the spreadsheet's version history keep what they keep, each for its time.

mod plan;
mod carry_out;
mod page;

use docket_adapters::dynamodb::{DynamoConversations, DynamoSubmissions};
use docket_adapters::sheets::{GoogleSheet, Place};
use docket_domain::outcome::NotApplied;
use docket_domain::ports::Clock;
use docket_domain::reference::Reference;
use docket_domain::status::{By, NotErasable, Record, Settle};
use docket_domain::submission::ChatId;

pub use page::page;

use crate::Stopped;
use crate::cure::by_google;
use crate::removal::{BUSY_PAUSE_MS, LOOKS_MAX, PAUSE_MS};
use crate::zone::Zone;

/// The surroundings.
#[derive(Debug)]
pub struct Eraser<G, C> {
    pub submissions: DynamoSubmissions,
    pub conversations: DynamoConversations,
    pub sheet: GoogleSheet<G>,
    /// Where that is, for whoever reads what will go.
    pub place: String,
    pub clock: C,
    pub by: By,
    /// In whose time a refusal is told.
    pub zone: Zone,
    /// Hears it when something takes minutes.
    pub says: fn(&str),
}

/// Whose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whom {
    Reference(Reference),
    /// All their enquiries, and what they are writing.
    Chat(ChatId),
}

/// How it is ordered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Terms {
    pub settle: Option<Settle>,
    pub why: String,
    /// Also copies, and rows that say something else than the record: they may be somebody else's.
    pub all_rows: bool,
}

/// What will go of one enquiry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    pub reference: Reference,
    /// None: it was forgotten long ago, and its rows are there still.
    pub record: Option<Record>,
    /// How many rows carry the reference.
    pub rows: usize,
    /// What they are, in words.
    pub seen: String,
    /// The row as it was shown, where no record says any more what stood in it.
    shown: Option<Place>,
    /// Cells that hold the reference elsewhere on the tab: these are a person's to clear.
    pub astray: Vec<String>,
}

/// What will go of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub whom: Whom,
    pub enquiries: Vec<Planned>,
    /// What names them and is not erased, each in a sentence: whose it is is not known, or it is somebody else's.
    pub left: Vec<String>,
}

/// What went of one enquiry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gone {
    pub reference: Reference,
    /// What was said of each row that was deleted.
    pub rows: Vec<String>,
    pub astray: Vec<String>,
    /// What is a person's to look after, each in a sentence.
    pub left: Vec<String>,
}

impl Planned {
    /// The record, while it holds its customer's words.
    fn live(&self) -> Option<&Record> {
        self.record.as_ref().filter(|record| record.erased_at.is_none())
    }
}

/// A machine must be done with an enquiry first, or a person decide.
fn refused(reference: &Reference, error: NotErasable, zone: &Zone) -> Stopped {
    let why = match error {
        NotErasable::UnderWay { until } => {
            format!("{error} until {}; erase it afterwards", zone.shown(until))
        }
        NotErasable::BeingErased { until } => {
            format!("{error} until {}; repeat this afterwards", zone.shown(until))
        }
        NotErasable::Unsettled => {
            format!(
                "{error}; say how it is to be left: --settle abandoned, or --settle recorded by your own word"
            )
        }
        NotErasable::NotAppended => format!("{error}; --settle abandoned"),
    };
    Stopped::Refused(format!("nothing of {reference} was erased: {why}"))
}

impl<G: Clock, C: Clock> Eraser<G, C> {
    /// A read that taught nothing while rows moved is tried again, and so is one for which this minute had no room: the writer
    /// lives on the same allowance, and a plan that began anew would cost more of it.
    async fn patiently<T>(&self, mut read: impl AsyncFnMut() -> Result<T, NotApplied>) -> Result<T, Stopped> {
        let mut looks = 1;
        loop {
            let reason = match read().await {
                Ok(found) => return Ok(found),
                Err(reason) if looks == LOOKS_MAX => return Err(self.unread(&reason)),
                Err(reason) => reason,
            };
            looks += 1;
            match &reason {
                NotApplied::TryAgain(_) => self.clock.pause_ms(PAUSE_MS).await,
                NotApplied::Busy { .. } => {
                    (self.says)("Google takes no more requests this minute: waiting for the next");
                    self.clock.pause_ms(BUSY_PAUSE_MS).await;
                }
                NotApplied::Halt(_) | NotApplied::CellAlone(_) | NotApplied::CellInCompany(_) => {
                    return Err(self.unread(&reason));
                }
            }
        }
    }

    async fn last_place(&self, reference: &Reference) -> Result<Option<Place>, Stopped> {
        self.patiently(async || self.sheet.last_place(reference).await).await
    }

    fn unread(&self, reason: &NotApplied) -> Stopped {
        by_google(&format!("{} could not be read", self.place), reason, self.sheet.account())
    }
}
