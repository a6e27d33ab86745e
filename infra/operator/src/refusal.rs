//! What a word of AWS's says to whoever runs a command: refused for good, or only not reached.
//!
//! The exit status hangs on it: who was reached and refused is no one who could not be reached. What is not known here
//! counts as trouble of the moment, as throttling and AWS's own failures do.

use docket_domain::status::Cause;

/// A refusal that the same call meets again until somebody changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// There is nothing of this name.
    Absent,
    /// There may be, and these credentials may not.
    Denied,
    /// The credentials themselves.
    Credentials,
}

/// DynamoDB and Scheduler say the first, SQS one of the others.
const ABSENT: [&str; 3] = ["ResourceNotFound", "NonExistentQueue", "QueueDoesNotExist"];
const DENIED: [&str; 2] = ["AccessDenied", "UnauthorizedOperation"];
/// "Common Errors" of each API reference; the last is what the query protocol calls the first.
const CREDENTIALS: [&str; 7] = [
    "UnrecognizedClient",
    "ExpiredToken",
    "InvalidSignature",
    "SignatureDoesNotMatch",
    "IncompleteSignature",
    "MissingAuthenticationToken",
    "InvalidClientTokenId",
];

impl Refusal {
    /// None: nobody was reached, or whoever was is in trouble.
    #[must_use]
    pub fn of(cause: &str) -> Option<Self> {
        [(Self::Absent, &ABSENT[..]), (Self::Denied, &DENIED), (Self::Credentials, &CREDENTIALS)]
            .into_iter()
            .find(|(_, words)| words.iter().any(|word| cause.contains(word)))
            .map(|(refusal, _)| refusal)
    }

    /// What to do about a call of the records' table.
    #[must_use]
    pub fn cure(self) -> &'static str {
        match self {
            Self::Absent => {
                "there is no such table here: look at its setting and at AWS_REGION, or take both from the stack"
            }
            Self::Denied => "allow yourself to use the deployment's tables and parameters",
            Self::Credentials => "sign in again, and look at this machine's clock",
        }
    }

    /// A sentence, with the cure of what AWS refused.
    #[must_use]
    pub fn explained(sentence: &str, cause: &Cause) -> (String, Option<Self>) {
        match Self::of(&cause.0) {
            Some(refusal) => (format!("{sentence}: {cause}; {}", refusal.cure()), Some(refusal)),
            None => (format!("{sentence}: {cause}"), None),
        }
    }
}

/// What to do about a call that AWS did not refuse, and did not carry out either.
#[must_use]
pub fn until_it_passes(cause: &Cause) -> &'static str {
    match cause.0.as_str() {
        "connection_failed" => "nobody answers there: look at the network, AWS_REGION and AWS_ENDPOINT_URL",
        _ => "try again in a minute; if it stays, look at the network and at AWS's status page",
    }
}

#[cfg(test)]
mod tests {
    use docket_domain::ports::StoreError;

    use super::*;
    use crate::Stopped;

    #[test]
    fn who_was_reached_and_refused_is_told_from_who_was_not_reached() {
        for (cause, refusal) in [
            ("ResourceNotFoundException", Refusal::Absent),
            ("AWS.SimpleQueueService.NonExistentQueue", Refusal::Absent),
            ("QueueDoesNotExist", Refusal::Absent),
            ("AccessDeniedException", Refusal::Denied),
            ("AccessDenied", Refusal::Denied),
            ("UnrecognizedClientException", Refusal::Credentials),
            ("ExpiredTokenException", Refusal::Credentials),
            ("InvalidSignatureException", Refusal::Credentials),
            ("InvalidClientTokenId", Refusal::Credentials),
        ] {
            assert_eq!(Refusal::of(cause), Some(refusal), "{cause}");
            for error in [StoreError::NotApplied, StoreError::OutcomeUnknown] {
                let stopped = Stopped::from(error(Cause::new(cause)));
                assert_eq!(stopped.exit_status(), 1, "{cause}");
                assert!(stopped.message().ends_with(refusal.cure()), "{}", stopped.message());
            }
        }
        for passing in [
            "connection_failed",
            "timeout",
            "http_503",
            "ThrottlingException",
            "ProvisionedThroughputExceededException",
            "RequestLimitExceeded",
            "InternalServerError",
            "ServiceUnavailable",
        ] {
            assert_eq!(Refusal::of(passing), None, "{passing}");
            let stopped = Stopped::from(StoreError::NotApplied(Cause::new(passing)));
            assert_eq!(stopped.exit_status(), 3, "{passing}");
            let advice = if passing == "connection_failed" { "AWS_ENDPOINT_URL" } else { "try again" };
            assert!(stopped.message().contains(advice), "{}", stopped.message());
        }
    }
}
