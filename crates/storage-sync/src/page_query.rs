//! Query of a page, which diesel cannot express and still caches as a prepared
//! statement.
//!
//! The inner query sums sizes in the order of stamps and finds the last stamp
//! that fits: a row fits if the rows before it are smaller than the limit, so
//! that one row is returned in any case. `reading.rs` chooses how it is loaded.

use diesel::backend::Backend;
use diesel::connection::DefaultLoadingMode;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, Binary, HasSqlType, Nullable, SmallInt};
use diesel::sqlite::SqliteConnection;
use diesel_async::RunQueryDsl as _;
use futures_util::TryStreamExt as _;
use pia_kernel::{Timestamp, UserId};
use pia_storage::{AsyncPostgres, DbError, DbInstant, DbUid, Instant, Uid};
use pia_sync::{ItemPage, PageLimit};

use crate::page_making::PageBuilder;

/// Query of the changes after a stamp, up to the limit of rows or bytes. The
/// index alone finds the limit; bodies are read only up to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageQuery {
    user: DbUid,
    since: DbInstant,
    rows: i64,
    bytes: i64,
}

/// Row of the query, with its account's salt.
#[derive(Queryable)]
pub(crate) struct PageRow {
    pub(crate) channel: i16,
    pub(crate) id: DbUid,
    pub(crate) stamp: DbInstant,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) salt: Option<Vec<u8>>,
}

impl PageQuery {
    pub(crate) fn new(user: UserId, since: Timestamp, limit: PageLimit) -> Self {
        Self {
            user: DbUid(user.0),
            since: DbInstant(since),
            rows: i64::from(limit.rows),
            bytes: i64::try_from(limit.bytes).unwrap_or(i64::MAX),
        }
    }

    /// Loads the page on the thread that owns the connection: otherwise each
    /// value is copied for the transfer, and then copied once more.
    pub(crate) fn load_blocking(
        self,
        conn: &mut SqliteConnection,
        mut builder: PageBuilder,
    ) -> Result<ItemPage, DbError> {
        for row in RunQueryDsl::load_iter::<PageRow, DefaultLoadingMode>(self, conn)? {
            builder.add(row?)?;
        }
        Ok(builder.build())
    }

    /// Loads the page as rows arrive, on a connection that may be shared.
    pub(crate) async fn stream(
        self,
        mut conn: &AsyncPostgres,
        mut builder: PageBuilder,
    ) -> Result<ItemPage, DbError> {
        let mut rows = self.load_stream::<PageRow>(&mut conn).await?;
        while let Some(row) = rows.try_next().await? {
            builder.add(row)?;
        }
        Ok(builder.build())
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
