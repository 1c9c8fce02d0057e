//! Errors of databases.
//!
//! Callers get a [`DbError`] from a statement. The server gets the others: a [`TargetError`] when
//! it parses its settings, a [`StartupError`] when it starts, and a [`ReadinessError`] when a
//! probe asks for its state.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use diesel::result::DatabaseErrorKind;
use diesel_async::pooled_connection::deadpool::PoolError;
use pia_kernel::Unavailable;

/// Reasons why a read or a write failed.
#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// No connection became free in time, or none could be opened.
    #[error("no connection is available")]
    Pool(#[from] PoolError),
    /// A statement failed.
    #[error("query failed")]
    Query(#[from] diesel::result::Error),
    /// A column has a value that this version does not know. Names the column.
    #[error("`{0}` has an unknown value")]
    Unreadable(&'static str),
    /// No master key is configured.
    #[error("no master key is configured")]
    NoKey,
    /// A secret could not be sealed.
    #[error(transparent)]
    Sealing(#[from] Unavailable),
    /// The batch of writes that contained this one failed; all of them share its error.
    #[error("the batch that it was written with failed")]
    Batch(#[source] Arc<DbError>),
    /// The task that should have executed the statement has ended.
    #[error("it was abandoned")]
    Abandoned,
}

impl DbError {
    /// Returns whether a transaction on PostgreSQL was rolled back for a reason
    /// that may not recur: a deadlock, or a conflict with another transaction.
    ///
    /// Diesel does not distinguish deadlocks, and their message depends on the
    /// server's language. So every error of an unknown kind counts: its
    /// transaction was rolled back, and one more attempt does no harm.
    pub fn is_conflict(&self) -> bool {
        use DatabaseErrorKind::{SerializationFailure, Unknown};
        use diesel::result::Error::DatabaseError;
        matches!(self, Self::Query(DatabaseError(SerializationFailure | Unknown, _)))
    }
}

impl From<DbError> for Unavailable {
    fn from(err: DbError) -> Self {
        Self::new("storage", err)
    }
}

/// Reasons why this server should get no requests now.
#[derive(Debug, thiserror::Error)]
pub enum ReadinessError {
    /// The database did not answer within this time.
    #[error("the database did not answer within {} ms", .0.as_millis())]
    Silent(Duration),
    /// The database is unreachable or failing.
    #[error("the database is unavailable")]
    Away(#[source] DbError),
    /// The tables are older than this version needs. Names the pending migrations.
    #[error("migrations are pending: {}", .0.join(", "))]
    Pending(Vec<String>),
}

/// Reasons why a database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenDatabaseError {
    /// The file's folder does not exist; it is never created.
    #[error("the folder `{}` does not exist", .0.display())]
    NoFolder(PathBuf),
    /// The file cannot be written or created, or is no database; with the reason.
    #[error("the file `{}` cannot be used: {}", .0.display(), .1)]
    File(PathBuf, String),
    /// The file named by `sslrootcert` is unusable; with the reason.
    #[error("the root certificates in `{}` cannot be used: {}", .0.display(), .1)]
    Roots(PathBuf, String),
    /// The root certificates of this machine are unusable.
    #[error("the root certificates of this machine cannot be used: {0}")]
    SystemRoots(String),
    /// TLS could not be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
    /// No connection could be opened or configured.
    #[error("{0}")]
    Connection(String),
}

impl OpenDatabaseError {
    pub(crate) fn connection(err: impl Display) -> Self {
        Self::Connection(err.to_string())
    }
}

/// Reasons why the server cannot start with its database. Each message begins with a code by
/// which operators look it up.
#[derive(Debug, thiserror::Error)]
pub enum StartupError {
    /// The tables are older than this version needs, and no role that may change
    /// them is configured. Names the pending migrations.
    #[error(
        "SVC-DB-001: migrations are pending ({}); run with --migrate-only, or set \
         Database:MigrationConnectionString",
        .0.join(", ")
    )]
    Pending(Vec<String>),
    /// The database cannot be opened.
    #[error("SVC-DB-002: the database cannot be opened: {0}")]
    Open(#[from] OpenDatabaseError),
    /// A migration failed. Those before it stay applied on PostgreSQL; on SQLite
    /// none is applied.
    #[error("SVC-DB-003: the database cannot be migrated: {0}")]
    Migration(String),
    /// The role of requests is not subject to row-level security; with the reason.
    #[error(
        "SVC-DB-004: Database:MaintenanceConnectionString restricts requests to the rows of \
         their user, but the role of Database:ConnectionString {0}"
    )]
    RequestRole(&'static str),
    /// Row-level security is not enabled for these tables yet.
    #[error(
        "SVC-DB-005: row-level security is off ({}); run with --migrate-only and \
         Database:MaintenanceConnectionString",
        .0.join(", ")
    )]
    Unrestricted(Vec<String>),
    /// The role of maintenance does not see the rows of all users.
    #[error("SVC-DB-006: the role of Database:MaintenanceConnectionString needs BYPASSRLS")]
    MaintenanceRole,
    /// Row-level security is enabled, and no role would see the rows of all users.
    #[error(
        "SVC-DB-007: row-level security is on; set Database:MaintenanceConnectionString, or run \
         with --migrate-only without it to switch row-level security off"
    )]
    NoMaintenanceRole,
}

impl StartupError {
    pub(crate) fn migration(err: impl Display) -> Self {
        Self::Migration(err.to_string())
    }
}

/// Errors of a connection string. Messages quote only the names of known settings,
/// since any other part may be a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The string is empty.
    #[error("the connection string is empty")]
    Empty,
    /// The string exceeds 8 KiB.
    #[error("the connection string is too long")]
    TooLong,
    /// The string cannot be parsed.
    #[error(
        "the connection string is neither a URL nor `key=value` pairs between spaces or semicolons"
    )]
    Form,
    /// The string is for a provider other than this one, which is configured.
    #[error("the connection string is not one for the provider `{0}`")]
    OtherProvider(&'static str),
    /// A setting is unknown. Settings are counted from one; in a URL from its
    /// question mark on.
    #[error("the connection string's setting number {0} is unknown")]
    Unknown(usize),
    /// A setting has an invalid value.
    #[error("the connection string's `{0}` has an invalid value")]
    Value(&'static str),
    /// A required setting is missing.
    #[error("the connection string has no `{0}`")]
    Missing(&'static str),
    /// The database is in memory, where every connection would have its own.
    #[error("a database in memory cannot be used; name a file")]
    Memory,
    /// Any public authority is trusted, but the server's name is not verified. Every owner of a
    /// public certificate could pose as the server.
    #[error("`sslrootcert=system` needs `sslmode=verify-full`")]
    SystemRootsUnnamed,
}
