//! What an answer means: the tables of the design, as functions from what came back to what is now known.
//!
//! Pure: an adapter hands over a status and a body, or the way in which the exchange broke. Nothing here asks again.

mod google_error;
pub mod sheets;
pub mod telegram;

use crate::cause::Cause;
pub use sheets::{AppendOutcome, Appended, NotApplied};
pub use telegram::{NotSent, SendOutcome};

/// How an HTTP exchange ended.
#[derive(Clone, PartialEq, Eq)]
pub enum Exchange {
    /// Not a byte of the request left: name resolution, connect or TLS failed, or no token could be had.
    NotSent(Cause),
    /// The request may have arrived, and its answer did not, or not whole.
    Lost(Cause),
    /// A whole answer.
    Answered { status: u16, retry_after_seconds: Option<u64>, body: Vec<u8> },
}

/// The body may hold a token or a customer's words: even `{:?}` shows only how long it is.
impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotSent(cause) => write!(f, "NotSent({cause})"),
            Self::Lost(cause) => write!(f, "Lost({cause})"),
            Self::Answered { status, retry_after_seconds, body } => {
                write!(f, "Answered({status}, {retry_after_seconds:?}, {} bytes)", body.len())
            }
        }
    }
}
