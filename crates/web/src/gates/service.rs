//! Service key of programs that feed knowledge bases.

use actix_web::dev::ServiceRequest;
use actix_web::http::StatusCode;
use actix_web::http::header::HeaderName;
use pia_kernel::Secret;

use super::{Gates, text};
use crate::ApiError;
use crate::routes::{Access, Route};

/// Header with the service key.
const SERVICE_KEY: HeaderName = HeaderName::from_static("x-service-key");

impl Gates {
    /// Returns whether the server serves a route. Those that take the service
    /// key are served only if one is configured.
    pub(super) fn is_served(&self, route: &Route) -> bool {
        route.access != Access::Service || (*self.ingest_key.get()).as_ref().is_some_and(is_set)
    }

    /// Checks the service key. A request that is under way while the key is
    /// removed from the settings finds no such path either.
    pub(super) fn check_service_key(&self, request: &ServiceRequest) -> Result<(), ApiError> {
        let key = self.ingest_key.get();
        let Some(key) = (*key).as_ref().filter(|it| is_set(it)) else {
            return Err(ApiError::no_such_path());
        };
        if text(request, SERVICE_KEY).is_some_and(|it| key.ct_eq(it)) {
            return Ok(());
        }
        let message = "The service key is missing or wrong: send it in `X-Service-Key`.";
        Err(ApiError::refused(StatusCode::UNAUTHORIZED, "unauthorized", message))
    }
}

fn is_set(key: &Secret<String>) -> bool {
    !key.expose().is_empty()
}
