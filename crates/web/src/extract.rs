//! Extractors of the results of the gates. They only read them: actix-web polls
//! all extractors of a handler together, so one that decided would let the body
//! be read before the request is refused.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use pia_identity::{CallerState, ScimClient, SessionRef};

use crate::ApiError;
use crate::budgets::{Budget, Payer};

/// Caller that the gates admitted. A handler with this extractor cannot be
/// reached without one.
#[derive(Debug, Clone, Copy)]
pub struct Caller(pub CallerState);

impl Caller {
    /// Returns the caller's session. Only routes that accept API keys are
    /// called without one; there it is an internal error.
    pub fn session_ref(self) -> Result<SessionRef, ApiError> {
        let session = self.0.credential.session();
        session.ok_or_else(|| ApiError::internal("the route takes other credentials"))
    }
}

/// Identity provider whom the gates let in.
#[derive(Debug, Clone)]
pub struct ScimCaller(pub ScimClient);

/// Holder of the service key, whom the gates let in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServiceCaller;

/// Credential of the request, if any. It has a valid signature; whether the
/// account or the session still exists was not checked.
#[derive(Debug, Clone, Copy)]
pub struct PresentedCredential(pub Option<SessionRef>);

/// Maximum length of the route's body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyLimit(pub(crate) usize);

/// Bucket that the handler counts the call in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateLimitPayer {
    pub(crate) budget: Budget,
    pub(crate) default_payer: Payer,
}

impl FromRequest for Caller {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let caller = request.extensions().get::<Self>().copied();
        ready(caller.ok_or_else(|| ApiError::internal("the route's access lets anyone in")))
    }
}

impl FromRequest for ScimCaller {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let caller = request.extensions().get::<Self>().cloned();
        ready(caller.ok_or_else(|| ApiError::internal("the route takes no SCIM token")))
    }
}

impl FromRequest for PresentedCredential {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let credential = request.extensions().get::<Self>().copied();
        ready(Ok(credential.unwrap_or(Self(None))))
    }
}
