//! Transactions on PostgreSQL whose statements do not wait for one another.
//!
//! Order of the calls: `begin`, `restrict_to`, statements on `shared`, `commit` or
//! `roll_back`, `release`. Elsewhere `in_tx!` is simpler, and retries.

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel_async::RunQueryDsl;
use diesel_async::pooled_connection::deadpool::Object;
use uuid::Uuid;

use crate::notifications::notification;
use crate::pools::AsyncPostgres;
use crate::row_security::row_restriction;

/// Connection in a transaction that begins and ends like any other statement, so
/// that the first statements are sent with the `BEGIN` and the last ones with the
/// `COMMIT`.
///
/// Statements run in the order in which their futures are first polled, so that
/// [`futures_util::join!`] preserves it: each, `BEGIN` and `COMMIT` included, is
/// prepared, and waits until those before are. After a statement that the
/// server rejected, all that follow are rejected too, and the commit rolls back.
/// But the commit does not notice a statement that was never sent, so send
/// all writes between as one.
///
/// Dropped before [`release`](Self::release), it closes the connection: it must
/// not return to the pool with an open transaction.
pub struct Pipelined {
    conn: Option<Object<AsyncPostgres>>,
}

/// Command that begins or ends a transaction, prepared as other statements are.
struct TransactionCommand(&'static str);

impl QueryFragment<Pg> for TransactionCommand {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(self.0);
        Ok(())
    }
}

crate::prepared_by_text!(TransactionCommand);

impl Pipelined {
    /// Wraps a connection on which no transaction has begun yet.
    pub fn new(conn: Object<AsyncPostgres>) -> Self {
        Self { conn: Some(conn) }
    }

    /// Returns the connection on which statements are pipelined.
    pub fn shared(&self) -> QueryResult<&AsyncPostgres> {
        self.conn.as_deref().ok_or(diesel::result::Error::BrokenTransactionManager)
    }

    /// Returns the connection for sequential statements.
    pub fn alone(&mut self) -> QueryResult<&mut AsyncPostgres> {
        self.conn.as_deref_mut().ok_or(diesel::result::Error::BrokenTransactionManager)
    }

    /// Begins the transaction. Poll it before its statements.
    pub async fn begin(&self) -> QueryResult<()> {
        self.run("BEGIN").await
    }

    /// Restricts the transaction to the rows of a user, if transactions have to be. Poll
    /// it after [`begin`](Self::begin).
    pub async fn restrict_to(&self, user: Option<Uuid>) -> QueryResult<()> {
        let Some(user) = user else { return Ok(()) };
        row_restriction(user).execute(&mut self.shared()?).await.map(drop)
    }

    /// Notifies those who listen to a channel, once the transaction is committed.
    pub async fn notify(&self, channel: &'static str) -> QueryResult<()> {
        notification(channel).execute(&mut self.shared()?).await.map(drop)
    }

    /// Commits the statements before it, or rolls back if one of them failed.
    /// Poll it after them.
    pub async fn commit(&self) -> QueryResult<()> {
        self.run("COMMIT").await
    }

    /// Rolls the transaction back.
    pub async fn roll_back(&self) -> QueryResult<()> {
        self.run("ROLLBACK").await
    }

    /// Returns the connection to the pool, once the transaction has ended.
    pub fn release(mut self) {
        drop(self.conn.take());
    }

    async fn run(&self, word: &'static str) -> QueryResult<()> {
        TransactionCommand(word).execute(&mut self.shared()?).await.map(drop)
    }
}

impl Drop for Pipelined {
    fn drop(&mut self) {
        if let Some(conn) = self.conn.take() {
            drop(Object::take(conn));
        }
    }
}
