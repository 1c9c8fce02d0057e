//! Application of migrations, and the check for pending ones.
//!
//! Migrations are embedded from `migrations/sqlite` and `migrations/postgres`. On SQLite
//! all pending ones are one transaction; on PostgreSQL each is its own, under a lock.
//! `state` compares without applying anything.

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use diesel::backend::Backend;
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::migration::MigrationSource;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool};
use diesel::sqlite::Sqlite;
use diesel_async::AsyncPgConnection;
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

use crate::db::Database;
use crate::error::{DbError, OpenDatabaseError, ReadinessError, StartupError};
use crate::pools::Conn;
use crate::postgres::Connector;
use crate::role_grants::{self, Restriction, Roles};
use crate::row_security;
use crate::sqlite::{self, SQLITE_WRITES};
use crate::target::{DatabaseTarget, TargetKind};

const SQLITE_MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations/sqlite");
const POSTGRES_MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations/postgres");

/// Off, because a migration that recreates a table drops the old one, and SQLite
/// would delete every row that refers to it.
const SQLITE_MIGRATES: &str = "PRAGMA foreign_keys = OFF;";

/// Advisory lock under which one process migrates while others wait. The number is `pia-mig` in
/// ASCII.
const POSTGRES_LOCK: &str = "
    SET lock_timeout = '300s';
    SELECT pg_advisory_lock(31641063486482791);";

use __diesel_schema_migrations as journal;

type Failure = Box<dyn Error + Send + Sync>;

diesel::table! {
    __diesel_schema_migrations (version) {
        version -> Text,
    }
}

/// Differences between the migrations of a database and of this program.
pub(crate) struct State {
    /// Names of the migrations that this version has and the database lacks.
    pub(crate) pending: Vec<String>,
    /// Versions of the migrations that only the database has.
    pub(crate) unknown: Vec<String>,
}

/// Migration of this program.
struct MigrationId {
    version: String,
    name: String,
}

/// Applies every pending migration, and returns their names.
///
/// Each migration is applied once, even by concurrent callers. A connection
/// string to PostgreSQL must name a role that may create tables.
pub async fn migrate(target: &DatabaseTarget) -> Result<Vec<String>, StartupError> {
    migrate_for(target, Roles::default()).await
}

/// Applies migrations as [`migrate`] does, grants `roles` access to the tables,
/// and changes the restriction of requests to the rows of their user.
pub(crate) async fn migrate_for(
    target: &DatabaseTarget,
    roles: Roles<'_>,
) -> Result<Vec<String>, StartupError> {
    let applied = match &target.0 {
        TargetKind::Sqlite(target) => {
            let path = sqlite::prepare(&target.path)?;
            tokio::task::spawn_blocking(move || migrate_sqlite(&path)).await
        }
        TargetKind::Postgres(target) => {
            let conn =
                Connector::new(target)?.connect().await.map_err(OpenDatabaseError::connection)?;
            let other_roles = [roles.requests, roles.maintenance]
                .into_iter()
                .flatten()
                .filter(|it| target.user() != Some(*it))
                .map(str::to_owned)
                .collect();
            let restriction = roles.restriction;
            tokio::task::spawn_blocking(move || migrate_postgres(conn, other_roles, restriction))
                .await
        }
    };

    applied.unwrap_or_else(|err| Err(StartupError::migration(err)))
}

/// Migrates in one transaction, so that a database is never left half-migrated.
fn migrate_sqlite(path: &str) -> Result<Vec<String>, StartupError> {
    let pragmas = format!("{SQLITE_WRITES}{SQLITE_MIGRATES}");
    let mut conn = sqlite::open(path, &pragmas)
        .map_err(|err| OpenDatabaseError::File(path.into(), err.to_string()))?;
    conn.immediate_transaction(|conn| {
        let applied = run(conn, SQLITE_MIGRATIONS)?;
        let dangling = sql::<BigInt>("(SELECT count(*) FROM pragma_foreign_key_check)");
        match diesel::select(dangling).get_result::<i64>(conn)? {
            0 => Ok(applied),
            rows => Err(Failure::from(format!("{rows} rows would refer to nothing"))),
        }
    })
    .map_err(StartupError::migration)
}

fn migrate_postgres(
    conn: AsyncPgConnection,
    roles: Vec<String>,
    restriction: Restriction,
) -> Result<Vec<String>, StartupError> {
    let mut conn = AsyncConnectionWrapper::<_>::from(conn);
    // The lock is released with the connection.
    conn.batch_execute(POSTGRES_LOCK).map_err(StartupError::migration)?;
    let is_pending =
        conn.has_pending_migration(POSTGRES_MIGRATIONS).map_err(StartupError::migration)?;
    let mut is_lifted = false;
    if is_pending {
        // Migrations change the rows of all users.
        let changed_tables =
            row_security::set_restricted(&mut conn, false).map_err(StartupError::migration)?;
        is_lifted = changed_tables > 0;
    }

    let applied = run(&mut conn, POSTGRES_MIGRATIONS).map_err(StartupError::migration)?;

    for role in roles {
        role_grants::grant_table_access(&mut conn, &role);
    }

    let is_restricted = match restriction {
        Restriction::Unchanged => is_lifted.then_some(true),
        Restriction::Restricted => Some(true),
        Restriction::Lifted => Some(false),
    };

    if let Some(is_restricted) = is_restricted {
        row_security::set_restricted(&mut conn, is_restricted).map_err(StartupError::migration)?;
    }

    Ok(applied)
}

fn run<DB: Backend>(
    conn: &mut impl MigrationHarness<DB>,
    all: EmbeddedMigrations,
) -> Result<Vec<String>, Failure> {
    let mut applied = Vec::new();
    for migration in conn.pending_migrations(all)? {
        let name = migration.name().to_string();
        conn.run_migration(migration.as_ref()).map_err(|err| format!("{name}: {err}"))?;
        tracing::info!(migration = name, "migration applied");
        applied.push(name);
    }
    Ok(applied)
}

impl Database {
    /// Returns the names of the migrations that this version needs and that were
    /// not applied yet.
    pub async fn pending(&self) -> Result<Vec<String>, DbError> {
        Ok(state(self).await?.pending)
    }

    /// Checks within a time that the database answers and has the tables that this
    /// version needs. Once it has them, the tables are not checked again.
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
}

/// Compares the applied migrations with those of this version. Needs no more than
/// the right to read.
pub(crate) async fn state(db: &Database) -> Result<State, DbError> {
    Ok(match db.reader().await? {
        Conn::Sqlite(mut conn) => {
            let exists = "EXISTS (SELECT 1 FROM sqlite_master \
                          WHERE name = '__diesel_schema_migrations')";
            let applied = conn.spawn_blocking(|conn| applied_versions(conn, exists)).await?;
            compare(embedded::<Sqlite>(&SQLITE_MIGRATIONS)?, applied)
        }
        Conn::Postgres(mut conn) => {
            let exists = diesel::select(sql::<Bool>(
                "to_regclass('__diesel_schema_migrations') IS NOT NULL",
            ));
            let applied = if diesel_async::RunQueryDsl::get_result(exists, &mut conn).await? {
                let versions = journal::table.select(journal::version);
                diesel_async::RunQueryDsl::load(versions, &mut conn).await?
            } else {
                Vec::new()
            };
            compare(embedded::<Pg>(&POSTGRES_MIGRATIONS)?, applied)
        }
    })
}

fn applied_versions(conn: &mut SqliteConnection, exists: &str) -> QueryResult<Vec<String>> {
    if diesel::select(sql::<Bool>(exists)).get_result(conn)? {
        journal::table.select(journal::version).load(conn)
    } else {
        Ok(Vec::new())
    }
}

/// Returns the embedded migrations.
fn embedded<DB: Backend>(all: &EmbeddedMigrations) -> Result<Vec<MigrationId>, DbError> {
    let migrations =
        MigrationSource::<DB>::migrations(all).map_err(diesel::result::Error::QueryBuilderError)?;
    Ok(migrations
        .iter()
        .map(|it| MigrationId {
            version: it.name().version().to_string(),
            name: it.name().to_string(),
        })
        .collect())
}

fn compare(embedded: Vec<MigrationId>, applied: Vec<String>) -> State {
    let mut unknown: BTreeSet<String> = applied.into_iter().collect();
    let mut pending: Vec<String> = embedded
        .into_iter()
        .filter_map(|it| (!unknown.remove(&it.version)).then_some(it.name))
        .collect();
    pending.sort_unstable();
    State { pending, unknown: unknown.into_iter().collect() }
}
