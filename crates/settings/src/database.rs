//! `Database`: connections to the database.
//!
//! On PostgreSQL, requests, migrations and maintenance may have a connection string
//! each, with the rights that they need; `ConnectionString` is for requests.

use std::path::Path;
use std::time::Duration;

use pia_kernel::Secret;
use pia_storage::{DatabaseKind, DatabaseOptions, DatabaseTarget, Startup, Synchronous};

use super::error::Reason;
use super::section::Section;
use super::setting::{Setting, choice};

const FILE: &str = "pia.db";

/// Settings of the database.
#[derive(Debug, Clone)]
pub struct DatabaseConfig {
    /// Database, and the roles for requests, migrations and maintenance.
    pub startup: Startup,
}

/// Database to migrate, and the roles for that.
#[derive(Debug, Clone)]
pub struct MigrationTargets {
    /// Database as requests use it; equal to the other if only that is
    /// configured.
    pub target: DatabaseTarget,
    /// Database with a role that may create tables.
    pub migration_target: Option<DatabaseTarget>,
    /// Database with a role that sees the rows of all users.
    pub maintenance_target: Option<DatabaseTarget>,
}

struct Targets {
    default_target: Option<DatabaseTarget>,
    migration: Option<DatabaseTarget>,
    maintenance: Option<DatabaseTarget>,
    options: DatabaseOptions,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Serving,
    Migrating,
}

impl DatabaseConfig {
    pub(super) fn from_section(from: &mut Section<'_>) -> Option<Self> {
        let targets = Targets::from_section(from, Purpose::Serving);
        let startup = Startup {
            target: targets.default_target?,
            migration_target: targets.migration,
            maintenance_target: targets.maintenance,
            options: targets.options,
        };
        Some(Self { startup })
    }
}

impl MigrationTargets {
    pub(super) fn from_section(from: &mut Section<'_>) -> Option<Self> {
        let targets = Targets::from_section(from, Purpose::Migrating);
        let target = targets.default_target.or_else(|| targets.migration.clone())?;
        let Targets { migration, maintenance, .. } = targets;
        Some(Self { target, migration_target: migration, maintenance_target: maintenance })
    }
}

impl Targets {
    fn from_section(from: &mut Section<'_>, purpose: Purpose) -> Self {
        let is_development = from.environment().is_development();
        let default = if is_development { DatabaseKind::Sqlite } else { DatabaseKind::Postgres };
        let provider = from.restart("Provider").or(default);
        let migration = role(from, "MigrationConnectionString", provider);
        let maintenance = role(from, "MaintenanceConnectionString", provider);

        let default_url = file_url(&from.dir().join(FILE));
        let field = from.restart("ConnectionString");
        let connection_string = match provider {
            DatabaseKind::Sqlite => Some(field.or(Secret::new(default_url))),
            // The owner's connection suffices for a migration.
            DatabaseKind::Postgres if purpose == Purpose::Migrating && migration.is_some() => {
                field.optional()
            }
            DatabaseKind::Postgres => field.required("set how the database is reached"),
        };

        let options = DatabaseOptions {
            max_connections: from.restart("MaxConnections").within(16, 1..=1000),
            synchronous: from.restart("Synchronous").or(Synchronous::Full),
            statement_timeout: from
                .restart("StatementTimeout")
                .within(Duration::from_secs(5), Duration::from_secs(1)..=Duration::from_mins(1)),
        };

        let default_target = target(from, "ConnectionString", provider, connection_string);

        Self { default_target, migration, maintenance, options }
    }
}

/// Returns the database with another role; a file has no roles.
fn role(from: &mut Section<'_>, name: &str, provider: DatabaseKind) -> Option<DatabaseTarget> {
    let text = from.restart(name).optional::<Secret<String>>()?;
    if provider == DatabaseKind::Sqlite {
        from.warn(name, "has no effect: a file has no roles");
        return None;
    }
    target(from, name, provider, Some(text))
}

fn target(
    from: &mut Section<'_>,
    name: &str,
    provider: DatabaseKind,
    text: Option<Secret<String>>,
) -> Option<DatabaseTarget> {
    match DatabaseTarget::parse(provider, text?.expose()) {
        Ok(target) => Some(target),
        Err(err) => {
            from.refuse(name, Reason::form(err.to_string()));
            None
        }
    }
}

/// Returns the URL of a file, with special characters escaped.
fn file_url(path: &Path) -> String {
    let escaped_path =
        path.to_string_lossy().replace('%', "%25").replace('?', "%3F").replace('#', "%23");
    format!("sqlite://{escaped_path}")
}

impl Setting for DatabaseKind {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        Self::from_name(text).ok_or(Reason::form("expected one of sqlite, postgresql"))
    }

    fn format(&self) -> String {
        self.name().to_owned()
    }
}

impl Setting for Synchronous {
    const IS_SECRET: bool = false;

    fn choices() -> Vec<(&'static str, Self)> {
        vec![("Full", Self::Full), ("Normal", Self::Normal)]
    }

    fn parse(text: &str) -> Result<Self, Reason> {
        choice(text)
    }

    fn format(&self) -> String {
        format!("{self:?}")
    }
}
