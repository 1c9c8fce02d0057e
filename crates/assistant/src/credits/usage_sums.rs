//! Sums of usage by day, group, model or caller, and the port that reads them.

use async_trait::async_trait;
use chrono::NaiveDate;
use pia_kernel::{GroupId, Unavailable, UserId, named_variants};

use crate::credits::rates::Micros;
use crate::credits::usage_hours::UsageHour;
use crate::credits::usage_range::UsageRange;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_duration_is_that_of_calls_which_have_one() {
        let details =
            UsageDetails { timed_calls: 2, duration_millis: 3001, ..UsageDetails::default() };

        assert_eq!(details.mean_millis(), Some(1500));
        assert_eq!(UsageDetails::default().mean_millis(), None);
    }
}
