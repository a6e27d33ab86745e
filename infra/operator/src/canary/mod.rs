//! `docket canary`: a marked enquiry through the whole deployment, from a signed webhook call to the message in the
//! operator's chat, step by step with the time each took.
//!
//! It changes nothing that is not its own: it stays away from a chat with an unfinished enquiry, its message ids are below
//! all of Telegram's, and its row and record are removed only after every step went well. When one failed, what is left is
//! evidence: nothing of it is removed, and the report names it.

mod report;
mod chat;
mod waiting;
mod removal;

use docket_adapters::sheets::GoogleSheet;
use docket_adapters::telegram::WebhookCaller;
use docket_domain::intake::Bot;
use docket_domain::outcome::NotApplied;
use docket_domain::ports::{Clock, Conversations, Sheet as _, Submissions};
use docket_domain::reference::Reference;
use docket_domain::row::Row;
use docket_domain::submission::ChatId;

use self::chat::Marks;
pub use self::chat::SUMMARY;
use self::report::Failed;
pub use self::report::{Report, Step};
use crate::Stopped;
use crate::cure::by_google;

/// How long the row and the message are waited for when nobody says otherwise.
pub const WAIT_SECONDS: u64 = 120;

/// A canary, and the deployment that it goes through. `clock` is also what its pauses wait on.
#[derive(Debug)]
pub struct Canary<S, V, G, C> {
    pub submissions: S,
    pub conversations: V,
    pub sheet: GoogleSheet<G>,
    pub webhook: WebhookCaller,
    pub clock: C,
    pub bot: Bot,
    /// The operator's private chat, whose user has the same id.
    pub chat: ChatId,
    pub wait_seconds: u64,
    /// Leave row and record.
    pub keep: bool,
}

/// A step failed, and the report has it.
struct Ended;

/// How far a canary came: what could be left of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reached {
    /// Nothing but a draft.
    Draft,
    /// Its Confirm has left.
    Confirm,
    /// The webhook said that it stored the record.
    Record,
    RowRemoved,
    Removed,
}

impl<S: Submissions, V: Conversations, G: Clock, C: Clock> Canary<S, V, G, C> {
    /// Goes the whole way, or as far as it goes.
    ///
    /// # Errors
    /// It did not begin: the chat has an unfinished enquiry, or that could not be read. Everything else is in the report.
    pub async fn run(&self) -> Result<Report, Stopped> {
        let before = self.free_chat().await?;
        let marks = Marks::at(self.clock.now());
        let mut report = Report::default();
        let mut reached = Reached::Draft;
        let way = self.way(marks, &mut report, &mut reached).await;
        // In either case: a draft of ours would stand in the way of the person whose chat it is.
        let tidied = self.step(&mut report, "chat", self.tidy(&before, marks)).await;
        report.removed = reached == Reached::Removed;
        report.left = self.left(reached, way.is_ok(), tidied.is_ok(), report.reference.as_ref()).await;
        Ok(report)
    }

    async fn way(&self, marks: Marks, report: &mut Report, reached: &mut Reached) -> Result<(), Ended> {
        self.step(report, "sheet", self.sheet_is_ready()).await?;
        let of_type = self.step(report, "new", self.begin(marks)).await?;
        self.step(report, "type", self.choose(marks, &of_type)).await?;
        let card = self.step(report, "summary", self.write_summary(marks)).await?;
        let reference = card.reference.clone();
        report.reference = Some(reference.clone());
        *reached = Reached::Confirm;
        self.step(report, "confirm", self.confirm(marks, &card)).await?;
        *reached = Reached::Record;

        let end = self.clock.now().plus_seconds(self.wait_seconds);
        let record = self.step(report, "record", self.stored(&reference, end)).await?;
        let row = Row::of(&record.submission);
        self.step(report, "write", self.written(&reference, end)).await?;
        self.step(report, "row", self.one_equal_row(&row, end)).await?;
        let record = self.step(report, "acknowledgement", self.acknowledged(&reference, end)).await?;
        if self.keep {
            return Ok(());
        }
        // The row first: as long as it may be there, the record tells whose it is.
        self.step(report, "row removed", self.remove_row(&row)).await?;
        *reached = Reached::RowRemoved;
        self.step(report, "record removed", self.remove_record(&record)).await?;
        *reached = Reached::Removed;
        Ok(())
    }

    /// Runs one step and writes it down.
    async fn step<T>(
        &self,
        report: &mut Report,
        name: &'static str,
        work: impl Future<Output = Result<(T, String), Failed>>,
    ) -> Result<T, Ended> {
        let began = self.clock.now();
        let outcome = work.await;
        let ms = u64::try_from(self.clock.now().millis() - began.millis()).unwrap_or(0);
        match outcome {
            Ok((value, found)) => {
                report.steps.push(Step { name, ok: true, ms, found });
                Ok(value)
            }
            Err(failed) => {
                report.unreachable |= failed.unreachable;
                report.steps.push(Step { name, ok: false, ms, found: failed.found });
                Err(Ended)
            }
        }
    }

    /// Before anything is said: an enquiry that cannot get into the sheet is better not made.
    async fn sheet_is_ready(&self) -> Result<((), String), Failed> {
        match self.sheet.ready(1).await {
            Ok(()) => Ok(((), format!("{} can be read and has its header", self.sheet.tab()))),
            Err(reason) => Err(self.sheet_failed("the sheet cannot be read", &reason)),
        }
    }

    fn sheet_failed(&self, what: &str, reason: &NotApplied) -> Failed {
        by_google(what, reason, self.sheet.account()).into()
    }

    /// What is left of it, and what to do; none when nothing is.
    async fn left(
        &self,
        reached: Reached,
        went_well: bool,
        tidied: bool,
        reference: Option<&Reference>,
    ) -> Option<String> {
        let reference = reference?;
        let show = format!("docket show {reference}");
        match reached {
            Reached::Draft | Reached::Removed => None,
            // The draft is gone for sure, so a Confirm that is late can store nothing any more.
            Reached::Confirm if tidied && matches!(self.submissions.get(reference).await, Ok(None)) => None,
            Reached::Confirm => {
                Some(format!("perhaps the record {reference}, which may still be written: {show}"))
            }
            Reached::Record if went_well => {
                Some(format!("the record {reference} and its row, as it was ordered: {show}"))
            }
            Reached::Record => Some(format!(
                "the record {reference}, and its row where it is written or will be: {show} tells how it stands"
            )),
            Reached::RowRemoved => Some(format!("the record {reference}, whose row is removed: {show}")),
        }
    }
}
