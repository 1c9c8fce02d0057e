//! Refusal of a call by a budget.
//!
//! `CreditWindows::refusal` fills it; the surfaces report it with its period, gauges and
//! time. Limits are rounded down to whole credits, and used amounts up.

use std::time::Duration;

use pia_kernel::{BudgetPeriod, Timestamp};

/// Period of the exhausted budget, as reported to callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// Budget of the member, their group or their API key.
    Budget(BudgetPeriod),
    /// No budget: the free tier is suspended.
    FreeTierSuspended,
}

impl Period {
    /// Returns the name of the period on the wire.
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
    /// Size of the budget, rounded down.
    pub limit: i64,
    /// Used part of it, rounded up.
    pub used: i64,
}

impl Gauge {
    /// Returns the used part in percent, which may exceed 100.
    pub fn percent(self) -> i64 {
        self.used.saturating_mul(100).checked_div(self.limit).unwrap_or_default()
    }
}

/// Refusal of a call, with the time at which to retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetRefusal {
    /// Period of the budget that is exhausted for the longest time.
    pub period: Period,
    /// Gauge of the budget; `None` if the free tier is suspended. Reserved
    /// amounts count as used.
    pub gauge: Option<Gauge>,
    /// Pool of the group, if a weekly budget is exhausted and there is one.
    pub pool: Option<Gauge>,
    /// Top-ups of the group, if it ever bought some and its members have
    /// allowances.
    pub top_up: Option<Gauge>,
    /// Time when enough is available again.
    pub resets_at: Timestamp,
    /// Time from the refusal until then.
    pub retry_after: Duration,
}

impl BudgetRefusal {
    /// Returns the refusal of a user of the suspended free tier. The end of the suspension is
    /// unknown, so the caller is to retry when the next week begins.
    pub(crate) fn suspended(resets_at: Timestamp, now: Timestamp) -> Self {
        Self {
            period: Period::FreeTierSuspended,
            gauge: None,
            pool: None,
            top_up: None,
            resets_at,
            retry_after: until(resets_at, now),
        }
    }
}

/// Returns the time between two moments, at least a second.
pub(crate) fn until(then: Timestamp, now: Timestamp) -> Duration {
    let micros = then.micros().saturating_sub(now.micros());
    Duration::from_micros(u64::try_from(micros).unwrap_or(0)).max(Duration::from_secs(1))
}
