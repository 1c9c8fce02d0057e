//! Identity's storage ports, over SQLite or PostgreSQL.

mod accounts;
mod admins;
mod app_passwords;
mod attempts;
mod beginning;
mod challenges;
mod factor_writes;
mod factors;
mod first_admin;
mod guesses;
mod invitations;
mod mailed_tokens;
mod password_writes;
mod passwords;
mod registering;
mod roles;
mod session_rows;
mod session_starts;
mod sessions;
mod sign_ins;

pub use accounts::SqlAccounts;
pub use app_passwords::SqlAppPasswords;
pub use attempts::SqlAttempts;
pub use challenges::SqlChallenges;
pub use factors::SqlFactors;
pub use first_admin::SqlFirstAdmin;
pub use guesses::SqlGuesses;
pub use invitations::SqlInvitations;
pub use mailed_tokens::SqlMailedTokens;
pub use passwords::SqlPasswords;
pub use roles::SqlRoles;
pub use session_starts::SqlSessionStarts;
pub use sessions::SqlSessions;
pub use sign_ins::SqlSignIns;
