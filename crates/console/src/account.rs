//! Pages of one's own account.

mod owner_proofs;
mod profile;

use pia_identity::SessionRef;
use pia_web::{ApiError, Caller, Route};

use crate::page_context::PageContext;

/// Returns the rows of the account pages.
pub(crate) fn routes() -> Vec<Route> {
    [
        profile::routes(),
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
