//! Spending windows: the periods in which usage is counted.
//!
//! The kind of a window decides how it renews in `roll_over`: hours and days roll, in
//! buckets; allowances, weekly limits, keys and pools begin anew each week; top-ups never
//! do. Roll a loaded window over before reading it, and fill an unfilled pool
//! (`storage-assistant` does both). A window knows no limit: `CreditHolder` has it.

use std::fmt;

use pia_kernel::{BudgetPeriod, Timestamp};
use uuid::Uuid;

use super::rolling::{Buckets, Span};
use super::week::Weeks;
use crate::credits::rates::Micros;

/// Budget that a window counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WindowKind {
    /// Limit of the group, for each member or for all of them.
    Limit(BudgetPeriod),
    /// Weekly budget of an API key.
    ApiKey,
    /// Credits that the members of a group left unused last week.
    Pool,
    /// Credits that a group bought, which do not expire.
    TopUp,
}

impl WindowKind {
    /// Every kind, in the order in which refusals check them.
    pub const ALL: [Self; 8] = [
        Self::Limit(BudgetPeriod::Hourly),
        Self::Limit(BudgetPeriod::Daily),
        Self::ALLOWANCE,
        Self::ApiKey,
        Self::Limit(BudgetPeriod::GroupDaily),
        Self::Limit(BudgetPeriod::GroupWeekly),
        Self::Pool,
        Self::TopUp,
    ];

    /// Weekly allowance of a member.
    pub(crate) const ALLOWANCE: Self = Self::Limit(BudgetPeriod::Weekly);

    /// Returns the name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Limit(period) => period.name(),
            Self::ApiKey => "key",
            Self::Pool => "pool",
            Self::TopUp => "top-up",
        }
    }

    /// Returns the period that a refusal reports if this window is exhausted.
    pub(crate) fn period(self) -> BudgetPeriod {
        match self {
            Self::Limit(period) => period,
            Self::ApiKey | Self::Pool | Self::TopUp => BudgetPeriod::Weekly,
        }
    }

    /// Returns the kind of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Returns whether the window belongs to a group rather than to a user or key.
    pub fn belongs_to_group(self) -> bool {
        match self {
            Self::Limit(period) => period.is_of_group(),
            Self::ApiKey => false,
            Self::Pool | Self::TopUp => true,
        }
    }

    /// Returns whether the window is a balance. Balances are drawn from in turn:
    /// allowance, pool, top-ups.
    pub(crate) fn is_balance(self) -> bool {
        matches!(self, Self::ALLOWANCE | Self::Pool | Self::TopUp)
    }

    fn span(self) -> Option<Span> {
        match self {
            Self::Limit(BudgetPeriod::Hourly) => Some(Span::HOUR),
            Self::Limit(BudgetPeriod::Daily | BudgetPeriod::GroupDaily) => Some(Span::DAY),
            Self::Limit(BudgetPeriod::Weekly | BudgetPeriod::GroupWeekly)
            | Self::ApiKey
            | Self::Pool
            | Self::TopUp => None,
        }
    }

    fn is_weekly(self) -> bool {
        self.span().is_none() && self != Self::TopUp
    }
}

/// Identity of a window: its kind and its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WindowKey {
    /// Kind, which decides how the window rolls over.
    pub kind: WindowKind,
    /// Id of the user, group or key.
    pub owner: Uuid,
}

/// Formats the key by which the database sorts.
impl fmt::Display for WindowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.owner.as_hyphenated(), self.kind.name())
    }
}

/// Size of a pool that is not computed yet. Nothing can be drawn from it.
const UNFILLED_TOTAL: Micros = Micros(-1);

/// Counter of one budget: spent and reserved credits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Kind and owner, unique among all windows.
    pub key: WindowKey,
    /// Start of the counted week; `None` in windows that are not weekly, and before
    /// the first week.
    pub week: Option<Timestamp>,
    /// Size of a pool this week, or of all top-ups.
    pub total: Micros,
    /// Amount spent within the window, without open calls.
    pub used: Micros,
    /// Amount reserved by open calls.
    pub reserved: Micros,
    /// Amount spent in the previous week, from which the next pool is filled.
    pub used_last_week: Micros,
    /// Spending by time, for rolling windows.
    pub buckets: Buckets,
}

impl Window {
    /// Creates a window in which nothing is spent.
    pub fn new(key: WindowKey) -> Self {
        Self {
            key,
            week: None,
            total: Micros(0),
            used: Micros(0),
            reserved: Micros(0),
            used_last_week: Micros(0),
            buckets: Buckets::default(),
        }
    }

    /// Returns whether the counted week is over, or none was counted yet. Weeks that
    /// start less than half a week apart are the same week in different time zones.
    pub fn is_over(&self, weeks: Weeks, now: Timestamp) -> bool {
        let is_over = |it: Timestamp| it + Weeks::HALF <= weeks.start(now);
        self.key.kind.is_weekly() && self.week.is_none_or(is_over)
    }

    /// Removes expired spending. A pool of another week is empty until it is
    /// [filled](Self::fill); reservations remain.
    pub fn roll_over(&mut self, weeks: Weeks, now: Timestamp) {
        if let Some(span) = self.key.kind.span() {
            self.buckets.age(span, now);
            self.used = self.buckets.sum();
        } else if self.is_over(weeks, now) {
            let was_last_week = self.week.is_some_and(|it| it + Weeks::HALF > weeks.before(now));
            self.used_last_week = if was_last_week { self.used } else { Micros(0) };
            self.used = Micros(0);
            self.total = if self.key.kind == WindowKind::Pool { UNFILLED_TOTAL } else { Micros(0) };
            self.week = Some(weeks.start(now));
        }
    }

    /// Returns whether this week's size of a pool is not computed yet.
    pub fn is_unfilled(&self) -> bool {
        self.key.kind == WindowKind::Pool && self.total == UNFILLED_TOTAL
    }

    /// Sets this week's size of a pool.
    pub fn fill(&mut self, total: Micros) {
        self.total = Micros(total.0.max(0));
    }

    /// Adds an amount that a call has spent.
    pub fn spend(&mut self, amount: Micros, now: Timestamp) {
        if let Some(span) = self.key.kind.span() {
            self.buckets.add(span, now, amount);
        }
        self.used = self.used.plus(amount);
    }

    /// Returns the rest of a limit; negative if more was spent.
    pub(crate) fn remaining(&self, limit: Micros) -> Micros {
        limit.minus(self.used).minus(self.reserved)
    }

    /// Returns the spent and reserved amount, as reported in refusals.
    pub(crate) fn committed_amount(&self) -> Micros {
        self.used.plus(self.reserved)
    }

    /// Returns the time when the missing amount is available: once enough
    /// has left the window, or the week is over. For an amount beyond the
    /// window's size, returns the time when the window is empty.
    pub(crate) fn available_at(&self, missing: Micros, weeks: Weeks, now: Timestamp) -> Timestamp {
        match self.key.kind.span() {
            Some(span) => {
                self.buckets.available_at(span, missing).unwrap_or_else(|| span.expires_at(now))
            }
            None => weeks.end(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const WEEK: Duration = Duration::from_hours(7 * 24);

    fn window(kind: WindowKind) -> Window {
        Window::new(WindowKey { kind, owner: Uuid::nil() })
    }

    /// Returns the amounts of the current and the previous week.
    fn amounts(window: &Window) -> (i64, i64) {
        (window.used.0, window.used_last_week.0)
    }

    fn monday() -> Timestamp {
        serde_json::from_value("2026-11-16T00:00:00Z".into()).unwrap()
    }

    #[test]
    fn a_past_week_is_stored_for_one_more() {
        let mut window = window(WindowKind::Limit(BudgetPeriod::Weekly));
        let mut amounts_by_week = Vec::new();
        for at in [monday(), monday() + WEEK, monday() + WEEK * 3] {
            window.roll_over(Weeks::UTC, at);
            amounts_by_week.push(amounts(&window));
            window.spend(Micros(5), at);
        }
        assert_eq!(amounts_by_week, [(0, 0), (0, 5), (0, 0)]);
    }

    #[test]
    fn a_clock_that_is_behind_does_not_reopen_a_week() {
        let mut window = window(WindowKind::Limit(BudgetPeriod::Weekly));
        window.roll_over(Weeks::UTC, monday());
        window.spend(Micros(5), monday());

        window.roll_over(Weeks::UTC, monday() - Duration::from_secs(1));

        assert_eq!(window.used, Micros(5));
        assert_eq!(window.week, Some(monday()));
    }

    #[test]
    fn another_zone_in_mid_week_does_not_restart_the_week() {
        let zones =
            ["Pacific/Kiritimati", "Europe/Berlin", "America/New_York", "Pacific/Pago_Pago"];
        let zone = |id| Weeks::of_zone(id).unwrap();
        let wednesday = monday() + Duration::from_hours(60);
        for (from, to) in zones.iter().flat_map(|it| zones.map(|to| (*it, to))) {
            let mut window = window(WindowKind::Limit(BudgetPeriod::Weekly));
            window.roll_over(zone(from), wednesday);
            window.spend(Micros(5), wednesday);

            window.roll_over(zone(to), wednesday);
            assert_eq!(amounts(&window), (5, 0), "{from} {to}");

            window.roll_over(zone(from), zone(from).end(wednesday) - Duration::from_secs(1));
            assert_eq!(amounts(&window), (5, 0), "{from} {to}");

            window.roll_over(zone(to), zone(to).end(wednesday));
            assert_eq!(amounts(&window), (0, 5), "{from} {to}");
        }
    }

    #[test]
    fn reservations_and_top_ups_survive_a_new_week() {
        let mut open =
            Window { reserved: Micros(7), ..window(WindowKind::Limit(BudgetPeriod::GroupWeekly)) };
        let mut bought = Window { total: Micros(9), used: Micros(2), ..window(WindowKind::TopUp) };

        open.roll_over(Weeks::UTC, monday() + WEEK);
        bought.roll_over(Weeks::UTC, monday() + WEEK * 99);

        assert_eq!(open.reserved, Micros(7));
        assert_eq!(bought.remaining(bought.total), Micros(7));
    }

    #[test]
    fn a_pool_of_a_new_week_is_filled_once() {
        let mut pool = window(WindowKind::Pool);
        let mut unfilled = Vec::new();
        for at in [monday(), monday(), monday() + WEEK] {
            pool.roll_over(Weeks::UTC, at);
            unfilled.push(pool.is_unfilled());
            pool.fill(Micros(9));
        }

        assert_eq!(unfilled, [true, false, true]);
    }

    #[test]
    fn names_are_parsed() {
        for kind in WindowKind::ALL {
            assert_eq!(WindowKind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(WindowKind::from_name("yearly"), None);
    }
}
