//! Sums of usage by hour in SQL, which `booking/hour_sums.rs` writes.

use chrono::NaiveDate;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer};
use diesel_async::RunQueryDsl;
use pia_assistant::{Micros, UsageHour};
use pia_storage::schema::usage_by_hour;
use pia_storage::{Database, DatabaseKind, DbError, on_conn};

const DAY_HOURS: i32 = 24;

#[derive(QueryableByName)]
struct HourRow {
    #[diesel(sql_type = Integer)]
    hour_of_day: i32,
    #[diesel(sql_type = BigInt)]
    users: i64,
    #[diesel(sql_type = BigInt)]
    calls: i64,
    #[diesel(sql_type = BigInt)]
    failed: i64,
    #[diesel(sql_type = BigInt)]
    spent_micros: i64,
    #[diesel(sql_type = BigInt)]
    duration_millis: i64,
}

/// Loads the sums of the hours of a day that have calls, in order. The nil id, which
/// deleted accounts share, is not counted as a user.
pub(crate) async fn load_hours(db: &Database, day: NaiveDate) -> Result<Vec<UsageHour>, DbError> {
    let first = first_hour(day);
    let last = first.saturating_add(DAY_HOURS - 1);
    let nil_id = match db.provider() {
        DatabaseKind::Sqlite => "zeroblob(16)",
        DatabaseKind::Postgres => "'00000000-0000-0000-0000-000000000000'",
    };
    let query = diesel::sql_query(format!(
        "SELECT hour - {first} AS hour_of_day,
            COUNT(*) FILTER (WHERE user_id <> {nil_id}) AS users,
            CAST(SUM(calls) AS BIGINT) AS calls, CAST(SUM(failed) AS BIGINT) AS failed,
            CAST(SUM(spent_micros) AS BIGINT) AS spent_micros,
            CAST(SUM(duration_millis) AS BIGINT) AS duration_millis
        FROM usage_by_hour WHERE hour BETWEEN {first} AND {last} GROUP BY hour ORDER BY hour"
    ));
    let rows: Vec<HourRow> = on_conn!(db.reader(), |conn| query.load(conn).await?)?;
    Ok(rows.into_iter().map(UsageHour::from).collect())
}

/// Deletes the sums of hours before a day, and returns the number of rows.
pub(crate) async fn delete_hours(db: &Database, before: NaiveDate) -> Result<u64, DbError> {
    let old_hours = usage_by_hour::table.filter(usage_by_hour::hour.lt(first_hour(before)));
    let deleted_rows: usize =
        on_conn!(db.writer(), |conn| diesel::delete(old_hours).execute(conn).await?)?;
    Ok(deleted_rows as u64)
}

/// Returns the first hour of a day, since 1970-01-01 UTC.
fn first_hour(day: NaiveDate) -> i32 {
    day.to_epoch_days().saturating_mul(DAY_HOURS)
}

impl From<HourRow> for UsageHour {
    fn from(row: HourRow) -> Self {
        Self {
            hour: u32::try_from(row.hour_of_day).unwrap_or_default(),
            users: row.users,
            calls: row.calls,
            failed: row.failed,
            spent: Micros(row.spent_micros),
            duration_millis: row.duration_millis,
        }
    }
}
