//! Identity's storage ports, over SQLite or PostgreSQL.

mod accounts;
mod attempts;
mod session_rows;
mod sessions;
mod sign_ins;

pub use accounts::SqlAccounts;
pub use attempts::SqlAttempts;
pub use sessions::SqlSessions;
pub use sign_ins::SqlSignIns;
