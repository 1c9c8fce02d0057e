//! Booking of a batch on SQLite: one task on the thread that has the connection.
//! Statements are prepared once, so each is for one row.

use std::sync::Arc;

use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Nullable, Text};
use diesel::sqlite::Sqlite;
use diesel_async::pooled_connection::deadpool::Object;
use pia_storage::schema::{accounts, ai_usage, credit_reservations, credit_windows};
use pia_storage::{AsyncSqlite, DbError, DbUid, Instant};

use super::hour_sums::HourSums;
use super::sums::BatchSums;
use super::{
    AttemptOutcome, Batch, DELETED_USER, Entries, LockedWindows, PutWindows, fill_pool, last_week,
};
use crate::statements::load_unused;
use crate::usage_row::UsageRow;
use crate::window_row::{ReservationRow, WindowRow};

/// Tries to book a batch; if windows are missing and were not just `created`,
/// nothing is booked.
pub(super) async fn attempt(
    mut conn: Object<AsyncSqlite>,
    batch: Arc<Batch>,
    created: bool,
) -> Result<AttemptOutcome, DbError> {
    let transaction = conn.spawn_blocking(move |conn| {
        Ok(conn.immediate_transaction(|conn| batch.book_on_sqlite(conn, created)))
    });
    transaction.await?
}

impl Batch {
    fn book_on_sqlite(
        &self,
        conn: &mut SqliteConnection,
        created: bool,
    ) -> Result<AttemptOutcome, DbError> {
        let windows = load_windows(conn, &self.keys())?;
        let mut locked = LockedWindows::new(windows, self.weeks, self.now)?;
        let missing = self.missing(&locked);
        if !created && !missing.is_empty() {
            return Ok(AttemptOutcome::Missing(missing));
        }

        for holder in self.holders_of_unfilled_pools(&locked.credit_windows) {
            let unused_credits = load_unused(conn, last_week(&holder, &locked.credit_windows))?;
            fill_pool(&mut locked.credit_windows, &holder, unused_credits);
        }

        let ended = load_reservations(conn, &self.ended_reservations())?;
        let written = find_recorded(conn, &self.usage_without_reservation(&ended))?;
        let Some((booked, entries)) = self.decide(locked, &missing, ended, &written) else {
            return Ok(AttemptOutcome::Short);
        };

        entries.write(conn)?;
        let mut sums = BatchSums::default();
        let mut hour_sums = HourSums::default();
        for row in &self.usage {
            if let Some(user) = record(conn, row)? {
                sums.add(row, user);
                hour_sums.add(row, user);
            }
        }

        sums.write(conn)?;
        hour_sums.write(conn)?;

        Ok(AttemptOutcome::Booked(booked))
    }
}

impl Entries {
    fn write(&self, conn: &mut SqliteConnection) -> QueryResult<()> {
        update_windows(conn, &self.windows)?;
        for id in &self.ended {
            diesel::delete(credit_reservations::table.filter(credit_reservations::id.eq(id)))
                .execute(conn)?;
        }
        for row in &self.opened {
            diesel::insert_into(credit_reservations::table).values(row).execute(conn)?;
        }
        Ok(())
    }
}

fn load_windows(conn: &mut SqliteConnection, keys: &[String]) -> QueryResult<Vec<WindowRow>> {
    let mut rows = Vec::with_capacity(keys.len());
    for key in keys {
        let row: Option<WindowRow> = credit_windows::table
            .find(key)
            .select(WindowRow::as_select())
            .first(conn)
            .optional()?;
        rows.extend(row);
    }
    Ok(rows)
}

fn load_reservations(
    conn: &mut SqliteConnection,
    ids: &[DbUid],
) -> QueryResult<Vec<ReservationRow>> {
    let mut rows = Vec::new();
    for id in ids {
        let rows_of_call: Vec<ReservationRow> = credit_reservations::table
            .filter(credit_reservations::id.eq(id))
            .select(ReservationRow::as_select())
            .load(conn)?;
        rows.extend(rows_of_call);
    }
    Ok(rows)
}

/// Returns those of these calls that are already recorded.
fn find_recorded(conn: &mut SqliteConnection, ids: &[DbUid]) -> QueryResult<Vec<DbUid>> {
    let mut recorded = Vec::new();
    for id in ids {
        let existing_id =
            ai_usage::table.find(id).select(ai_usage::id).first::<DbUid>(conn).optional()?;
        recorded.extend(existing_id);
    }
    Ok(recorded)
}

/// Stores usage, and returns its user id unless it was stored before. Usage of an
/// account deleted meanwhile gets the nil user id.
fn record(conn: &mut SqliteConnection, row: &UsageRow) -> QueryResult<Option<DbUid>> {
    let user_id = accounts::table
        .find(row.user_id)
        .select(accounts::id)
        .first::<DbUid>(conn)
        .optional()?
        .unwrap_or(DELETED_USER);
    let inserted_rows = diesel::insert_into(ai_usage::table)
        .values(UsageRow { user_id, ..row.clone() })
        .on_conflict_do_nothing()
        .execute(conn)?;
    Ok((inserted_rows > 0).then_some(user_id))
}

impl PutWindows for AsyncSqlite {
    async fn put_windows(&mut self, rows: Vec<WindowRow>) -> Result<(), DbError> {
        Ok(self.spawn_blocking(move |conn| update_windows(conn, &rows)).await?)
    }
}

fn update_windows(conn: &mut SqliteConnection, rows: &[WindowRow]) -> QueryResult<()> {
    rows.iter().try_for_each(|row| UpdateWindow(row).execute(conn).map(drop))
}

/// Update of one window, which is prepared once: diesel would prepare its own each time.
struct UpdateWindow<'a>(&'a WindowRow);

impl QueryFragment<Sqlite> for UpdateWindow<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        let row = self.0;
        out.push_sql("UPDATE credit_windows SET week = ");
        out.push_bind_param::<Nullable<Instant>, _>(&row.week)?;
        out.push_sql(", total = ");
        out.push_bind_param::<BigInt, _>(&row.total)?;
        out.push_sql(", used = ");
        out.push_bind_param::<BigInt, _>(&row.used)?;
        out.push_sql(", reserved = ");
        out.push_bind_param::<BigInt, _>(&row.reserved)?;
        out.push_sql(", last_used = ");
        out.push_bind_param::<BigInt, _>(&row.used_last_week)?;
        out.push_sql(", buckets = ");
        out.push_bind_param::<Text, _>(&row.buckets)?;
        out.push_sql(" WHERE key = ");

        out.push_bind_param::<Text, _>(&row.key)
    }
}

impl QueryId for UpdateWindow<'_> {
    type QueryId = UpdateWindow<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl RunQueryDsl<SqliteConnection> for UpdateWindow<'_> {}
