//! Rate limits that depend on the body of a request.
//!
//! Routes with `RateLimit::InHandler` are not counted by the gates: their handlers
//! take a `DeferredRateLimit` and call `check` once the body is parsed, before the
//! use case.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpMessage, HttpRequest, web};
use pia_kernel::SessionId;

use crate::budgets::Payer;
use crate::extract::RateLimitPayer;
use crate::{ApiError, Gates};

/// Rate limit that a handler applies itself; see [`RateLimit`](crate::RateLimit).
///
/// One address may belong to a whole company: a call that proves a session is
/// counted against that session, and only the others against the address.
#[must_use = "a call that is not counted is not limited"]
pub struct DeferredRateLimit {
    gates: web::Data<Gates>,
    rate_limit: Option<RateLimitPayer>,
}

impl DeferredRateLimit {
    /// Counts the call against `session`, or else against the client address.
    pub async fn check(self, session: Option<SessionId>) -> Result<(), ApiError> {
        // The gates leave none for a route that they counted, and for a request
        // without an address.
        let Some(rate_limit) = self.rate_limit else { return Ok(()) };
        let payer = session.map_or(rate_limit.default_payer, Payer::Session);
        self.gates.count(rate_limit.budget, payer).await
    }
}

impl FromRequest for DeferredRateLimit {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let gates = request.app_data::<web::Data<Gates>>().cloned();
        let rate_limit = request.extensions().get::<RateLimitPayer>().copied();
        ready(match gates {
            Some(gates) => Ok(Self { gates, rate_limit }),
            None => Err(ApiError::internal("no gates are configured")),
        })
    }
}
