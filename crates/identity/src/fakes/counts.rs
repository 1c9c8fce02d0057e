//! Counts of wrong proofs and answers in memory.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use pia_kernel::{SideEffects, Timestamp, Unavailable};

use super::InMemoryFactors;
use crate::ports::{
    GuessRules, PasswordThrottleStore, RateLimitOutcome, RateLimitStore, RateQuota,
};

/// Delays each guess that is not free by `first_wait`.
#[async_trait]
impl PasswordThrottleStore for InMemoryFactors {
    async fn count(
        &self,
        _: &str,
        rules: GuessRules,
        _: Timestamp,
    ) -> Result<RateLimitOutcome, Unavailable> {
        let before = self.wrong_answers.fetch_add(1, Ordering::SeqCst);
        if before < rules.free {
            return Ok(RateLimitOutcome::Allowed);
        }
        self.wrong_answers.fetch_sub(1, Ordering::SeqCst);
        Ok(RateLimitOutcome::Wait(rules.first_wait))
    }

    async fn failures(&self, _: &str) -> Result<u32, Unavailable> {
        Ok(self.wrong_answers.load(Ordering::SeqCst))
    }

    async fn waits_until(&self, _: &[String]) -> Result<Option<Timestamp>, Unavailable> {
        Ok(None)
    }

    async fn give_back(&self, _: &str, _: GuessRules) -> Result<(), Unavailable> {
        self.wrong_answers.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }

    async fn clear(&self, _: &str) -> Result<(), Unavailable> {
        self.wrong_answers.store(0, Ordering::SeqCst);
        Ok(())
    }

    async fn clear_all(&self, _: &[String], effects: SideEffects) -> Result<(), Unavailable> {
        self.wrong_answers.store(0, Ordering::SeqCst);
        self.state().write(effects);
        Ok(())
    }

    async fn sweep(&self, _: Timestamp) -> Result<u64, Unavailable> {
        Ok(0)
    }
}

#[async_trait]
impl RateLimitStore for InMemoryFactors {
    async fn attempt(
        &self,
        _: &str,
        quota: RateQuota,
        _: Timestamp,
    ) -> Result<RateLimitOutcome, Unavailable> {
        let before = self.wrong_proofs.fetch_add(1, Ordering::SeqCst);
        if before < quota.burst {
            return Ok(RateLimitOutcome::Allowed);
        }
        self.wrong_proofs.fetch_sub(1, Ordering::SeqCst);
        Ok(RateLimitOutcome::Wait(quota.interval()))
    }

    async fn give_back(&self, _: &str, _: RateQuota, _: Timestamp) -> Result<(), Unavailable> {
        self.wrong_proofs.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }

    async fn sweep(&self, _: Timestamp) -> Result<u64, Unavailable> {
        Ok(0)
    }
}
