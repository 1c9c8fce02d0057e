//! Recurring times of a schedule, in its time zone.
//!
//! Only the next time is computed, and never a list of them. See `Recurrence::parse` for
//! days on which the clocks change.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use pia_kernel::{Timestamp, named_variants};

use crate::error::ScheduleError;

/// Maximum length of a cron expression, in bytes.
const MAX_CRON_BYTES: usize = 100;

/// Cron expression that is evaluated in a time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recurrence {
    text: String,
    cron: Cron,
    zone: Tz,
}

named_variants! {
    /// Rule for times that passed while no server was running, with its stored name.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum CatchUp {
        /// One assignment is handed over as soon as a server runs again, even if several
        /// times were missed.
        #[default]
        Once = "once",
        /// Missed times are skipped: the next assignment is handed over at the next time.
        Skip = "skip",
    }
}

impl Recurrence {
    /// Parses a cron expression and the IANA id of a time zone, such as `Europe/Berlin`.
    ///
    /// The expression has five fields, from minute to weekday. The case of the id does not
    /// matter.
    ///
    /// The clocks of a zone may skip an hour or repeat one. If the expression names a single
    /// minute and hour, a skipped time moves to the end of the gap, and a repeated time counts
    /// once. For other expressions a skipped time is left out, and a repeated one counts twice.
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

    /// Returns the first time after `at`, which is itself excluded; `None` if the expression
    /// matches no later time.
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
        let monday_in_berlin = next("0 9 * * MON", "europe/berlin", "2026-11-25T12:00:00Z");
        assert_eq!(monday_in_berlin, at("2026-11-30T08:00:00Z"));

        let first_of_month_in_tokyo = next("30 6 1 * *", "Asia/Tokyo", "2026-11-25T12:00:00Z");
        assert_eq!(first_of_month_in_tokyo, at("2026-11-30T21:30:00Z"));
    }

    #[test]
    fn the_time_itself_is_not_after_it() {
        let next_day = next("0 9 * * *", "UTC", "2026-11-25T09:00:00Z");

        assert_eq!(next_day, at("2026-11-26T09:00:00Z"));
    }

    #[test]
    fn changes_of_clocks_neither_lose_nor_repeat_a_daily_time() {
        let recurrence = Recurrence::parse("30 2 * * *", "Europe/Berlin").unwrap();

        // On 29 March the clocks skip 02:30.
        let end_of_gap = recurrence.next_after(at("2026-03-28T12:00:00Z")).unwrap();
        assert_eq!(end_of_gap, at("2026-03-29T01:00:00Z"));
        assert_eq!(recurrence.next_after(end_of_gap).unwrap(), at("2026-03-30T00:30:00Z"));

        // On 25 October they repeat it.
        let summer_time = recurrence.next_after(at("2026-10-24T12:00:00Z")).unwrap();
        assert_eq!(summer_time, at("2026-10-25T00:30:00Z"));
        assert_eq!(recurrence.next_after(summer_time).unwrap(), at("2026-10-26T01:30:00Z"));
    }

    #[test]
    fn changes_of_clocks_lose_and_repeat_one_of_several_times() {
        let repeated_time = next("30 2,14 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z");
        assert_eq!(repeated_time, at("2026-10-25T01:30:00Z"));

        let time_after_lost_one = next("30 2,14 * * *", "Europe/Berlin", "2026-03-28T14:00:00Z");
        assert_eq!(time_after_lost_one, at("2026-03-29T12:30:00Z"));
    }

    #[test]
    fn other_expressions_are_refused() {
        for cron in ["", "* * * *", "* * * * * *", "60 * * * *", "every day", "* * 31 2 x"] {
            let err = Recurrence::parse(cron, "UTC").unwrap_err();
            assert!(matches!(err, ScheduleError::Cron), "{cron}: {err}");
        }

        let long_cron = format!("{} * * * *", "1,".repeat(MAX_CRON_BYTES));
        assert!(matches!(Recurrence::parse(&long_cron, "UTC"), Err(ScheduleError::Cron)));
    }

    #[test]
    fn an_unknown_time_zone_is_refused() {
        let outcome = Recurrence::parse("* * * * *", "Europe/Atlantis");

        assert!(matches!(outcome, Err(ScheduleError::TimeZone)));
    }

    #[test]
    fn a_day_that_no_month_has_has_no_next_time() {
        let recurrence = Recurrence::parse("0 0 30 2 *", "UTC").unwrap();

        assert_eq!(recurrence.next_after(at("2026-11-25T12:00:00Z")), None);
    }
}
