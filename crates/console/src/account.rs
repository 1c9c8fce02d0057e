//! Pages of one's own account.

mod api_keys;
mod app_passwords;
mod authenticator;
pub(crate) mod credits;
mod data;
pub(crate) mod device_names;
mod devices;
mod email;
pub(crate) mod origins;
pub(crate) mod owner_proofs;
mod passkeys;
mod passwords;
mod profile;
mod recovery_codes;
mod security;
mod sessions;
mod sign_in_history;

use pia_identity::SessionRef;
use pia_web::{ApiError, Caller, Route};

use crate::page_context::PageContext;

/// Returns the rows of the account pages.
pub(crate) fn routes() -> Vec<Route> {
    [
        profile::routes(),
        email::routes(),
        security::routes(),
        passwords::routes(),
        authenticator::routes(),
        recovery_codes::routes(),
        passkeys::routes(),
        app_passwords::routes(),
        api_keys::routes(),
        sessions::routes(),
        devices::routes(),
        credits::routes(),
        data::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl PageContext {
    /// Returns the browser's session.
    pub(crate) fn session_ref(&self) -> Result<SessionRef, ApiError> {
        Caller(self.caller).session_ref()
    }
}
