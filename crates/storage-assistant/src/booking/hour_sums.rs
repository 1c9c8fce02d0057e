//! Sums of usage by hour, which are written in the transaction of its rows.
//!
//! `usage_by_hour` has one row for each user and hour with calls, in hours since
//! 1970-01-01 UTC; deleted accounts share the nil id. PostgreSQL adds to it in the
//! statement that stores usage (`ADD_TO_HOURS`), SQLite row by row (`HourSums`);
//! `usage_hours.rs` reads it.

use std::collections::BTreeMap;

use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Integer};
use diesel::sqlite::Sqlite;
use pia_assistant::CallOutcome;
use pia_storage::{DbUid, Uid};
use uuid::Uuid;

use crate::usage_row::UsageRow;

/// Part of the statement that stores usage on PostgreSQL, after the part `noted`,
/// which returns the stored rows.
pub(super) const ADD_TO_HOURS: &str = "
    ), by_hour AS (
        INSERT INTO usage_by_hour AS t (
            hour, user_id, calls, failed, spent_micros, duration_millis)
        SELECT
            FLOOR(EXTRACT(EPOCH FROM at) / 3600)::int AS hour, user_id,
            COUNT(*), COUNT(*) FILTER (WHERE outcome = 'failed'),
            SUM(spent_micros), SUM(duration_millis)
        FROM noted GROUP BY hour, user_id ORDER BY hour, user_id
        ON CONFLICT (hour, user_id) DO UPDATE SET
            calls = t.calls + excluded.calls, failed = t.failed + excluded.failed,
            spent_micros = t.spent_micros + excluded.spent_micros,
            duration_millis = t.duration_millis + excluded.duration_millis";

const TO_HOUR: &str = "
    INSERT INTO usage_by_hour (hour, user_id, calls, failed, spent_micros, duration_millis)
    VALUES (";

const OR_TO_HOUR: &str = ")
    ON CONFLICT (hour, user_id) DO UPDATE SET
        calls = calls + excluded.calls, failed = failed + excluded.failed,
        spent_micros = spent_micros + excluded.spent_micros,
        duration_millis = duration_millis + excluded.duration_millis";

const MICROS_PER_HOUR: i64 = 3600 * 1_000_000;

/// Sums of a batch on SQLite, in the order of the statement's columns, by hour and user.
#[derive(Debug, Default)]
pub(super) struct HourSums(BTreeMap<(i32, Uuid), [i64; 4]>);

impl HourSums {
    /// Adds a row that was stored, under the id of its account or the nil id.
    pub(super) fn add(&mut self, row: &UsageRow, user: DbUid) {
        let hours = row.at.0.micros().div_euclid(MICROS_PER_HOUR);
        // Timestamps of calls are within a few thousand years.
        let hour = i32::try_from(hours).unwrap_or(i32::MAX);
        let failed = i64::from(row.outcome == CallOutcome::Failed.name());
        let added = [1, failed, row.spent_micros, row.duration_millis];
        let sums = self.0.entry((hour, user.0)).or_default();
        for (sum, value) in sums.iter_mut().zip(added) {
            *sum = sum.saturating_add(value);
        }
    }

    pub(super) fn write(self, conn: &mut SqliteConnection) -> QueryResult<()> {
        for ((hour, user), sums) in self.0 {
            AddToHour { hour, user: DbUid(user), sums }.execute(conn)?;
        }
        Ok(())
    }
}

/// Increment of a user's sums of an hour, which is prepared once.
struct AddToHour {
    hour: i32,
    user: DbUid,
    sums: [i64; 4],
}

impl QueryFragment<Sqlite> for AddToHour {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql(TO_HOUR);
        out.push_bind_param::<Integer, _>(&self.hour)?;
        out.push_sql(", ");
        out.push_bind_param::<Uid, _>(&self.user)?;
        for sum in &self.sums {
            out.push_sql(", ");
            out.push_bind_param::<BigInt, _>(sum)?;
        }
        out.push_sql(OR_TO_HOUR);
        Ok(())
    }
}

impl QueryId for AddToHour {
    type QueryId = Self;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl RunQueryDsl<SqliteConnection> for AddToHour {}
