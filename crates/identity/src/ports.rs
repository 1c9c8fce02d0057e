//! Ports of this domain: traits of its stores and services, and their values.
//!
//! A file has the noun of the use case that calls it; `storage-identity`
//! mostly has a file of that noun with the SQL. A method of a store is
//! atomic: outcomes such as `Stale`, `Full` or `Gone` mean that nothing was
//! written.

mod accounts;
mod api_keys;
mod app_passwords;
mod candidate;
mod factors;
mod first_admin;
mod invitations;
mod mailed_tokens;
mod passkeys;
mod password_throttle;
mod passwords;
mod providers;
mod rate_limits;
mod roles;
mod scim_tokens;
mod scim_users;
mod seats;
mod session_starts;
mod sessions;
mod sign_in_log;

pub use accounts::*;
pub use api_keys::*;
pub use app_passwords::*;
pub use candidate::*;
pub use factors::*;
pub use first_admin::*;
pub use invitations::*;
pub use mailed_tokens::*;
pub use passkeys::*;
pub use password_throttle::*;
pub use passwords::*;
pub use providers::*;
pub use rate_limits::*;
pub use roles::*;
pub use scim_tokens::*;
pub use scim_users::*;
pub use seats::*;
pub use session_starts::*;
pub use sessions::*;
pub use sign_in_log::*;
