//! Ports of this domain.

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
pub use seats::*;
pub use session_starts::*;
pub use sessions::*;
pub use sign_in_log::*;
