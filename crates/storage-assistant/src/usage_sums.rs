//! Sums of usage in SQL.
//!
//! Reads the tables that `booking/sums.rs` writes, never the single calls. Days, groups
//! and models are rows of `usage_by_group`. Users are added up from weeks, which have their
//! totals and a column for each day, as the first and the last are in the range in part.
//! Numbers and the id of a group are formatted into the SQL, ids of users are bound.

use std::ops::RangeInclusive;

use async_trait::async_trait;
use chrono::NaiveDate;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};
use diesel_async::RunQueryDsl;
use pia_assistant::{
    Micros, UsageCursor, UsageDetails, UsageGrouping, UsageHour, UsageRange, UsageSubject,
    UsageSum, UsageSums, UsageUsers,
};
use pia_kernel::{GroupId, Unavailable, UserId};
use pia_storage::schema::usage_users;
use pia_storage::{Database, DatabaseKind, DbError, DbUid, Uid, on_conn};
use uuid::Uuid;

use crate::usage_hours;

/// Sums of usage in SQL.
#[derive(Debug, Clone)]
pub struct SqlUsageSums {
    db: Database,
}

impl SqlUsageSums {
    /// Creates a reader of the sums.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[derive(QueryableByName)]
struct Sums {
    #[diesel(sql_type = BigInt)]
    calls: i64,
    #[diesel(sql_type = BigInt)]
    failed: i64,
    #[diesel(sql_type = BigInt)]
    input_tokens: i64,
    #[diesel(sql_type = BigInt)]
    cached_input_tokens: i64,
    #[diesel(sql_type = BigInt)]
    output_tokens: i64,
    #[diesel(sql_type = BigInt)]
    spent_micros: i64,
    #[diesel(sql_type = BigInt)]
    timed_calls: i64,
    #[diesel(sql_type = BigInt)]
    duration_millis: i64,
}

#[derive(QueryableByName)]
struct DayRow {
    #[diesel(sql_type = Integer)]
    day: i32,
    #[diesel(sql_type = Nullable<BigInt>)]
    users: Option<i64>,
    #[diesel(embed)]
    sums: Sums,
}

#[derive(QueryableByName)]
struct GroupRow {
    #[diesel(sql_type = Uid)]
    group_id: DbUid,
    #[diesel(sql_type = Nullable<Text>)]
    name: Option<String>,
    #[diesel(embed)]
    sums: Sums,
}

#[derive(QueryableByName)]
struct ModelRow {
    #[diesel(sql_type = Text)]
    provider: String,
    #[diesel(sql_type = Text)]
    model: String,
    #[diesel(embed)]
    sums: Sums,
}

#[derive(QueryableByName)]
struct UserRow {
    #[diesel(sql_type = Uid)]
    user_id: DbUid,
    #[diesel(sql_type = Nullable<Text>)]
    email: Option<String>,
    #[diesel(sql_type = BigInt)]
    calls: i64,
    #[diesel(sql_type = BigInt)]
    spent_micros: i64,
}

/// Loads the rows of a query as sums.
macro_rules! load {
    ($store:expr, $row:ty, $sql:expr) => {{
        let query = diesel::sql_query($sql);
        let rows: Result<Vec<$row>, DbError> =
            on_conn!($store.db.reader(), |conn| query.load(conn).await?);
        rows?.into_iter().map(UsageSum::from).collect()
    }};
}

#[async_trait]
impl UsageSums for SqlUsageSums {
    async fn sums(
        &self,
        range: UsageRange,
        by: UsageGrouping,
        group: Option<GroupId>,
        limit: u32,
    ) -> Result<Vec<UsageSum>, Unavailable> {
        let days = Days::of(range, group);
        let database = self.db.provider();
        Ok(match by {
            UsageGrouping::Day => load!(self, DayRow, days.by_day(database, limit)),
            UsageGrouping::Group => load!(self, GroupRow, days.by_group(database, limit)),
            UsageGrouping::Model => load!(self, ModelRow, days.by_model(database, limit)),
            UsageGrouping::User => self.user_sums(range, UsageUsers::First, group, limit).await?,
        })
    }

    async fn user_sums(
        &self,
        range: UsageRange,
        users: UsageUsers,
        group: Option<GroupId>,
        limit: u32,
    ) -> Result<Vec<UsageSum>, Unavailable> {
        let sql = Days::of(range, group).by_user(self.db.provider(), users, limit);
        let user = match users {
            UsageUsers::First => return Ok(load!(self, UserRow, sql)),
            UsageUsers::After(cursor) => cursor.user,
            UsageUsers::One(user) => user,
        };
        let query = diesel::sql_query(sql).bind::<Uid, _>(DbUid(user.0));
        let rows: Vec<UserRow> = on_conn!(self.db.reader(), |conn| query.load(conn).await?)?;
        Ok(rows.into_iter().map(UsageSum::from).collect())
    }

    async fn count_users_since(&self, day: NaiveDate) -> Result<i64, Unavailable> {
        // Deleted accounts share the nil id.
        let is_account = usage_users::user_id.ne(DbUid(Uuid::nil()));
        let is_recent = usage_users::last_day.ge(day.to_epoch_days());
        let count = usage_users::table.filter(is_account).filter(is_recent).count();
        Ok(on_conn!(self.db.reader(), |conn| count.get_result(conn).await?)?)
    }

    async fn hours_of(&self, day: NaiveDate) -> Result<Vec<UsageHour>, Unavailable> {
        Ok(usage_hours::load_hours(&self.db, day).await?)
    }

    async fn delete_hours(&self, before: NaiveDate) -> Result<u64, Unavailable> {
        Ok(usage_hours::delete_hours(&self.db, before).await?)
    }
}

/// Days of a query, since 1970-01-01, of one group or of all.
#[derive(Debug, Clone, Copy)]
struct Days {
    from: i32,
    to: i32,
    group: Option<GroupId>,
}

impl Days {
    fn of(range: UsageRange, group: Option<GroupId>) -> Self {
        let from = range.first_day().to_epoch_days();
        let to = range.last_day().to_epoch_days();
        Self { from, to, group }
    }

    fn by_day(self, database: DatabaseKind, limit: u32) -> String {
        let sums = self.sums_by(database, "day");
        // Users of a day are counted in all groups together.
        let users = match self.group {
            None => "COALESCE(d.users, 0)",
            Some(_) => "CAST(NULL AS BIGINT)",
        };
        format!(
            "SELECT t.*, {users} AS users FROM ({sums}) t
            LEFT JOIN usage_days d ON d.day = t.day ORDER BY t.day LIMIT {limit}"
        )
    }

    fn by_group(self, database: DatabaseKind, limit: u32) -> String {
        let sums = self.sums_by(database, "group_id");
        format!(
            "SELECT t.*, g.name FROM ({sums}) t LEFT JOIN user_groups g ON g.id = t.group_id
            ORDER BY spent_micros DESC, calls DESC, group_id LIMIT {limit}"
        )
    }

    fn by_model(self, database: DatabaseKind, limit: u32) -> String {
        let sums = self.sums_by(database, "provider, model");
        format!("{sums} ORDER BY spent_micros DESC, calls DESC, provider, model LIMIT {limit}")
    }

    fn sums_by(self, database: DatabaseKind, columns: &str) -> String {
        let Self { from, to, group } = self;
        let in_group = group.map_or_else(String::new, |it| {
            format!("AND group_id = {}", group_literal(database, it))
        });
        format!(
            "SELECT {columns}, CAST(SUM(calls) AS BIGINT) AS calls,
                CAST(SUM(failed) AS BIGINT) AS failed,
                CAST(SUM(input_tokens) AS BIGINT) AS input_tokens,
                CAST(SUM(cached_input_tokens) AS BIGINT) AS cached_input_tokens,
                CAST(SUM(output_tokens) AS BIGINT) AS output_tokens,
                CAST(SUM(spent_micros) AS BIGINT) AS spent_micros,
                CAST(SUM(timed_calls) AS BIGINT) AS timed_calls,
                CAST(SUM(duration_millis) AS BIGINT) AS duration_millis
            FROM usage_by_group WHERE day BETWEEN {from} AND {to} {in_group} GROUP BY {columns}"
        )
    }

    /// Returns the query of the users who spent most. The id of a position or of one
    /// user is its parameter.
    fn by_user(self, database: DatabaseKind, users: UsageUsers, limit: u32) -> String {
        let weeks = self.weeks_of_users(database);
        let of_user = match users {
            UsageUsers::One(_) => "AND u.user_id = $1",
            UsageUsers::First | UsageUsers::After(_) => "",
        };
        let in_group = self.group.map_or_else(String::new, |it| {
            let group = group_literal(database, it);
            format!("AND u.user_id IN (SELECT id FROM accounts WHERE group_id = {group})")
        });
        let after = match users {
            UsageUsers::After(UsageCursor { spent: Micros(micros), calls, .. }) => format!(
                "AND (SUM(u.spent) < {micros} OR SUM(u.spent) = {micros} AND (
                    SUM(u.calls) < {calls} OR SUM(u.calls) = {calls} AND u.user_id > $1))"
            ),
            UsageUsers::First | UsageUsers::One(_) => String::new(),
        };

        format!(
            "SELECT t.*, a.email FROM (
                SELECT u.user_id, CAST(SUM(u.calls) AS BIGINT) AS calls,
                    CAST(SUM(u.spent) AS BIGINT) AS spent_micros
                FROM ({weeks}) u WHERE TRUE {of_user} {in_group}
                GROUP BY u.user_id HAVING SUM(u.calls) > 0 {after}
                ORDER BY spent_micros DESC, calls DESC, u.user_id LIMIT {limit}
            ) t LEFT JOIN accounts a ON a.id = t.user_id
            ORDER BY spent_micros DESC, calls DESC, user_id"
        )
    }

    /// Returns the query of the weeks of users: their calls and costs on these days.
    fn weeks_of_users(self, database: DatabaseKind) -> String {
        match database {
            DatabaseKind::Sqlite => self.joined_weeks(),
            DatabaseKind::Postgres => self.appended_weeks(),
        }
    }

    /// Returns the weeks for SQLite, in the order of users: the join leads it from one to the
    /// next, so that it adds up their weeks without sorting them.
    fn joined_weeks(self) -> String {
        let Self { from, .. } = self;
        let (first_week, last_week) = self.weeks();
        let sum = |column: &str| {
            let partial_weeks = self
                .partial_weeks()
                .into_iter()
                .map(|it| format!("WHEN {} THEN {}", it.week, sum_of_days(column, it.weekdays)));
            let partial_weeks: Vec<_> = partial_weeks.collect();
            format!("CASE week {} ELSE {column} END", partial_weeks.join(" "))
        };
        format!(
            "SELECT c.user_id, {} AS calls, {} AS spent
            FROM usage_users c JOIN usage_by_user w ON w.user_id = c.user_id
            WHERE c.last_day >= {from} AND week BETWEEN {first_week} AND {last_week}",
            sum("calls"),
            sum("spent")
        )
    }

    /// Returns the weeks for PostgreSQL, which reads nothing of a row behind the totals
    /// where no other column is named: whole weeks are a query of their own.
    fn appended_weeks(self) -> String {
        let (first_week, last_week) = self.weeks();
        let weeks = self.partial_weeks().into_iter().map(|it| {
            let PartialWeek { week, weekdays } = it;
            let calls = sum_of_days("calls", weekdays.clone());
            let spent = sum_of_days("spent", weekdays);
            format!(
                "SELECT user_id, {calls} AS calls, {spent} AS spent FROM usage_by_user
                WHERE week = {week}"
            )
        });
        let whole_weeks = format!(
            "SELECT user_id, calls, spent FROM usage_by_user
            WHERE week > {first_week} AND week < {last_week}"
        );
        weeks.chain([whole_weeks]).collect::<Vec<_>>().join(" UNION ALL ")
    }

    /// Returns the first and the last week that these days are in.
    fn weeks(self) -> (i32, i32) {
        (self.from.div_euclid(7), self.to.div_euclid(7))
    }

    /// Returns the first and the last week with their days in the range.
    fn partial_weeks(self) -> Vec<PartialWeek> {
        let (first_week, last_week) = self.weeks();
        let first_weekday = self.from.rem_euclid(7);
        let last_weekday = self.to.rem_euclid(7);
        if first_week == last_week {
            return vec![PartialWeek { week: first_week, weekdays: first_weekday..=last_weekday }];
        }
        vec![
            PartialWeek { week: first_week, weekdays: first_weekday..=6 },
            PartialWeek { week: last_week, weekdays: 0..=last_weekday },
        ]
    }
}

/// Week of which only some days may be in a range.
struct PartialWeek {
    week: i32,
    weekdays: RangeInclusive<i32>,
}

/// Returns the id of a group as SQL: it is a UUID, and so has no quotes.
fn group_literal(database: DatabaseKind, group: GroupId) -> String {
    match database {
        DatabaseKind::Sqlite => format!("X'{}'", group.0.simple()),
        DatabaseKind::Postgres => format!("'{}'", group.0),
    }
}

/// Returns the sum of a column over days of a week: `calls_0 + calls_1`.
fn sum_of_days(column: &str, weekdays: RangeInclusive<i32>) -> String {
    weekdays.map(|day| format!("{column}_{day}")).collect::<Vec<_>>().join(" + ")
}

impl Sums {
    fn of(self, subject: UsageSubject) -> UsageSum {
        let details = UsageDetails {
            failed: self.failed,
            input_tokens: self.input_tokens,
            cached_input_tokens: self.cached_input_tokens,
            output_tokens: self.output_tokens,
            timed_calls: self.timed_calls,
            duration_millis: self.duration_millis,
        };
        let spent = Micros(self.spent_micros);
        UsageSum { subject, calls: self.calls, spent, details: Some(details), users: None }
    }
}

impl From<DayRow> for UsageSum {
    fn from(row: DayRow) -> Self {
        let day = NaiveDate::from_epoch_days(row.day).unwrap_or_default();
        UsageSum { users: row.users, ..row.sums.of(UsageSubject::Day(day)) }
    }
}

impl From<GroupRow> for UsageSum {
    fn from(row: GroupRow) -> Self {
        row.sums.of(UsageSubject::Group { id: GroupId(row.group_id.0), name: row.name })
    }
}

impl From<ModelRow> for UsageSum {
    fn from(row: ModelRow) -> Self {
        row.sums.of(UsageSubject::Model { provider: row.provider, name: row.model })
    }
}

impl From<UserRow> for UsageSum {
    fn from(row: UserRow) -> Self {
        let UserRow { user_id, email, calls, spent_micros } = row;
        let subject = UsageSubject::User { id: UserId(user_id.0), email };
        Self { subject, calls, spent: Micros(spent_micros), details: None, users: None }
    }
}
