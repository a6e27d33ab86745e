//! Every bound of Docket, in one place, with the relations between them.
//!
//! A bound that must hold against another is asserted here at compile time; those that a setting may change are
//! checked once at start by [`Timing::checked`]. Units are in the names.

/// Longest summary after cleaning, in UTF-16 code units: Telegram counts a message's 4096 in them, and the card
/// needs room for its own words.
pub const SUMMARY_UTF16_UNITS_MAX: usize = 3_000;
/// Longest message Docket sends, in UTF-16 code units (Bot API: 4096 after entity parsing).
pub const MESSAGE_UTF16_UNITS_MAX: usize = 4_096;
/// Longest contact kept, in characters.
pub const CONTACT_CHARS_MAX: usize = 128;
/// Longest label of a request type, in characters.
pub const TYPE_LABEL_CHARS_MAX: usize = 64;
/// Longest id of a request type, in bytes; it must fit a button beside the draft's id.
pub const TYPE_ID_BYTES_MAX: usize = 24;
/// Longest button datum (Bot API: 1 to 64 bytes).
pub const BUTTON_BYTES_MAX: usize = 64;
/// Longest text that `answerCallbackQuery` shows (Bot API: 200 characters).
pub const CALLBACK_TEXT_CHARS_MAX: usize = 200;
/// Largest cell Google takes, in characters.
pub const CELL_CHARS_MAX: usize = 50_000;
/// How long an untouched draft lives.
pub const DRAFT_SECONDS: u64 = 24 * 3_600;
/// How long a conversation is remembered after its draft ended.
pub const CONVERSATION_SECONDS: u64 = 30 * 24 * 3_600;

/// Rows in one append at most: a burst of 1,000 fits in five requests.
pub const ROWS_PER_APPEND_MAX: usize = 200;
/// Pause between two appends of one process: fewer than Google's 60 write requests a minute for one user.
pub const APPEND_PAUSE_MS: u64 = 1_100;
/// Bytes of rows in one append at most; Google recommends about 2 MB a request.
pub const BYTES_PER_APPEND_MAX: usize = 1_500_000;
/// References looked up by one look at most: as many as one append whose answer was lost leaves behind.
pub const REFERENCES_PER_LOOKUP_MAX: usize = ROWS_PER_APPEND_MAX;
/// How long a header that was seen counts as seen: people change a sheet while a process lives.
pub const HEADER_TRUSTED_SECONDS: u64 = 60;
/// How long before an append of several rows: what goes astray, goes astray together.
pub const HEADER_TRUSTED_FOR_SEVERAL_SECONDS: u64 = 5;
/// Records due that one sweep rings for at most, for each step.
pub const RINGS_PER_SWEEP_MAX: usize = 500;
/// Rings that a sweep sends before it looks at the time again: one request to SQS.
pub const RINGS_AT_ONCE: usize = 10;
/// One call to AWS takes so long at most, with all the SDK's own tries.
pub const AWS_CALL_MS: u64 = 7_000;
/// Time that must remain to begin calls to AWS that only repeat or complete: the webhook's for one update, the sweeper's
/// next rings. Ordinarily they take milliseconds. Longer ones may be cut off by the end of the invocation, as by any
/// crash, and the records are made for that.
pub const ROUND_MS: u64 = 2_000;
/// Conditional updates in flight at once in one invocation.
pub const UPDATES_AT_ONCE: usize = 16;
/// Times one record may be tried (definitely not applied each time) before a person looks: with the pauses below,
/// about a day.
pub const WRITE_TRIES_MAX: u32 = 100;
/// First pause after a try that did not leave, doubling up to the longest.
pub const RETRY_PAUSE_SECONDS: u64 = 10;
pub const RETRY_PAUSE_SECONDS_MAX: u64 = 900;
/// Pause after a refusal that concerns the whole sheet, or the whole bot.
pub const HALT_PAUSE_SECONDS: u64 = 60;
/// Shortest pause after Sheets answers 429: its quotas are counted by the minute, and mostly it sends no Retry-After.
pub const BUSY_PAUSE_SECONDS: u64 = 60;
/// Longest one, whatever a Retry-After says.
pub const BUSY_PAUSE_SECONDS_MAX: u64 = 3_600;
/// Jitter added to a busy pause at most.
pub const BUSY_JITTER_SECONDS: u64 = 30;
/// Pause after a read-back that taught nothing.
pub const UNREADABLE_PAUSE_SECONDS: u64 = 60;
/// After so long without a readable sheet, an uncertain write is a person's.
pub const UNREADABLE_SECONDS_MAX: u64 = 24 * 3_600;
/// Google may work on an accepted request for so long after the client gave up.
pub const GOOGLE_PROCESSING_SECONDS_MAX: u64 = 180;
/// Lookups come due at these shares of the settle time after the attempt.
pub const LOOKUP_PERCENTS: [u64; 3] = [20, 60, 120];

/// Pause between two messages to one chat (Bot API: about one a second).
pub const CHAT_PAUSE_MS: u64 = 1_000;
/// Messages to all chats together (Bot API: about 30 a second).
pub const MESSAGES_PER_SECOND_MAX: u64 = 30;
/// Acknowledgers that run at once, as the template bounds them.
pub const ACKNOWLEDGERS_MAX: u64 = 2;
/// Pause between any two messages of one of them.
pub const SEND_PAUSE_MS: u64 = 70;

/// How often an open review is told of.
pub const ALERT_EVERY_SECONDS: u64 = 24 * 3_600;
/// How long after each such moment sweeps ring for it.
pub const ALERT_WITHIN_SECONDS: u64 = 900;
/// Reviews told of in one sweep at most: whoever has more is helped by the list, not by messages, and customers' messages must
/// not wait behind them.
pub const ALERTS_PER_SWEEP_MAX: usize = 20;

/// Entries of `history` kept: the first ones, and the newest.
pub const HISTORY_FIRST: usize = 10;
pub const HISTORY_MAX: usize = 60;
/// Conflicting contents kept under one reference.
pub const CONFLICTS_MAX: usize = 10;
/// Largest record stored, as DynamoDB counts it (it takes 400 KB): all texts at their longest stay below.
pub const ITEM_BYTES_MAX: usize = 350_000;
/// Largest conversation stored: a draft at its longest, and a few references.
pub const CONVERSATION_BYTES_MAX: usize = 64_000;

/// Defaults of the settings that change timing.
pub const SETTLE_SECONDS: u64 = 300;
pub const APPEND_TIMEOUT_MS: u64 = 25_000;
pub const SEND_TIMEOUT_MS: u64 = 15_000;
/// One look at the sheet, however many requests it takes.
pub const READ_TIMEOUT_MS: u64 = 20_000;
pub const LEASE_SECONDS: u64 = 120;
pub const RETENTION_DAYS: u64 = 365;
/// How long settings that were read from SSM are trusted by a process that lives on.
pub const PARAMETERS_TRUSTED_SECONDS: u64 = 300;
/// When they are read again after they could not be, or were refused.
pub const PARAMETERS_RETRY_SECONDS: u64 = 60;
/// Time that must remain of an invocation to read them first.
pub const PARAMETERS_READ_MS: u64 = 10_000;
/// Time that must remain after an outward call to mark its outcome.
pub const MARKING_MS: u64 = 2_000;
/// Time that must remain before an outward call to claim what it carries.
pub const CLAIMING_MS: u64 = 1_000;
/// What the template gives each function, and what its queue hides a message for.
pub const FUNCTION_TIMEOUT_SECONDS: u64 = 90;
pub const VISIBILITY_SECONDS: u64 = 6 * FUNCTION_TIMEOUT_SECONDS;
pub const RECEIVES_MAX: u32 = 10;

const _: () = assert!(APPEND_TIMEOUT_MS + MARKING_MS < FUNCTION_TIMEOUT_SECONDS * 1_000);
// One invocation may look whether the sheet is ready, append, and look up what an earlier one left.
const _: () =
    assert!(2 * READ_TIMEOUT_MS + APPEND_TIMEOUT_MS + 2 * MARKING_MS < FUNCTION_TIMEOUT_SECONDS * 1_000);
const _: () = assert!(60_000 / APPEND_PAUSE_MS < 60);
const _: () = assert!(ACKNOWLEDGERS_MAX * 1_000 <= MESSAGES_PER_SECOND_MAX * SEND_PAUSE_MS);
const _: () = assert!(SEND_TIMEOUT_MS + MARKING_MS < FUNCTION_TIMEOUT_SECONDS * 1_000);
const _: () = assert!(FUNCTION_TIMEOUT_SECONDS < LEASE_SECONDS);
const _: () = assert!(VISIBILITY_SECONDS >= 6 * FUNCTION_TIMEOUT_SECONDS && RECEIVES_MAX >= 5);
const _: () = assert!(SETTLE_SECONDS > GOOGLE_PROCESSING_SECONDS_MAX);
const _: () = assert!(LOOKUP_PERCENTS[2] >= 100);
// A request may leave as late as its lease allows, and Google may apply it so long after: still before it is settled.
const _: () = assert!(
    LEASE_SECONDS * 1_000 - APPEND_TIMEOUT_MS - MARKING_MS + GOOGLE_PROCESSING_SECONDS_MAX * 1_000
        < SETTLE_SECONDS * 1_000
);
// A record at its longest: its own summary and all conflicting ones, at three bytes a UTF-16 unit, and a kilobyte for
// each entry of its history. A draft doubles what it must escape.
const _: () = assert!(
    (1 + CONFLICTS_MAX) * 3 * SUMMARY_UTF16_UNITS_MAX + HISTORY_MAX * 1_024 + 10_000 < ITEM_BYTES_MAX
);
const _: () = assert!(3 * SUMMARY_UTF16_UNITS_MAX * 2 + 10_000 < CONVERSATION_BYTES_MAX);
// A summary at its longest (three bytes a UTF-16 unit) never fills a cell, nor a message with its own words.
const _: () = assert!(SUMMARY_UTF16_UNITS_MAX < CELL_CHARS_MAX);
const _: () = assert!(SUMMARY_UTF16_UNITS_MAX + 1_000 < MESSAGE_UTF16_UNITS_MAX);

/// The timings that settings may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    pub append_timeout_ms: u64,
    pub send_timeout_ms: u64,
    pub lease_seconds: u64,
    pub settle_seconds: u64,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            append_timeout_ms: APPEND_TIMEOUT_MS,
            send_timeout_ms: SEND_TIMEOUT_MS,
            lease_seconds: LEASE_SECONDS,
            settle_seconds: SETTLE_SECONDS,
        }
    }
}

/// A relation between settings that does not hold; the text is for whoever set them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TimingError(String);

impl Timing {
    /// Refuses timings with which a lease could end while its append is still under way.
    ///
    /// `imitated` says that the sheet is a fake on this machine: only then may the settle time be shorter than
    /// Google's own processing time.
    pub fn checked_for_appends(self, imitated: bool) -> Result<Self, TimingError> {
        self.check_lease("APPEND_TIMEOUT_MS", self.append_timeout_ms)?;
        if self.settle_seconds == 0 || self.settle_seconds > 86_400 {
            return Err(TimingError("SETTLE_SECONDS must be between 1 and 86400".into()));
        }
        if self.settle_seconds < GOOGLE_PROCESSING_SECONDS_MAX && !imitated {
            return Err(TimingError(format!(
                "SETTLE_SECONDS must be at least {GOOGLE_PROCESSING_SECONDS_MAX}: Google may still apply a request \
                 that long after it timed out"
            )));
        }
        Ok(self)
    }

    /// Refuses timings with which a lease could end while its message is still being sent.
    pub fn checked_for_messages(self) -> Result<Self, TimingError> {
        self.check_lease("SEND_TIMEOUT_MS", self.send_timeout_ms)?;
        Ok(self)
    }

    fn check_lease(&self, name: &str, timeout_ms: u64) -> Result<(), TimingError> {
        if self.lease_seconds == 0 || self.lease_seconds > 3_600 {
            return Err(TimingError("LEASE_SECONDS must be between 1 and 3600".into()));
        }
        if timeout_ms < 100 {
            return Err(TimingError(format!("{name} must be at least 100")));
        }
        if timeout_ms.saturating_add(CLAIMING_MS + MARKING_MS) >= self.lease_seconds * 1_000 {
            return Err(TimingError(format!(
                "{name} ({timeout_ms} ms) with {CLAIMING_MS} ms to claim and {MARKING_MS} ms to mark the outcome must \
                 be less than LEASE_SECONDS ({} s)",
                self.lease_seconds
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(timing: Timing, imitated: bool) -> Option<String> {
        let appends = timing.checked_for_appends(imitated).err();
        appends.or(timing.checked_for_messages().err()).map(|error| error.to_string())
    }

    #[test]
    fn the_defaults_and_the_small_timings_of_a_rehearsal_are_accepted() {
        let built_in = Timing::default();
        assert_eq!(built_in.checked_for_appends(false), Ok(built_in));
        let small = Timing {
            append_timeout_ms: 1_500,
            send_timeout_ms: 1_500,
            lease_seconds: 12,
            settle_seconds: 10,
        };
        assert_eq!(small.checked_for_appends(true), Ok(small));
    }

    #[test]
    fn a_settle_time_within_googles_processing_time_is_for_a_fake_only() {
        for (settle_seconds, imitated, accepted) in
            [(180, false, true), (179, false, false), (10, false, false), (10, true, true), (0, true, false)]
        {
            let timing = Timing { settle_seconds, ..Timing::default() };
            assert_eq!(
                timing.checked_for_appends(imitated).is_ok(),
                accepted,
                "{settle_seconds} s, imitated {imitated}"
            );
        }
    }

    #[test]
    fn a_timing_whose_relations_do_not_hold_is_refused_by_name() {
        let built_in = Timing::default();
        let too_long = LEASE_SECONDS * 1_000 - MARKING_MS - CLAIMING_MS;
        for (timing, word) in [
            (Timing { append_timeout_ms: 99, ..built_in }, "APPEND_TIMEOUT_MS"),
            (Timing { append_timeout_ms: too_long, ..built_in }, "APPEND_TIMEOUT_MS"),
            (Timing { send_timeout_ms: too_long, ..built_in }, "SEND_TIMEOUT_MS"),
            (Timing { lease_seconds: 20, ..built_in }, "LEASE_SECONDS"),
            (Timing { lease_seconds: 0, ..built_in }, "LEASE_SECONDS"),
            (Timing { lease_seconds: 3_601, ..built_in }, "LEASE_SECONDS"),
            (Timing { settle_seconds: 86_401, ..built_in }, "SETTLE_SECONDS"),
        ] {
            let said = named(timing, true).unwrap_or_default();
            assert!(said.contains(word), "{timing:?}: {said}");
        }
        let huge = u64::MAX;
        let timing = Timing {
            append_timeout_ms: huge,
            send_timeout_ms: huge,
            lease_seconds: huge,
            settle_seconds: huge,
        };
        assert!(timing.checked_for_appends(true).is_err() && timing.checked_for_messages().is_err());
    }
}
