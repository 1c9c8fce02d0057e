//! The assistant's storage ports, over SQLite or PostgreSQL.

mod usage_log;
mod usage_queue;
mod usage_row;

pub use usage_log::SqlUsageLog;
