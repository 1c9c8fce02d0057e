//! What every storage adapter stands on: connection strings, the pools, the
//! macros, SQL types, tables and migrations, over SQLite or PostgreSQL.

mod target;

mod connection_string;
mod postgres_target;
mod sqlite_target;

mod start;

mod role_grants;
mod migrations;

mod db;
mod durability;

mod checkpoint;
mod connect;
mod counters;
mod postgres;
mod sqlite;
mod tls;
mod verifier;

mod bulk;
mod columns;
mod effects;
mod ledger;
mod macros;
mod retry_backoff;
mod pipelined;
pub mod schema;
mod sql_types;
mod cte_batch;

pub use bulk::InsertAll;
pub use connect::{OpenError, Options, Synchronous};
pub use db::{AsyncPostgres, AsyncSqlite, Conn, Database, DbError, NotReady};
pub use effects::{AuditIdentity, AuditPart, EffectRows, StoredEmail, WriteEffects};
pub use ledger::{Ledger, TakeLedger, fresh_epoch, storage_use};
pub use migrations::migrate;
pub use retry_backoff::RetryBackoff;
pub use pipelined::Pipelined;
pub use sql_types::{DbInstant, DbUid, Instant, Uid};
pub use start::{StartError, Startup, migrate_only, start};
pub use target::{Provider, Target, TargetError};
pub use cte_batch::CteBatch;

// The macros name it where they are used.
#[doc(hidden)]
pub use diesel_async;
