//! Counter updates of many callers at once, which need not survive a power cut.
//!
//! A combining queue: the first caller spawns a writer, which writes what others queue
//! meanwhile (`counter_queue.rs`). Throttles of passwords and rate limits use it.

use std::sync::Arc;

use diesel::pg::Pg;
use diesel::query_builder::{QueryFragment, QueryId};
use diesel::sqlite::Sqlite;
use diesel_async::AsyncPgConnection;
use futures_util::future::join_all;
use tokio::sync::oneshot;

use crate::counter_queue::{QueuedCount, WriterGuard};
use crate::db::Database;
use crate::error::DbError;
use crate::pools::{AsyncSqlite, Conn};

impl Database {
    /// Runs an insert, update or delete (without `RETURNING`) that need not
    /// survive a power cut: counters that throttle guessing. Returns the number
    /// of affected rows. May be called and dropped on any runtime.
    ///
    /// Every sign-in and every account lookup writes one; each would wait for
    /// the disk, and a burst of them would queue for connections and delay all
    /// other work. So queued statements are written together, over one
    /// connection, without waiting for the disk; a later durable commit makes
    /// them durable too. On PostgreSQL each statement is a transaction of its
    /// own: none holds a row lock while another runs.
    pub async fn count<S>(&self, statement: S) -> Result<usize, DbError>
    where
        S: QueryFragment<Pg> + QueryFragment<Sqlite> + QueryId + Send + 'static,
    {
        let (result_tx, result_rx) = oneshot::channel();
        if self.counts.put(QueuedCount { statement: Box::new(statement), result_tx }) {
            let db = self.clone();
            let guard = WriterGuard(self.counts.clone());
            self.main.spawn(async move { db.count_waiting(&guard).await });
        }
        result_rx.await.unwrap_or(Err(DbError::Abandoned))
    }

    /// Writes queued statements until the queue is empty.
    async fn count_waiting(&self, guard: &WriterGuard) {
        loop {
            // Updates that arrive while waiting for a connection join the batch.
            let conn = self.counter().await;
            let counts = guard.0.take();
            if counts.is_empty() {
                return;
            }

            match conn {
                Ok(Conn::Sqlite(mut conn)) => on_sqlite(&mut conn, counts).await,
                Ok(Conn::Postgres(conn)) => on_postgres(&conn, counts).await,
                Err(err) => fail(counts.into_iter().map(|it| it.result_tx), err),
            }
        }
    }
}

/// Runs all statements in one transaction: one that fails undoes itself alone.
async fn on_sqlite(conn: &mut AsyncSqlite, counts: Vec<QueuedCount>) {
    let (statements, result_txs): (Vec<_>, Vec<_>) =
        counts.into_iter().map(|it| (it.statement, it.result_tx)).unzip();
    let written = conn
        .spawn_blocking(move |conn| {
            conn.immediate_transaction(|conn| {
                Ok(statements.into_iter().map(|it| it.on_sqlite(conn)).collect::<Vec<_>>())
            })
        })
        .await;

    match written {
        Ok(counts) => {
            for (result_tx, count) in result_txs.into_iter().zip(counts) {
                // The caller may have left.
                drop(result_tx.send(count.map_err(DbError::from)));
            }
        }
        Err(err) => fail(result_txs.into_iter(), DbError::Query(err)),
    }
}

/// Sends all statements before it awaits the first result.
async fn on_postgres(conn: &AsyncPgConnection, counts: Vec<QueuedCount>) {
    join_all(counts.into_iter().map(async |QueuedCount { statement, result_tx }| {
        let count = statement.on_postgres(conn).await;
        drop(result_tx.send(count.map_err(DbError::from)));
    }))
    .await;
}

fn fail(result_txs: impl Iterator<Item = oneshot::Sender<Result<usize, DbError>>>, err: DbError) {
    let err = Arc::new(err);
    for result_tx in result_txs {
        drop(result_tx.send(Err(DbError::Batch(Arc::clone(&err)))));
    }
}
