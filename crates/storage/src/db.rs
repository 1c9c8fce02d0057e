//! The pools, and who gets which connection.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use diesel::result::DatabaseErrorKind;
use diesel::sql_types::Integer;
use diesel::sqlite::SqliteConnection;
use diesel_async::pooled_connection::deadpool::{Object, Pool, PoolError};
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use pia_kernel::{LiveSetting, Unavailable};
use pia_sealing::ServerSeal;
use tokio::runtime::Handle;

use crate::checkpoint::Log;
use crate::connect::{self, DatabaseOptions, OpenDatabaseError};
use crate::counters::CounterQueue;
use crate::durability::Durability;
use crate::target::{DatabaseKind, DatabaseTarget, TargetKind};
use crate::{migrations, on_conn};

/// A connection to SQLite, which works on threads that may block.
pub type AsyncSqlite = SyncConnectionWrapper<SqliteConnection>;

/// A connection to PostgreSQL.
pub type AsyncPostgres = AsyncPgConnection;

/// Pools of connections to one database of either kind.
#[derive(Clone)]
pub struct Database {
    pub(crate) pools: Pools,
    pub(crate) counts: CounterQueue,
    pub(crate) main: Handle,
    migrated: Arc<AtomicBool>,
    statement_timeout: Duration,
    seal: Option<ServerSeal>,
    mail: LiveSetting<bool>,
}

#[derive(Clone)]
pub(crate) enum Pools {
    /// Single writer with a queue: SQLite allows one write at a time, and any other would sleep in
    /// its busy handler, holding a thread.
    Sqlite {
        writer: Pool<AsyncSqlite>,
        readers: Pool<AsyncSqlite>,
        durability: Durability,
        log: Log,
    },
    Postgres(Pool<AsyncPgConnection>),
}

/// A connection that was taken from a pool.
#[expect(clippy::large_enum_variant, reason = "lives on the stack for one statement")]
pub enum Conn {
    /// Connection to a file.
    Sqlite(Object<AsyncSqlite>),
    /// Connection to a server.
    Postgres(Object<AsyncPgConnection>),
}

/// Reasons why the database did not answer.
#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// The pool had no connection to give.
    #[error("no connection could be had")]
    Pool(#[from] PoolError),
    /// A statement failed.
    #[error("query failed")]
    Query(#[from] diesel::result::Error),
    /// A column holds what this version cannot make sense of.
    #[error("`{0}` holds a value that is not known")]
    Unreadable(&'static str),
    /// No key is at hand to seal with.
    #[error("there is nothing to seal with")]
    NoKey,
    /// Sealing failed.
    #[error(transparent)]
    Sealing(#[from] Unavailable),
    /// The batch that it was part of failed.
    #[error("written with others, it failed with them")]
    Batch(#[source] Arc<DbError>),
    /// The task that was to write it is gone.
    #[error("it was abandoned")]
    Abandoned,
}

impl DbError {
    /// Returns whether a transaction on PostgreSQL was rolled back for
    /// something that may not happen again: a deadlock, or a conflict with
    /// another one.
    ///
    /// A deadlock is not distinguished by diesel, nor by a message that does not
    /// depend on the server's language, so it is sought among all that diesel
    /// has no name for. Each of them was rolled back; that another is tried
    /// once more in vain does no harm.
    pub fn is_conflict(&self) -> bool {
        use DatabaseErrorKind::{SerializationFailure, Unknown};
        use diesel::result::Error::DatabaseError;
        matches!(self, Self::Query(DatabaseError(SerializationFailure | Unknown, _)))
    }
}

impl From<DbError> for Unavailable {
    fn from(err: DbError) -> Self {
        Self::new("storage", err)
    }
}

/// Reasons why nobody should be sent here now.
#[derive(Debug, thiserror::Error)]
pub enum ReadinessError {
    /// Database did not answer in time.
    #[error("the database did not answer within {} ms", .0.as_millis())]
    Silent(Duration),
    /// Database is unreachable or failing.
    #[error("the database is away")]
    Away(#[source] DbError),
    /// Tables are older than this version needs.
    #[error("migrations are pending: {}", .0.join(", "))]
    Pending(Vec<String>),
}

impl Database {
    /// The pools of a database whose tables are taken as they are. Opens no
    /// connection yet.
    ///
    /// Call it on the runtime that outlives all others: connections to
    /// PostgreSQL are driven there.
    pub fn open(
        target: &DatabaseTarget,
        options: DatabaseOptions,
    ) -> Result<Self, OpenDatabaseError> {
        let pools = match &target.0 {
            TargetKind::Sqlite(target) => connect::sqlite(target, options)?,
            TargetKind::Postgres(target) => connect::postgres(target, options)?,
        };
        let (main, migrated) = (Handle::current(), Arc::default());
        let (counts, mail) = (CounterQueue::default(), LiveSetting::new(false));
        let statement_timeout = options.statement_timeout;
        Ok(Self { pools, counts, main, migrated, statement_timeout, seal: None, mail })
    }

    /// Returns for how long a statement may take. Whoever waits for several of
    /// them on another task waits no longer either: a database that hangs ends
    /// none.
    pub fn statement_timeout(&self) -> Duration {
        self.statement_timeout
    }

    /// Enables side effects: sealed with `seal`, and with emails while `mail`
    /// says that they are delivered.
    #[must_use]
    pub fn with_effects(self, seal: ServerSeal, mail: LiveSetting<bool>) -> Self {
        Self { seal: Some(seal), mail, ..self }
    }

    /// Returns the key that seals what belongs to no one person.
    pub fn seal(&self) -> Result<&ServerSeal, DbError> {
        self.seal.as_ref().ok_or(DbError::NoKey)
    }

    pub(crate) fn sends_mail(&self) -> bool {
        *self.mail.get()
    }

    /// Kind of the database.
    pub fn provider(&self) -> DatabaseKind {
        match self.pools {
            Pools::Sqlite { .. } => DatabaseKind::Sqlite,
            Pools::Postgres(_) => DatabaseKind::Postgres,
        }
    }

    /// A connection that only reads.
    pub async fn reader(&self) -> Result<Conn, DbError> {
        Ok(match &self.pools {
            Pools::Sqlite { readers, .. } => Conn::Sqlite(readers.get().await?),
            Pools::Postgres(pool) => Conn::Postgres(pool.get().await?),
        })
    }

    /// A connection that may write.
    pub async fn writer(&self) -> Result<Conn, DbError> {
        Ok(match &self.pools {
            Pools::Sqlite { writer, durability, log, .. } => {
                log.note();
                let mut conn = writer.get().await?;
                durability.restore(&mut conn).await?;
                Conn::Sqlite(conn)
            }
            Pools::Postgres(pool) => Conn::Postgres(pool.get().await?),
        })
    }

    /// A connection for [`count`](Self::count), and for what is reserved for
    /// calls, which end with the power themselves: on SQLite its commits do not
    /// wait for the disk until somebody takes a [`writer`](Self::writer).
    pub async fn counter(&self) -> Result<Conn, DbError> {
        Ok(match &self.pools {
            Pools::Sqlite { writer, durability, log, .. } => {
                log.note();
                let mut conn = writer.get().await?;
                durability.relax(&mut conn).await?;
                Conn::Sqlite(conn)
            }
            Pools::Postgres(pool) => Conn::Postgres(pool.get().await?),
        })
    }

    /// Asks whether the database answers, for at most so long. May be called
    /// and dropped on any runtime.
    pub async fn ping(&self, limit: Duration) -> Result<(), ReadinessError> {
        let db = self.clone();
        self.within(limit, async move { db.answers().await }).await
    }

    /// The names of the migrations that this version needs and that were not
    /// applied yet.
    pub async fn pending(&self) -> Result<Vec<String>, DbError> {
        Ok(migrations::state(self).await?.pending)
    }

    /// Asks whether the database answers and has the tables that this version
    /// needs, for at most so long. That it has them is asked until it is so.
    pub async fn ready(&self, limit: Duration) -> Result<(), ReadinessError> {
        if AtomicBool::load(&self.migrated, Ordering::Relaxed) {
            return self.ping(limit).await;
        }
        let db = self.clone();
        let pending = self.within(limit, async move { db.pending().await }).await?;
        if !pending.is_empty() {
            return Err(ReadinessError::Pending(pending));
        }
        self.migrated.store(true, Ordering::Relaxed);
        Ok(())
    }

    async fn answers(&self) -> Result<(), DbError> {
        on_conn!(self.reader(), |conn| {
            diesel::select(diesel::dsl::sql::<Integer>("1")).execute(conn).await?;
        })?;
        Ok(())
    }

    /// Runs `work` on the main runtime, where it goes on if it takes longer:
    /// diesel-async cannot bear that its futures are dropped on a worker.
    async fn within<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, DbError>> + Send + 'static,
    ) -> Result<T, ReadinessError> {
        match tokio::time::timeout(limit, self.main.spawn(work)).await {
            Ok(Ok(done)) => done.map_err(ReadinessError::Away),
            Ok(Err(_)) | Err(_) => Err(ReadinessError::Silent(limit)),
        }
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Database").field(&self.provider()).finish()
    }
}
