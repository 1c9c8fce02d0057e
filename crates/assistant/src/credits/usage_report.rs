//! Report of the usage of models for administrators.
//!
//! `UsageReport` checks the days of a request and fills in days without calls. The sums
//! come from the port `UsageSums`, whose adapter adds them up as calls are recorded.

use std::sync::Arc;

use chrono::{DateTime, NaiveDate, Utc};
use pia_kernel::{Clock, GroupId, Page, Unavailable};

use crate::credits::rates::Micros;
use crate::credits::usage_hours::{UsageHour, with_empty_hours};
use crate::credits::usage_range::{UsageRange, UsageRangeError};
use crate::credits::usage_sums::{
    UsageCursor, UsageDetails, UsageGrouping, UsageSubject, UsageSum, UsageSums, UsageUsers,
};

/// Number of days in a report unless others are requested.
const DEFAULT_DAYS: u32 = 30;

/// Report of the usage of models.
#[derive(Clone)]
pub struct UsageReport {
    store: Arc<dyn UsageSums>,
    clock: Arc<dyn Clock>,
}

impl UsageReport {
    /// Creates a report of these sums.
    pub fn new(store: Arc<dyn UsageSums>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Returns the range of the last `days` up to today, clamped to 1 to 366.
    pub fn last_days(&self, days: u32) -> UsageRange {
        UsageRange::ending_on(self.today(), days)
    }

    /// Returns the range between two days in the form `2026-01-31`. The last day
    /// defaults to today, and the first to the one that makes it 30 days.
    pub fn range(
        &self,
        from: Option<&str>,
        to: Option<&str>,
    ) -> Result<UsageRange, UsageRangeError> {
        let last_day = match to {
            Some(text) => parse_day(text).ok_or(UsageRangeError::To)?,
            None => self.today(),
        };
        let first_day = match from {
            Some(text) => parse_day(text).ok_or(UsageRangeError::From)?,
            None => UsageRange::ending_on(last_day, DEFAULT_DAYS).first_day(),
        };
        UsageRange::new(first_day, last_day)
    }

    /// Returns the sums of subjects, of one group or of all, at most `limit`: every day
    /// in order, others that have calls by their cost, highest first.
    pub async fn sums(
        &self,
        range: UsageRange,
        by: UsageGrouping,
        group: Option<GroupId>,
        limit: u32,
    ) -> Result<Vec<UsageSum>, Unavailable> {
        let sums = self.store.sums(range, by, group, limit).await?;
        if by != UsageGrouping::Day {
            return Ok(sums);
        }
        // Users of a day are counted in all groups together.
        let users = group.is_none().then_some(0);
        Ok(with_empty_days(range, sums, users))
    }

    /// Returns a page of the sums of users, of one group or of all, highest cost first.
    pub async fn users(
        &self,
        range: UsageRange,
        users: UsageUsers,
        group: Option<GroupId>,
        limit: u32,
    ) -> Result<Page<UsageSum, UsageCursor>, Unavailable> {
        // One more than the page has shows whether another page follows.
        let mut sums = self.store.user_sums(range, users, group, limit.saturating_add(1)).await?;
        let page_length = usize::try_from(limit).unwrap_or(usize::MAX);
        let has_more = sums.len() > page_length;
        sums.truncate(page_length);
        let next = if has_more { sums.last().and_then(UsageCursor::of) } else { None };
        Ok(Page { items: sums, next })
    }

    /// Returns the number of users who called in the last days up to today, 1 to
    /// 366.
    pub async fn count_recent_users(&self, days: u32) -> Result<i64, Unavailable> {
        self.store.count_users_since(self.last_days(days).first_day()).await
    }

    /// Returns the sums of the 24 hours of today.
    pub async fn hours_of_today(&self) -> Result<Vec<UsageHour>, Unavailable> {
        Ok(with_empty_hours(&self.store.hours_of(self.today()).await?))
    }

    /// Deletes the sums of hours before yesterday, and returns the number of rows.
    pub async fn sweep_hours(&self) -> Result<u64, Unavailable> {
        self.store.delete_hours(self.last_days(2).first_day()).await
    }

    fn today(&self) -> NaiveDate {
        DateTime::<Utc>::from(self.clock.now()).date_naive()
    }
}

/// Parses a day in the form `2026-01-31`.
fn parse_day(text: &str) -> Option<NaiveDate> {
    NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()
}

/// Returns the sums of every day in the range; those of days without calls are zero, with this
/// number of users.
fn with_empty_days(range: UsageRange, sums: Vec<UsageSum>, users: Option<i64>) -> Vec<UsageSum> {
    let mut sums = sums.into_iter().peekable();
    let mut sums_of_all_days = Vec::new();

    for day in range.days() {
        let subject = UsageSubject::Day(day);
        let sum = sums.next_if(|it| it.subject == subject).unwrap_or(UsageSum {
            subject,
            calls: 0,
            spent: Micros(0),
            details: Some(UsageDetails::default()),
            users,
        });
        sums_of_all_days.push(sum);
    }

    sums_of_all_days
}

#[cfg(test)]
mod tests {
    use mockall::predicate::eq;
    use pia_kernel::{Timestamp, UserId};
    use pia_testkit::ManualClock;

    use super::*;
    use crate::credits::usage_sums::MockUsageSums;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    /// Returns a report on 26 November 2026, 23:59 UTC.
    fn report_of(store: MockUsageSums) -> UsageReport {
        let clock = ManualClock::new(Timestamp::from_micros(1_795_737_540_000_000));
        UsageReport::new(Arc::new(store), Arc::new(clock))
    }

    #[test]
    fn a_range_has_one_to_366_days() {
        let report = report_of(MockUsageSums::new());
        let days = |from: &str, to: &str| UsageRange::new(day(from), day(to));

        assert_eq!(report.range(None, None), days("2026-10-28", "2026-11-26"));
        assert_eq!(report.range(None, Some("2026-01-30")), days("2026-01-01", "2026-01-30"));
        assert_eq!(report.range(Some("2026-11-26"), None), days("2026-11-26", "2026-11-26"));
        let leap_year = report.range(Some("2024-01-01"), Some("2024-12-31"));
        assert_eq!(leap_year, days("2024-01-01", "2024-12-31"));

        let one_day_more = report.range(Some("2024-01-01"), Some("2025-01-01"));
        assert_eq!(one_day_more, Err(UsageRangeError::Length));
        assert_eq!(report.range(Some("2026-11-27"), None), Err(UsageRangeError::Length));
        assert_eq!(report.range(Some("2026-02-30"), None), Err(UsageRangeError::From));
        assert_eq!(report.range(Some("-9999-01-01"), None), Err(UsageRangeError::From));
        assert_eq!(report.range(None, Some("today")), Err(UsageRangeError::To));
        assert_eq!(report.range(None, Some("9999-12-31")), Err(UsageRangeError::To));
    }

    #[tokio::test]
    async fn days_without_calls_are_listed_too() {
        let sum = |day, calls, users| UsageSum {
            subject: UsageSubject::Day(day),
            calls,
            spent: Micros(0),
            details: Some(UsageDetails::default()),
            users: Some(users),
        };
        let mut store = MockUsageSums::new();
        store.expect_sums().returning(move |_, _, _, _| Ok(vec![sum(day("2026-11-25"), 3, 2)]));
        let report = report_of(store);
        let range = report.last_days(3);

        let sums = report.sums(range, UsageGrouping::Day, None, 10).await.unwrap();
        let group = Some(GroupId::generate());
        let sums_of_group = report.sums(range, UsageGrouping::Day, group, 10).await.unwrap();

        assert_eq!(range.first_day(), day("2026-11-24"));
        assert_eq!(range.last_day(), day("2026-11-26"));
        let expected = [
            sum(day("2026-11-24"), 0, 0),
            sum(day("2026-11-25"), 3, 2),
            sum(day("2026-11-26"), 0, 0),
        ];
        assert_eq!(sums, expected);
        assert_eq!(sums_of_group[0], UsageSum { users: None, ..sum(day("2026-11-24"), 0, 0) });
    }

    #[tokio::test]
    async fn hours_before_yesterday_are_deleted() {
        let mut store = MockUsageSums::new();
        store.expect_delete_hours().with(eq(day("2026-11-25"))).returning(|_| Ok(7));

        let deleted_rows = report_of(store).sweep_hours().await.unwrap();

        assert_eq!(deleted_rows, 7);
    }

    #[tokio::test]
    async fn the_next_page_of_users_begins_after_the_last_one_of_this_page() {
        let sum = |calls| UsageSum {
            subject: UsageSubject::User { id: UserId::generate(), email: None },
            calls,
            spent: Micros(7),
            details: None,
            users: None,
        };
        let sums = vec![sum(3), sum(2), sum(1)];
        let sums_in_store = sums.clone();
        let mut store = MockUsageSums::new();
        store.expect_user_sums().returning(move |_, _, _, limit| {
            let limit = usize::try_from(limit).unwrap();
            Ok(sums_in_store.iter().take(limit).cloned().collect())
        });
        let report = report_of(store);
        let range = report.last_days(3);

        let page_of_two = report.users(range, UsageUsers::First, None, 2).await.unwrap();
        let page_of_all = report.users(range, UsageUsers::First, None, 3).await.unwrap();

        let next = UsageCursor::of(&sums[1]);
        assert_eq!(page_of_two, Page { items: sums[..2].to_vec(), next });
        assert_eq!(page_of_all, Page { items: sums, next: None });
    }
}
