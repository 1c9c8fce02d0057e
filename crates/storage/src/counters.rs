//! Counts that need not survive a power cut, of many callers at once.

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
    /// Runs an insert, update or delete (without `RETURNING`) of what need not
    /// survive a power cut: counts that stand in the way of guessing. Answers
    /// how many rows it touched. May be called and dropped on any runtime.
    ///
    /// Every sign-in and every look at an account writes one; each would wait
    /// until the disk has it, and all of a crowd would stand in line for a
    /// connection, and those who want something else behind them. So what
    /// waits is written together, over one connection, without waiting for the
    /// disk. Whatever is committed for good afterwards takes it along. On
    /// PostgreSQL each statement is a transaction of its own: none holds a row
    /// while another runs.
    pub async fn count<S>(&self, statement: S) -> Result<usize, DbError>
    where
        S: QueryFragment<Pg> + QueryFragment<Sqlite> + QueryId + Send + 'static,
    {
        let (report, reported) = oneshot::channel();
        if self.counts.put(QueuedCount { statement: Box::new(statement), report }) {
            let (db, turn) = (self.clone(), WriterGuard(self.counts.clone()));
            self.main.spawn(async move { db.count_waiting(&turn).await });
        }
        reported.await.unwrap_or(Err(DbError::Abandoned))
    }

    /// Writes what waits until nothing does.
    async fn count_waiting(&self, turn: &WriterGuard) {
        loop {
            // What comes while a connection is waited for goes along.
            let conn = self.counter().await;
            let counts = turn.0.take();
            if counts.is_empty() {
                return;
            }
            match conn {
                Ok(Conn::Sqlite(mut conn)) => on_sqlite(&mut conn, counts).await,
                Ok(Conn::Postgres(conn)) => on_postgres(&conn, counts).await,
                Err(err) => fail(counts.into_iter().map(|it| it.report), err),
            }
        }
    }
}

/// All in one transaction: a statement that fails undoes itself alone.
async fn on_sqlite(conn: &mut AsyncSqlite, counts: Vec<QueuedCount>) {
    let (statements, reports): (Vec<_>, Vec<_>) =
        counts.into_iter().map(|it| (it.statement, it.report)).unzip();
    let written = conn
        .spawn_blocking(move |conn| {
            conn.immediate_transaction(|conn| {
                Ok(statements.into_iter().map(|it| it.on_sqlite(conn)).collect::<Vec<_>>())
            })
        })
        .await;
    match written {
        Ok(counted) => {
            for (report, counted) in reports.into_iter().zip(counted) {
                // Deleted users need no notice.
                drop(report.send(counted.map_err(DbError::from)));
            }
        }
        Err(err) => fail(reports.into_iter(), DbError::Query(err)),
    }
}

/// All are sent before the first is answered.
async fn on_postgres(conn: &AsyncPgConnection, counts: Vec<QueuedCount>) {
    join_all(counts.into_iter().map(async |QueuedCount { statement, report }| {
        let counted = statement.on_postgres(conn).await;
        drop(report.send(counted.map_err(DbError::from)));
    }))
    .await;
}

fn fail(reports: impl Iterator<Item = oneshot::Sender<Result<usize, DbError>>>, err: DbError) {
    let err = Arc::new(err);
    for report in reports {
        drop(report.send(Err(DbError::Batch(Arc::clone(&err)))));
    }
}
