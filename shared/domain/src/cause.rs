//! Why something is as it is, in one word.

/// Why a state is what it is, for machines and people. Never a secret, never a customer's word.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Cause(pub String);

impl Cause {
    #[must_use]
    pub fn new(word: impl Into<String>) -> Self {
        Self(word.into())
    }

    /// A look right before another append showed a row that does not settle it.
    #[must_use]
    pub fn found_before_append() -> Self {
        Self::new("found_before_append")
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
