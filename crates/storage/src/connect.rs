//! Opening the pools.

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

/// The log is emptied beside the writer; should nobody do that, whoever fills
/// it to 32 MiB does. What it grew to is cut to 16 MiB when it begins anew.
const SQLITE_LOG: &str = "
    PRAGMA wal_autocheckpoint = 8192;
    PRAGMA journal_size_limit = 16777216;";
const SQLITE_READS: &str = "PRAGMA query_only = ON;";

/// Maximum length of a transaction left alone.
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
    /// The most connections to PostgreSQL; fewer if the connection string
    /// says so, never less than one.
    pub max_connections: usize,
    /// Duration for which a statement may take, and a connection be waited for.
    /// On SQLite, how long a statement waits for others to be done with the
    /// file.
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

/// Opens no connection yet.
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
    let writer = pool((1, wait), sqlite_setup(&path, writes))?;
    let readers =
        pool((SQLITE_READERS, wait), sqlite_setup(&path, format!("{busy}{SQLITE_READS}")))?;
    let durability = Durability::new(options.synchronous == Synchronous::Full);
    let log = SqliteLog::new(pool((1, wait), sqlite_setup(&path, SQLITE_BUSY.to_owned()))?);
    Ok(Pools::Sqlite { writer, readers, durability, log })
}

/// Opens no connection yet.
pub(crate) fn postgres(
    target: &PostgresTarget,
    options: DatabaseOptions,
) -> Result<Pools, OpenDatabaseError> {
    let max = target.max.map_or(usize::MAX, usize::from).min(options.max_connections).max(1);
    let limit = options.statement_timeout;
    Ok(Pools::Postgres(pool((max, limit), postgres_setup(Connector::new(target)?, limit))?))
}

/// A connection runs on the threads of the runtime that opened it, so that one
/// opened by a worker would end with it.
fn sqlite_setup(path: &str, pragmas: String) -> SetupCallback<AsyncSqlite> {
    let (path, main) = (path.to_owned(), Handle::current());
    Box::new(move |_| {
        let (path, pragmas, main) = (path.clone(), pragmas.clone(), main.clone());
        let open = move || -> ConnectionResult<AsyncSqlite> {
            Ok(AsyncSqlite::new(sqlite::open(&path, &pragmas)?))
        };
        async move { main.spawn_blocking(open).await.map_err(lost)? }.boxed()
    })
}

/// actix-web workers each run a current-thread runtime. The task which drives
/// a connection must not wait for the worker that requested it, so it is
/// spawned on the runtime that built the pool.
fn postgres_setup(connector: Connector, limit: Duration) -> SetupCallback<AsyncPgConnection> {
    let (main, limits) = (Handle::current(), postgres_limits(limit));
    Box::new(move |_| {
        let (main, connector, limits) = (main.clone(), connector.clone(), limits.clone());
        let open = async move {
            let mut conn = connector.connect().await?;
            let limits = conn.batch_execute(&limits).await;
            limits.map_err(ConnectionError::CouldntSetupConfiguration)?;
            Ok(conn)
        };
        async move { main.spawn(open).await.map_err(lost)? }.boxed()
    })
}

/// A statement that goes on for ever would keep its connection, and whoever
/// waits for it. What the operator has set, in the connection string or the
/// role, stays.
fn postgres_limits(limit: Duration) -> String {
    let millis = limit.as_millis();
    format!(
        "SELECT set_config(name, wanted, false)
         FROM (VALUES
             ('statement_timeout', '{millis}ms'),
             ('lock_timeout', '{millis}ms'),
             ('idle_in_transaction_session_timeout', '{POSTGRES_IDLE}')
         ) AS limits (name, wanted)
         WHERE current_setting(name) = '0'"
    )
}

fn pool<C>(
    (size, wait): (usize, Duration),
    setup: SetupCallback<C>,
) -> Result<Pool<C>, OpenDatabaseError>
where
    C: PoolableConnection + 'static,
    AsyncDieselConnectionManager<C>: deadpool::managed::Manager,
{
    let mut config = ManagerConfig::<C>::default();
    config.custom_setup = setup;
    // The default asks `SELECT 1` at every checkout: a round trip each time.
    config.recycling_method = RecyclingMethod::Fast;
    // The set-up knows by itself what to connect to.
    Pool::builder(AsyncDieselConnectionManager::new_with_config("", config))
        .max_size(size)
        // The one used last is the one whose caches are warm.
        .queue_mode(deadpool::managed::QueueMode::Lifo)
        .wait_timeout(Some(wait))
        .runtime(deadpool::Runtime::Tokio1)
        .build()
        .map_err(OpenDatabaseError::connection)
}

fn lost(err: impl Display) -> ConnectionError {
    ConnectionError::BadConnection(err.to_string())
}
