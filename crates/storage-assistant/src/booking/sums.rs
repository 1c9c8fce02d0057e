//! Sums of usage, which are written in the transaction of its rows.
//!
//! Four tables: `usage_by_group` (day, group and model), `usage_by_user` (one row a
//! week, with columns for its seven days), `usage_days` (number of users of a day) and
//! `usage_users` (last day of a user). Days are counted in UTC since 1970-01-01, and a
//! week is seven of them, so it begins on a Thursday. PostgreSQL adds everything in one
//! statement (`ADD_SUMS`), SQLite row by row (`BatchSums`); `usage_sums.rs` reads.

use std::collections::BTreeMap;

use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Integer, Text};
use diesel::sqlite::Sqlite;
use diesel::upsert::excluded;
use pia_assistant::CallOutcome;
use pia_storage::schema::usage_days;
use pia_storage::{DbUid, Uid};
use uuid::Uuid;

use crate::usage_row::UsageRow;

/// Parts of the statement that stores usage on PostgreSQL, after the part `noted`,
/// which returns the stored rows: a row that was stored before counts once. Sums
/// are written in the order of their keys, so that two instances do not wait for
/// each other. A user is new on a day if all their calls of that day are of this
/// batch. Deleted accounts, which share the nil id, are not counted.
pub(super) const ADD_SUMS: &str = "
    ), dated AS (
        SELECT (at AT TIME ZONE 'UTC')::date - DATE '1970-01-01' AS day, noted.* FROM noted
    ), by_group AS (
        INSERT INTO usage_by_group AS t (
            day, group_id, provider, model, calls, failed,
            input_tokens, cached_input_tokens, output_tokens, spent_micros,
            timed_calls, duration_millis)
        SELECT
            day, COALESCE(group_id, '00000000-0000-0000-0000-000000000000') AS of_group,
            provider, model, COUNT(*), COUNT(*) FILTER (WHERE outcome = 'failed'),
            SUM(input_tokens), SUM(cached_input_tokens), SUM(output_tokens), SUM(spent_micros),
            COUNT(*), SUM(duration_millis)
        FROM dated GROUP BY day, of_group, provider, model ORDER BY day, of_group, provider, model
        ON CONFLICT (day, group_id, provider, model) DO UPDATE SET
            calls = t.calls + excluded.calls, failed = t.failed + excluded.failed,
            input_tokens = t.input_tokens + excluded.input_tokens,
            cached_input_tokens = t.cached_input_tokens + excluded.cached_input_tokens,
            output_tokens = t.output_tokens + excluded.output_tokens,
            spent_micros = t.spent_micros + excluded.spent_micros,
            timed_calls = t.timed_calls + excluded.timed_calls,
            duration_millis = t.duration_millis + excluded.duration_millis
    ), by_user AS (
        INSERT INTO usage_by_user AS t (
            week, user_id, calls_0, spent_0, calls_1, spent_1, calls_2, spent_2,
            calls_3, spent_3, calls_4, spent_4, calls_5, spent_5, calls_6, spent_6)
        SELECT
            day / 7 AS week, user_id,
            COUNT(*) FILTER (WHERE day % 7 = 0),
            COALESCE(SUM(spent_micros) FILTER (WHERE day % 7 = 0), 0),
            COUNT(*) FILTER (WHERE day % 7 = 1),
            COALESCE(SUM(spent_micros) FILTER (WHERE day % 7 = 1), 0),
            COUNT(*) FILTER (WHERE day % 7 = 2),
            COALESCE(SUM(spent_micros) FILTER (WHERE day % 7 = 2), 0),
            COUNT(*) FILTER (WHERE day % 7 = 3),
            COALESCE(SUM(spent_micros) FILTER (WHERE day % 7 = 3), 0),
            COUNT(*) FILTER (WHERE day % 7 = 4),
            COALESCE(SUM(spent_micros) FILTER (WHERE day % 7 = 4), 0),
            COUNT(*) FILTER (WHERE day % 7 = 5),
            COALESCE(SUM(spent_micros) FILTER (WHERE day % 7 = 5), 0),
            COUNT(*) FILTER (WHERE day % 7 = 6),
            COALESCE(SUM(spent_micros) FILTER (WHERE day % 7 = 6), 0)
        FROM dated GROUP BY day / 7, user_id ORDER BY day / 7, user_id
        ON CONFLICT (week, user_id) DO UPDATE SET
            calls_0 = t.calls_0 + excluded.calls_0, spent_0 = t.spent_0 + excluded.spent_0,
            calls_1 = t.calls_1 + excluded.calls_1, spent_1 = t.spent_1 + excluded.spent_1,
            calls_2 = t.calls_2 + excluded.calls_2, spent_2 = t.spent_2 + excluded.spent_2,
            calls_3 = t.calls_3 + excluded.calls_3, spent_3 = t.spent_3 + excluded.spent_3,
            calls_4 = t.calls_4 + excluded.calls_4, spent_4 = t.spent_4 + excluded.spent_4,
            calls_5 = t.calls_5 + excluded.calls_5, spent_5 = t.spent_5 + excluded.spent_5,
            calls_6 = t.calls_6 + excluded.calls_6, spent_6 = t.spent_6 + excluded.spent_6
        RETURNING t.week, t.user_id, ARRAY[
            t.calls_0, t.calls_1, t.calls_2, t.calls_3, t.calls_4, t.calls_5, t.calls_6] AS calls
    ), by_day AS (
        INSERT INTO usage_days AS t (day, users)
        SELECT added.day, COUNT(*)
        FROM (SELECT day, user_id, COUNT(*) AS calls FROM dated GROUP BY day, user_id) AS added
        JOIN by_user ON by_user.week = added.day / 7 AND by_user.user_id = added.user_id
            AND by_user.calls[added.day % 7 + 1] = added.calls
            AND added.user_id <> '00000000-0000-0000-0000-000000000000'
        GROUP BY added.day ORDER BY added.day
        ON CONFLICT (day) DO UPDATE SET users = t.users + excluded.users
    ), last_days AS (
        INSERT INTO usage_users AS t (user_id, last_day)
        SELECT user_id, MAX(day) FROM dated GROUP BY user_id ORDER BY user_id
        ON CONFLICT (user_id) DO UPDATE SET last_day = excluded.last_day
        WHERE t.last_day < excluded.last_day";

const TO_GROUP: &str = "
    INSERT INTO usage_by_group (
        day, group_id, provider, model, calls, failed,
        input_tokens, cached_input_tokens, output_tokens, spent_micros,
        timed_calls, duration_millis)
    VALUES (";

const OR_TO_GROUP: &str = ")
    ON CONFLICT (day, group_id, provider, model) DO UPDATE SET
        calls = calls + excluded.calls, failed = failed + excluded.failed,
        input_tokens = input_tokens + excluded.input_tokens,
        cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
        output_tokens = output_tokens + excluded.output_tokens,
        spent_micros = spent_micros + excluded.spent_micros,
        timed_calls = timed_calls + excluded.timed_calls,
        duration_millis = duration_millis + excluded.duration_millis";

const TO_USER: &str = "
    INSERT INTO usage_by_user (
        week, user_id, calls_0, spent_0, calls_1, spent_1, calls_2, spent_2,
        calls_3, spent_3, calls_4, spent_4, calls_5, spent_5, calls_6, spent_6)
    VALUES (";

const OR_TO_USER: &str = ")
    ON CONFLICT (week, user_id) DO UPDATE SET
        calls_0 = calls_0 + excluded.calls_0, spent_0 = spent_0 + excluded.spent_0,
        calls_1 = calls_1 + excluded.calls_1, spent_1 = spent_1 + excluded.spent_1,
        calls_2 = calls_2 + excluded.calls_2, spent_2 = spent_2 + excluded.spent_2,
        calls_3 = calls_3 + excluded.calls_3, spent_3 = spent_3 + excluded.spent_3,
        calls_4 = calls_4 + excluded.calls_4, spent_4 = spent_4 + excluded.spent_4,
        calls_5 = calls_5 + excluded.calls_5, spent_5 = spent_5 + excluded.spent_5,
        calls_6 = calls_6 + excluded.calls_6, spent_6 = spent_6 + excluded.spent_6
    RETURNING calls_0, calls_1, calls_2, calls_3, calls_4, calls_5, calls_6";

const TO_LAST_DAY: &str = "
    INSERT INTO usage_users (user_id, last_day) VALUES (";

const OR_TO_LAST_DAY: &str = ")
    ON CONFLICT (user_id) DO UPDATE SET last_day = excluded.last_day
    WHERE last_day < excluded.last_day";

const MICROS_PER_DAY: i64 = 24 * 3600 * 1_000_000;
const DAYS_PER_WEEK: usize = 7;

/// Sums of a batch on SQLite. Statements are prepared once, so each row of the
/// two tables is written with its own.
#[derive(Debug, Default)]
pub(super) struct BatchSums<'a> {
    by_group: BTreeMap<GroupKey<'a>, GroupSums>,
    by_user: BTreeMap<UserKey, [DaySums; DAYS_PER_WEEK]>,
    /// Last day with a call of each user.
    last_days: BTreeMap<Uuid, i32>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct GroupKey<'a> {
    day: i32,
    group: Uuid,
    provider: &'a str,
    model: &'a str,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct UserKey {
    week: i32,
    user: Uuid,
}

/// Sums of a group's calls of one model on one day.
#[derive(Debug, Clone, Copy, Default)]
struct GroupSums {
    calls: i64,
    failed: i64,
    input_tokens: i64,
    cached_input_tokens: i64,
    output_tokens: i64,
    spent_micros: i64,
    timed_calls: i64,
    duration_millis: i64,
}

impl GroupSums {
    fn add(&mut self, row: &UsageRow) {
        add_to(&mut self.calls, 1);
        add_to(&mut self.failed, i64::from(row.outcome == CallOutcome::Failed.name()));
        add_to(&mut self.input_tokens, row.input_tokens);
        add_to(&mut self.cached_input_tokens, row.cached_input_tokens);
        add_to(&mut self.output_tokens, row.output_tokens);
        add_to(&mut self.spent_micros, row.spent_micros);
        add_to(&mut self.timed_calls, 1);
        add_to(&mut self.duration_millis, row.duration_millis);
    }

    /// Returns the sums in the order of the statement's columns.
    fn columns(&self) -> [&i64; 8] {
        [
            &self.calls,
            &self.failed,
            &self.input_tokens,
            &self.cached_input_tokens,
            &self.output_tokens,
            &self.spent_micros,
            &self.timed_calls,
            &self.duration_millis,
        ]
    }
}

/// Sums of a user's calls on one day.
#[derive(Debug, Clone, Copy, Default)]
struct DaySums {
    calls: i64,
    spent_micros: i64,
}

impl DaySums {
    fn add(&mut self, row: &UsageRow) {
        add_to(&mut self.calls, 1);
        add_to(&mut self.spent_micros, row.spent_micros);
    }
}

fn add_to(sum: &mut i64, value: i64) {
    *sum = sum.saturating_add(value);
}

impl<'a> BatchSums<'a> {
    /// Adds a row that was stored, under the id of its account or the nil id.
    pub(super) fn add(&mut self, row: &'a UsageRow, user: DbUid) {
        let day = row.at.0.micros().div_euclid(MICROS_PER_DAY);
        let week = day.div_euclid(7);
        let weekday = usize::try_from(day.rem_euclid(7)).unwrap_or_default();
        // Timestamps of calls are within a few thousand years.
        let to_i32 = |it| i32::try_from(it).unwrap_or(i32::MAX);
        let group = GroupKey {
            day: to_i32(day),
            group: row.group_id.map_or_else(Uuid::nil, |it| it.0),
            provider: row.provider,
            model: &row.model,
        };

        let last_day = self.last_days.entry(user.0).or_insert(group.day);
        *last_day = group.day.max(*last_day);
        self.by_group.entry(group).or_default().add(row);

        let user = UserKey { week: to_i32(week), user: user.0 };
        let sums_of_week = self.by_user.entry(user).or_default();
        if let Some(sums_of_day) = sums_of_week.get_mut(weekday) {
            sums_of_day.add(row);
        }
    }

    /// Writes the sums: users before days, since the stored calls of a user
    /// reveal whether the user is new on a day.
    pub(super) fn write(self, conn: &mut SqliteConnection) -> QueryResult<()> {
        for (key, sums) in self.by_group {
            AddToGroup { group: DbUid(key.group), key, sums }.execute(conn)?;
        }

        let mut new_users: BTreeMap<i32, i64> = BTreeMap::new();
        for (UserKey { week, user }, sums) in self.by_user {
            let calls: CallsOfWeek =
                AddToUser { week, user: DbUid(user), sums }.get_result(conn)?;
            let days = week.saturating_mul(7)..;
            for ((day, calls), added) in days.zip(<[i64; DAYS_PER_WEEK]>::from(calls)).zip(sums) {
                let all_are_of_this_batch = added.calls > 0 && added.calls == calls;
                // Deleted accounts share the nil id.
                if all_are_of_this_batch && !user.is_nil() {
                    *new_users.entry(day).or_default() += 1;
                }
            }
        }

        for (day, users) in new_users {
            add_users(conn, day, users)?;
        }
        for (user, day) in self.last_days {
            SetLastDay { user: DbUid(user), day }.execute(conn)?;
        }

        Ok(())
    }
}

fn add_users(conn: &mut SqliteConnection, day: i32, users: i64) -> QueryResult<()> {
    diesel::insert_into(usage_days::table)
        .values((usage_days::day.eq(day), usage_days::users.eq(users)))
        .on_conflict(usage_days::day)
        .do_update()
        .set(usage_days::users.eq(usage_days::users + excluded(usage_days::users)))
        .execute(conn)
        .map(drop)
}

/// Increment of a group's sums, which is prepared once.
struct AddToGroup<'a> {
    key: GroupKey<'a>,
    group: DbUid,
    sums: GroupSums,
}

/// Numbers of a user's calls on the days of a week.
type CallsOfWeek = (i64, i64, i64, i64, i64, i64, i64);

/// Increment of a user's sums, which is prepared once and returns their calls
/// after it.
struct AddToUser {
    week: i32,
    user: DbUid,
    sums: [DaySums; DAYS_PER_WEEK],
}

/// A user's last day with calls, unless a later one is stored.
struct SetLastDay {
    user: DbUid,
    day: i32,
}

impl QueryFragment<Sqlite> for AddToGroup<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql(TO_GROUP);
        out.push_bind_param::<Integer, _>(&self.key.day)?;
        out.push_sql(", ");
        out.push_bind_param::<Uid, _>(&self.group)?;
        for name in [&self.key.provider, &self.key.model] {
            out.push_sql(", ");
            out.push_bind_param::<Text, _>(name)?;
        }
        push_sums(self.sums.columns(), &mut out)?;
        out.push_sql(OR_TO_GROUP);
        Ok(())
    }
}

impl QueryFragment<Sqlite> for AddToUser {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql(TO_USER);
        out.push_bind_param::<Integer, _>(&self.week)?;
        out.push_sql(", ");
        out.push_bind_param::<Uid, _>(&self.user)?;
        let columns = self.sums.iter().flat_map(|day| [&day.calls, &day.spent_micros]);
        push_sums(columns, &mut out)?;
        out.push_sql(OR_TO_USER);
        Ok(())
    }
}

impl QueryFragment<Sqlite> for SetLastDay {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql(TO_LAST_DAY);
        out.push_bind_param::<Uid, _>(&self.user)?;
        out.push_sql(", ");
        out.push_bind_param::<Integer, _>(&self.day)?;
        out.push_sql(OR_TO_LAST_DAY);
        Ok(())
    }
}

fn push_sums<'b>(
    sums: impl IntoIterator<Item = &'b i64>,
    out: &mut AstPass<'_, 'b, Sqlite>,
) -> QueryResult<()> {
    for sum in sums {
        out.push_sql(", ");
        out.push_bind_param::<BigInt, _>(sum)?;
    }
    Ok(())
}

impl QueryId for AddToGroup<'_> {
    type QueryId = AddToGroup<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl Query for AddToUser {
    type SqlType = (BigInt, BigInt, BigInt, BigInt, BigInt, BigInt, BigInt);
}

impl QueryId for AddToUser {
    type QueryId = Self;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl QueryId for SetLastDay {
    type QueryId = Self;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl RunQueryDsl<SqliteConnection> for AddToGroup<'_> {}
impl RunQueryDsl<SqliteConnection> for AddToUser {}
impl RunQueryDsl<SqliteConnection> for SetLastDay {}
