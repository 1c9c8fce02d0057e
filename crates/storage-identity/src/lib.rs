//! Identity's storage ports, over SQLite or PostgreSQL.

mod accounts;
mod attempts;
mod challenges;
mod factor_writes;
mod factors;
mod sessions;

pub use accounts::SqlAccounts;
pub use attempts::SqlAttempts;
pub use challenges::SqlChallenges;
pub use factors::SqlFactors;
pub use sessions::SqlSessions;
