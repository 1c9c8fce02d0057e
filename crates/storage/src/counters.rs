//! Counts that need not survive a power cut, of many callers at once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Text};
use diesel::sqlite::{Sqlite, SqliteConnection};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::{BoxFuture, join_all};
use tokio::sync::oneshot;

use crate::db::{AsyncSqlite, Conn, Database, DbError};

/// Queue of changes to counters. Whoever finds nobody writing starts to; what
/// comes while one batch is written goes into the next.
#[derive(Clone, Default)]
pub(crate) struct CounterQueue {
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    counts: Vec<QueuedCount>,
    /// True if somebody is at it.
    served: bool,
}

struct QueuedCount {
    statement: Box<dyn Statement>,
    report: oneshot::Sender<Result<usize, DbError>>,
}

/// An insert, update or delete, on either backend.
trait Statement: Send {
    fn on_sqlite(self: Box<Self>, conn: &mut SqliteConnection) -> QueryResult<usize>;

    fn on_postgres(self: Box<Self>, conn: &AsyncPgConnection) -> BoxFuture<'_, QueryResult<usize>>;
}

impl<S> Statement for S
where
    S: QueryFragment<Pg> + QueryFragment<Sqlite> + QueryId + Send + 'static,
{
    fn on_sqlite(self: Box<Self>, conn: &mut SqliteConnection) -> QueryResult<usize> {
        diesel::Connection::execute_returning_count(conn, &*self)
    }

    fn on_postgres(self: Box<Self>, conn: &AsyncPgConnection) -> BoxFuture<'_, QueryResult<usize>> {
        Box::pin(async move {
            let reported = AsyncCommit(*self).get_result::<(String, i64)>(&mut &*conn).await?;
            Ok(usize::try_from(reported.1).unwrap_or_default())
        })
    }
}

/// A statement on PostgreSQL whose commit does not wait for the disk. It says
/// so itself, so that nothing of it stays with a connection that others use
/// next.
struct AsyncCommit<S>(S);

/// Cached under its text once it is prepared.
impl<S> QueryId for AsyncCommit<S> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<S: QueryFragment<Pg>> QueryFragment<Pg> for AsyncCommit<S> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("WITH counted AS (");
        self.0.walk_ast(out.reborrow())?;
        out.push_sql(" RETURNING 1) SELECT set_config('synchronous_commit', 'off', true), ");
        out.push_sql("count(*) FROM counted");
        Ok(())
    }

    /// Always true: there are few texts, and diesel would otherwise prepare every update and
    /// upsert anew, at a round trip each.
    fn is_safe_to_cache_prepared(&self, _backend: &Pg) -> QueryResult<bool> {
        Ok(true)
    }
}

impl<S> Query for AsyncCommit<S> {
    type SqlType = (Text, BigInt);
}

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

impl CounterQueue {
    /// Answers whether nobody is at it.
    fn put(&self, count: QueuedCount) -> bool {
        let mut waiting = self.lock();
        waiting.counts.push(count);
        !std::mem::replace(&mut waiting.served, true)
    }

    /// All that waits. After nothing, nobody is at it any more.
    fn take(&self) -> Vec<QueuedCount> {
        let mut waiting = self.lock();
        waiting.served = !waiting.counts.is_empty();
        std::mem::take(&mut waiting.counts)
    }

    /// Locks the state. Nothing panics while it is held, so a poisoned one is still valid.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Being at it. One that panics must not leave others waiting for it.
struct WriterGuard(CounterQueue);

impl Drop for WriterGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            drop(self.0.take());
            drop(self.0.take());
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
