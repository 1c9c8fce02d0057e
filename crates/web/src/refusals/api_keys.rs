//! HTTP errors of API keys.

use actix_web::http::StatusCode;
use pia_identity::{CreateApiKeyError, RemoveApiKeyError};

use super::identity::invalid;
use crate::ApiError;

impl From<CreateApiKeyError> for ApiError {
    fn from(err: CreateApiKeyError) -> Self {
        match err {
            CreateApiKeyError::Invalid(violations) => invalid(violations),
            CreateApiKeyError::Owner(err) => err.into(),
            CreateApiKeyError::Full { limit } => {
                let message = "You have reached the maximum number of API keys. Revoke one first.";
                Self::refused(StatusCode::CONFLICT, "api_key_limit_reached", message)
                    .with("limit", limit)
            }
            CreateApiKeyError::Gone => Self::unauthenticated(),
            CreateApiKeyError::Unavailable(err) => err.into(),
        }
    }
}

impl From<RemoveApiKeyError> for ApiError {
    fn from(err: RemoveApiKeyError) -> Self {
        match err {
            RemoveApiKeyError::Unknown => Self::not_found(),
            RemoveApiKeyError::Unavailable(err) => err.into(),
        }
    }
}
