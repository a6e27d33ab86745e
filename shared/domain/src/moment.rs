//! A point in time, and the two ways it is written down.

use std::fmt;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Milliseconds since the Unix epoch, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(i64);

impl Moment {
    /// The last moment that RFC 3339 can write: 9999-12-31T23:59:59.999Z.
    const LAST_MS: i64 = 253_402_300_799_999;

    /// Clamped to what RFC 3339 can write.
    #[must_use]
    pub fn from_millis(milliseconds: i64) -> Self {
        Self(milliseconds.clamp(0, Self::LAST_MS))
    }

    #[must_use]
    pub fn from_seconds(seconds: i64) -> Self {
        Self::from_millis(seconds.saturating_mul(1_000))
    }

    #[must_use]
    pub fn millis(self) -> i64 {
        self.0
    }

    /// Whole seconds, rounded down.
    #[must_use]
    pub fn seconds(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    #[must_use]
    pub fn plus_seconds(self, seconds: u64) -> Self {
        self.plus_millis(seconds.saturating_mul(1_000))
    }

    #[must_use]
    pub fn plus_millis(self, milliseconds: u64) -> Self {
        Self::from_millis(self.0.saturating_add(i64::try_from(milliseconds).unwrap_or(i64::MAX)))
    }

    /// Seconds from `earlier` to this moment; 0 when it is not earlier.
    #[must_use]
    pub fn seconds_since(self, earlier: Self) -> u64 {
        u64::try_from((self.0 - earlier.0) / 1_000).unwrap_or(0)
    }

    /// The same moment without its fraction.
    #[must_use]
    pub fn whole_second(self) -> Self {
        Self(self.seconds() * 1_000)
    }

    /// The next whole second, or this moment when it is one: for stored moments in seconds that must not come early.
    #[must_use]
    pub fn up_to_second(self) -> Self {
        Self::from_millis((self.0 + 999).div_euclid(1_000) * 1_000)
    }

    /// Reads RFC 3339 in UTC or with an offset.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let parsed = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        i64::try_from(parsed.unix_timestamp_nanos().div_euclid(1_000_000)).ok().map(Self::from_millis)
    }
}

/// RFC 3339 with `Z`; without a fraction when there is none.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000)
            .ok()
            .and_then(|moment| moment.format(&Rfc3339).ok());
        f.write_str(text.as_deref().unwrap_or("-"))
    }
}

impl serde::Serialize for Moment {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Moment {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not an RFC 3339 moment"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_with_z_and_read_back_the_same() {
        for ms in [0, 1_772_356_500_000, 1_772_356_500_123, Moment::LAST_MS] {
            let moment = Moment::from_millis(ms);
            assert!(moment.to_string().ends_with('Z'), "{moment}");
            assert_eq!(Moment::parse(&moment.to_string()), Some(moment));
        }
        assert_eq!(Moment::from_seconds(1_772_356_500).to_string(), "2026-03-01T09:15:00Z");
    }

    #[test]
    fn a_stored_second_never_comes_early() {
        assert_eq!(Moment::from_millis(1_001).up_to_second(), Moment::from_millis(2_000));
        assert_eq!(Moment::from_millis(2_000).up_to_second(), Moment::from_millis(2_000));
    }
}
