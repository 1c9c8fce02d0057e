//! Identity's storage ports, over SQLite or PostgreSQL.

mod accounts;
mod attempts;
mod challenges;
mod factor_writes;
mod factors;
mod registering;
mod session_rows;
mod sessions;
mod sign_ins;

pub use accounts::SqlAccounts;
pub use attempts::SqlAttempts;
pub use challenges::SqlChallenges;
pub use factors::SqlFactors;
pub use sessions::SqlSessions;
pub use sign_ins::SqlSignIns;
