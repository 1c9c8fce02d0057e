//! Errors of handlers in domains that `web` does not depend on.
//!
//! Rust allows `From<DomainError> for ApiError` only in the crate of one of both
//! types. `HttpError` wraps `ApiError` here, so that `refusals` can convert the
//! errors of domains that `web` does not know.

use pia_kernel::Unavailable;
use pia_web::ApiError;

/// An [`ApiError`] of this crate, converted from errors of sync, chats,
/// end-to-end encryption and the assistant.
#[derive(Debug)]
pub struct HttpError(ApiError);

impl From<ApiError> for HttpError {
    fn from(err: ApiError) -> Self {
        Self(err)
    }
}

impl From<Unavailable> for HttpError {
    fn from(err: Unavailable) -> Self {
        Self(err.into())
    }
}

impl From<HttpError> for ApiError {
    fn from(err: HttpError) -> Self {
        err.0
    }
}

impl From<HttpError> for actix_web::Error {
    fn from(err: HttpError) -> Self {
        err.0.into()
    }
}
