//! Preparation of the database when the server starts.
//!
//! The server calls `start`, `--migrate-only` calls `migrate_only`. Up to three roles of
//! PostgreSQL take part: one for requests, one that owns the tables and migrates, and
//! one for maintenance, which sees the rows of all users.

use crate::connect::DatabaseOptions;
use crate::db::Database;
use crate::error::{OpenDatabaseError, StartupError};
use crate::migrations::{self, migrate_for};
use crate::pools::Pools;
use crate::role_grants::{Restriction, Roles};
use crate::row_security;
use crate::target::{DatabaseKind, DatabaseTarget};

/// Database settings at startup.
#[derive(Debug, Clone)]
pub struct Startup {
    /// Database as requests use it.
    pub target: DatabaseTarget,
    /// Database with a role that may create tables; for PostgreSQL.
    pub migration_target: Option<DatabaseTarget>,
    /// Database with a role that sees the rows of all users; for PostgreSQL. With
    /// it, requests are restricted to the rows of their user.
    pub maintenance_target: Option<DatabaseTarget>,
    /// Operator's options besides the addresses.
    pub options: DatabaseOptions,
}

/// Opens the database and sees to it that it has the tables this version
/// needs.
///
/// A file is always migrated; a server only as the role of the migration
/// target, without which no migration may be pending. A database with newer
/// migrations than this version is accepted: migrations only add what the version
/// before does not need, so that instances of two versions can run beside
/// each other during an upgrade.
///
/// Call it on the runtime that outlives all others.
pub async fn start(startup: Startup) -> Result<Database, StartupError> {
    let Startup { target, migration_target, maintenance_target, options } = startup;
    let maintenance = maintenance_target.as_ref();

    match (target.provider(), &migration_target) {
        (DatabaseKind::Sqlite, _) => drop(migrate_for(&target, Roles::default()).await?),
        (DatabaseKind::Postgres, Some(migrator)) => {
            drop(migrate_for(migrator, Roles::from_targets(&target, maintenance)).await?);
        }
        (DatabaseKind::Postgres, None) => {}
    }

    let maintenance_pools = maintenance.map(|it| Pools::open(it, options)).transpose()?;
    let db = Database::open(&target, options)?.with_maintenance(maintenance_pools);
    let state = migrations::state(&db).await.map_err(opening)?;
    if !state.pending.is_empty() {
        return Err(StartupError::Pending(state.pending));
    }

    if !state.unknown.is_empty() {
        let versions = state.unknown.join(", ");
        tracing::warn!(versions, "database schema is newer than this server");
    }

    row_security::check(&db).await?;

    Ok(db)
}

/// Applies migrations and does nothing else, as the migration target's role if
/// there is one. Returns the names of the applied migrations.
pub async fn migrate_only(
    target: &DatabaseTarget,
    migration_target: Option<&DatabaseTarget>,
    maintenance_target: Option<&DatabaseTarget>,
) -> Result<Vec<String>, StartupError> {
    let migrator = match target.provider() {
        DatabaseKind::Sqlite => target,
        DatabaseKind::Postgres => migration_target.unwrap_or(target),
    };
    let roles = Roles::from_targets(target, maintenance_target);
    // Only here: a server without the setting must not lift it for others.
    let restriction = match roles.restriction {
        Restriction::Unchanged => Restriction::Lifted,
        requested => requested,
    };
    migrate_for(migrator, Roles { restriction, ..roles }).await
}

/// Returns the cause alone: that the pool failed does not help an operator.
pub(crate) fn opening(err: crate::DbError) -> StartupError {
    use crate::DbError::{Abandoned, Batch, NoKey, Pool, Query, Sealing, Unreadable};
    use deadpool::managed::PoolError::Backend;
    use diesel_async::pooled_connection::PoolError::{ConnectionError, QueryError};
    StartupError::Open(match err {
        Pool(Backend(ConnectionError(err))) => OpenDatabaseError::connection(err),
        Pool(Backend(QueryError(err))) | Query(err) => OpenDatabaseError::connection(err),
        Pool(err) => OpenDatabaseError::connection(err),
        err @ (Unreadable(_) | NoKey | Sealing(_) | Batch(_) | Abandoned) => {
            OpenDatabaseError::connection(err)
        }
    })
}
