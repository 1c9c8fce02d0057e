//! Views of users' credits.
//!
//! Reservations of open calls do not count here, unlike in refusals. Windows are read
//! without locks, as of now. `http` serves a caller's view, and administrators read
//! `nearly_used_budgets` and `top_members`.

use std::sync::Arc;

use pia_kernel::{
    BudgetPeriod, Clock, GroupId, LiveSetting, SideEffects, Timestamp, Unavailable, UserId,
};

use super::admission_request::CreditHolder;
use super::credit_store::{CreditStore, TopUpOutcome};
use super::group_budget::GroupBudget;
use super::member_budget::MemberBudget;
use super::refusal::Gauge;
use super::settings::CreditSettings;
use super::window::{Window, WindowKind};
use super::windows::{CreditWindows, gauge, stock_gauge};
use crate::credits::rates::Micros;
use crate::rules::{ApiKeyBudget, Rules};

/// Used part of this week's budget, and the start of the next week.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeekGauge {
    /// Size and used part, without reserved credits.
    pub gauge: Gauge,
    /// Beginning of the next week.
    pub resets_at: Timestamp,
}

/// Stock of credits, in whole credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreditStock {
    /// Amount at the beginning of the week, or of all purchases.
    pub total: i64,
    /// Spent amount, without reserved credits.
    pub used: i64,
    /// Amount that can still be spent: `total` less `used`.
    pub remaining: i64,
}

/// Credits that the group's members left unused last week.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolStock {
    /// Credits of this week.
    pub stock: CreditStock,
    /// Time when they expire and the next week's pool begins.
    pub resets_at: Timestamp,
}

/// Budgets of a caller, and their use. Budgets without a limit, or that do not
/// exist, are absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreditView {
    /// Set if the group limits anything.
    pub limited: bool,
    /// Set if the free tier is suspended and the caller is in it.
    pub suspended: bool,
    /// Spending of the current hour.
    pub hourly: Option<Gauge>,
    /// Spending of the current 24 hours.
    pub daily: Option<Gauge>,
    /// Own weekly allowance of the user.
    pub weekly: Option<WeekGauge>,
    /// Credits that the group's members left unused last week.
    pub pool: Option<PoolStock>,
    /// Credits that the group bought.
    pub top_up: Option<CreditStock>,
    /// Spending of the entire group within 24 hours.
    pub group_daily: Option<Gauge>,
    /// Spending of the entire group this week.
    pub group_weekly: Option<WeekGauge>,
    /// Weekly budget of the caller's API key.
    pub key: Option<WeekGauge>,
}

/// Errors of adding credits to a group.
#[derive(Debug, thiserror::Error)]
pub enum TopUpError {
    /// Number of credits is out of its range.
    #[error("the credits are a whole number, 1 to {MAX_TOP_UP}")]
    Amount,
    /// Credits were added since the caller read the total.
    #[error("credits were added in the meantime")]
    Stale,
    /// Group was deleted, or never existed.
    #[error("no such group")]
    UnknownGroup,
    /// The store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Part of each credit whose use makes a budget nearly used up: 80 %.
const NEARLY_USED: Micros = Micros(800_000);
/// Maximum number of credits that are added at once.
const MAX_TOP_UP: i64 = 1_000_000_000;
/// Number of members that are listed for each budget.
const TOP_MEMBERS: usize = 10;

/// Reader of users' credits, and of groups' top-ups.
#[derive(Clone)]
pub struct Credits {
    rules: Arc<dyn Rules>,
    credit_store: Arc<dyn CreditStore>,
    settings: LiveSetting<CreditSettings>,
    clock: Arc<dyn Clock>,
}

impl Credits {
    /// Creates a reader of group rules and windows.
    pub fn new(
        rules: Arc<dyn Rules>,
        credit_store: Arc<dyn CreditStore>,
        settings: LiveSetting<CreditSettings>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { rules, credit_store, settings, clock }
    }

    /// Adds credits that do not expire to a group, with the administrator's audit entry.
    /// `expected` is the total of top-ups that the caller read, if it must still be that, so that
    /// a repeated request adds nothing.
    pub async fn top_up(
        &self,
        by: UserId,
        group: GroupId,
        credits: i64,
        expected: Option<Micros>,
    ) -> Result<(), TopUpError> {
        if !(1..=MAX_TOP_UP).contains(&credits) {
            return Err(TopUpError::Amount);
        }
        let at = self.clock.now();
        let object = format!("group:{group}");
        let effects = SideEffects::of_object(at, Some(by), object, "Group.ToppedUp");
        let added = Micros::credits(credits);
        match self.credit_store.top_up(group, added, expected, effects).await? {
            TopUpOutcome::Done(_) => Ok(()),
            TopUpOutcome::Stale => Err(TopUpError::Stale),
            TopUpOutcome::UnknownGroup => Err(TopUpError::UnknownGroup),
        }
    }

    /// Returns the total of a group's top-ups, used or not.
    pub async fn top_ups(&self, group: GroupId) -> Result<Micros, Unavailable> {
        self.credit_store.load_top_ups(group).await
    }

    /// Returns the budgets of groups that are used up to 80 % or more, the
    /// fullest first.
    pub async fn nearly_used_budgets(&self) -> Result<Vec<GroupBudget>, Unavailable> {
        self.credit_store.load_group_budgets(NEARLY_USED).await
    }

    /// Returns the members who used most of each limited budget that every member of the group
    /// has, at most ten of each.
    pub async fn top_members(
        &self,
        group: GroupId,
    ) -> Result<Vec<(BudgetPeriod, Vec<MemberBudget>)>, Unavailable> {
        let limits = self.rules.rules_of(group).await?.credits;
        let mut budgets = Vec::new();
        for period in BudgetPeriod::ALL {
            let limit = limits.of(period);
            if limit > 0 && !period.is_of_group() {
                let windows = self.credit_store.load_member_windows(group, period).await?;
                budgets.push((period, top_members(windows, Micros::credits(limit))));
            }
        }

        Ok(budgets)
    }

    /// Returns the budgets of a caller, and their use. Reserved amounts do not
    /// count yet. The only key included is the caller's.
    pub async fn view(
        &self,
        member: UserId,
        group: GroupId,
        key: Option<ApiKeyBudget>,
    ) -> Result<CreditView, Unavailable> {
        let rules = self.rules.rules_of(group).await?;
        let suspended = self.settings.get().suspends(group, &rules);
        let holder = CreditHolder { member, group, key, limits: rules.credits };
        if holder.is_unlimited() {
            return Ok(CreditView { suspended, ..CreditView::default() });
        }

        let credit_windows = self.credit_store.load_windows(holder).await?;
        let now = self.clock.now().max(credit_windows.now);
        Ok(CreditView {
            suspended,
            ..view(&holder, &credit_windows, credit_windows.weeks.end(now))
        })
    }
}

fn top_members(mut windows: Vec<Window>, limit: Micros) -> Vec<MemberBudget> {
    windows.retain(|it| it.used.0 > 0);
    windows.sort_by_key(|it| std::cmp::Reverse(it.used));
    windows.truncate(TOP_MEMBERS);
    let budget =
        |it: Window| MemberBudget { member: UserId(it.key.owner), gauge: gauge(limit, it.used) };
    windows.into_iter().map(budget).collect()
}

fn view(holder: &CreditHolder, credit_windows: &CreditWindows, week_ends: Timestamp) -> CreditView {
    let limit_gauge = |period| credit_windows.spent_gauge(holder, WindowKind::Limit(period));
    let week_gauge = |kind| credit_windows.week_gauge(holder, kind, week_ends);
    let pool = credit_windows.spent_stock(holder, WindowKind::Pool);
    let top_up = credit_windows.spent_stock(holder, WindowKind::TopUp);
    CreditView {
        limited: !holder.limits.is_unlimited(),
        suspended: false,
        hourly: limit_gauge(BudgetPeriod::Hourly),
        daily: limit_gauge(BudgetPeriod::Daily),
        weekly: week_gauge(WindowKind::ALLOWANCE),
        pool: pool.map(|stock| PoolStock { stock, resets_at: week_ends }),
        top_up: top_up.filter(|stock| stock.total > 0),
        group_daily: limit_gauge(BudgetPeriod::GroupDaily),
        group_weekly: week_gauge(WindowKind::Limit(BudgetPeriod::GroupWeekly)),
        key: week_gauge(WindowKind::ApiKey),
    }
}

impl CreditWindows {
    /// Returns the gauge of a limit, without reserved credits.
    fn spent_gauge(&self, holder: &CreditHolder, kind: WindowKind) -> Option<Gauge> {
        let limit = holder.limit(kind)?;
        let spent = self.window(holder, kind).map_or(Micros(0), |window| window.used);
        Some(gauge(limit, spent))
    }

    fn week_gauge(
        &self,
        holder: &CreditHolder,
        kind: WindowKind,
        resets_at: Timestamp,
    ) -> Option<WeekGauge> {
        let gauge = self.spent_gauge(holder, kind)?;
        Some(WeekGauge { gauge, resets_at })
    }

    /// Returns a stock, without reserved credits.
    fn spent_stock(&self, holder: &CreditHolder, kind: WindowKind) -> Option<CreditStock> {
        let window = self.window(holder, kind)?;
        Some(stock(window.total, window.used))
    }
}

/// Returns the stock. It is rounded to whole credits first, so that remaining
/// and used amounts add up.
fn stock(total: Micros, used: Micros) -> CreditStock {
    let Gauge { limit: total, used } = stock_gauge(total, used);
    CreditStock { total, used, remaining: total - used }
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
