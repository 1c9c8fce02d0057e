//! Credential of a request: the token of a session, or an API key.

use actix_web::dev::ServiceRequest;
use pia_identity::{ApiKeyAuthenticator, Credential, Program};

use super::{Gates, bearer, payer_of};
use crate::ApiError;
use crate::browser::program_with_api_key;
use crate::budgets::Budget;
use crate::routes::{AcceptedCredentials, Route};

impl Gates {
    /// Identifies the caller. An API key is ignored on routes that do not
    /// accept keys, and in browsers, where any page could call with it. A key
    /// that this instance has not cached is counted against its address before
    /// it is looked up, so that invented keys cannot flood the database.
    pub(super) async fn identify(
        &self,
        request: &ServiceRequest,
        route: &Route,
    ) -> Result<Option<Credential>, ApiError> {
        match route.credentials {
            AcceptedCredentials::ConsoleCookie | AcceptedCredentials::BrowserCookie => {
                return Ok(self.console_session(request));
            }
            // These are verified once the call was counted.
            AcceptedCredentials::ScimToken
            | AcceptedCredentials::ServiceKey
            | AcceptedCredentials::PodToken => return Ok(None),
            AcceptedCredentials::Session | AcceptedCredentials::SessionOrApiKey => {}
        }

        let Some(token) = bearer(request) else { return Ok(None) };
        let Some(hash) = ApiKeyAuthenticator::parse(token) else {
            return Ok(self.tokens.verify(token).map(Credential::Session));
        };
        if !route.accepts_keys() || program_with_api_key(request.headers()) == Program::Browser {
            return Ok(None);
        }
        if let Some(owner) = self.keys.cached_owner(hash) {
            return Ok(Some(Credential::ApiKey(owner)));
        }

        if let Some(address) = payer_of(request, None) {
            self.count(Budget::Global, address).await?;
        }

        let keys = self.keys.clone();
        let owner = self.runner.run(async move { keys.find(hash).await }).await?;

        Ok(owner.map(Credential::ApiKey))
    }
}
