//! Calendar weeks, which begin on Monday at midnight of a time zone.

use std::time::Duration;

use chrono::{DateTime, Datelike, Days, LocalResult, NaiveDate, NaiveTime, TimeDelta, Utc};
use chrono_tz::Tz;
use pia_kernel::Timestamp;

/// Calendar weeks of one time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weeks(Tz);

/// Weeks in the time zone of Berlin.
impl Default for Weeks {
    fn default() -> Self {
        Self(Tz::Europe__Berlin)
    }
}

impl Weeks {
    /// Half a week. Monday begins in all zones within 26 hours, so weeks that
    /// begin within this time of each other are the same week in different
    /// zones.
    pub const HALF: Duration = Duration::from_hours(84);

    /// Weeks that begin on Monday at midnight in UTC.
    pub const UTC: Self = Self(Tz::UTC);

    /// Returns the weeks of the IANA time zone with this case-insensitive id: `Europe/Berlin`.
    pub fn of_zone(id: &str) -> Option<Self> {
        Tz::from_str_insensitive(id.trim()).ok().map(Self)
    }

    /// Returns the id of the time zone.
    pub fn zone(&self) -> &'static str {
        self.0.name()
    }

    /// Returns the start of the week that contains `at`.
    pub fn start(&self, at: Timestamp) -> Timestamp {
        self.midnight(self.monday(at))
    }

    /// Returns the start of the next week.
    pub fn end(&self, at: Timestamp) -> Timestamp {
        self.midnight(self.monday(at) + Days::new(7))
    }

    /// Returns the start of the previous week.
    pub fn before(&self, at: Timestamp) -> Timestamp {
        self.midnight(self.monday(at) - Days::new(7))
    }

    fn monday(self, at: Timestamp) -> NaiveDate {
        let day = DateTime::<Utc>::from(at).with_timezone(&self.0).date_naive();
        day - Days::new(day.weekday().num_days_from_monday().into())
    }

    /// Returns the first moment of a day. If clocks go forward at midnight, the
    /// day begins an hour later.
    fn midnight(self, day: NaiveDate) -> Timestamp {
        let mut time = day.and_time(NaiveTime::MIN);
        for _ in 0..24 {
            match time.and_local_timezone(self.0) {
                LocalResult::Single(first) | LocalResult::Ambiguous(first, _) => {
                    return first.to_utc().into();
                }
                LocalResult::None => time += TimeDelta::minutes(30),
            }
        }
        day.and_time(NaiveTime::MIN).and_utc().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        serde_json::from_value(text.into()).unwrap()
    }

    /// Returns the starts of the previous, the current and the next week.
    fn starts(weeks: Weeks, time: &str) -> [String; 3] {
        let time = at(time);
        [weeks.before(time), weeks.start(time), weeks.end(time)].map(|it| it.to_string())
    }

    #[test]
    fn a_week_begins_on_monday_at_midnight_of_its_zone() {
        let berlin = Weeks::default();

        assert_eq!(
            starts(berlin, "2026-09-23T12:00:00Z"),
            ["2026-09-13T22:00:00Z", "2026-09-20T22:00:00Z", "2026-09-27T22:00:00Z"]
        );
        assert_eq!(berlin.start(at("2026-09-20T22:00:00Z")), at("2026-09-20T22:00:00Z"));
        assert_eq!(berlin.start(at("2026-09-20T21:59:59Z")), at("2026-09-13T22:00:00Z"));
        assert_eq!(Weeks::UTC.start(at("2026-09-20T22:00:00Z")), at("2026-09-14T00:00:00Z"));
    }

    #[test]
    fn a_week_in_which_clocks_change_is_an_hour_longer_or_shorter() {
        // Back on Sunday, 25 October 2026; forward on Sunday, 28 March 2027.
        assert_eq!(
            starts(Weeks::default(), "2026-10-25T22:30:00Z"),
            ["2026-10-11T22:00:00Z", "2026-10-18T22:00:00Z", "2026-10-25T23:00:00Z"]
        );
        assert_eq!(
            starts(Weeks::default(), "2027-03-28T21:59:00Z"),
            ["2027-03-14T23:00:00Z", "2027-03-21T23:00:00Z", "2027-03-28T22:00:00Z"]
        );
    }

    #[test]
    fn a_week_whose_monday_has_no_midnight_begins_with_the_day() {
        // Jordan's clocks went from midnight to one on Monday, 1 April 1985.
        let amman = Weeks::of_zone("asia/amman").unwrap();

        let start = amman.start(at("1985-04-03T00:00:00Z"));

        assert_eq!(start.to_string(), "1985-03-31T22:00:00Z");
    }

    #[test]
    fn zones_are_found_by_their_ids() {
        assert_eq!(Weeks::of_zone(" europe/berlin "), Some(Weeks::default()));
        assert_eq!(Weeks::of_zone("UTC"), Some(Weeks::UTC));
        assert_eq!(Weeks::of_zone("Middle/Earth"), None);
        assert_eq!(Weeks::default().zone(), "Europe/Berlin");
    }
}
