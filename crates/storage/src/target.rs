//! Database named by a connection string.
//!
//! Parsing depends on the provider, which a setting names. `postgres_target.rs` and
//! `sqlite_target.rs` have the rules.

use std::fmt;
use std::path::Path;

use crate::error::TargetError;
use crate::postgres_target::PostgresTarget;
use crate::sqlite_target::SqliteTarget;

/// Maximum length of a connection string in bytes.
const MAX_CONNECTION_STRING_BYTES: usize = 8 * 1024;

/// Kinds of database that are built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseKind {
    /// File on this machine.
    Sqlite,
    /// PostgreSQL, on a server.
    Postgres,
}

impl DatabaseKind {
    /// Returns the name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgresql",
        }
    }

    /// Returns the provider of this name, in any case; `postgres` is an alias.
    pub fn from_name(name: &str) -> Option<Self> {
        match name.trim().to_ascii_lowercase().as_str() {
            "sqlite" => Some(Self::Sqlite),
            "postgresql" | "postgres" => Some(Self::Postgres),
            _ => None,
        }
    }
}

/// Address of a database, with credentials.
#[derive(Clone, PartialEq)]
pub struct DatabaseTarget(pub(crate) TargetKind);

#[derive(Clone, PartialEq)]
pub(crate) enum TargetKind {
    Sqlite(SqliteTarget),
    Postgres(Box<PostgresTarget>),
}

impl DatabaseTarget {
    /// Parses a URL, libpq's `key=value` pairs, or the `Key=value;` pairs of
    /// .NET, for either provider.
    pub fn parse(provider: DatabaseKind, connection_string: &str) -> Result<Self, TargetError> {
        let text = connection_string.trim();
        if text.is_empty() {
            return Err(TargetError::Empty);
        }
        if text.len() > MAX_CONNECTION_STRING_BYTES {
            return Err(TargetError::TooLong);
        }
        Ok(Self(match provider {
            DatabaseKind::Sqlite => TargetKind::Sqlite(SqliteTarget::parse(text)?),
            DatabaseKind::Postgres => TargetKind::Postgres(Box::new(PostgresTarget::parse(text)?)),
        }))
    }

    /// Returns the role of a connection; `None` if it is not named, or the
    /// database has no roles.
    pub(crate) fn user(&self) -> Option<&str> {
        match &self.0 {
            TargetKind::Sqlite(_) => None,
            TargetKind::Postgres(target) => target.user(),
        }
    }

    /// Returns the folder of the database's file; `None` if it is on a server.
    pub fn folder(&self) -> Option<&Path> {
        match &self.0 {
            TargetKind::Sqlite(target) => target.path.parent(),
            TargetKind::Postgres(_) => None,
        }
    }

    /// Returns the kind of the database.
    pub fn provider(&self) -> DatabaseKind {
        match self.0 {
            TargetKind::Sqlite(_) => DatabaseKind::Sqlite,
            TargetKind::Postgres(_) => DatabaseKind::Postgres,
        }
    }
}

/// Omits the password.
impl fmt::Debug for DatabaseTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            TargetKind::Sqlite(it) => fmt::Debug::fmt(it, f),
            TargetKind::Postgres(it) => fmt::Debug::fmt(it, f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_has_two_names_in_any_case() {
        assert_eq!(DatabaseKind::from_name(" SQLite "), Some(DatabaseKind::Sqlite));
        assert_eq!(DatabaseKind::from_name("PostgreSQL"), Some(DatabaseKind::Postgres));
        assert_eq!(DatabaseKind::from_name("postgres"), Some(DatabaseKind::Postgres));
        assert_eq!(DatabaseKind::from_name("mysql"), None);
    }

    #[test]
    fn empty_and_oversized_strings_are_rejected() {
        let long = format!("Host=db;Password={}", "x".repeat(MAX_CONNECTION_STRING_BYTES));

        for provider in [DatabaseKind::Sqlite, DatabaseKind::Postgres] {
            assert_eq!(DatabaseTarget::parse(provider, " \n"), Err(TargetError::Empty));
            assert_eq!(DatabaseTarget::parse(provider, &long), Err(TargetError::TooLong));
        }
    }
}
