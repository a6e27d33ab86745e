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

/// What was asked for: what it lacks has another cure for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The records' table, or the conversations'.
    Table,
    /// Settings in SSM.
    Parameters,
    /// A stack's outputs.
    Stack,
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

    /// What to do about a call that was refused.
    #[must_use]
    pub fn cure(self, asked: Asked) -> &'static str {
        match (self, asked) {
            (Self::Absent, Asked::Table) => {
                "there is no such table here: look at its setting and at AWS_REGION, or take both from the stack"
            }
            (Self::Absent, Asked::Parameters) => {
                "there is no such parameter here: look at its setting and at AWS_REGION, or take both from the stack"
            }
            (Self::Absent, Asked::Stack) => "look at its name and at the region",
            (Self::Denied, Asked::Table | Asked::Parameters) => {
                "allow yourself to use the deployment's tables and parameters (runbook, Permissions)"
            }
            (Self::Denied, Asked::Stack) => "allow yourself cloudformation:DescribeStacks on it",
            (Self::Credentials, _) => CREDENTIALS_CURE,
        }
    }

    /// A sentence, with what to do about it.
    #[must_use]
    pub fn explained(asked: Asked, sentence: &str, cause: &Cause) -> (String, Option<Self>) {
        let refusal = Self::of(&cause.0);
        let cure = refusal.map_or_else(|| until_it_passes(&cause.0), |refusal| refusal.cure(asked));
        (format!("{sentence}: {cause}; {cure}"), refusal)
    }
}

/// What to do about credentials that AWS refuses, whatever was asked.
pub const CREDENTIALS_CURE: &str = "sign in again, and look at this machine's clock";

/// What to do about a call that AWS did not refuse, and did not carry out either.
#[must_use]
pub fn until_it_passes(cause: &str) -> &'static str {
    match cause {
        "connection_failed" => "nobody answers there: look at the network, AWS_REGION and AWS_ENDPOINT_URL",
        _ if is_not_aws(cause) => {
            "whoever answers there is not this service of AWS's: look at AWS_REGION, AWS_ENDPOINT_URL and proxies"
        }
        _ => "try again in a minute; if it stays, look at the network and at AWS's status page",
    }
}

/// AWS names an error by its own code, and knows its own calls. An answer of before its doors, in trouble or busy, passes.
fn is_not_aws(cause: &str) -> bool {
    let passes = |status: &str| status.starts_with('5') || ["408", "429"].contains(&status);
    match cause.strip_prefix("answer_unreadable_http_").or_else(|| cause.strip_prefix("http_")) {
        Some(status) => !passes(status),
        None => ["UnknownOperation", "InvalidAction"].iter().any(|word| cause.contains(word)),
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
                assert!(stopped.message().ends_with(refusal.cure(Asked::Table)), "{}", stopped.message());
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

    #[test]
    fn who_is_not_aws_at_all_is_not_waited_for() {
        for other in [
            "http_301",
            "http_403",
            "http_404",
            "answer_unreadable_http_200",
            "UnknownOperationException",
            "InvalidAction",
        ] {
            let stopped = Stopped::from(StoreError::NotApplied(Cause::new(other)));
            assert_eq!(stopped.exit_status(), 3, "{other}");
            assert!(stopped.message().contains("AWS_ENDPOINT_URL"), "{}", stopped.message());
            assert!(!stopped.message().contains("try again"), "{}", stopped.message());
        }
        for passing in ["http_408", "http_429", "http_500", "http_503", "answer_unreadable_http_502"] {
            assert!(until_it_passes(passing).starts_with("try again"), "{passing}");
        }
    }
}
