//! Budgets of members.

use pia_kernel::UserId;

use super::refusal::Gauge;

/// Budget of a member with its use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberBudget {
    /// Member who has this budget alone.
    pub member: UserId,
    /// Size of the budget, and its used part without reserved credits.
    pub gauge: Gauge,
}
