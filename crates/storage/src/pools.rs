//! Pools of connections, and connections out of them.

use diesel::sqlite::SqliteConnection;
use diesel_async::AsyncPgConnection;
use diesel_async::pooled_connection::deadpool::{Object, Pool};
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;

use crate::connect::{self, DatabaseOptions};
use crate::durability::Durability;
use crate::error::OpenDatabaseError;
use crate::sqlite_log::SqliteLog;
use crate::target::{DatabaseTarget, TargetKind};

/// A connection to SQLite, which works on threads that may block.
pub type AsyncSqlite = SyncConnectionWrapper<SqliteConnection>;

/// A connection to PostgreSQL.
pub type AsyncPostgres = AsyncPgConnection;

#[derive(Clone)]
pub(crate) enum Pools {
    /// Single writer with a queue: SQLite allows one write at a time, and any other would sleep in
    /// its busy handler, holding a thread.
    Sqlite {
        writer: Pool<AsyncSqlite>,
        readers: Pool<AsyncSqlite>,
        durability: Durability,
        log: SqliteLog,
    },
    Postgres(Pool<AsyncPgConnection>),
}

impl Pools {
    /// Opens the pools of a database. Opens no connection yet.
    pub(crate) fn open(
        target: &DatabaseTarget,
        options: DatabaseOptions,
    ) -> Result<Self, OpenDatabaseError> {
        match &target.0 {
            TargetKind::Sqlite(target) => connect::sqlite(target, options),
            TargetKind::Postgres(target) => connect::postgres(target, options),
        }
    }
}

/// A connection that was taken from a pool.
#[expect(clippy::large_enum_variant, reason = "lives on the stack for one statement")]
pub enum Conn {
    /// Connection to a file.
    Sqlite(Object<AsyncSqlite>),
    /// Connection to a server.
    Postgres(Object<AsyncPgConnection>),
}
