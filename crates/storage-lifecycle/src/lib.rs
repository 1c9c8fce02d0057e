//! Tasks across all tables: exporting and erasing accounts' data, and reading
//! the audit log.
//!
//! The inventory (`inventory.rs`, read it first) lists every table, with its erasure,
//! its section of the export, and a reason for each column that is left out. Three parts
//! depend on it: the export (`export.rs`), the erasure (`erase.rs`, `forgetting.rs`), and
//! the tests, which fail for a table that is missing. The audit log is apart:
//! `audit_log.rs` reads it, `audit_chain.rs` makes changes of it evident.

mod inventory;

mod sections;

mod account;
mod assignments;
mod catalogue_tables;
mod chats;
mod effect_writer;
mod export;
mod export_section;
mod feedback;
mod forgetting;
mod schedules;
mod synced;
mod usage_tables;

mod audit_chain;
mod audit_log;
mod audit_tables;
mod bookkeeping_tables;
mod erase;
mod knowledge_tables;
mod maintenance_log;
mod pod_tables;
mod pseudonym;

pub use audit_chain::{AuditCheckpoint, SqlAuditChain};
pub use audit_log::SqlAuditLog;
pub use effect_writer::SqlEffectWriter;
pub use erase::SqlEraser;
pub use export::SqlPersonalData;
pub use export_section::ExportSection;
pub use inventory::{ErasurePolicy, InventoryTable, inventory};
pub use maintenance_log::SqlMaintenanceLog;
