//! Booking of a batch on PostgreSQL. One that only admits calls is one statement, if
//! no other instance has changed its windows. Otherwise it takes two round trips,
//! unless a week begins or a call is settled that was settled before: the first reads
//! and locks what is needed, the second writes with one statement, and the
//! transaction begins and ends in them.

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::sql_types::{Array, BigInt, Bool, Nullable, Text};
use diesel_async::RunQueryDsl;
use diesel_async::pooled_connection::deadpool::Object;
use futures_util::join;
use pia_storage::schema::{ai_usage, credit_reservations, credit_windows};
use pia_storage::{AsyncPostgres, DbError, DbInstant, DbUid, Instant, Pipelined, Uid, columns};

use super::window_cache::WindowCache;
use super::{
    AttemptOutcome, Batch, BatchResult, Entries, LockedWindows, PutWindows, fill_pool, hour_sums,
    last_week, sums,
};
use crate::statements::Statements;
use crate::usage_row::UsageRow;
use crate::window_row::{ReservationRow, WindowRow};

/// Decision on a batch, based on the rows that were read.
enum Prepared {
    Decided(BatchResult, Entries),
    /// Outcome of an attempt that writes nothing.
    Undecided(AttemptOutcome),
}

/// Tries to book a batch; if windows are missing and were not just `created`,
/// nothing is booked.
pub(super) async fn attempt(
    conn: Object<AsyncPostgres>,
    batch: &Batch,
    created: bool,
    window_cache: &mut WindowCache,
) -> Result<AttemptOutcome, DbError> {
    if let Some(booked) = batch.try_optimistic(&conn, window_cache).await? {
        return Ok(AttemptOutcome::Booked(booked));
    }

    let mut conn = Pipelined::new(conn);
    let outcome = match batch.prepare(&mut conn, created, window_cache).await {
        Ok(Prepared::Decided(booked, entries)) => {
            let write = Write::of(&entries, &batch.usage);
            // Sent together: a failed write makes the commit roll back.
            let (written, committed) = join!(write.run(conn.shared()?), conn.commit());
            committed?;
            written?;
            window_cache.record_written(entries.windows);
            Ok(AttemptOutcome::Booked(booked))
        }
        Ok(Prepared::Undecided(outcome)) => {
            conn.roll_back().await?;
            Ok(outcome)
        }
        Err(err) if conn.roll_back().await.is_err() => return Err(err),
        Err(err) => Err(err),
    };

    conn.release();

    outcome
}

impl Batch {
    /// Begins, locks the windows, and decides. Reservations are only read: they end
    /// under the lock of their windows.
    async fn prepare(
        &self,
        conn: &mut Pipelined,
        created: bool,
        window_cache: &mut WindowCache,
    ) -> Result<Prepared, DbError> {
        let keys = self.keys();
        let ids = self.ended_reservations();
        let shared = conn.shared()?;
        let (begun, windows, ended) =
            join!(conn.begin(), lock_windows(shared, &keys), load_reservations(shared, &ids));
        begun?;
        let windows = windows?;
        let ended = ended?;
        window_cache.record_read(&windows);
        let mut locked = LockedWindows::new(windows, self.weeks, self.now)?;
        let missing = self.missing(&locked);
        if !created && !missing.is_empty() {
            return Ok(Prepared::Undecided(AttemptOutcome::Missing(missing)));
        }

        for holder in self.holders_of_unfilled_pools(&locked.credit_windows) {
            let unused =
                conn.alone()?.unused_credits(last_week(&holder, &locked.credit_windows)).await?;
            fill_pool(&mut locked.credit_windows, &holder, unused);
        }

        let unreserved_usage = self.usage_without_reservation(&ended);
        let written = find_recorded(conn.shared()?, &unreserved_usage).await?;
        Ok(match self.decide(locked, &missing, ended, &written) {
            Some((booked, entries)) => Prepared::Decided(booked, entries),
            None => Prepared::Undecided(AttemptOutcome::Short),
        })
    }
}

/// Returns windows, locked until the transaction ends. Several windows are always
/// locked in the order of their keys.
async fn lock_windows(mut conn: &AsyncPostgres, keys: &[String]) -> QueryResult<Vec<WindowRow>> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    credit_windows::table
        .filter(credit_windows::key.eq_any(keys))
        .order(credit_windows::key)
        .select(WindowRow::as_select())
        .for_update()
        .load(&mut conn)
        .await
}

async fn load_reservations(
    mut conn: &AsyncPostgres,
    ids: &[DbUid],
) -> QueryResult<Vec<ReservationRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    credit_reservations::table
        .filter(credit_reservations::id.eq_any(ids))
        .select(ReservationRow::as_select())
        .load(&mut conn)
        .await
}

/// Returns those of these calls that are already recorded.
async fn find_recorded(mut conn: &AsyncPostgres, ids: &[DbUid]) -> QueryResult<Vec<DbUid>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    ai_usage::table.filter(ai_usage::id.eq_any(ids)).select(ai_usage::id).load(&mut conn).await
}

columns! {
    /// New values of windows.
    Windows of WindowRow {
        key: Text = String,
        week: Nullable<Instant> = Option<DbInstant>,
        total: BigInt = i64,
        used: BigInt = i64,
        reserved: BigInt = i64,
        used_last_week: BigInt = i64,
        buckets: Text = String,
    }
}

columns! {
    /// Reservations of calls.
    Reservations of ReservationRow {
        id: Uid = DbUid,
        window_key: Text = String,
        instance_id: Uid = DbUid,
        amount: BigInt = i64,
        opened_at: Instant = DbInstant,
    }
}

columns! {
    /// Usage of calls.
    Usage of UsageRow {
        id: Uid = DbUid,
        at: Instant = DbInstant,
        user_id: Uid = DbUid,
        mode: Text = &'static str,
        provider: Text = &'static str,
        model: Text = String,
        input_tokens: BigInt = i64,
        cached_input_tokens: BigInt = i64,
        output_tokens: BigInt = i64,
        estimated: Bool = bool,
        outcome: Text = &'static str,
        group_id: Nullable<Uid> = Option<DbUid>,
        api_key_id: Nullable<Uid> = Option<DbUid>,
        entry_id: Nullable<Text> = Option<String>,
        connector_tokens: BigInt = i64,
        input_rate: BigInt = i64,
        output_rate: BigInt = i64,
        cached_input_rate: BigInt = i64,
        connector_rate: BigInt = i64,
        spent_micros: BigInt = i64,
        duration_millis: BigInt = i64,
    }
}

pub(super) const UPDATE_WINDOWS: &str = "
    UPDATE credit_windows AS w SET
        week = v.week, total = v.total, used = v.used, reserved = v.reserved,
        last_used = v.used_last_week, buckets = v.buckets
    FROM ";

pub(super) const INSERT_RESERVATIONS: &str = "
    INSERT INTO credit_reservations (id, window_key, instance_id, amount, opened_at)
    SELECT id, window_key, instance_id, amount, opened_at FROM ";

/// Statement that inserts usage. Usage of an account deleted meanwhile gets the
/// nil user id.
const INSERT_USAGE: &str = "
    INSERT INTO ai_usage (
        id, at, user_id, mode, provider, model,
        input_tokens, cached_input_tokens, output_tokens, estimated, outcome,
        group_id, api_key_id, entry_id, connector_tokens,
        input_rate, output_rate, cached_input_rate, connector_rate, spent_micros,
        duration_millis)
    SELECT
        v.id, v.at,
        COALESCE((SELECT a.id FROM accounts a WHERE a.id = v.user_id),
            '00000000-0000-0000-0000-000000000000'),
        v.mode, v.provider, v.model,
        v.input_tokens, v.cached_input_tokens, v.output_tokens, v.estimated, v.outcome,
        v.group_id, v.api_key_id, v.entry_id, v.connector_tokens,
        v.input_rate, v.output_rate, v.cached_input_rate, v.connector_rate, v.spent_micros,
        v.duration_millis
    FROM ";

impl PutWindows for AsyncPostgres {
    async fn put_windows(&mut self, rows: Vec<WindowRow>) -> Result<(), DbError> {
        if !rows.is_empty() {
            UpdateWindows(Windows::of(&rows)).execute(self).await?;
        }
        Ok(())
    }
}

struct UpdateWindows<'a>(Windows<'a>);

/// Statement with all writes of a batch, so that either all reach the server or none.
/// Empty parts are left out.
struct Write<'a> {
    put: Option<UpdateWindows<'a>>,
    ended: &'a [DbUid],
    opened: Option<Reservations<'a>>,
    usage: Option<Usage<'a>>,
}

impl<'a> Write<'a> {
    fn of(entries: &'a Entries, usage: &'a [UsageRow]) -> Self {
        let Entries { windows, ended, opened } = entries;
        Self {
            put: (!windows.is_empty()).then(|| UpdateWindows(Windows::of(windows))),
            ended,
            opened: (!opened.is_empty()).then(|| Reservations::of(opened)),
            usage: (!usage.is_empty()).then(|| Usage::of(usage)),
        }
    }

    async fn run(self, mut conn: &AsyncPostgres) -> QueryResult<()> {
        let Self { put, ended, opened, usage } = &self;
        if put.is_none() && ended.is_empty() && opened.is_none() && usage.is_none() {
            return Ok(());
        }
        self.execute(&mut conn).await.map(drop)
    }
}

impl QueryFragment<Pg> for UpdateWindows<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(UPDATE_WINDOWS);
        self.0.unnest("v", &mut out)?;
        out.push_sql(" WHERE w.key = v.key");
        Ok(())
    }
}

impl QueryFragment<Pg> for Write<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let mut separator = "WITH ";
        let mut begin = |out: &mut AstPass<'_, 'b, Pg>, name| {
            out.push_sql(std::mem::replace(&mut separator, "), "));
            out.push_sql(name);
            out.push_sql(" AS (");
        };

        if let Some(put) = &self.put {
            begin(&mut out, "put");
            put.walk_ast(out.reborrow())?;
        }

        if !self.ended.is_empty() {
            begin(&mut out, "ended");
            out.push_sql("DELETE FROM credit_reservations WHERE id = ANY(");
            out.push_bind_param::<Array<Uid>, _>(self.ended)?;
            out.push_sql(")");
        }

        if let Some(opened) = &self.opened {
            begin(&mut out, "opened");
            out.push_sql(INSERT_RESERVATIONS);
            opened.unnest("v", &mut out)?;
        }

        if let Some(usage) = &self.usage {
            begin(&mut out, "noted");
            out.push_sql(INSERT_USAGE);
            usage.unnest("v", &mut out)?;
            out.push_sql(
                " ON CONFLICT DO NOTHING
                RETURNING at, user_id, group_id, provider, model, outcome,
                    input_tokens, cached_input_tokens, output_tokens, spent_micros,
                    duration_millis",
            );
            out.push_sql(hour_sums::ADD_TO_HOURS);
            out.push_sql(sums::ADD_SUMS);
        }

        out.push_sql(") SELECT 1");

        Ok(())
    }
}

pia_storage::prepared_by_text!(UpdateWindows<'_>, Write<'_>);

#[cfg(test)]
mod tests {
    use pia_assistant::{WindowKey, WindowKind};
    use pia_kernel::BudgetPeriod;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_batch_writes_one_statement_without_its_empty_parts() {
        let key = WindowKey { kind: WindowKind::Limit(BudgetPeriod::Hourly), owner: Uuid::nil() };
        let windows = vec![WindowRow::new(key, None, None); 2];
        let ended = vec![DbUid(Uuid::nil())];
        let entries = Entries { windows, ended, opened: Vec::new() };

        let write = Write::of(&entries, &[]);

        let text = diesel::debug_query::<Pg, _>(&write).to_string();
        let sql = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(sql.starts_with("WITH put AS ( UPDATE credit_windows"), "{sql}");
        assert!(sql.contains("FROM unnest($1, $2, $3, $4, $5, $6, $7) AS v (key, week,"), "{sql}");
        assert!(sql.contains("WHERE w.key = v.key), ended AS (DELETE"), "{sql}");
        assert!(sql.contains("id = ANY($8)) SELECT 1"), "{sql}");
    }
}
