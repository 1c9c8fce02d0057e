//! Counts that need not survive a power cut.

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Text};
use diesel::sqlite::Sqlite;
use diesel_async::RunQueryDsl;

use crate::db::{Conn, Database, DbError};

/// A statement on PostgreSQL whose commit does not wait for the disk. It says
/// so itself, so that nothing of it stays with a connection that others use
/// next, and while it runs nobody holds a row from one round trip to another.
#[derive(QueryId)]
struct Unhurried<S>(S);

impl<S: QueryFragment<Pg>> QueryFragment<Pg> for Unhurried<S> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("WITH counted AS (");
        self.0.walk_ast(out.reborrow())?;
        out.push_sql(" RETURNING 1) SELECT set_config('synchronous_commit', 'off', true), ");
        out.push_sql("count(*) FROM counted");
        Ok(())
    }
}

impl<S> Query for Unhurried<S> {
    type SqlType = (Text, BigInt);
}

impl Database {
    /// Runs an insert, update or delete (without `RETURNING`) of what need not
    /// survive a power cut: counts that stand in the way of guessing. Answers
    /// how many rows it touched.
    ///
    /// Every sign-in and every look at an account writes one; each would wait
    /// until the disk has it, and make all wait that count on the same row or,
    /// on SQLite, write at all. Whatever is committed for good afterwards takes
    /// them along.
    pub async fn count<S>(&self, statement: S) -> Result<usize, DbError>
    where
        S: QueryFragment<Pg> + QueryFragment<Sqlite> + QueryId + Send,
    {
        match self.counter().await? {
            Conn::Sqlite(mut conn) => Ok(statement.execute(&mut *conn).await?),
            Conn::Postgres(mut conn) => {
                let told = Unhurried(statement).get_result::<(String, i64)>(&mut *conn).await?;
                Ok(usize::try_from(told.1).unwrap_or_default())
            }
        }
    }
}
