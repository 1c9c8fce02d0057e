//! Spending of the last hour or day, in buckets of a few minutes.

use std::time::Duration;

use pia_kernel::Timestamp;

use crate::credits::rates::Micros;

/// Length of a rolling window, and of its buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    length: i64,
    bucket: i64,
}

impl Span {
    /// An hour, counted in buckets of a minute.
    pub(crate) const HOUR: Self = Self::new(Duration::from_hours(1), Duration::from_mins(1));
    /// A day in quarters of an hour.
    pub(crate) const DAY: Self = Self::new(Duration::from_hours(24), Duration::from_mins(15));

    #[expect(clippy::cast_possible_truncation, reason = "a day has few microseconds")]
    const fn new(length: Duration, bucket: Duration) -> Self {
        Self { length: length.as_micros() as i64, bucket: bucket.as_micros() as i64 }
    }

    fn index(self, at: Timestamp) -> i64 {
        at.micros().div_euclid(self.bucket)
    }

    /// Returns the time when an amount spent now leaves the window.
    pub(crate) fn expires_at(self, now: Timestamp) -> Timestamp {
        self.bucket_expires_at(self.index(now))
    }

    /// Returns the time when a bucket leaves the window: one window length
    /// after its end, so that no window of that length exceeds its limit.
    fn bucket_expires_at(self, index: i64) -> Timestamp {
        Timestamp::from_micros((index + 1).saturating_mul(self.bucket).saturating_add(self.length))
    }
}

/// Recent spending: bucket index and amount, the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Buckets(pub Vec<(i64, i64)>);

impl Buckets {
    /// Removes buckets that have left the window. Call it before `sum`, which counts
    /// all that are stored.
    pub(crate) fn age(&mut self, span: Span, now: Timestamp) {
        self.0.retain(|(index, _)| span.bucket_expires_at(*index) > now);
    }

    pub(crate) fn add(&mut self, span: Span, now: Timestamp, amount: Micros) {
        let newest_index = self.0.last().map_or(i64::MIN, |(index, _)| *index);
        // Clocks of instances differ slightly; late amounts count in the newest
        // bucket.
        let index = span.index(now).max(newest_index);
        match self.0.last_mut() {
            Some((last_index, sum)) if *last_index == index => *sum = sum.saturating_add(amount.0),
            _ => self.0.push((index, amount.0)),
        }
    }

    pub(crate) fn sum(&self) -> Micros {
        Micros(self.0.iter().fold(0, |sum: i64, (_, amount)| sum.saturating_add(*amount)))
    }

    /// Returns the time when the needed amount has left the window, or when
    /// everything has, if that is not enough. `None` if the window is empty.
    pub(crate) fn available_at(&self, span: Span, needed: Micros) -> Option<Timestamp> {
        let mut freed = 0_i64;
        let enough = self.0.iter().find(|(_, amount)| {
            freed = freed.saturating_add(*amount);
            freed >= needed.0
        });
        enough.or(self.0.last()).map(|(index, _)| span.bucket_expires_at(*index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    fn start() -> Timestamp {
        Timestamp::from_micros(1_000 * 3_600_000_000)
    }

    #[test]
    fn spending_counts_for_an_hour_and_at_most_a_minute_more() {
        let mut buckets = Buckets::default();
        buckets.add(Span::HOUR, start(), Micros(5));
        buckets.add(Span::HOUR, start() + MINUTE * 30, Micros(7));

        let sums = [59, 60, 61, 90, 91].map(|minutes| {
            let mut buckets = buckets.clone();
            buckets.age(Span::HOUR, start() + MINUTE * minutes);
            buckets.sum().0
        });

        assert_eq!(sums, [12, 12, 7, 7, 0]);
    }

    #[test]
    fn a_day_expires_in_quarters_of_an_hour() {
        let mut buckets = Buckets::default();
        buckets.add(Span::DAY, start(), Micros(5));
        buckets.add(Span::DAY, start() + MINUTE * 14, Micros(5));

        assert_eq!(buckets.0.len(), 1);
        buckets.age(Span::DAY, start() + MINUTE * (24 * 60 + 14));
        assert_eq!(buckets.sum(), Micros(10));
        buckets.age(Span::DAY, start() + MINUTE * (24 * 60 + 15));
        assert_eq!(buckets.sum(), Micros(0));
    }

    #[test]
    fn the_time_at_which_enough_has_expired_is_known() {
        let mut buckets = Buckets::default();
        for minute in [0, 10, 20] {
            buckets.add(Span::HOUR, start() + MINUTE * minute, Micros(10));
        }
        let frees = |needed| buckets.available_at(Span::HOUR, Micros(needed));

        assert_eq!(frees(1), Some(start() + MINUTE * 61));
        assert_eq!(frees(11), Some(start() + MINUTE * 71));
        assert_eq!(frees(1000), Some(start() + MINUTE * 81));
        assert_eq!(Buckets::default().available_at(Span::HOUR, Micros(1)), None);
    }

    #[test]
    fn a_clock_that_is_behind_keeps_the_order() {
        let mut buckets = Buckets::default();
        buckets.add(Span::HOUR, start() + MINUTE * 5, Micros(1));
        buckets.add(Span::HOUR, start(), Micros(2));

        assert_eq!(buckets.0.len(), 1);
        assert_eq!(buckets.sum(), Micros(3));
    }
}
