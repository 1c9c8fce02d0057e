//! Port of the password throttle; implemented in `storage-identity`.
//!
//! `passwords/throttle.rs` derives the keys and calls the methods in order.

use std::time::Duration;

use async_trait::async_trait;
use pia_kernel::{SideEffects, Timestamp, Unavailable};

use super::RateLimitOutcome;

/// Counters of password guesses, shared by all instances.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait PasswordThrottleStore: Send + Sync {
    /// Counts a guess of `key` as wrong. Counts nothing and returns `Wait` while the key must wait.
    ///
    /// The guess is counted before it is verified: concurrent guesses are let through no more often
    /// than if they had been made one after another.
    async fn count(
        &self,
        key: &str,
        rules: GuessRules,
        now: Timestamp,
    ) -> Result<RateLimitOutcome, Unavailable>;

    /// Returns the number of guesses of `key` that count as wrong.
    async fn failures(&self, key: &str) -> Result<u32, Unavailable>;

    /// Returns the latest end of the waits of several keys, which may be past; `None` if no guess
    /// had to wait.
    async fn waits_until(&self, keys: &[String]) -> Result<Option<Timestamp>, Unavailable>;

    /// Takes one guess back that was not verified.
    async fn give_back(&self, key: &str, rules: GuessRules) -> Result<(), Unavailable>;

    /// Clears the count of `key` after a right guess.
    async fn clear(&self, key: &str) -> Result<(), Unavailable>;

    /// Clears the counts of several keys, with the effects.
    async fn clear_all(&self, keys: &[String], effects: SideEffects) -> Result<(), Unavailable>;

    /// Deletes the counts whose last guess was before `time`. Returns their number.
    async fn sweep(&self, time: Timestamp) -> Result<u64, Unavailable>;
}

/// Limits of guesses at one account's password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuessRules {
    /// Number of wrong passwords without a delay.
    pub free: u32,
    /// Delay before the next guess after the free ones; it doubles with each
    /// further guess.
    pub first_wait: Duration,
    /// Longest delay.
    pub max_wait: Duration,
    /// Time after the last wrong guess until all are forgotten.
    pub memory: Duration,
}

impl Default for GuessRules {
    fn default() -> Self {
        Self {
            free: 5,
            first_wait: Duration::from_secs(1),
            max_wait: Duration::from_mins(15),
            memory: Duration::from_hours(24),
        }
    }
}
