//! Rate limits of sign-in attempts in SQL, shared by every instance.
//!
//! The algorithm is GCRA (generic cell rate algorithm), a token bucket in one
//! number: `tat_micros`, the time when the bucket is full again. An
//! attempt moves that time by one interval, and is refused if the time would
//! lie further ahead than the window.

use std::time::Duration;

use async_trait::async_trait;
use diesel::dsl::case_when;
use diesel::prelude::*;
use diesel::query_dsl::methods::FilterDsl;
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;
use pia_identity::{RateLimitOutcome, RateLimitStore, RateQuota};
use pia_kernel::{Timestamp, Unavailable};
use pia_storage::schema::attempts;
use pia_storage::{Database, on_conn};

/// Adapter of `RateLimitStore` over the table `attempts`. Full buckets need no row, and
/// `sweep` deletes theirs.
#[derive(Debug, Clone)]
pub struct SqlRateLimitStore {
    db: Database,
}

impl SqlRateLimitStore {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl RateLimitStore for SqlRateLimitStore {
    async fn attempt(
        &self,
        key: &str,
        quota: RateQuota,
        now: Timestamp,
    ) -> Result<RateLimitOutcome, Unavailable> {
        let now_micros = now.micros();
        let interval = micros(quota.interval());
        let max_tat = now_micros.saturating_add(micros(quota.window)).saturating_sub(interval);
        let first_tat = now_micros.saturating_add(interval);
        let is_full = attempts::tat_micros.lt(now_micros);
        let next_tat = case_when(is_full, excluded(attempts::tat_micros))
            .otherwise(attempts::tat_micros + interval);

        // Counted by one guarded statement, so that no two concurrent attempts
        // take the same token.
        let upsert = diesel::insert_into(attempts::table)
            .values((attempts::who.eq(key.to_owned()), attempts::tat_micros.eq(first_tat)))
            .on_conflict(attempts::who)
            .do_update()
            .set(attempts::tat_micros.eq(next_tat))
            .filter(attempts::tat_micros.le(max_tat));

        if self.db.count(upsert).await? > 0 {
            return Ok(RateLimitOutcome::Allowed);
        }

        // The bucket is missing if it was swept meanwhile; then it is full.
        let bucket = attempts::table.find(key).select(attempts::tat_micros);
        let full_at =
            on_conn!(self.db.reader(), |conn| bucket.first::<i64>(conn).await.optional()?)?;
        let wait = full_at.unwrap_or(max_tat).saturating_sub(max_tat);
        let wait_micros = u64::try_from(wait).unwrap_or_default().max(1);

        Ok(RateLimitOutcome::Wait(Duration::from_micros(wait_micros)))
    }

    async fn give_back(
        &self,
        key: &str,
        quota: RateQuota,
        now: Timestamp,
    ) -> Result<(), Unavailable> {
        let bucket = FilterDsl::filter(
            attempts::table.find(key.to_owned()),
            attempts::tat_micros.gt(now.micros()),
        );
        let earlier = attempts::tat_micros - micros(quota.interval());
        let update = diesel::update(bucket).set(attempts::tat_micros.eq(earlier));
        self.db.count(update).await?;
        Ok(())
    }

    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable> {
        let full_buckets =
            FilterDsl::filter(attempts::table, attempts::tat_micros.le(now.micros()));
        Ok(self.db.count(diesel::delete(full_buckets)).await? as u64)
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
