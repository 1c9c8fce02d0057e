//! Counters of password guesses in SQL, shared by every instance.
//!
//! A row has the number of failures, the wait that the last guess started,
//! and the time of that guess in microseconds. The schedule is that of
//! `GuessRules`: no wait for the free guesses, then `first_wait`, doubled up
//! to `max_wait`.

use std::time::Duration;

use async_trait::async_trait;
use diesel::dsl::{AsExprOf, case_when};
use diesel::prelude::*;
use diesel::query_dsl::methods;
use diesel::sql_types::{BigInt, Integer};
use diesel_async::RunQueryDsl;
use pia_identity::{GuessRules, PasswordThrottleStore, RateLimitOutcome};
use pia_kernel::{SideEffects, Timestamp, Unavailable};
use pia_storage::schema::guesses::{self, counted_at_micros, failures, wait_micros};
use pia_storage::{Database, WriteEffects, in_tx, on_conn};

/// Adapter of `PasswordThrottleStore` over the table `guesses`.
#[derive(Debug, Clone)]
pub struct SqlPasswordThrottleStore {
    db: Database,
}

impl SqlPasswordThrottleStore {
    /// Creates a store in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl PasswordThrottleStore for SqlPasswordThrottleStore {
    async fn count(
        &self,
        key: &str,
        rules: GuessRules,
        now: Timestamp,
    ) -> Result<RateLimitOutcome, Unavailable> {
        let now_micros = now.micros();
        let first_wait = micros(rules.first_wait);
        let max_wait = micros(rules.max_wait);
        let since = now_micros.saturating_sub(micros(rules.memory));
        let free_guesses = i32::try_from(rules.free).unwrap_or(i32::MAX);
        let wait_after_first_guess = if free_guesses > 1 { 0 } else { first_wait };

        // Counted by one guarded statement, so that no two concurrent guesses
        // see the same count. Without a wait the time is not compared: the clocks
        // of two instances may differ.
        let is_forgotten = counted_at_micros.le(since);
        let is_open = wait_micros.eq(0).or((counted_at_micros + wait_micros).le(now_micros));

        let first_guess = (
            guesses::who.eq(key.to_owned()),
            failures.eq(1),
            wait_micros.eq(wait_after_first_guess),
            counted_at_micros.eq(now_micros),
        );

        let count = diesel::insert_into(guesses::table)
            .values(first_guess)
            .on_conflict(guesses::who)
            .do_update()
            .set((
                failures
                    .eq(case_when(is_forgotten, 1.into_sql::<Integer>()).otherwise(failures + 1)),
                wait_micros.eq(case_when(is_forgotten, number(wait_after_first_guess))
                    .when(failures.lt(free_guesses - 1), number(0))
                    .when(wait_micros.eq(0), number(first_wait))
                    .when(wait_micros.gt(max_wait / 2), number(max_wait))
                    .otherwise(wait_micros * 2)),
                counted_at_micros.eq(now_micros),
            ));

        if self.db.count(methods::FilterDsl::filter(count, is_open)).await? > 0 {
            return Ok(RateLimitOutcome::Allowed);
        }

        // Missing if the password was guessed correctly meanwhile.
        let end_of_wait = guesses::table.find(key).select(counted_at_micros + wait_micros);
        let opens_at =
            on_conn!(self.db.reader(), |conn| end_of_wait.first::<i64>(conn).await.optional()?)?;
        let wait = u64::try_from(opens_at.unwrap_or(now_micros).saturating_sub(now_micros))
            .unwrap_or_default();

        Ok(RateLimitOutcome::Wait(Duration::from_micros(wait.max(1))))
    }

    async fn failures(&self, key: &str) -> Result<u32, Unavailable> {
        let entry = guesses::table.find(key).select(failures);
        let count: Option<i32> =
            on_conn!(self.db.reader(), |conn| entry.first(conn).await.optional()?)?;
        Ok(count.unwrap_or_default().unsigned_abs())
    }

    async fn waits_until(&self, keys: &[String]) -> Result<Option<Timestamp>, Unavailable> {
        let is_waiting = guesses::who.eq_any(keys).and(wait_micros.gt(0));
        let ends_query = methods::FilterDsl::filter(guesses::table, is_waiting)
            .select(counted_at_micros + wait_micros);
        let ends: Vec<i64> = on_conn!(self.db.reader(), |conn| ends_query.load(conn).await?)?;
        Ok(ends.into_iter().max().map(Timestamp::from_micros))
    }

    async fn give_back(&self, key: &str, rules: GuessRules) -> Result<(), Unavailable> {
        let counted_guesses =
            methods::FilterDsl::filter(guesses::table.find(key.to_owned()), failures.gt(0));
        // The wait before was over when this guess was allowed. The first
        // wait came from none; each other one from half of it.
        let previous_wait = case_when(wait_micros.le(micros(rules.first_wait)), number(0))
            .otherwise(wait_micros / 2);
        let update = diesel::update(counted_guesses).set((
            failures.eq(failures - 1),
            wait_micros.eq(previous_wait),
            counted_at_micros.eq(counted_at_micros - wait_micros),
        ));
        self.db.count(update).await?;

        Ok(())
    }

    async fn clear(&self, key: &str) -> Result<(), Unavailable> {
        self.db.count(diesel::delete(guesses::table.find(key.to_owned()))).await?;
        Ok(())
    }

    async fn clear_all(&self, keys: &[String], effects: SideEffects) -> Result<(), Unavailable> {
        let entries = methods::FilterDsl::filter(guesses::table, guesses::who.eq_any(keys));
        in_tx!(self.db, async |conn| {
            diesel::delete(entries.clone()).execute(conn).await?;
            conn.write_effects(&self.db, &effects).await
        })
    }

    async fn sweep(&self, time: Timestamp) -> Result<u64, Unavailable> {
        let old_entries =
            methods::FilterDsl::filter(guesses::table, counted_at_micros.lt(time.micros()));
        Ok(self.db.count(diesel::delete(old_entries)).await? as u64)
    }
}

fn number(value: i64) -> AsExprOf<i64, BigInt> {
    value.into_sql::<BigInt>()
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
