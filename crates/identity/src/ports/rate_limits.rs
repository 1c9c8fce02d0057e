//! Budgets of attempts.

use std::time::Duration;

use async_trait::async_trait;
use pia_kernel::{Timestamp, Unavailable};

/// Quota of attempts at once, refilled evenly over `window`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateQuota {
    /// Number of fit in a full bucket.
    pub burst: u32,
    /// Duration for which an empty bucket takes to fill.
    pub window: Duration,
}

impl RateQuota {
    /// Returns for how long the bucket takes to hold one more.
    pub fn interval(self) -> Duration {
        self.window / self.burst.max(1)
    }
}

/// Outcome of counting one more attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateLimitOutcome {
    /// Attempt is allowed, and was counted.
    Allowed,
    /// Next attempt is allowed after this time.
    Wait(Duration),
}

/// Counters of sign-in attempts, shared by all instances.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait RateLimitStore: Send + Sync {
    /// Counts an attempt of `who`, unless their bucket is empty.
    ///
    /// Of any number at once, no more are allowed than the bucket holds.
    async fn attempt(
        &self,
        who: &str,
        quota: RateQuota,
        now: Timestamp,
    ) -> Result<RateLimitOutcome, Unavailable>;

    /// Puts one attempt back that turned out not to count; a full bucket
    /// stays as it is.
    async fn give_back(
        &self,
        who: &str,
        quota: RateQuota,
        now: Timestamp,
    ) -> Result<(), Unavailable>;

    /// Forgets buckets that are full again. Answers how many they were.
    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable>;
}
