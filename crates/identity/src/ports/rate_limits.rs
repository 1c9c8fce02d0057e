//! Port of rate limits; implemented in `storage-identity`.
//!
//! `web/src/budgets.rs` counts requests of shared budgets here, and use cases
//! count emails, proofs and changes of addresses. The key names the purpose,
//! as `factor:` and the user's id.

use std::time::Duration;

use async_trait::async_trait;
use pia_kernel::{Timestamp, Unavailable};

/// Counters of sign-in attempts, shared by all instances.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait RateLimitStore: Send + Sync {
    /// Counts an attempt of `key`. Counts nothing and returns `Wait` if its bucket is empty.
    ///
    /// Of concurrent attempts, no more are allowed than the bucket holds.
    async fn attempt(
        &self,
        key: &str,
        quota: RateQuota,
        now: Timestamp,
    ) -> Result<RateLimitOutcome, Unavailable>;

    /// Returns an attempt that turned out not to count; a full bucket stays full.
    async fn give_back(
        &self,
        key: &str,
        quota: RateQuota,
        now: Timestamp,
    ) -> Result<(), Unavailable>;

    /// Deletes buckets that are full again. Returns their number.
    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable>;
}

/// Token bucket of `burst` attempts, refilled evenly over `window`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateQuota {
    /// Number of attempts in a full bucket.
    pub burst: u32,
    /// Time in which an empty bucket fills.
    pub window: Duration,
}

impl RateQuota {
    /// Returns the time in which the bucket gains one attempt.
    pub fn interval(self) -> Duration {
        self.window / self.burst.max(1)
    }
}

/// Outcome of counting an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateLimitOutcome {
    /// Attempt is allowed, and was counted.
    Allowed,
    /// Next attempt is allowed after this time.
    Wait(Duration),
}
