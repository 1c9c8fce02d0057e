//! Views of people's credits.

use std::sync::Arc;

use pia_kernel::{BudgetPeriod, Clock, GroupId, LiveSetting, Timestamp, Unavailable, UserId};

use super::admission_request::CreditHolder;
use super::credit_store::CreditStore;
use super::refusal::Gauge;
use super::settings::CreditSettings;
use super::window::WindowKind;
use super::windows::{CreditWindows, gauge, stock_gauge};
use crate::credits::rates::Micros;
use crate::rules::{ApiKeyBudget, Rules};

/// Used part of this week's budget, and the start of the next week.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeekGauge {
    /// Gauge of the budget.
    pub gauge: Gauge,
    /// Time at which the next week begins.
    pub resets_at: Timestamp,
}

/// Stock of credits, in whole credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreditStock {
    /// Initial amount.
    pub total: i64,
    /// Used amount.
    pub used: i64,
    /// Remaining amount.
    pub remaining: i64,
}

/// Budgets of a caller, and their use. Budgets without a limit, or that do not
/// exist, are absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreditView {
    /// True if the group limits anything.
    pub limited: bool,
    /// True if those who do not pay are not served, and this is one of them.
    pub suspended: bool,
    /// Spending of the current hour.
    pub hourly: Option<Gauge>,
    /// Spending of the current 24 hours.
    pub daily: Option<Gauge>,
    /// Weekly allowance of the user's own.
    pub weekly: Option<WeekGauge>,
    /// Credits that the group's members left unused last week, and when they expire.
    pub pool: Option<(CreditStock, Timestamp)>,
    /// Credits that the group bought.
    pub top_up: Option<CreditStock>,
    /// Spending of the whole group within 24 hours.
    pub group_daily: Option<Gauge>,
    /// Spending of the whole group this week.
    pub group_weekly: Option<WeekGauge>,
    /// Weekly budget of the API key that the call was made with.
    pub key: Option<WeekGauge>,
}

/// Reports people of their credits.
#[derive(Clone)]
pub struct Credits {
    rules: Arc<dyn Rules>,
    credit_store: Arc<dyn CreditStore>,
    settings: LiveSetting<CreditSettings>,
    clock: Arc<dyn Clock>,
}

impl Credits {
    /// Combines the rules of groups with the counted windows.
    pub fn new(
        rules: Arc<dyn Rules>,
        credit_store: Arc<dyn CreditStore>,
        settings: LiveSetting<CreditSettings>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { rules, credit_store, settings, clock }
    }

    /// Returns the budgets of a caller, and their use. Amounts that open calls
    /// may still spend do not count yet. Of keys it shows the one that is
    /// called with.
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

fn view(holder: &CreditHolder, credit_windows: &CreditWindows, week_ends: Timestamp) -> CreditView {
    let spent = |kind| credit_windows.window(holder, kind).map_or(Micros(0), |it| it.used);
    let of_kind = |kind| holder.limit(kind).map(|limit| gauge(limit, spent(kind)));
    let of = |period| of_kind(WindowKind::Limit(period));
    let of_week = |kind| of_kind(kind).map(|gauge| WeekGauge { gauge, resets_at: week_ends });
    let stock = |kind| credit_windows.window(holder, kind).map(|it| stock(it.total, it.used));
    CreditView {
        limited: !holder.limits.is_unlimited(),
        suspended: false,
        hourly: of(BudgetPeriod::Hourly),
        daily: of(BudgetPeriod::Daily),
        weekly: of_week(WindowKind::ALLOWANCE),
        pool: stock(WindowKind::Pool).map(|it| (it, week_ends)),
        top_up: stock(WindowKind::TopUp).filter(|it| it.total > 0),
        group_daily: of(BudgetPeriod::GroupDaily),
        group_weekly: of_week(WindowKind::Limit(BudgetPeriod::GroupWeekly)),
        key: of_week(WindowKind::Key),
    }
}

/// Returns the stock; remaining and used amounts add up.
fn stock(total: Micros, used: Micros) -> CreditStock {
    let Gauge { limit: total, used } = stock_gauge(total, used);
    CreditStock { total, used, remaining: total - used }
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
