//! Sums of usage for administrators, by day, group, model or caller.
//!
//! `UsageReport` checks the days of a request and fills in days without calls. The sums
//! come from the port `UsageSums`, whose adapter adds them up as calls are recorded.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Datelike, Days, NaiveDate, Utc};
use pia_kernel::{Clock, GroupId, Unavailable, UserId, named_variants};

use crate::credits::rates::Micros;
use crate::credits::usage_hours::{UsageHour, with_empty_hours};

/// Maximum number of days in a report: a leap year.
const MAX_DAYS: i64 = 366;
/// Number of days in a report unless others are requested.
const DEFAULT_DAYS: u32 = 30;
/// Earliest and latest year in a report.
const YEARS: std::ops::RangeInclusive<i32> = 2000..=9998;

/// Days of a report, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageRange {
    from: NaiveDate,
    to: NaiveDate,
}

/// Error of a report's days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UsageRangeError {
    /// The first day is not one.
    #[error("the first day is a date such as 2026-01-31")]
    From,
    /// The last day is not one.
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

    /// Returns the first day, which is included.
    pub fn first_day(&self) -> NaiveDate {
        self.from
    }

    /// Returns the last day, which is included.
    pub fn last_day(&self) -> NaiveDate {
        self.to
    }
}

named_variants! {
    /// Subjects by which usage is summed, with their name on the wire.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum UsageGrouping {
        /// Days in UTC.
        Day = "day",
        /// Groups of the callers at the time of their calls.
        Group = "group",
        /// Models, of each type of provider.
        Model = "model",
        /// Callers, deleted ones under their pseudonyms.
        User = "user",
    }
}

impl UsageGrouping {
    /// Returns the grouping of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// Subject of a sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UsageSubject {
    /// Day in UTC, on which calls ended.
    Day(NaiveDate),
    /// Group of the callers at the time of their calls.
    Group {
        /// Id; nil for calls before there were groups.
        id: GroupId,
        /// Name, unless it was deleted.
        name: Option<String>,
    },
    /// Model, over all catalogue entries that name it.
    Model {
        /// Type of its provider: `OpenAI`.
        provider: String,
        /// Id of the model at its provider.
        name: String,
    },
    /// Caller, or the pseudonym of a deleted account.
    User {
        /// Id; a pseudonym if the account was deleted.
        id: UserId,
        /// Email address, unless the account was deleted.
        email: Option<String>,
    },
}

/// Sums that are not stored for each user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsageDetails {
    /// Calls that their upstream failed after its response had started.
    pub failed: i64,
    /// Prompt tokens, cached ones included.
    pub input_tokens: i64,
    /// Part of the prompt tokens that was read from a cache.
    pub cached_input_tokens: i64,
    /// Completion tokens, those for reasoning included.
    pub output_tokens: i64,
    /// Number of calls with a duration; those of earlier versions have none.
    pub timed_calls: i64,
    /// Time from the admission of these calls to their ends, in milliseconds.
    pub duration_millis: i64,
}

impl UsageDetails {
    /// Returns the mean duration of a call, in milliseconds; `None` without timed calls.
    pub fn mean_millis(&self) -> Option<i64> {
        self.duration_millis.checked_div(self.timed_calls)
    }
}

/// Sum of the calls of a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageSum {
    /// Subject whose calls are summed.
    pub subject: UsageSubject,
    /// Number of calls, failed ones included.
    pub calls: i64,
    /// Cost of the calls at their rates.
    pub spent: Micros,
    /// More sums; `None` for a user.
    pub details: Option<UsageDetails>,
    /// Number of users who called; `None` unless the subject is a day of all groups.
    pub users: Option<i64>,
}

/// Position in the list of users, by their cost and calls, highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageCursor {
    /// Cost of the user's calls in the range, which sorts first.
    pub spent: Micros,
    /// Number of these calls, which sorts users of equal cost.
    pub calls: i64,
    /// Id of the user, which sorts the rest, lowest first.
    pub user: UserId,
}

impl UsageCursor {
    /// Returns the position of a sum; `None` unless it is that of a user.
    pub fn of(sum: &UsageSum) -> Option<Self> {
        let UsageSubject::User { id, .. } = sum.subject else { return None };
        Some(Self { spent: sum.spent, calls: sum.calls, user: id })
    }
}

/// Users of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageUsers {
    /// Users of the highest cost.
    First,
    /// Users after a position.
    After(UsageCursor),
    /// This user alone, if there are calls of theirs.
    One(UserId),
}

/// Source of the sums of usage, which count each recorded call exactly once.
#[cfg_attr(test, mockall::automock)]
#[async_trait]
pub trait UsageSums: Send + Sync {
    /// Returns the sums of subjects with calls, at most `limit`: days in order,
    /// others by their cost, highest first. A group restricts the calls to those of
    /// its members at the time; users are those who are members now.
    async fn sums(
        &self,
        range: UsageRange,
        by: UsageGrouping,
        group: Option<GroupId>,
        limit: u32,
    ) -> Result<Vec<UsageSum>, Unavailable>;

    /// Returns the sums of users with calls, at most `limit`, by their cost, then by
    /// their calls, highest first. A group restricts the users to its members.
    async fn user_sums(
        &self,
        range: UsageRange,
        users: UsageUsers,
        group: Option<GroupId>,
        limit: u32,
    ) -> Result<Vec<UsageSum>, Unavailable>;

    /// Returns the number of users who called on this day or later.
    async fn count_users_since(&self, day: NaiveDate) -> Result<i64, Unavailable>;

    /// Returns the sums of the hours of a day that have calls, in order, unless they are
    /// deleted.
    async fn hours_of(&self, day: NaiveDate) -> Result<Vec<UsageHour>, Unavailable>;

    /// Deletes the sums of hours before a day, and returns the number of rows.
    async fn delete_hours(&self, before: NaiveDate) -> Result<u64, Unavailable>;
}

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
        let today = self.today();
        UsageRange { from: days_before(today, days), to: today }
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
            None => days_before(last_day, DEFAULT_DAYS),
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

    /// Returns a page of the sums of users, of one group or of all, highest cost first, and
    /// the position that the next page begins after; `None` on the last page.
    pub async fn users(
        &self,
        range: UsageRange,
        users: UsageUsers,
        group: Option<GroupId>,
        limit: u32,
    ) -> Result<(Vec<UsageSum>, Option<UsageCursor>), Unavailable> {
        // One more than the page has shows whether another page follows.
        let mut sums = self.store.user_sums(range, users, group, limit.saturating_add(1)).await?;
        let page_length = usize::try_from(limit).unwrap_or(usize::MAX);
        let has_more = sums.len() > page_length;
        sums.truncate(page_length);
        let next = if has_more { sums.last().and_then(UsageCursor::of) } else { None };
        Ok((sums, next))
    }

    /// Returns the number of users who called in the last days up to today, 1 to
    /// 366.
    pub async fn count_recent_users(&self, days: u32) -> Result<i64, Unavailable> {
        self.store.count_users_since(self.last_days(days).from).await
    }

    /// Returns the sums of the 24 hours of today.
    pub async fn hours_of_today(&self) -> Result<Vec<UsageHour>, Unavailable> {
        Ok(with_empty_hours(&self.store.hours_of(self.today()).await?))
    }

    /// Deletes the sums of hours before yesterday, and returns the number of rows.
    pub async fn sweep_hours(&self) -> Result<u64, Unavailable> {
        self.store.delete_hours(days_before(self.today(), 2)).await
    }

    fn today(&self) -> NaiveDate {
        DateTime::<Utc>::from(self.clock.now()).date_naive()
    }
}

/// Parses a day in the form `2026-01-31`.
fn parse_day(text: &str) -> Option<NaiveDate> {
    NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()
}

/// Returns the first of these days, 1 to 366, the last of which is `to`.
fn days_before(to: NaiveDate, days: u32) -> NaiveDate {
    let earlier_days = i64::from(days).clamp(1, MAX_DAYS) - 1;
    to.checked_sub_days(Days::new(earlier_days.unsigned_abs())).unwrap_or(to)
}

/// Returns the sums of every day in the range; those of days without calls are zero, with this
/// number of users.
fn with_empty_days(range: UsageRange, sums: Vec<UsageSum>, users: Option<i64>) -> Vec<UsageSum> {
    let mut sums = sums.into_iter().peekable();
    let mut sums_of_all_days = Vec::new();

    for day in range.from.iter_days().take_while(|it| *it <= range.to) {
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
    use pia_kernel::Timestamp;
    use pia_testkit::ManualClock;

    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    /// Returns a report on 26 November 2026, 23:59 UTC.
    fn report(store: MockUsageSums) -> UsageReport {
        let clock = ManualClock::new(Timestamp::from_micros(1_795_737_540_000_000));
        UsageReport::new(Arc::new(store), Arc::new(clock))
    }

    #[test]
    fn a_range_has_one_to_366_days() {
        let report = report(MockUsageSums::new());
        let days = |from: &str, to: &str| Ok(UsageRange { from: day(from), to: day(to) });

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

    #[test]
    fn the_mean_duration_is_that_of_calls_which_have_one() {
        let details =
            UsageDetails { timed_calls: 2, duration_millis: 3001, ..UsageDetails::default() };

        assert_eq!(details.mean_millis(), Some(1500));
        assert_eq!(UsageDetails::default().mean_millis(), None);
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
        let report = report(store);
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

        let deleted_rows = report(store).sweep_hours().await.unwrap();

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
        let report = report(store);
        let range = report.last_days(3);

        let (page, next) = report.users(range, UsageUsers::First, None, 2).await.unwrap();
        assert_eq!(page, sums[..2]);
        assert_eq!(next, UsageCursor::of(&sums[1]));

        let (last_page, next) = report.users(range, UsageUsers::First, None, 3).await.unwrap();
        assert_eq!(last_page, sums);
        assert_eq!(next, None);
    }
}
