//! Transactions on PostgreSQL whose statements need not wait for one another.

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel_async::RunQueryDsl;
use diesel_async::pooled_connection::deadpool::Object;

use crate::pools::AsyncPostgres;

/// A connection in a transaction that is begun and ended like any other
/// statement, so that the first statements go out with the `BEGIN` and the
/// last ones with the `COMMIT`.
///
/// Statements run in the order in which their futures are first polled, so that
/// [`futures_util::join!`] keeps it: each, the two ends included, is
/// prepared, and waits for those before to be. What follows a statement that
/// the server refused is refused too, and the commit takes everything back.
/// But the commit does not hear of a statement that never left, so send all
/// that it writes as one.
///
/// Dropped before [`release`](Self::release), it closes the connection: nobody
/// else may find a transaction on it.
pub struct Pipelined {
    conn: Option<Object<AsyncPostgres>>,
}

/// A word that begins or ends a transaction, prepared as other statements are.
struct Word(&'static str);

impl QueryFragment<Pg> for Word {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(self.0);
        Ok(())
    }
}

crate::prepared_by_text!(Word);

impl Pipelined {
    /// A connection on which no transaction has begun yet.
    pub fn new(conn: Object<AsyncPostgres>) -> Self {
        Self { conn: Some(conn) }
    }

    /// Returns the connection on which statements are pipelined.
    pub fn shared(&self) -> QueryResult<&AsyncPostgres> {
        self.conn.as_deref().ok_or(diesel::result::Error::BrokenTransactionManager)
    }

    /// Returns the connection for one statement after the other.
    pub fn alone(&mut self) -> QueryResult<&mut AsyncPostgres> {
        self.conn.as_deref_mut().ok_or(diesel::result::Error::BrokenTransactionManager)
    }

    /// Begins. Poll it before the statements that it is for.
    pub async fn begin(&self) -> QueryResult<()> {
        self.say("BEGIN").await
    }

    /// Commits what came before, or takes it back where a statement failed.
    /// Poll it after them.
    pub async fn commit(&self) -> QueryResult<()> {
        self.say("COMMIT").await
    }

    /// Takes everything back.
    pub async fn roll_back(&self) -> QueryResult<()> {
        self.say("ROLLBACK").await
    }

    /// Gives the connection back, once the transaction has ended.
    pub fn release(mut self) {
        drop(self.conn.take());
    }

    async fn say(&self, word: &'static str) -> QueryResult<()> {
        Word(word).execute(&mut self.shared()?).await.map(drop)
    }
}

impl Drop for Pipelined {
    fn drop(&mut self) {
        if let Some(conn) = self.conn.take() {
            drop(Object::take(conn));
        }
    }
}
