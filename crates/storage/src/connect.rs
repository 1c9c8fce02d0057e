//! Opening of the connection pools.
//!
//! SQLite has one connection that writes, four that read, and one for checkpoints.
//! PostgreSQL has one pool for each role. Setup callbacks configure each connection
//! when the pool opens it, on the main runtime.

use std::fmt::Display;
use std::time::Duration;

use diesel::{ConnectionError, ConnectionResult};
use diesel_async::pooled_connection::deadpool::Pool;
use diesel_async::pooled_connection::{
    AsyncDieselConnectionManager, ManagerConfig, PoolableConnection, RecyclingMethod, SetupCallback,
};
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use futures_util::FutureExt;
use tokio::runtime::Handle;

use crate::durability::Durability;
use crate::error::OpenDatabaseError;
use crate::pools::{AsyncSqlite, Pools};
use crate::postgres::Connector;
use crate::postgres_target::PostgresTarget;
use crate::sqlite::{self, SQLITE_BUSY, SQLITE_WRITES};
use crate::sqlite_log::SqliteLog;
use crate::sqlite_target::SqliteTarget;

/// Limits of the log. It is emptied beside the writer; if that does not happen, the
/// writer who fills it to 32 MiB does. The file is cut to 16 MiB when the log restarts.
const SQLITE_LOG: &str = "
    PRAGMA wal_autocheckpoint = 8192;
    PRAGMA journal_size_limit = 16777216;";
const SQLITE_READS: &str = "PRAGMA query_only = ON;";

/// Maximum idle time within a transaction.
const POSTGRES_IDLE: &str = "60s";

const SQLITE_READERS: usize = 4;

/// Synchronisation of commits to SQLite with the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Synchronous {
    /// Syncs each commit. Without it, committed writes are lost with the power, a refresh token's
    /// rotation among them.
    #[default]
    Full,
    /// Syncs at checkpoints only.
    Normal,
}

/// Operator's options for a database besides its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatabaseOptions {
    /// For SQLite.
    pub synchronous: Synchronous,
    /// Maximum number of connections to PostgreSQL; fewer if the connection
    /// string says so, never less than one.
    pub max_connections: usize,
    /// Maximum time of a statement, and of the wait for a connection. On
    /// SQLite, the maximum wait for a lock on the file.
    pub statement_timeout: Duration,
}

impl Default for DatabaseOptions {
    fn default() -> Self {
        Self {
            synchronous: Synchronous::Full,
            max_connections: 16,
            statement_timeout: Duration::from_secs(5),
        }
    }
}

/// Builds the pools of a file. Opens no connection yet.
pub(crate) fn sqlite(
    target: &SqliteTarget,
    options: DatabaseOptions,
) -> Result<Pools, OpenDatabaseError> {
    let path = sqlite::prepare(&target.path)?;

    let synchronous = match options.synchronous {
        Synchronous::Full => "PRAGMA synchronous = FULL;",
        Synchronous::Normal => "PRAGMA synchronous = NORMAL;",
    };

    let wait = options.statement_timeout;
    let busy = format!("PRAGMA busy_timeout = {};", wait.as_millis());
    let writes = format!("{SQLITE_WRITES}{SQLITE_LOG}{synchronous}{busy}");
    let reads = format!("{busy}{SQLITE_READS}");
    let writer = pool(1, wait, sqlite_setup(&path, writes))?;
    let readers = pool(SQLITE_READERS, wait, sqlite_setup(&path, reads))?;
    let durability = Durability::new(options.synchronous == Synchronous::Full);
    let log = SqliteLog::new(pool(1, wait, sqlite_setup(&path, SQLITE_BUSY.to_owned()))?);

    Ok(Pools::Sqlite { writer, readers, durability, log })
}

/// Builds the pool of a server. Opens no connection yet.
pub(crate) fn postgres(
    target: &PostgresTarget,
    options: DatabaseOptions,
) -> Result<Pools, OpenDatabaseError> {
    let max = target.max.map_or(usize::MAX, usize::from).min(options.max_connections).max(1);
    let limit = options.statement_timeout;
    Ok(Pools::Postgres(pool(max, limit, postgres_setup(Connector::new(target)?, limit))?))
}

/// Connections are opened on the main runtime: one opened on a worker's
/// runtime would end with it.
fn sqlite_setup(path: &str, pragmas: String) -> SetupCallback<AsyncSqlite> {
    let path = path.to_owned();
    let main = Handle::current();
    Box::new(move |_| {
        let path = path.clone();
        let pragmas = pragmas.clone();
        let main = main.clone();
        let open = move || -> ConnectionResult<AsyncSqlite> {
            Ok(AsyncSqlite::new(sqlite::open(&path, &pragmas)?))
        };
        async move { main.spawn_blocking(open).await.map_err(connection_error)? }.boxed()
    })
}

/// actix-web workers each run a current-thread runtime. The task which drives
/// a connection must not depend on the worker that requested it, so it is
/// spawned on the runtime that built the pool.
fn postgres_setup(connector: Connector, limit: Duration) -> SetupCallback<AsyncPgConnection> {
    let main = Handle::current();
    let settings = postgres_settings(limit);
    Box::new(move |_| {
        let main = main.clone();
        let connector = connector.clone();
        let settings = settings.clone();
        let open = async move {
            let mut conn = connector.connect().await?;
            conn.batch_execute(&settings)
                .await
                .map_err(ConnectionError::CouldntSetupConfiguration)?;
            Ok(conn)
        };

        async move { main.spawn(open).await.map_err(connection_error)? }.boxed()
    })
}

/// Returns the SQL that sets up a session. A statement that never ends would block its
/// connection and all who wait for it: limits that the operator has set, in the
/// connection string or for the role, stay. Parallel workers are off: the sums of nearly
/// all users that each would hand over take longer to combine than they save.
fn postgres_settings(limit: Duration) -> String {
    let millis = limit.as_millis();
    format!(
        "SELECT set_config(name, wanted, false)
         FROM (VALUES
             ('statement_timeout', '{millis}ms'),
             ('lock_timeout', '{millis}ms'),
             ('idle_in_transaction_session_timeout', '{POSTGRES_IDLE}')
         ) AS limits (name, wanted)
         WHERE current_setting(name) = '0';
         SET max_parallel_workers_per_gather = 0"
    )
}

fn pool<C>(
    size: usize,
    wait: Duration,
    setup: SetupCallback<C>,
) -> Result<Pool<C>, OpenDatabaseError>
where
    C: PoolableConnection + 'static,
    AsyncDieselConnectionManager<C>: deadpool::managed::Manager,
{
    let mut config = ManagerConfig::<C>::default();
    config.custom_setup = setup;
    // The default runs `SELECT 1` at every checkout: a round trip each time.
    config.recycling_method = RecyclingMethod::Fast;

    // The setup callback knows its target.
    Pool::builder(AsyncDieselConnectionManager::new_with_config("", config))
        .max_size(size)
        // The last one used has warm caches.
        .queue_mode(deadpool::managed::QueueMode::Lifo)
        .wait_timeout(Some(wait))
        .runtime(deadpool::Runtime::Tokio1)
        .build()
        .map_err(OpenDatabaseError::connection)
}

fn connection_error(err: impl Display) -> ConnectionError {
    ConnectionError::BadConnection(err.to_string())
}
