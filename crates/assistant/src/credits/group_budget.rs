//! Budgets of groups that are nearly used up.

use pia_kernel::{BudgetPeriod, GroupId};

use super::rates::Micros;

/// A percent of a credit.
const MICROS_PER_PERCENT: i64 = 10_000;

/// Budget of a group with its use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupBudget {
    /// Group whose members share it.
    pub group: GroupId,
    /// Period in which it is counted.
    pub period: BudgetPeriod,
    /// Limit, in credits; above zero.
    pub limit: i64,
    /// Spent part of it, without reserved credits.
    pub used: Micros,
}

impl GroupBudget {
    /// Returns the used part in percent, which may exceed 100.
    pub fn percent(&self) -> i64 {
        (self.used.0 / MICROS_PER_PERCENT).checked_div(self.limit).unwrap_or_default()
    }
}
