//! Admission of calls in one statement, on PostgreSQL: by cached windows, if they
//! are still current.

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::sql_types::BigInt;
use diesel_async::RunQueryDsl;
use pia_storage::{AsyncPostgres, DbError};

use super::postgres::{OPEN, PUT, ReservationOutcome, Windows};
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
        last_seen: &mut WindowCache,
    ) -> Result<Option<BatchResult>, DbError> {
        let Some((before, booked, entries)) = self.granted(last_seen)? else { return Ok(None) };

        let guess = OptimisticWrite {
            before: Windows::of(&before),
            after: Windows::of(&entries.windows),
            opened: ReservationOutcome::of(&entries.opened),
            // The number of keys in a batch is bounded.
            count: i64::try_from(before.len()).unwrap_or(i64::MAX),
        };
        let right = guess.execute(&mut conn).await? == before.len();
        if right {
            last_seen.record_written(entries.windows);
        }

        Ok(right.then_some(BatchResult { guessed: true, ..booked }))
    }

    /// Computes the result from the cached windows, and returns it with them, if
    /// all requests would be granted in full.
    fn granted(
        &self,
        last_seen: &WindowCache,
    ) -> Result<Option<(Vec<WindowRow>, BatchResult, Entries)>, DbError> {
        if self.requests.is_empty() || !self.settlements.is_empty() || !self.usage.is_empty() {
            return Ok(None);
        }
        let Some(before) = last_seen.unchanged_rows(&self.keys()) else { return Ok(None) };

        let held = LockedWindows::new(before.clone(), self.weeks, self.now)?;
        let missing = self.missing(&held);
        if !missing.is_empty() || !self.unfilled(&held.credit_windows).is_empty() {
            return Ok(None);
        }

        let decided = self.decide(held, &missing, Vec::new(), &[]);
        let fully_granted = decided.filter(|(booked, entries)| {
            let mut verdicts = self.requests.iter().zip(&booked.verdicts);
            let granted = |it: &AdmissionVerdict| matches!(it, AdmissionVerdict::Granted(_));
            verdicts.all(|((_, request), it)| granted(it) && !it.is_short_of(request))
                && !entries.windows.is_empty()
                && !entries.opened.is_empty()
        });

        Ok(fully_granted.map(|(booked, entries)| (before, booked, entries)))
    }
}

/// Statement that locks windows which are still unchanged, in the order of their
/// keys, as every lock of several does. If all are, it writes their new values and
/// the reservations. Its result has a row for each locked window.
struct OptimisticWrite<'a> {
    before: Windows<'a>,
    after: Windows<'a>,
    opened: ReservationOutcome<'a>,
    count: i64,
}

const HELD: &str = "
    WITH held AS MATERIALIZED (
        SELECT w.key FROM credit_windows w, ";

/// Condition on unchanged windows; after waiting for a row lock it is checked
/// again.
const STILL: &str = "
        WHERE w.key = b.key AND w.used = b.used AND w.reserved = b.reserved
            AND w.total = b.total AND w.last_used = b.used_last_week AND w.buckets = b.buckets
            AND w.week IS NOT DISTINCT FROM b.week
        ORDER BY w.key FOR UPDATE OF w
    ), put AS (";

impl OptimisticWrite<'_> {
    fn if_all_are<'b>(&'b self, out: &mut AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("(SELECT count(*) FROM held) = ");
        out.push_bind_param::<BigInt, _>(&self.count)
    }
}

impl QueryFragment<Pg> for OptimisticWrite<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(HELD);
        self.before.unnest("b", &mut out)?;
        out.push_sql(STILL);
        out.push_sql(PUT);
        self.after.unnest("v", &mut out)?;
        out.push_sql(" WHERE w.key = v.key AND ");
        self.if_all_are(&mut out)?;
        out.push_sql("), opened AS (");
        out.push_sql(OPEN);
        self.opened.unnest("v", &mut out)?;
        out.push_sql(" WHERE ");
        self.if_all_are(&mut out)?;
        out.push_sql(") SELECT 1 FROM held");

        Ok(())
    }
}

pia_storage::prepared_by_text!(OptimisticWrite<'_>);
