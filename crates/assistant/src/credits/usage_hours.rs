//! Sums of usage by hour, which only today and yesterday have.

use crate::credits::rates::Micros;

/// Number of hours in a day in UTC.
const DAY_HOURS: u32 = 24;

/// Sums of the calls of one hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsageHour {
    /// Hour of the day in UTC, 0 to 23.
    pub hour: u32,
    /// Number of users who called.
    pub users: i64,
    /// Number of calls, failed ones included.
    pub calls: i64,
    /// Calls that their upstream failed after its response had started.
    pub failed: i64,
    /// Cost of the calls at their rates.
    pub spent: Micros,
    /// Time from the admission of the calls to their ends, in milliseconds.
    pub duration_millis: i64,
}

impl UsageHour {
    /// Returns the mean duration of a call, in milliseconds; `None` without durations, as
    /// of calls of earlier versions.
    pub fn mean_millis(&self) -> Option<i64> {
        if self.duration_millis == 0 {
            return None;
        }
        self.duration_millis.checked_div(self.calls)
    }
}

/// Returns the sums of every hour of a day; those of hours without calls are zero.
pub(super) fn with_empty_hours(sums: &[UsageHour]) -> Vec<UsageHour> {
    let sum_of = |hour: u32| sums.iter().find(|it| it.hour == hour).copied();
    (0..DAY_HOURS)
        .map(|hour| sum_of(hour).unwrap_or(UsageHour { hour, ..UsageHour::default() }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_without_calls_are_listed_too() {
        let sum = UsageHour { hour: 9, calls: 3, ..UsageHour::default() };

        let hours = with_empty_hours(&[sum]);

        assert_eq!(hours.iter().map(|it| it.hour).collect::<Vec<_>>(), (0..24).collect::<Vec<_>>());
        assert_eq!(hours[9], sum);
        assert_eq!(hours.iter().map(|it| it.calls).sum::<i64>(), 3);
    }

    #[test]
    fn calls_without_durations_have_no_mean() {
        let mean = |calls: i64, duration_millis: i64| {
            UsageHour { calls, duration_millis, ..UsageHour::default() }.mean_millis()
        };

        assert_eq!([mean(2, 3001), mean(2, 0), mean(0, 0)], [Some(1500), None, None]);
    }
}
