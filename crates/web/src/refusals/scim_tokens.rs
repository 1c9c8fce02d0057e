//! SCIM tokens.

use actix_web::http::StatusCode;
use pia_identity::{CreateScimTokenError, RevokeScimTokenError};

use super::identity::invalid;
use crate::ApiError;

impl From<CreateScimTokenError> for ApiError {
    fn from(err: CreateScimTokenError) -> Self {
        match err {
            CreateScimTokenError::Invalid(violations) => invalid(violations),
            CreateScimTokenError::Full { limit } => {
                let message =
                    "You have reached the maximum number of SCIM tokens. Revoke one first.";
                Self::refused(StatusCode::CONFLICT, "quota_exceeded", message).with("limit", limit)
            }
            CreateScimTokenError::Unavailable(err) => err.into(),
        }
    }
}

impl From<RevokeScimTokenError> for ApiError {
    fn from(err: RevokeScimTokenError) -> Self {
        match err {
            RevokeScimTokenError::Unknown => Self::not_found(),
            RevokeScimTokenError::Unavailable(err) => err.into(),
        }
    }
}
