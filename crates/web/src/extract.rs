//! Extractors of what the gates found out. They only read what the gates left:
//! actix-web polls all of a handler's extractors together, so one that decided
//! would let the body be read before the answer is no.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use pia_identity::{CallerState, ScimClient, SessionRef};

use crate::ApiError;
use crate::budgets::{Budget, Payer};

/// A caller whom the gates let in. A handler that takes one cannot be reached
/// without.
#[derive(Debug, Clone, Copy)]
pub struct Caller(pub CallerState);

impl Caller {
    /// Returns the caller's session. Only rows that take API keys are called
    /// without one; there it is an error of the server.
    pub fn session_ref(self) -> Result<SessionRef, ApiError> {
        let session = self.0.credential.session();
        session.ok_or_else(|| ApiError::internal("the route takes other credentials"))
    }
}

/// Identity provider whom the gates let in.
#[derive(Debug, Clone)]
pub struct ScimCaller(pub ScimClient);

/// Credential that came with the request, if any did; whether the account or
/// the session still exists was not checked.
#[derive(Debug, Clone, Copy)]
pub struct PresentedCredential(pub Option<SessionRef>);

/// The longest body that the route reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyLimit(pub(crate) usize);

/// Bucket against which the handler counts the call.
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
        let claimed = request.extensions().get::<Self>().copied();
        ready(Ok(claimed.unwrap_or(Self(None))))
    }
}
