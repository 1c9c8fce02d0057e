//! Statements besides those of a batch, each for both backends.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel_async::RunQueryDsl;
use pia_assistant::Weeks;
use pia_storage::schema::{accounts, credit_windows, user_groups};
use pia_storage::{
    AsyncPostgres, AsyncSqlite, DbError, DbInstant, DbUid, Instant, Uid, connection_trait,
};
use uuid::Uuid;

use crate::window_row::WindowRow;

/// Subquery of the unused part of one week's allowances of a group's members. A window still
/// in that week counts by `used`, one that has since turned by `last_used`, and a member with
/// neither left the full allowance. Members who joined later left nothing.
const UNUSED: &str = "
    SELECT CAST(COALESCE(SUM(CASE
        WHEN w.week >= $1 AND w.week < $2 THEN
            CASE WHEN w.used > $3 THEN 0 ELSE $4 - w.used END
        WHEN w.week >= $5 AND w.week < $6 THEN
            CASE WHEN w.last_used > $7 THEN 0 ELSE $8 - w.last_used END
        ELSE $9 END), 0) AS BIGINT) AS unused
    FROM accounts a
    LEFT JOIN credit_windows w ON w.user_id = a.id AND w.kind = 'weekly'
    WHERE a.group_id = $10 AND a.deactivated_at IS NULL AND a.created_at < $11";

const MISMATCHES: &str = "
    SELECT w.key AS window_key, w.reserved AS reserved, COALESCE(r.open, 0) AS open
    FROM credit_windows w LEFT JOIN (
        SELECT window_key, CAST(SUM(amount) AS BIGINT) AS open
        FROM credit_reservations GROUP BY window_key
    ) r ON r.window_key = w.key
    WHERE w.reserved <> COALESCE(r.open, 0) ORDER BY w.key";

/// Window whose reserved amount differs from its reservations.
#[derive(QueryableByName)]
pub(crate) struct MismatchRow {
    #[diesel(sql_type = Text)]
    pub(crate) window_key: String,
    #[diesel(sql_type = BigInt)]
    pub(crate) reserved: i64,
    #[diesel(sql_type = BigInt)]
    pub(crate) open: i64,
}

/// Inputs from which a pool is filled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LastWeek {
    pub(crate) group: Uuid,
    /// Each member's allowance of a week, in millionths of a credit.
    pub(crate) allowance: i64,
    /// Start of last week.
    pub(crate) start: DbInstant,
    /// Start of this week.
    pub(crate) end: DbInstant,
}

#[derive(QueryableByName)]
struct Unused {
    #[diesel(sql_type = BigInt)]
    unused: i64,
}

/// Builds the query of unused credits, for connections of every kind.
macro_rules! unused_credits {
    ($week:expr) => {{
        let LastWeek { group, allowance, start, end } = $week;
        // A window's week may have begun in another time zone.
        let from = |it: DbInstant| DbInstant(it.0 - Weeks::HALF);
        let until = |it: DbInstant| DbInstant(it.0 + Weeks::HALF);
        diesel::sql_query(UNUSED)
            .bind::<Instant, _>(from(start))
            .bind::<Instant, _>(until(start))
            .bind::<BigInt, _>(allowance)
            .bind::<BigInt, _>(allowance)
            .bind::<Instant, _>(from(end))
            .bind::<Instant, _>(until(end))
            .bind::<BigInt, _>(allowance)
            .bind::<BigInt, _>(allowance)
            .bind::<BigInt, _>(allowance)
            .bind::<Uid, _>(DbUid(group))
            .bind::<Instant, _>(end)
    }};
}

/// Returns the credits that a group's members left unused, within a batch on
/// SQLite.
pub(crate) fn load_unused(conn: &mut SqliteConnection, week: LastWeek) -> QueryResult<i64> {
    let row: Unused = diesel::RunQueryDsl::get_result(unused_credits!(week), conn)?;
    Ok(row.unused)
}

connection_trait! {
    /// Statements besides those of a batch.
    pub(crate) trait Statements: LockWindows {
        /// Returns windows, unlocked.
        async fn windows(&mut self, keys: &[String]) -> Result<Vec<WindowRow>, DbError> {
            let rows: Vec<WindowRow> = credit_windows::table
                .filter(credit_windows::key.eq_any(keys))
                .select(WindowRow::as_select())
                .load(self)
                .await?;
            Ok(rows)
        }

        /// Returns those of these users and groups that exist.
        async fn existing_ids(
            &mut self,
            users: &[DbUid],
            groups: &[DbUid],
        ) -> Result<Vec<DbUid>, DbError> {
            let mut existing_ids: Vec<DbUid> = accounts::table
                .filter(accounts::id.eq_any(users))
                .select(accounts::id)
                .load(self)
                .await?;
            let existing_groups: Vec<DbUid> = user_groups::table
                .filter(user_groups::id.eq_any(groups))
                .select(user_groups::id)
                .load(self)
                .await?;
            existing_ids.extend(existing_groups);
            Ok(existing_ids)
        }

        /// Returns the unused part of the last week's allowances of a group's
        /// members.
        async fn unused_credits(&mut self, week: LastWeek) -> Result<i64, DbError> {
            let row: Unused = unused_credits!(week).get_result(self).await?;
            Ok(row.unused)
        }

        /// Returns the windows whose reserved amount differs from their reservations.
        async fn mismatches(&mut self) -> Result<Vec<MismatchRow>, DbError> {
            Ok(diesel::sql_query(MISMATCHES).load(self).await?)
        }
    }
}

/// Statements that differ between the two backends.
pub(crate) trait LockWindows {
    /// Returns windows, locked until the transaction ends. Several windows are
    /// always locked in the order of their keys.
    fn lock_windows(
        &mut self,
        keys: &[String],
    ) -> impl Future<Output = Result<Vec<WindowRow>, DbError>> + Send;
}

/// SQLite has one writer and needs no lock.
impl LockWindows for AsyncSqlite {
    async fn lock_windows(&mut self, keys: &[String]) -> Result<Vec<WindowRow>, DbError> {
        self.windows(keys).await
    }
}

impl LockWindows for AsyncPostgres {
    async fn lock_windows(&mut self, keys: &[String]) -> Result<Vec<WindowRow>, DbError> {
        let rows: Vec<WindowRow> = credit_windows::table
            .filter(credit_windows::key.eq_any(keys))
            .order(credit_windows::key)
            .select(WindowRow::as_select())
            .for_update()
            .load(self)
            .await?;
        Ok(rows)
    }
}
