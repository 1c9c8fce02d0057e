//! Budgets of groups that are nearly used up.
//!
//! The query selects by the stored amounts, which may be outdated, and `current` then
//! rolls each window over to now: `SqlCreditStore::load_group_budgets` needs both.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_assistant::{GroupBudget, Micros, Weeks, WindowKind};
use pia_kernel::{BudgetPeriod, GroupId, Timestamp};
use pia_storage::schema::{credit_windows, group_settings};
use pia_storage::{DbError, DbInstant, connection_trait};

use crate::window_row::WindowRow;

/// Maximum number of windows that are read.
const MAX_WINDOWS: i64 = 1000;

const WEEK_AND_A_DAY: Duration = Duration::from_hours(8 * 24);

/// Window of a group with its limits of a day and of a week.
type LimitedWindow = (WindowRow, i64, i64);

connection_trait! {
    /// Statements about budgets of groups.
    pub(crate) trait GroupBudgetStatements {
        /// Returns the windows of groups of which at least this share of the limit was used
        /// when they were last written, most used credits first. Weekly windows of past weeks
        /// are left out.
        async fn used_group_windows(
            &mut self,
            min_share: Micros,
            now: Timestamp,
        ) -> Result<Vec<LimitedWindow>, DbError> {
            let daily = group_settings::credits_group_daily;
            let weekly = group_settings::credits_group_weekly;
            // A division, as a product might overflow.
            let used = || credit_windows::used / min_share.0.max(1);
            let is_of = |period: BudgetPeriod| credit_windows::kind.eq(period.name());
            let is_daily = is_of(BudgetPeriod::GroupDaily).and(daily.gt(0)).and(used().ge(daily));
            let is_weekly =
                is_of(BudgetPeriod::GroupWeekly).and(weekly.gt(0)).and(used().ge(weekly));

            // Weeks begin at different times in different zones.
            let week_at_least = DbInstant(now - WEEK_AND_A_DAY);
            let is_recent = credit_windows::week.is_null().or(credit_windows::week.ge(week_at_least));
            let settings = group_settings::table
                .on(group_settings::group_id.nullable().eq(credit_windows::group_id));
            let windows = credit_windows::table
                .inner_join(settings)
                .filter(is_daily.or(is_weekly.and(is_recent)))
                .order((credit_windows::used.desc(), credit_windows::key))
                .limit(MAX_WINDOWS)
                .select((WindowRow::as_select(), daily, weekly));
            Ok(windows.load(self).await?)
        }
    }
}

/// Returns the budgets of windows of which at least this share is still used, the fullest
/// first.
pub(crate) fn current(
    windows: Vec<LimitedWindow>,
    min_share: Micros,
    weeks: Weeks,
    now: Timestamp,
) -> Result<Vec<GroupBudget>, DbError> {
    let mut budgets = Vec::new();
    for (row, daily, weekly) in windows {
        let mut window = row.window()?;
        window.roll_over(weeks, now);
        let WindowKind::Limit(period) = window.key.kind else { continue };
        let limit = if period == BudgetPeriod::GroupDaily { daily } else { weekly };
        if window.used.0 / min_share.0.max(1) >= limit {
            let group = GroupId(window.key.owner);
            let used = window.used;
            budgets.push(GroupBudget { group, period, limit, used });
        }
    }

    budgets.sort_by_key(|it| std::cmp::Reverse(it.percent()));
    Ok(budgets)
}
