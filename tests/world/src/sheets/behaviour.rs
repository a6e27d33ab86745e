//! What Google can be told to do about a request instead of simply serving it.
//!
//! A behaviour says two things apart: what becomes of the rows, and what comes back. That they can differ is the
//! whole reason for this project. Each constructor is named after what happens, in that order.

use serde_json::{Value, json};

use super::grid::Hidden;
use super::refusal::{Refusal, header, json_header};
use crate::exchange::Answer;

/// The body of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureBody {
    /// Google's error JSON.
    Json,
    Empty,
    Html,
}

/// What becomes of the rows.
#[derive(Debug, Clone)]
pub(super) enum Effect {
    /// Nothing is written, nothing is checked.
    None,
    Written,
    /// Written over whatever is at this range.
    WrittenAt(String),
    /// Accepted now, written so many milliseconds of turned clock later.
    WrittenLater(i64),
}

/// What comes back.
#[derive(Debug, Clone)]
enum Back {
    /// What belongs to the request.
    Usual,
    /// The usual answer with another `updatedRange`.
    Naming(String),
    Instead(Refusal),
    /// The first bytes of the usual body, as if they were all of it.
    CutTo(usize),
    /// The first bytes of the usual body, then the connection closes.
    HalfOf(usize),
    HangUp,
    Never,
}

/// One planned behaviour. Give it to `FakeSheets::next` or `FakeSheets::from_now_on`.
#[derive(Debug, Clone)]
pub struct Behaviour {
    pub(super) effect: Effect,
    back: Back,
    /// Relative: milliseconds or reads from the moment of writing.
    pub(super) hidden: Option<Hidden>,
    pub(super) takes_ms: i64,
    pub(super) waits: bool,
}

/// What happens to the rows, and what the client learns.
impl Behaviour {
    fn of(effect: Effect, back: Back) -> Self {
        Self { effect, back, hidden: None, takes_ms: 0, waits: false }
    }

    /// The plain service; a start for [`Self::visible_after_ms`] and its like.
    #[must_use]
    pub fn serves() -> Self {
        Self::of(Effect::Written, Back::Usual)
    }

    /// Nothing is written. Also for tokens and reads.
    #[must_use]
    pub fn answers(status: u16, headers: Vec<(String, String)>, body: &str) -> Self {
        Self::refuses(Refusal { status, headers, body: body.to_owned() })
    }

    #[must_use]
    pub fn writes_then_answers(status: u16, headers: Vec<(String, String)>, body: &str) -> Self {
        Self::of(Effect::Written, Back::Instead(Refusal { status, headers, body: body.to_owned() }))
    }

    /// Nothing is written. A 5xx, 408 or the like.
    #[must_use]
    pub fn fails(status: u16, body: FailureBody) -> Self {
        Self::refuses(failure(status, body))
    }

    /// Written, although the answer is a 5xx, 408 or the like.
    #[must_use]
    pub fn writes_then_fails(status: u16, body: FailureBody) -> Self {
        Self::of(Effect::Written, Back::Instead(failure(status, body)))
    }

    /// Nothing is written, the connection closes without an answer.
    #[must_use]
    pub fn hangs_up() -> Self {
        Self::of(Effect::None, Back::HangUp)
    }

    #[must_use]
    pub fn writes_then_hangs_up() -> Self {
        Self::of(Effect::Written, Back::HangUp)
    }

    /// The headers announce the whole answer, the connection closes after `sent` bytes of its body.
    #[must_use]
    pub fn writes_then_sends_half(sent: usize) -> Self {
        Self::of(Effect::Written, Back::HalfOf(sent))
    }

    /// Nothing is written and nothing answered.
    #[must_use]
    pub fn never_answers() -> Self {
        Self::of(Effect::None, Back::Never)
    }

    #[must_use]
    pub fn writes_then_never_answers() -> Self {
        Self::of(Effect::Written, Back::Never)
    }

    /// No answer; the rows appear once the clock was turned by `later_ms`. Google works for up to 180 s.
    #[must_use]
    pub fn never_answers_and_writes_later(later_ms: i64) -> Self {
        Self::of(Effect::WrittenLater(later_ms), Back::Never)
    }

    /// As [`Self::never_answers_and_writes_later`], with the connection closed at once.
    #[must_use]
    pub fn hangs_up_and_writes_later(later_ms: i64) -> Self {
        Self::of(Effect::WrittenLater(later_ms), Back::HangUp)
    }

    /// A 5xx, 408 or the like now, the rows once the clock was turned by `later_ms`.
    #[must_use]
    pub fn fails_and_writes_later(status: u16, body: FailureBody, later_ms: i64) -> Self {
        Self::of(Effect::WrittenLater(later_ms), Back::Instead(failure(status, body)))
    }

    /// Written at another place, which the answer names truthfully: `Intake!D3:I3`.
    #[must_use]
    pub fn writes_misplaced(at_range: &str) -> Self {
        Self::of(Effect::WrittenAt(at_range.to_owned()), Back::Usual)
    }

    /// Written where it belongs, while the answer names another range.
    #[must_use]
    pub fn writes_but_names(updated_range: &str) -> Self {
        Self::of(Effect::Written, Back::Naming(updated_range.to_owned()))
    }

    /// The usual answer, or what is read, cut to `bytes` and complete as far as HTTP can tell.
    #[must_use]
    pub fn serves_body_cut_to(bytes: usize) -> Self {
        Self::of(Effect::Written, Back::CutTo(bytes))
    }

    /// Written; 200 without a body.
    #[must_use]
    pub fn writes_then_answers_empty() -> Self {
        Self::writes_then_answers(200, vec![json_header()], "")
    }

    /// Written; 200 and `{}`.
    #[must_use]
    pub fn writes_then_answers_empty_object() -> Self {
        Self::writes_then_answers(200, vec![json_header()], "{}")
    }

    /// Written; 200 and a page for people.
    #[must_use]
    pub fn writes_then_answers_html() -> Self {
        let page = "<!DOCTYPE html><html><title>Sign in</title><body>Please sign in.</body></html>";
        Self::writes_then_answers(200, vec![header("content-type", "text/html; charset=UTF-8")], page)
    }

    /// Readers do not see the written rows until the clock was turned by `milliseconds`.
    #[must_use]
    pub fn visible_after_ms(self, milliseconds: i64) -> Self {
        Self { hidden: Some(Hidden::Until(milliseconds)), ..self }
    }

    /// The next `reads` reads of the tab miss the written rows.
    #[must_use]
    pub fn visible_after_reads(self, reads: u32) -> Self {
        Self { hidden: Some(Hidden::ForReads(reads)), ..self }
    }

    /// Serving turns the clock by `milliseconds` first.
    #[must_use]
    pub fn taking_ms(self, milliseconds: i64) -> Self {
        Self { takes_ms: milliseconds, ..self }
    }

    /// Nothing happens until `FakeSheets::let_go`.
    #[must_use]
    pub fn held(self) -> Self {
        Self { waits: true, ..self }
    }
}

/// Google's refusals. Nothing is written.
impl Behaviour {
    fn refuses(refusal: Refusal) -> Self {
        Self::of(Effect::None, Back::Instead(refusal))
    }

    /// 401, as for a token that was revoked.
    #[must_use]
    pub fn unauthenticated() -> Self {
        Self::refuses(Refusal::unauthenticated())
    }

    /// 403: the spreadsheet is not shared with this service account.
    #[must_use]
    pub fn permission_denied() -> Self {
        Self::refuses(Refusal::permission_denied())
    }

    /// 403: the token does not cover spreadsheets.
    #[must_use]
    pub fn scope_missing() -> Self {
        Self::refuses(Refusal::scope_missing())
    }

    /// 403 that means "slower", in the older shape with `errors[].reason`, without `status`.
    #[must_use]
    pub fn user_rate_limit_exceeded() -> Self {
        Self::refuses(Refusal::json(
            403,
            &json!({"error": {
                "code": 403,
                "message": "User Rate Limit Exceeded",
                "errors": [{
                    "domain": "usageLimits",
                    "reason": "userRateLimitExceeded",
                    "message": "User Rate Limit Exceeded"
                }]
            }}),
        ))
    }

    /// 404: no such spreadsheet.
    #[must_use]
    pub fn not_found() -> Self {
        Self::refuses(Refusal::not_found())
    }

    /// 429 with `details[].metadata.quota_limit` and, as measured, no Retry-After.
    #[must_use]
    pub fn quota_exhausted() -> Self {
        Self::refuses(Refusal::quota_exhausted("Write"))
    }

    /// 429 with Retry-After, which Google has not been seen to send.
    #[must_use]
    pub fn quota_exhausted_retry_after(seconds: u32) -> Self {
        let mut refusal = Refusal::quota_exhausted("Write");
        refusal.headers.push(header("retry-after", &seconds.to_string()));
        Self::refuses(refusal)
    }

    /// 400: somebody protected the range.
    #[must_use]
    pub fn protected_cell() -> Self {
        Self::refuses(Refusal::protected())
    }

    /// 400: ten million cells are used up.
    #[must_use]
    pub fn workbook_full() -> Self {
        Self::refuses(Refusal::workbook_full(10_000_000))
    }

    /// 400: the file is an Excel workbook that only looks like a sheet.
    #[must_use]
    pub fn office_file() -> Self {
        Self::refuses(Refusal::of_sheets(
            400,
            "FAILED_PRECONDITION",
            "This operation is not supported for this document",
        ))
    }

    /// The token endpoint's 400, as for a key that was deleted.
    #[must_use]
    pub fn invalid_grant() -> Self {
        Self::refuses(Refusal::of_token(400, "invalid_grant", "Invalid JWT Signature."))
    }

    /// 401 of the token exchange: the identity provider does not let this role in.
    #[must_use]
    pub fn rejected_by_the_attribute_condition() -> Self {
        let why = "The given credential is rejected by the attribute condition.";
        Self::refuses(Refusal::of_token(401, "unauthorized_client", why))
    }

    /// 403 of `generateAccessToken`: the role may not borrow this service account.
    #[must_use]
    pub fn lending_denied() -> Self {
        Self::refuses(Refusal::lending_denied())
    }
}

impl Behaviour {
    /// Whether the answer needs nothing from the workbook.
    pub(super) fn skips_service(&self) -> bool {
        matches!(self.effect, Effect::None)
    }

    /// The mark for rows written at `now_ms`.
    pub(super) fn hidden_from(&self, now_ms: i64) -> Option<Hidden> {
        match self.hidden {
            Some(Hidden::Until(delay_ms)) => Some(Hidden::Until(now_ms + delay_ms)),
            other => other,
        }
    }

    /// Turns the usual JSON (absent when nothing was served) into what the client gets.
    pub(super) fn answer(&self, usual: Option<Value>) -> Answer {
        let text = |value: Option<Value>| format!("{:#}\n", value.unwrap_or_else(|| json!({})));
        let ok = |body: String| Refusal { status: 200, headers: vec![json_header()], body }.into_answer();
        match &self.back {
            Back::Usual => ok(text(usual)),
            Back::Naming(range) => {
                let renamed = usual.map(|mut answer| {
                    answer["updates"]["updatedRange"] = json!(range);
                    answer
                });
                ok(text(renamed))
            }
            Back::Instead(refusal) => refusal.clone().into_answer(),
            Back::CutTo(bytes) => ok(text(usual).chars().take(*bytes).collect()),
            Back::HalfOf(sent) => {
                let body = text(usual).into_bytes();
                let sent = (*sent).min(body.len() - 1);
                Answer::Half { status: 200, headers: vec![json_header()], body, sent }
            }
            Back::HangUp => Answer::HangUp,
            Back::Never => Answer::Never,
        }
    }
}

fn failure(status: u16, body: FailureBody) -> Refusal {
    let (name, title) = match status {
        408 => ("DEADLINE_EXCEEDED", "Request Timeout"),
        409 => ("ABORTED", "Conflict"),
        502 => ("UNAVAILABLE", "Server Error"),
        503 => ("UNAVAILABLE", "Service Unavailable"),
        504 => ("DEADLINE_EXCEEDED", "Gateway Timeout"),
        _ => ("INTERNAL", "Internal Error"),
    };
    match body {
        FailureBody::Json => Refusal::of_sheets(status, name, "Internal error encountered."),
        FailureBody::Empty => Refusal { status, headers: Vec::new(), body: String::new() },
        FailureBody::Html => Refusal::html(status, title),
    }
}
