//! What spans all tables: telling people what is kept of them, forgetting
//! them, and reading the audit log.

mod inventory;

mod sections;

mod account;
mod chats;
mod export;
mod forgetting;
mod catalogue_tables;
mod synced;

mod audit_log;
mod erase;
mod pseudonym;

pub use audit_log::SqlAuditLog;
pub use erase::SqlEraser;
pub use export::SqlPersonalData;
pub use inventory::{ErasurePolicy, INVENTORY, Table};
