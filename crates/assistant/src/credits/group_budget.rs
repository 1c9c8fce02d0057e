//! Budgets of groups that are nearly used up.

use pia_kernel::{BudgetPeriod, GroupId};

use super::refusal::Gauge;

/// Budget of a group with its use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupBudget {
    /// Group that shares it.
    pub group: GroupId,
    /// Period in which it is counted.
    pub period: BudgetPeriod,
    /// Limit and used credits.
    pub gauge: Gauge,
}

impl GroupBudget {
    /// Returns the used part in percent, which may exceed 100.
    pub fn percent(&self) -> i64 {
        let Gauge { limit, used } = self.gauge;
        used.saturating_mul(100).checked_div(limit).unwrap_or_default()
    }
}
