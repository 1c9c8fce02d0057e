//! Queue of changes to counters that wait to be written together.
//!
//! Protocol: `put`; the caller who gets `true` becomes the writer, and calls `take` until
//! it returns nothing. `counters.rs` is the only user.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Text};
use diesel::sqlite::{Sqlite, SqliteConnection};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use crate::error::DbError;

/// Queue of changes to counters. A caller who finds no writer becomes the writer;
/// changes that arrive while a batch is written are part of the next batch.
#[derive(Clone, Default)]
pub(crate) struct CounterQueue {
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    counts: Vec<QueuedCount>,
    /// True if a caller writes the queue.
    has_writer: bool,
}

pub(crate) struct QueuedCount {
    pub(crate) statement: Box<dyn Statement>,
    pub(crate) result_tx: oneshot::Sender<Result<usize, DbError>>,
}

/// An insert, update or delete, on either backend.
pub(crate) trait Statement: Send {
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
            let (_setting, count) =
                AsyncCommit(*self).get_result::<(String, i64)>(&mut &*conn).await?;
            Ok(usize::try_from(count).unwrap_or_default())
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

impl CounterQueue {
    /// Adds a change. Returns true if the caller must write the queue, as no other
    /// one does.
    pub(crate) fn put(&self, count: QueuedCount) -> bool {
        let mut waiting = self.lock();
        waiting.counts.push(count);
        !std::mem::replace(&mut waiting.has_writer, true)
    }

    /// Returns all waiting changes. If there are none, the caller is no longer the
    /// writer.
    pub(crate) fn take(&self) -> Vec<QueuedCount> {
        let mut waiting = self.lock();
        waiting.has_writer = !waiting.counts.is_empty();
        std::mem::take(&mut waiting.counts)
    }

    /// Locks the state. Nothing panics while it is held, so a poisoned one is still valid.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Guard of the writer: one that panics must not leave others waiting for it.
pub(crate) struct WriterGuard(pub(crate) CounterQueue);

impl Drop for WriterGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            drop(self.0.take());
            drop(self.0.take());
        }
    }
}
