//! Reason why a call is not admitted.

use std::time::Duration;

use pia_kernel::{BudgetPeriod, Timestamp};

/// Period of the budget that is used up, as reported to callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// Budget of the member, their group or their API key.
    Budget(BudgetPeriod),
    /// No budget: those who do not pay are not served at the moment.
    FreeTierSuspended,
}

impl Period {
    /// Name of the period on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Budget(period) => period.name(),
            Self::FreeTierSuspended => "free_tier_suspended",
        }
    }
}

/// Size of a budget and its used part, in whole credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gauge {
    /// Size of the budget.
    pub limit: i64,
    /// Used part of it; a started credit counts as whole.
    pub used: i64,
}

/// Reason why a call is not admitted, and when the next may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetRefusal {
    /// Budget that is used up.
    pub period: Period,
    /// Gauge of the budget; nothing where the free tier is suspended. Amounts
    /// that open calls may still spend count as used.
    pub gauge: Option<Gauge>,
    /// The group's pool, where a weekly budget is used up and it has one.
    pub pool: Option<Gauge>,
    /// The group's top-ups, where it ever bought some and members have
    /// allowances that they come after.
    pub top_up: Option<Gauge>,
    /// Time at which enough of it is there again.
    pub resets_at: Timestamp,
    /// Time until then.
    pub retry_after: Duration,
}

impl BudgetRefusal {
    /// Refuses a user of the suspended free tier. When it ends is unknown, so the caller is informed
    /// to retry when the next week begins.
    pub(crate) fn suspended(resets_at: Timestamp, now: Timestamp) -> Self {
        let (gauge, pool, top_up) = (None, None, None);
        let retry_after = until(resets_at, now);
        Self { period: Period::FreeTierSuspended, gauge, pool, top_up, resets_at, retry_after }
    }
}

pub(crate) fn until(then: Timestamp, now: Timestamp) -> Duration {
    let micros = then.micros().saturating_sub(now.micros());
    Duration::from_micros(u64::try_from(micros).unwrap_or(0)).max(Duration::from_secs(1))
}
