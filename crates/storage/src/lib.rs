//! Foundation of every storage adapter: connection strings, pools, macros, SQL
//! types, tables and migrations, over SQLite or PostgreSQL.
//!
//! Path of a connection: `DatabaseTarget` (`target.rs`) parses the string, `start`
//! (`start.rs`) migrates and opens the pools (`connect.rs`), and adapters get
//! connections from `Database` (`db.rs`) through the macros in `macros.rs`. Read
//! `db.rs` and `macros.rs` first: `on_conn!` reads, `in_tx!` writes, and
//! `connection_trait!` declares methods for both databases.

mod error;
mod target;

mod connection_string;
mod postgres_target;
mod sqlite_target;

mod start;

mod migrations;
mod notifications;
mod role_grants;
mod row_security;

mod db;
mod durability;
mod pools;
mod sqlite_log;

mod checkpoint;
mod connect;
mod counter_queue;
mod counters;
mod postgres;
mod sqlite;
mod tls;
mod verifier;

mod bulk;
mod catalogue_version;
mod columns;
mod cte_batch;
mod effects;
mod knowledge_scope;
mod ledger;
mod macros;
mod pipelined;
mod retry_backoff;
pub mod schema;
mod sql_types;
pub mod text_search;

pub use bulk::InsertAll;
pub use catalogue_version::CatalogueVersion;
pub use connect::{DatabaseOptions, Synchronous};
pub use cte_batch::CteBatch;
pub use db::Database;
pub use effects::{
    AuditIdentity, AuditPart, EffectRows, StoredEmail, WriteEffects, ids_without, selected_ids,
    with_ids,
};
pub use error::{DbError, OpenDatabaseError, ReadinessError, StartupError, TargetError};
pub use knowledge_scope::{BaseBinding, CheckBaseQuota, ExceededBases};
pub use ledger::{Ledger, TakeLedger, fresh_epoch, storage_use};
pub use migrations::migrate;
pub use notifications::NotifyProcesses;
pub use pipelined::Pipelined;
pub use pools::{AsyncPostgres, AsyncSqlite, Conn};
pub use retry_backoff::RetryBackoff;
#[doc(hidden)]
pub use row_security::RestrictRows;
pub use sql_types::{DbInstant, DbUid, Instant, Uid};
pub use start::{Startup, migrate_only, start};
pub use target::{DatabaseKind, DatabaseTarget};

// Used by the macros where they expand.
#[doc(hidden)]
pub use diesel_async;
