//! Recurring times of a schedule. Only the next time is ever computed, in the
//! schedule's zone; `Recurrence::parse` documents the effect of changes of
//! clocks.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use pia_kernel::{Timestamp, named_variants};

use crate::error::ScheduleError;

/// Maximum length of a cron expression, in bytes.
const MAX_CRON_BYTES: usize = 100;

/// Recurring times: a cron expression in a time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recurrence {
    text: String,
    cron: Cron,
    zone: Tz,
}

named_variants! {
    /// Rule for a time when no server was running, with the name by which it is
    /// stored and written.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum CatchUp {
        /// One assignment is handed over as soon as a server runs again, however many
        /// times were missed.
        #[default]
        Once = "once",
        /// No assignment is handed over until the next time.
        Skip = "skip",
    }
}

impl Recurrence {
    /// Parses a cron expression of five fields, minute to weekday, and the
    /// case-insensitive IANA id of a time zone: `Europe/Berlin`.
    ///
    /// If the expression names one minute and one hour, a time that a change of
    /// clocks skips is the moment after it, and one that happens twice counts once.
    /// Times of other expressions are left out, or count twice.
    pub fn parse(cron: &str, zone: &str) -> Result<Self, ScheduleError> {
        let text = cron.trim().to_owned();
        if text.len() > MAX_CRON_BYTES {
            return Err(ScheduleError::Cron);
        }

        let cron = CronParser::builder()
            .seconds(Seconds::Disallowed)
            .year(Year::Disallowed)
            .build()
            .parse(&text)
            .map_err(|_malformed| ScheduleError::Cron)?;
        let zone =
            Tz::from_str_insensitive(zone.trim()).map_err(|_unknown| ScheduleError::TimeZone)?;

        Ok(Self { text, cron, zone })
    }

    /// Returns the cron expression.
    pub fn cron(&self) -> &str {
        &self.text
    }

    /// Returns the id of the time zone.
    pub fn zone(&self) -> &'static str {
        self.zone.name()
    }

    /// Returns the first time after `at`; `None` if there is none.
    pub fn next_after(&self, at: Timestamp) -> Option<Timestamp> {
        let local_time = DateTime::<Utc>::from(at).with_timezone(&self.zone);
        let next_time = self.cron.find_next_occurrence(&local_time, false).ok()?;
        Some(next_time.to_utc().into())
    }
}

impl CatchUp {
    /// Returns the rule with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        serde_json::from_value(text.into()).unwrap()
    }

    fn next(cron: &str, zone: &str, after: &str) -> Timestamp {
        Recurrence::parse(cron, zone).unwrap().next_after(at(after)).unwrap()
    }

    #[test]
    fn times_are_those_of_the_time_zone() {
        let monday = next("0 9 * * MON", "europe/berlin", "2026-11-25T12:00:00Z");
        assert_eq!(monday, at("2026-11-30T08:00:00Z"));
        let tokyo = next("30 6 1 * *", "Asia/Tokyo", "2026-11-25T12:00:00Z");
        assert_eq!(tokyo, at("2026-11-30T21:30:00Z"));
        // The time itself is not after it.
        let next_day = next("0 9 * * *", "UTC", "2026-11-25T09:00:00Z");
        assert_eq!(next_day, at("2026-11-26T09:00:00Z"));
    }

    #[test]
    fn changes_of_clocks_neither_lose_nor_repeat_a_daily_time() {
        let recurrence = Recurrence::parse("30 2 * * *", "Europe/Berlin").unwrap();
        // 02:30 does not exist on 29 March.
        let skipped = recurrence.next_after(at("2026-03-28T12:00:00Z")).unwrap();
        assert_eq!(skipped, at("2026-03-29T01:00:00Z"));
        assert_eq!(recurrence.next_after(skipped).unwrap(), at("2026-03-30T00:30:00Z"));

        // 02:30 happens twice on 25 October.
        let first = recurrence.next_after(at("2026-10-24T12:00:00Z")).unwrap();
        let second = recurrence.next_after(first).unwrap();
        assert_eq!(first, at("2026-10-25T00:30:00Z"));
        assert_eq!(second, at("2026-10-26T01:30:00Z"));

        // Expressions with several times do both.
        let twice = next("30 2,14 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z");
        assert_eq!(twice, at("2026-10-25T01:30:00Z"));
        let left_out = next("30 2,14 * * *", "Europe/Berlin", "2026-03-28T14:00:00Z");
        assert_eq!(left_out, at("2026-03-29T12:30:00Z"));
    }

    #[test]
    fn other_expressions_are_refused() {
        for cron in ["", "* * * *", "* * * * * *", "60 * * * *", "every day", "* * 31 2 x"] {
            let err = Recurrence::parse(cron, "UTC").unwrap_err();
            assert!(matches!(err, ScheduleError::Cron), "{cron}: {err}");
        }
        let long = format!("{} * * * *", "1,".repeat(100));
        assert!(matches!(Recurrence::parse(&long, "UTC"), Err(ScheduleError::Cron)));
        let unknown = Recurrence::parse("* * * * *", "Europe/Atlantis");
        assert!(matches!(unknown, Err(ScheduleError::TimeZone)));
        let never = Recurrence::parse("0 0 30 2 *", "UTC").unwrap();
        assert_eq!(never.next_after(at("2026-11-25T12:00:00Z")), None);
    }
}
