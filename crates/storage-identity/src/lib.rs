//! Identity's storage ports, over SQLite or PostgreSQL.

mod accounts;
mod attempts;
mod challenges;
mod factor_writes;
mod factors;
mod mailed_tokens;
mod password_writes;
mod passwords;
mod registering;
mod session_rows;
mod sessions;
mod sign_ins;

pub use accounts::SqlAccounts;
pub use attempts::SqlAttempts;
pub use challenges::SqlChallenges;
pub use factors::SqlFactors;
pub use mailed_tokens::SqlMailedTokens;
pub use passwords::SqlPasswords;
pub use sessions::SqlSessions;
pub use sign_ins::SqlSignIns;
