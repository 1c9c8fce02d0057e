//! Days of a report of usage.

use std::ops::RangeInclusive;

use chrono::{Datelike, Days, NaiveDate};

/// Maximum number of days in a report: a leap year.
const MAX_DAYS: i64 = 366;
/// Earliest and latest year in a report.
const YEARS: RangeInclusive<i32> = 2000..=9998;

/// Days of a report, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageRange {
    from: NaiveDate,
    to: NaiveDate,
}

/// Error of a report's days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UsageRangeError {
    /// The first day is no date, or too early or late.
    #[error("the first day is a date such as 2026-01-31")]
    From,
    /// The last day is no date, or too early or late.
    #[error("the last day is a date such as 2026-01-31")]
    To,
    /// The last day is before the first, or there are too many.
    #[error("the range has 1 to {MAX_DAYS} days, and the first is not after the last")]
    Length,
}

impl UsageRange {
    /// Creates a range that includes both days.
    pub fn new(from: NaiveDate, to: NaiveDate) -> Result<Self, UsageRangeError> {
        let days = to.signed_duration_since(from).num_days();
        if !YEARS.contains(&to.year()) {
            return Err(UsageRangeError::To);
        }
        if !YEARS.contains(&from.year()) {
            return Err(UsageRangeError::From);
        }
        if !(0..MAX_DAYS).contains(&days) {
            return Err(UsageRangeError::Length);
        }
        Ok(Self { from, to })
    }

    /// Creates the range of `days`, clamped to 1 to 366, that ends on `last_day`.
    pub(super) fn ending_on(last_day: NaiveDate, days: u32) -> Self {
        let earlier_days = i64::from(days).clamp(1, MAX_DAYS) - 1;
        let first_day = last_day.checked_sub_days(Days::new(earlier_days.unsigned_abs()));
        Self { from: first_day.unwrap_or(last_day), to: last_day }
    }

    /// Returns the first day, which is included.
    pub fn first_day(&self) -> NaiveDate {
        self.from
    }

    /// Returns the last day, which is included.
    pub fn last_day(&self) -> NaiveDate {
        self.to
    }

    /// Returns the days in order.
    pub(super) fn days(self) -> impl Iterator<Item = NaiveDate> {
        self.from.iter_days().take_while(move |it| *it <= self.to)
    }
}
