//! The pools, and who gets which connection.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use diesel::sql_types::Integer;
use diesel_async::RunQueryDsl;
use pia_kernel::LiveSetting;
use pia_sealing::ServerSeal;
use tokio::runtime::Handle;

use crate::connect::{self, DatabaseOptions};
use crate::counter_queue::CounterQueue;
use crate::error::{DbError, OpenDatabaseError, ReadinessError};
use crate::on_conn;
use crate::pools::{Conn, Pools};
use crate::target::{DatabaseKind, DatabaseTarget, TargetKind};

/// Pools of connections to one database of either kind.
#[derive(Clone)]
pub struct Database {
    pub(crate) pools: Pools,
    pub(crate) counts: CounterQueue,
    pub(crate) main: Handle,
    pub(crate) migrated: Arc<AtomicBool>,
    statement_timeout: Duration,
    seal: Option<ServerSeal>,
    mail: LiveSetting<bool>,
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
