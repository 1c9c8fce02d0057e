//! Credential of a request: the token of a session, or an API key.

use actix_web::dev::ServiceRequest;
use pia_identity::{ApiKeyAuthenticator, ApiKeyRef, CallerState, Program, SessionRef};
use pia_kernel::UserId;

use super::{Gates, bearer, payer};
use crate::ApiError;
use crate::browser::program_with_api_key;
use crate::budgets::Budget;
use crate::routes::Route;

/// Caller, by their credential.
#[derive(Debug, Clone, Copy)]
pub(super) enum CredentialHolder {
    /// An access token, which its signature makes good.
    Session(SessionRef),
    /// An API key that is kept.
    Key(ApiKeyRef),
}

impl CredentialHolder {
    pub(super) fn user(self) -> UserId {
        match self {
            Self::Session(claim) => claim.user,
            Self::Key(claim) => claim.user,
        }
    }

    pub(super) fn session(self) -> Option<SessionRef> {
        match self {
            Self::Session(claim) => Some(claim),
            Self::Key(_) => None,
        }
    }
}

impl Gates {
    /// Identifies the caller. A key counts as none where keys open nothing, and
    /// in a browser: whatever page is open there would call with it. One that
    /// this instance has not cached is counted against its address before it is
    /// looked up, so that invented keys do not reach the database without end.
    pub(super) async fn identify(
        &self,
        request: &ServiceRequest,
        route: &Route,
    ) -> Result<Option<CredentialHolder>, ApiError> {
        let Some(shown) = bearer(request) else { return Ok(None) };
        let Some(hash) = ApiKeyAuthenticator::parse(shown) else {
            return Ok(self.tokens.verify(shown).map(CredentialHolder::Session));
        };
        if !route.takes_keys() || program_with_api_key(request.headers()) == Program::Browser {
            return Ok(None);
        }
        if let Some(known) = self.keys.cached_owner(hash) {
            return Ok(Some(CredentialHolder::Key(known)));
        }
        if let Some(address) = payer(request, None) {
            self.charge(Budget::Global, address).await?;
        }
        let keys = self.keys.clone();
        let found = self.runner.run(async move { keys.find(hash).await }).await?;
        Ok(found.map(CredentialHolder::Key))
    }

    pub(super) fn cached(&self, holder: CredentialHolder) -> Option<CallerState> {
        match holder {
            CredentialHolder::Session(claim) => self.callers.cached(claim),
            CredentialHolder::Key(claim) => self.keys.cached(claim),
        }
    }

    pub(super) async fn fresh(
        &self,
        holder: CredentialHolder,
    ) -> Result<Option<CallerState>, ApiError> {
        match holder {
            CredentialHolder::Session(claim) => {
                let standings = self.callers.clone();
                self.runner.run(async move { standings.fresh(claim).await }).await
            }
            CredentialHolder::Key(claim) => {
                let keys = self.keys.clone();
                self.runner.run(async move { keys.fresh(claim).await }).await
            }
        }
    }
}
