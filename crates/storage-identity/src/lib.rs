//! Identity's storage ports, over SQLite or PostgreSQL.

mod accounts;
mod attempts;
mod sessions;

pub use accounts::SqlAccounts;
pub use attempts::SqlAttempts;
pub use sessions::SqlSessions;
