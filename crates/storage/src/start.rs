//! Preparation of the database when the server starts.

use crate::connect::DatabaseOptions;
use crate::db::Database;
use crate::error::{OpenDatabaseError, StartupError};
use crate::migrations::{self, migrate_for};
use crate::target::{DatabaseKind, DatabaseTarget, TargetKind};

/// Database settings at startup.
#[derive(Debug, Clone)]
pub struct Startup {
    /// Database as requests use it.
    pub target: DatabaseTarget,
    /// Database with a role that may create tables; for PostgreSQL.
    pub migration_target: Option<DatabaseTarget>,
    /// Other options of the operator.
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
    let Startup { target, migration_target, options } = startup;
    match (target.provider(), &migration_target) {
        (DatabaseKind::Sqlite, _) => drop(migrate_for(&target, None).await?),
        (DatabaseKind::Postgres, Some(migrator)) => {
            drop(migrate_for(migrator, role_of(&target)).await?);
        }
        (DatabaseKind::Postgres, None) => {}
    }
    let db = Database::open(&target, options)?;
    let state = migrations::state(&db).await.map_err(opening)?;
    if !state.pending.is_empty() {
        return Err(StartupError::Pending(state.pending));
    }
    if !state.unknown.is_empty() {
        let versions = state.unknown.join(", ");
        tracing::warn!(versions, "database schema is newer than this server");
    }
    Ok(db)
}

/// Applies migrations and does nothing else, as the migration target's role if
/// there is one. Returns the names of the applied migrations.
pub async fn migrate_only(
    target: &DatabaseTarget,
    migration_target: Option<&DatabaseTarget>,
) -> Result<Vec<String>, StartupError> {
    match (target.provider(), migration_target) {
        (DatabaseKind::Postgres, Some(migrator)) => migrate_for(migrator, role_of(target)).await,
        (DatabaseKind::Postgres, None) | (DatabaseKind::Sqlite, _) => {
            migrate_for(target, None).await
        }
    }
}

fn role_of(target: &DatabaseTarget) -> Option<&str> {
    match &target.0 {
        TargetKind::Sqlite(_) => None,
        TargetKind::Postgres(target) => target.user(),
    }
}

/// Returns the cause alone: that the pool failed does not help an operator.
fn opening(err: crate::DbError) -> StartupError {
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
