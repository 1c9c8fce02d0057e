//! Storage ports of identity, over SQLite or PostgreSQL.
//!
//! A file has the noun of the port that it implements: `accounts.rs` has
//! `AccountStore`. Read `factor_writes.rs` first: its locks serialise the
//! changes of one account, and its `end_others` outdates sign-ins in
//! progress. `admins.rs` has the turn, which serialises changes of the
//! numbers of accounts and administrators, and is taken before any account is
//! locked.

mod accounts;
mod addresses;
mod admins;
mod api_keys;
mod app_passwords;
mod challenges;
mod email_tokens;
mod factor_writes;
mod factors;
mod first_admin;
mod invitations;
mod passkey_challenges;
mod passkeys;
mod password_throttle;
mod password_writes;
mod passwords;
mod provider_accounts;
mod provider_flows;
mod rate_limits;
mod registering;
mod roles;
mod scim_tokens;
mod scim_users;
mod session_rows;
mod session_start;
mod session_starts;
mod sessions;
mod sign_in_codes;
mod sign_ins;
mod token_rotation;

pub use accounts::SqlAccounts;
pub use addresses::{AddressesFolded, SqlAddresses};
pub use api_keys::SqlApiKeys;
pub use app_passwords::SqlAppPasswords;
pub use challenges::SqlChallenges;
pub use email_tokens::SqlEmailTokens;
pub use factors::SqlFactors;
pub use first_admin::SqlFirstAdmin;
pub use invitations::SqlInvitations;
pub use passkey_challenges::SqlPasskeyChallenges;
pub use passkeys::SqlPasskeys;
pub use password_throttle::SqlPasswordThrottleStore;
pub use passwords::SqlPasswords;
pub use provider_accounts::SqlProviderAccounts;
pub use provider_flows::SqlProviderFlows;
pub use rate_limits::SqlRateLimitStore;
pub use roles::SqlRoles;
pub use scim_tokens::SqlScimTokens;
pub use scim_users::SqlScimUsers;
pub use session_starts::SqlSessionStarts;
pub use sessions::SqlSessions;
pub use sign_in_codes::SqlSignInCodes;
pub use sign_ins::SqlSignIns;
