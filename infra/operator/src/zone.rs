//! A moment as the clock on the operator's wall has it, with its zone.
//!
//! For pages, and for what a person is told: what a script reads stays in UTC, as RFC 3339 has it. The zone is TZ's, or else
//! the machine's own, as the library finds it; where there is none that is known, times are in UTC, and the page says so.

use docket_domain::moment::Moment;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Where the operator sits, or that a script reads it.
#[derive(Debug, Clone)]
pub struct Zone {
    /// None for a script.
    zone: Option<TimeZone>,
    name: String,
}

impl Zone {
    #[must_use]
    pub fn of_this_machine() -> Self {
        match TimeZone::try_system() {
            Ok(zone) if !zone.is_unknown() => Self::of(zone),
            Ok(_) | Err(_) => Self {
                zone: Some(TimeZone::UTC),
                name: "UTC (the time zone of TZ or of this machine is not known)".into(),
            },
        }
    }

    #[must_use]
    pub fn utc() -> Self {
        Self::of(TimeZone::UTC)
    }

    /// For sentences inside of JSON.
    #[must_use]
    pub fn of_scripts() -> Self {
        Self { zone: None, name: "UTC".into() }
    }

    /// By its name in the time zone database; none that it does not know.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        TimeZone::get(name).ok().map(Self::of)
    }

    fn of(zone: TimeZone) -> Self {
        let name = zone.iana_name().unwrap_or("this machine's own zone").to_owned();
        Self { zone: Some(zone), name }
    }

    /// What the zone is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// In whole seconds: `2026-03-29 03:00:00 CEST`; for a script as JSON has it.
    #[must_use]
    pub fn shown(&self, at: Moment) -> String {
        let Some(zone) = &self.zone else { return at.to_string() };
        match Timestamp::from_second(at.seconds()) {
            Ok(timestamp) => {
                timestamp.to_zoned_datetime(zone.clone()).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
            }
            // The last day of the year 9999 is no other zone's.
            Err(_) => at.whole_second().to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_shown_in_whole_seconds_with_the_zone_it_is_told_in() {
        let berlin = Zone::named("Europe/Berlin").expect("a zone");
        let before = Moment::parse("2026-03-29T00:59:59.9Z").expect("a moment");
        assert_eq!(berlin.shown(before), "2026-03-29 01:59:59 CET");
        assert_eq!(berlin.shown(before.plus_seconds(1)), "2026-03-29 03:00:00 CEST");
        // The hour that comes twice is told apart.
        let first = Moment::parse("2026-10-25T00:30:00Z").expect("a moment");
        assert_eq!(berlin.shown(first), "2026-10-25 02:30:00 CEST");
        assert_eq!(berlin.shown(first.plus_seconds(3_600)), "2026-10-25 02:30:00 CET");
        assert_eq!(Zone::utc().shown(before), "2026-03-29 00:59:59 UTC");
        assert_eq!(Zone::utc().shown(Moment::from_millis(i64::MAX)), "9999-12-31T23:59:59Z");
        assert!(Zone::named("Nowhere/Land").is_none());
        assert_eq!(Zone::of_scripts().shown(before.whole_second()), "2026-03-29T00:59:59Z");
    }
}
