//! Identity's storage ports, over SQLite or PostgreSQL.

mod accounts;
mod app_passwords;
mod attempts;
mod beginning;
mod challenges;
mod factor_writes;
mod factors;
mod guesses;
mod mailed_tokens;
mod password_writes;
mod passwords;
mod registering;
mod session_rows;
mod session_starts;
mod sessions;
mod sign_ins;

pub use accounts::SqlAccounts;
pub use app_passwords::SqlAppPasswords;
pub use attempts::SqlAttempts;
pub use challenges::SqlChallenges;
pub use factors::SqlFactors;
pub use guesses::SqlGuesses;
pub use mailed_tokens::SqlMailedTokens;
pub use passwords::SqlPasswords;
pub use session_starts::SqlSessionStarts;
pub use sessions::SqlSessions;
pub use sign_ins::SqlSignIns;
