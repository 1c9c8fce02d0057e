//! Windows of a group's members.
//!
//! `usage_users` narrows the members to those who called lately, before their windows
//! are read. The rows are as last written: `SqlCreditStore::load_member_windows` rolls
//! them over to now.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{BudgetPeriod, GroupId, Timestamp};
use pia_storage::schema::{accounts, credit_windows, usage_users};
use pia_storage::{DbError, DbInstant, DbUid, connection_trait};

use crate::window_row::WindowRow;

/// Maximum number of windows that are read.
const MAX_WINDOWS: i64 = 1000;

const TWO_DAYS: Duration = Duration::from_hours(2 * 24);
const WEEK_AND_A_DAY: Duration = Duration::from_hours(8 * 24);
const MICROS_PER_DAY: i64 = 24 * 60 * 60 * 1_000_000;

connection_trait! {
    /// Statements about windows of members.
    pub(crate) trait MemberWindowStatements {
        /// Returns the windows of a period of the group's members who called lately, most used
        /// credits first. Weekly windows of past weeks are left out.
        async fn windows_of_members(
            &mut self,
            group: GroupId,
            period: BudgetPeriod,
            now: Timestamp,
        ) -> Result<Vec<WindowRow>, DbError> {
            let members = accounts::table
                .filter(accounts::group_id.eq(DbUid(group.0)))
                .select(accounts::id.nullable());
            let callers = usage_users::table
                .filter(usage_users::last_day.ge(first_day(period, now)))
                .select(usage_users::user_id.nullable());
            // Weeks begin at different times in different zones.
            let week_at_least = DbInstant(now - WEEK_AND_A_DAY);
            let is_recent = credit_windows::week.is_null().or(credit_windows::week.ge(week_at_least));
            let rows: Vec<WindowRow> = credit_windows::table
                .filter(credit_windows::kind.eq(period.name()))
                .filter(credit_windows::user_id.eq_any(members))
                .filter(credit_windows::user_id.eq_any(callers))
                .filter(is_recent)
                .order((credit_windows::used.desc(), credit_windows::key))
                .limit(MAX_WINDOWS)
                .select(WindowRow::as_select())
                .load(self)
                .await?;
            Ok(rows)
        }
    }
}

/// Returns the day since which all members called who spent in a current window of this
/// period, in days since 1970-01-01.
fn first_day(period: BudgetPeriod, now: Timestamp) -> i32 {
    let age = if period == BudgetPeriod::Weekly { WEEK_AND_A_DAY } else { TWO_DAYS };
    i32::try_from((now - age).micros().div_euclid(MICROS_PER_DAY)).unwrap_or_default()
}
