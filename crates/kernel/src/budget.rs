//! Periods that spending is limited in, and the limits.
//!
//! Groups carry the limits (`policy`), and calls are admitted against them
//! (`assistant`). Hours and days are rolling windows, weeks are calendar weeks.

use crate::named_variants;

named_variants! {
    /// Period of a budget, of a member or of a whole group.
    ///
    /// The names are those on the wire, in the database and on the command line. The
    /// periods of members are the first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum BudgetPeriod {
        /// A member's spending within any hour.
        Hourly = "hourly",
        /// A member's spending within any 24 hours.
        Daily = "daily",
        /// A member's spending within a calendar week: their allowance.
        Weekly = "weekly",
        /// Spending of all members within any 24 hours.
        GroupDaily = "group-daily",
        /// Spending of all members within a calendar week.
        GroupWeekly = "group-weekly",
    }
}

impl BudgetPeriod {
    /// Returns the period of this name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name().eq_ignore_ascii_case(name))
    }

    /// Returns whether the budget applies to the group rather than to each
    /// member.
    pub fn is_of_group(self) -> bool {
        matches!(self, Self::GroupDaily | Self::GroupWeekly)
    }
}

/// Limits on the spending of a group and its members, in full credits; 0 means
/// no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CreditLimits {
    /// Maximum of a member within any hour.
    pub hourly: i64,
    /// Maximum of a member within any 24 hours.
    pub daily: i64,
    /// Weekly allowance of each member.
    pub weekly: i64,
    /// Maximum of all members together within any 24 hours.
    pub group_daily: i64,
    /// Maximum of all members together within a calendar week.
    pub group_weekly: i64,
    /// True if the unused part of the members' allowances of last week is
    /// available to all members this week.
    pub pool: bool,
}

impl CreditLimits {
    /// Returns the limit of a period; 0 means no limit.
    pub fn of(&self, period: BudgetPeriod) -> i64 {
        match period {
            BudgetPeriod::Hourly => self.hourly,
            BudgetPeriod::Daily => self.daily,
            BudgetPeriod::Weekly => self.weekly,
            BudgetPeriod::GroupDaily => self.group_daily,
            BudgetPeriod::GroupWeekly => self.group_weekly,
        }
    }

    /// Sets the limit of a period; 0 means no limit.
    pub fn set(&mut self, period: BudgetPeriod, limit: i64) {
        let field = match period {
            BudgetPeriod::Hourly => &mut self.hourly,
            BudgetPeriod::Daily => &mut self.daily,
            BudgetPeriod::Weekly => &mut self.weekly,
            BudgetPeriod::GroupDaily => &mut self.group_daily,
            BudgetPeriod::GroupWeekly => &mut self.group_weekly,
        };
        *field = limit;
    }

    /// Returns whether no period has a limit.
    pub fn is_unlimited(&self) -> bool {
        BudgetPeriod::ALL.iter().all(|it| self.of(*it) <= 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_period_has_its_own_name_and_limit() {
        let mut limits = CreditLimits::default();
        assert!(limits.is_unlimited());
        for (period, limit) in BudgetPeriod::ALL.into_iter().zip(1..) {
            limits.set(period, limit);
            assert_eq!(BudgetPeriod::from_name(&period.name().to_uppercase()), Some(period));
        }

        assert_eq!(BudgetPeriod::ALL.map(|it| limits.of(it)), [1, 2, 3, 4, 5]);
        assert!(!limits.is_unlimited());
        assert_eq!(BudgetPeriod::from_name("yearly"), None);
    }
}
