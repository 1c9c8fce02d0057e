//! The query of a page, which diesel has no words for and keeps prepared all
//! the same.

use diesel::backend::Backend;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, Binary, HasSqlType, Nullable, SmallInt};
use diesel::sqlite::SqliteConnection;
use pia_storage::{AsyncSqlite, DbInstant, DbUid, Instant, Uid};

/// What changed after a stamp, up to the place where rows or bytes are enough.
/// Where that is, is found in the index alone; bodies are read only up to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageQuery {
    pub(crate) user: DbUid,
    pub(crate) since: DbInstant,
    pub(crate) rows: i64,
    pub(crate) bytes: i64,
}

/// One row of it, with its person's salt.
#[derive(Queryable)]
pub(crate) struct PageRow {
    pub(crate) channel: i16,
    pub(crate) id: DbUid,
    pub(crate) stamp: DbInstant,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) salt: Option<Vec<u8>>,
}

impl PageQuery {
    /// Reads the rows on the thread that owns the connection. What crosses over
    /// otherwise is a copy of each value, which is then copied once more.
    pub(crate) async fn load_there(self, conn: &mut AsyncSqlite) -> QueryResult<Vec<PageRow>> {
        conn.spawn_blocking(move |conn| RunQueryDsl::load(self, conn)).await
    }
}

impl RunQueryDsl<SqliteConnection> for PageQuery {}

impl Query for PageQuery {
    type SqlType = (SmallInt, Uid, Instant, Nullable<Binary>, Nullable<Binary>);
}

impl QueryId for PageQuery {
    type QueryId = Self;

    // Its text is always the same.
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl<DB> QueryFragment<DB> for PageQuery
where
    DB: Backend + HasSqlType<Uid> + HasSqlType<Instant> + HasSqlType<BigInt>,
    DbUid: ToSql<Uid, DB>,
    DbInstant: ToSql<Instant, DB>,
    i64: ToSql<BigInt, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql(
            "SELECT channel, id, stamp, body, salt FROM sync_items \
             LEFT JOIN person_salts ON person_salts.user_id = sync_items.user_id \
             WHERE sync_items.user_id = ",
        );
        out.push_bind_param::<Uid, _>(&self.user)?;
        out.push_sql(" AND stamp > ");
        out.push_bind_param::<Instant, _>(&self.since)?;
        out.push_sql(
            " AND stamp <= (SELECT MAX(stamp) FROM (\
             SELECT stamp, SUM(size) OVER (ORDER BY stamp) - size AS so_far FROM (\
             SELECT stamp, size FROM sync_items WHERE user_id = ",
        );
        out.push_bind_param::<Uid, _>(&self.user)?;
        out.push_sql(" AND stamp > ");
        out.push_bind_param::<Instant, _>(&self.since)?;
        out.push_sql(" ORDER BY stamp LIMIT ");
        out.push_bind_param::<BigInt, _>(&self.rows)?;
        out.push_sql(") AS next) AS summed WHERE so_far < ");
        out.push_bind_param::<BigInt, _>(&self.bytes)?;
        out.push_sql(") ORDER BY stamp");
        Ok(())
    }
}
