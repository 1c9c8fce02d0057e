//! The statements of the till, each once for both backends.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel_async::RunQueryDsl;
use pia_assistant::Weeks;
use pia_storage::schema::{accounts, ai_usage, credit_reservations, credit_windows, user_groups};
use pia_storage::{AsyncPostgres, AsyncSqlite, DbError, DbInstant, DbUid, Instant, Uid};
use uuid::Uuid;

use crate::window_row::{ReservationRow, WindowRow};

/// Of a member's allowance what they used in one week, whether or not their
/// window has turned to the next since. Who came after it left nothing of it.
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

#[derive(QueryableByName)]
struct Unused {
    #[diesel(sql_type = BigInt)]
    unused: i64,
}

/// A window that does not agree with its reservations.
#[derive(QueryableByName)]
pub(crate) struct MismatchRow {
    #[diesel(sql_type = Text)]
    pub(crate) window_key: String,
    #[diesel(sql_type = BigInt)]
    pub(crate) reserved: i64,
    #[diesel(sql_type = BigInt)]
    pub(crate) open: i64,
}

/// What a pool is filled by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LastWeek {
    pub(crate) group: Uuid,
    /// Each member's allowance.
    pub(crate) allowance: i64,
    /// When last week began.
    pub(crate) start: DbInstant,
    /// When this one did.
    pub(crate) end: DbInstant,
}

/// The statements of the till.
pub(crate) trait Statements: LockWindows {
    /// Windows as they are, unlocked.
    fn windows(
        &mut self,
        keys: &[String],
    ) -> impl Future<Output = Result<Vec<WindowRow>, DbError>> + Send;

    /// What of these there is: people, and groups.
    fn known(
        &mut self,
        users: &[DbUid],
        groups: &[DbUid],
    ) -> impl Future<Output = Result<Vec<DbUid>, DbError>> + Send;

    /// What a group's members left of last week's allowances.
    fn unused(&mut self, week: LastWeek) -> impl Future<Output = Result<i64, DbError>> + Send;

    /// Ends reservations. Who is given a row is the one who books it.
    fn end(
        &mut self,
        ids: &[DbUid],
    ) -> impl Future<Output = Result<Vec<ReservationRow>, DbError>> + Send;

    /// Which of these calls were written down already.
    fn written(
        &mut self,
        ids: &[DbUid],
    ) -> impl Future<Output = Result<Vec<DbUid>, DbError>> + Send;

    /// Windows that do not agree with their reservations.
    fn mismatches(&mut self) -> impl Future<Output = Result<Vec<MismatchRow>, DbError>> + Send;
}

/// A function generic over connections would have to name the type of every
/// query in its bounds, so the one body is compiled twice, as in `on_conn!`.
macro_rules! statements {
    ($($conn:ty),*) => {$(
        impl Statements for $conn {
            async fn windows(&mut self, keys: &[String]) -> Result<Vec<WindowRow>, DbError> {
                let rows = credit_windows::table.filter(credit_windows::key.eq_any(keys));
                Ok(rows.select(WindowRow::as_select()).load(self).await?)
            }

            async fn known(
                &mut self,
                users: &[DbUid],
                groups: &[DbUid],
            ) -> Result<Vec<DbUid>, DbError> {
                let people = accounts::table.filter(accounts::id.eq_any(users));
                let mut known: Vec<DbUid> = people.select(accounts::id).load(self).await?;
                let there = user_groups::table.filter(user_groups::id.eq_any(groups));
                known.extend(there.select(user_groups::id).load::<DbUid>(self).await?);
                Ok(known)
            }

            async fn unused(&mut self, week: LastWeek) -> Result<i64, DbError> {
                let LastWeek { group, allowance, start, end } = week;
                // Windows may have begun a week by another zone.
                let from = |it: DbInstant| DbInstant(it.0 - Weeks::HALF);
                let until = |it: DbInstant| DbInstant(it.0 + Weeks::HALF);
                let found: Unused = diesel::sql_query(UNUSED)
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
                    .get_result(self)
                    .await?;
                Ok(found.unused)
            }

            async fn end(&mut self, ids: &[DbUid]) -> Result<Vec<ReservationRow>, DbError> {
                if ids.is_empty() {
                    return Ok(Vec::new());
                }
                let ended = credit_reservations::table
                    .filter(credit_reservations::id.eq_any(ids));
                let ended = diesel::delete(ended).returning(ReservationRow::as_returning());
                Ok(ended.get_results(self).await?)
            }

            async fn written(&mut self, ids: &[DbUid]) -> Result<Vec<DbUid>, DbError> {
                if ids.is_empty() {
                    return Ok(Vec::new());
                }
                let there = ai_usage::table.filter(ai_usage::id.eq_any(ids));
                Ok(there.select(ai_usage::id).load(self).await?)
            }

            async fn mismatches(&mut self) -> Result<Vec<MismatchRow>, DbError> {
                Ok(diesel::sql_query(MISMATCHES).load(self).await?)
            }
        }
    )*};
}

statements!(AsyncSqlite, AsyncPostgres);

/// What the two backends do differently.
pub(crate) trait LockWindows {
    /// Windows, kept from all others until the transaction ends. All who lock
    /// several do so in the order of their keys.
    fn lock_windows(
        &mut self,
        keys: &[String],
    ) -> impl Future<Output = Result<Vec<WindowRow>, DbError>> + Send;

    /// Writes what windows have become.
    fn put_windows(
        &mut self,
        rows: Vec<WindowRow>,
    ) -> impl Future<Output = Result<(), DbError>> + Send;
}

/// There is one writer anyway.
impl LockWindows for AsyncSqlite {
    async fn lock_windows(&mut self, keys: &[String]) -> Result<Vec<WindowRow>, DbError> {
        self.windows(keys).await
    }

    async fn put_windows(&mut self, rows: Vec<WindowRow>) -> Result<(), DbError> {
        let put = self.spawn_blocking(move |conn| {
            rows.iter().try_for_each(|row| {
                let window = diesel::update(credit_windows::table.find(&row.key)).set(row);
                diesel::RunQueryDsl::execute(window, conn).map(drop)
            })
        });
        Ok(put.await?)
    }
}

const PUT: &str = "
    UPDATE credit_windows AS w SET
        week = v.week, total = v.total, used = v.used, reserved = v.reserved,
        last_used = v.last_used, buckets = v.buckets
    FROM unnest($1::text[], $2::timestamptz[], $3::bigint[], $4::bigint[], $5::bigint[],
                $6::bigint[], $7::text[])
        AS v (key, week, total, used, reserved, last_used, buckets)
    WHERE w.key = v.key";

impl LockWindows for AsyncPostgres {
    async fn lock_windows(&mut self, keys: &[String]) -> Result<Vec<WindowRow>, DbError> {
        let rows = credit_windows::table
            .filter(credit_windows::key.eq_any(keys))
            .order(credit_windows::key)
            .select(WindowRow::as_select())
            .for_update();
        Ok(rows.load(self).await?)
    }

    async fn put_windows(&mut self, rows: Vec<WindowRow>) -> Result<(), DbError> {
        use diesel::sql_types::{Array, Nullable};
        if rows.is_empty() {
            return Ok(());
        }
        let numbers = |of: fn(&WindowRow) -> i64| rows.iter().map(of).collect::<Vec<_>>();
        let put = diesel::sql_query(PUT)
            .bind::<Array<Text>, _>(rows.iter().map(|it| &*it.key).collect::<Vec<_>>())
            .bind::<Array<Nullable<Instant>>, _>(rows.iter().map(|it| it.week).collect::<Vec<_>>())
            .bind::<Array<BigInt>, _>(numbers(|it| it.total))
            .bind::<Array<BigInt>, _>(numbers(|it| it.used))
            .bind::<Array<BigInt>, _>(numbers(|it| it.reserved))
            .bind::<Array<BigInt>, _>(numbers(|it| it.last_used))
            .bind::<Array<Text>, _>(rows.iter().map(|it| &*it.buckets).collect::<Vec<_>>());
        put.execute(self).await?;
        Ok(())
    }
}
