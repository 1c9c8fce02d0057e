//! Connection pools, and the choice of a connection.
//!
//! `reader`, `writer` and `counter` choose a connection. On SQLite there is one writer,
//! whose commits a `counter` may leave to be synced later; on PostgreSQL all three take
//! one of the same pool.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use diesel::sql_types::Integer;
use diesel_async::RunQueryDsl;
use pia_kernel::LiveSetting;
use pia_sealing::ServerSeal;
use tokio::runtime::Handle;

use crate::connect::DatabaseOptions;
use crate::counter_queue::CounterQueue;
use crate::error::{DbError, OpenDatabaseError, ReadinessError};
use crate::on_conn;
use crate::pools::{Conn, Pools};
use crate::target::{DatabaseKind, DatabaseTarget};

/// Pools of connections to one database of either kind.
#[derive(Clone)]
pub struct Database {
    pub(crate) pools: Pools,
    /// Pools of the role that sees the rows of all users; `None` if there is none.
    pub(crate) maintenance: Option<Pools>,
    pub(crate) counts: CounterQueue,
    /// Runtime that outlives all others, on which connections are driven.
    pub(crate) main: Handle,
    /// True once the tables were found to be those of this version.
    pub(crate) migrated: Arc<AtomicBool>,
    statement_timeout: Duration,
    /// Key of side effects; `None` until `with_effects`.
    seal: Option<ServerSeal>,
    /// True while emails are queued.
    mail: LiveSetting<bool>,
}

impl Database {
    /// Opens the pools of a database and takes its tables as they are. Opens no
    /// connection yet.
    ///
    /// Call it on the runtime that outlives all others: connections to
    /// PostgreSQL are driven there.
    pub fn open(
        target: &DatabaseTarget,
        options: DatabaseOptions,
    ) -> Result<Self, OpenDatabaseError> {
        let pools = Pools::open(target, options)?;
        let main = Handle::current();
        let migrated = Arc::default();
        let counts = CounterQueue::default();
        let mail = LiveSetting::new(false);
        let statement_timeout = options.statement_timeout;
        Ok(Self {
            pools,
            maintenance: None,
            counts,
            main,
            migrated,
            statement_timeout,
            seal: None,
            mail,
        })
    }

    /// Returns the maximum time of a statement. A caller who waits for several
    /// of them on another task waits no longer either: a database that hangs
    /// ends none.
    pub fn statement_timeout(&self) -> Duration {
        self.statement_timeout
    }

    /// Enables side effects: sealed with `seal`, and with emails while `mail`
    /// is true.
    #[must_use]
    pub fn with_effects(self, seal: ServerSeal, mail: LiveSetting<bool>) -> Self {
        Self { seal: Some(seal), mail, ..self }
    }

    /// Returns the key for data that belongs to no single user.
    pub fn seal(&self) -> Result<&ServerSeal, DbError> {
        self.seal.as_ref().ok_or(DbError::NoKey)
    }

    pub(crate) fn sends_mail(&self) -> bool {
        *self.mail.get()
    }

    /// Returns the kind of the database.
    pub fn provider(&self) -> DatabaseKind {
        match self.pools {
            Pools::Sqlite { .. } => DatabaseKind::Sqlite,
            Pools::Postgres(_) => DatabaseKind::Postgres,
        }
    }

    /// Returns a read-only connection.
    pub async fn reader(&self) -> Result<Conn, DbError> {
        Ok(match &self.pools {
            Pools::Sqlite { readers, .. } => Conn::Sqlite(readers.get().await?),
            Pools::Postgres(pool) => Conn::Postgres(pool.get().await?),
        })
    }

    /// Returns a connection for writes.
    pub async fn writer(&self) -> Result<Conn, DbError> {
        Ok(match &self.pools {
            Pools::Sqlite { writer, durability, log, .. } => {
                log.count_write();
                let mut conn = writer.get().await?;
                durability.restore(&mut conn).await?;
                Conn::Sqlite(conn)
            }
            Pools::Postgres(pool) => Conn::Postgres(pool.get().await?),
        })
    }

    /// Returns a connection for [`count`](Self::count), and for reservations of
    /// calls, which end with the power themselves: on SQLite its commits do not
    /// wait for the disk until the next [`writer`](Self::writer) is taken.
    pub async fn counter(&self) -> Result<Conn, DbError> {
        Ok(match &self.pools {
            Pools::Sqlite { writer, durability, log, .. } => {
                log.count_write();
                let mut conn = writer.get().await?;
                durability.relax(&mut conn).await?;
                Conn::Sqlite(conn)
            }
            Pools::Postgres(pool) => Conn::Postgres(pool.get().await?),
        })
    }

    /// Checks that the database responds within `limit`. May be called and
    /// dropped on any runtime.
    pub async fn ping(&self, limit: Duration) -> Result<(), ReadinessError> {
        let db = self.clone();
        self.within(limit, async move { db.answers().await }).await
    }

    async fn answers(&self) -> Result<(), DbError> {
        on_conn!(self.reader(), |conn| {
            diesel::select(diesel::dsl::sql::<Integer>("1")).execute(conn).await?;
        })?;
        Ok(())
    }

    /// Runs `work` on the main runtime, where it goes on if it takes longer:
    /// diesel-async cannot bear that its futures are dropped on a worker.
    pub(crate) async fn within<T: Send + 'static>(
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
