//! Admission of calls in one statement, on PostgreSQL: by cached windows, if they
//! are still current.

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::sql_types::BigInt;
use diesel_async::RunQueryDsl;
use pia_storage::{AsyncPostgres, DbError};

use super::postgres::{INSERT_RESERVATIONS, Reservations, UPDATE_WINDOWS, Windows};
use super::window_cache::WindowCache;
use super::{AdmissionVerdict, Batch, BatchResult, Entries, LockedWindows};
use crate::window_row::WindowRow;

impl Batch {
    /// Books the batch in one statement. Returns `None`, and books nothing, if
    /// that is not possible or the cached windows are outdated.
    ///
    /// Only requests that are granted in full qualify: a refusal needs the
    /// current windows, top-ups that did not exist before included.
    pub(super) async fn try_optimistic(
        &self,
        mut conn: &AsyncPostgres,
        window_cache: &mut WindowCache,
    ) -> Result<Option<BatchResult>, DbError> {
        let Some(plan) = self.plan_optimistic(window_cache)? else { return Ok(None) };
        let OptimisticPlan { cached_rows, result, entries } = plan;

        let write = OptimisticWrite {
            before: Windows::of(&cached_rows),
            after: Windows::of(&entries.windows),
            opened: Reservations::of(&entries.opened),
            // The number of keys in a batch is bounded.
            count: i64::try_from(cached_rows.len()).unwrap_or(i64::MAX),
        };
        let was_current = write.execute(&mut conn).await? == cached_rows.len();
        if !was_current {
            return Ok(None);
        }

        window_cache.record_written(entries.windows);
        Ok(Some(BatchResult { is_optimistic: true, ..result }))
    }

    /// Decides on the batch by the cached windows. Returns `None` unless all
    /// requests would be granted in full.
    fn plan_optimistic(
        &self,
        window_cache: &WindowCache,
    ) -> Result<Option<OptimisticPlan>, DbError> {
        let has_other_entries = !self.settlements.is_empty() || !self.usage.is_empty();
        if self.requests.is_empty() || has_other_entries {
            return Ok(None);
        }
        let Some(cached_rows) = window_cache.exclusive_rows(&self.keys()) else {
            return Ok(None);
        };

        let cached = LockedWindows::new(cached_rows.clone(), self.weeks, self.now)?;
        // Windows that are not cached, and sizes of pools, must be read.
        let missing = self.missing(&cached);
        let unfilled_pools = self.holders_of_unfilled_pools(&cached.credit_windows);
        if !missing.is_empty() || !unfilled_pools.is_empty() {
            return Ok(None);
        }

        let Some((result, entries)) = self.decide(cached, &missing, Vec::new(), &[]) else {
            return Ok(None);
        };
        let has_writes = !entries.windows.is_empty() && !entries.opened.is_empty();
        if !has_writes || !self.is_granted_in_full(&result.verdicts) {
            return Ok(None);
        }

        Ok(Some(OptimisticPlan { cached_rows, result, entries }))
    }

    /// Returns whether each request is granted, with all that it reserves.
    fn is_granted_in_full(&self, verdicts: &[AdmissionVerdict]) -> bool {
        self.requests.iter().zip(verdicts).all(|((_, request), verdict)| {
            matches!(verdict, AdmissionVerdict::Granted(_)) && !verdict.is_short_of(request)
        })
    }
}

/// Decision on a batch by the cached windows.
struct OptimisticPlan {
    /// Rows of the windows, which must not have changed since.
    cached_rows: Vec<WindowRow>,
    result: BatchResult,
    entries: Entries,
}

/// Statement that locks windows which are still unchanged, in the order of their
/// keys, as every lock of several does. If all are, it writes their new values and
/// the reservations. Its result has a row for each locked window.
struct OptimisticWrite<'a> {
    before: Windows<'a>,
    after: Windows<'a>,
    opened: Reservations<'a>,
    count: i64,
}

const LOCK_WINDOWS: &str = "
    WITH held AS MATERIALIZED (
        SELECT w.key FROM credit_windows w, ";

/// Condition on unchanged windows; after waiting for a row lock it is checked
/// again.
const IF_UNCHANGED: &str = "
        WHERE w.key = b.key AND w.used = b.used AND w.reserved = b.reserved
            AND w.total = b.total AND w.last_used = b.used_last_week AND w.buckets = b.buckets
            AND w.week IS NOT DISTINCT FROM b.week
        ORDER BY w.key FOR UPDATE OF w
    ), put AS (";

impl OptimisticWrite<'_> {
    /// Adds the condition that all windows were unchanged.
    fn push_condition<'b>(&'b self, out: &mut AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("(SELECT count(*) FROM held) = ");
        out.push_bind_param::<BigInt, _>(&self.count)
    }
}

impl QueryFragment<Pg> for OptimisticWrite<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(LOCK_WINDOWS);
        self.before.unnest("b", &mut out)?;
        out.push_sql(IF_UNCHANGED);
        out.push_sql(UPDATE_WINDOWS);
        self.after.unnest("v", &mut out)?;
        out.push_sql(" WHERE w.key = v.key AND ");
        self.push_condition(&mut out)?;
        out.push_sql("), opened AS (");
        out.push_sql(INSERT_RESERVATIONS);
        self.opened.unnest("v", &mut out)?;
        out.push_sql(" WHERE ");
        self.push_condition(&mut out)?;
        out.push_sql(") SELECT 1 FROM held");

        Ok(())
    }
}

pia_storage::prepared_by_text!(OptimisticWrite<'_>);
