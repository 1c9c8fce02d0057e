//! What every storage adapter stands on: connection strings, the pools, the
//! macros, SQL types, tables and migrations, over SQLite or PostgreSQL.

mod target;

mod pairs;
mod postgres_target;
mod sqlite_target;

mod start;

mod grants;
mod migrations;

mod db;
mod durability;

mod checkpoint;
mod connect;
mod count;
mod postgres;
mod sqlite;
mod tls;
mod verifier;

mod bulk;
mod columns;
mod effects;
mod ledger;
mod macros;
mod pauses;
mod pipelined;
pub mod schema;
mod sql_types;
mod together;

pub use bulk::InsertAll;
pub use connect::{OpenError, Options, Synchronous};
pub use db::{AsyncPostgres, AsyncSqlite, Conn, Database, DbError, NotReady};
pub use effects::{AuditIdentity, AuditPart, EffectRows, StoredLetter, WriteEffects};
pub use ledger::{Ledger, TakeLedger, fresh_epoch, storage_use};
pub use migrations::migrate;
pub use pauses::Pauses;
pub use pipelined::Pipelined;
pub use sql_types::{DbInstant, DbUid, Instant, Uid};
pub use start::{StartError, Startup, migrate_only, start};
pub use target::{Provider, Target, TargetError};
pub use together::Together;

// The macros name it where they are used.
#[doc(hidden)]
pub use diesel_async;
