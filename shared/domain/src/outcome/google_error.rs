//! Google's JSON error body, as far as a decision needs it.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct Envelope {
    error: GoogleError,
}

/// `{"error":{"code","message","status","errors"?:[{"reason"}],"details"?}}`.
#[derive(Debug, Deserialize)]
pub(super) struct GoogleError {
    code: u16,
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    errors: Vec<Reason>,
    #[serde(default)]
    details: Vec<Reason>,
}

#[derive(Debug, Deserialize)]
struct Reason {
    #[serde(default)]
    reason: String,
}

impl GoogleError {
    /// None when the body is anything else, as a proxy's or a front's page is, or names another status than it came
    /// with.
    pub(super) fn parse(status: u16, body: &[u8]) -> Option<Self> {
        let error = serde_json::from_slice::<Envelope>(body).ok()?.error;
        (error.code == status).then_some(error)
    }

    /// Too often, and not forbidden: by its status, or by any of the reasons that Google's interfaces give for it.
    pub(super) fn is_rate_limit(&self) -> bool {
        self.status == "RESOURCE_EXHAUSTED"
            || self.errors.iter().chain(&self.details).any(|entry| {
                matches!(
                    entry.reason.as_str(),
                    "userRateLimitExceeded"
                        | "rateLimitExceeded"
                        | "quotaExceeded"
                        | "dailyLimitExceeded"
                        | "RATE_LIMIT_EXCEEDED"
                )
            })
    }

    pub(super) fn says(&self, words: &str) -> bool {
        self.message.to_lowercase().contains(&words.to_lowercase())
    }
}
