//! HTTP errors of app passwords.

use actix_web::http::StatusCode;
use pia_identity::{CreateAppPasswordError, RemoveAppPasswordError};

use super::identity::invalid;
use crate::ApiError;

impl From<CreateAppPasswordError> for ApiError {
    fn from(err: CreateAppPasswordError) -> Self {
        match err {
            CreateAppPasswordError::Invalid(violations) => invalid(violations),
            CreateAppPasswordError::Owner(err) => err.into(),
            CreateAppPasswordError::Full { limit } => {
                let message =
                    "You have reached the maximum number of app passwords. Revoke one first.";
                Self::refused(StatusCode::CONFLICT, "app_password_limit_reached", message)
                    .with("limit", limit)
            }
            CreateAppPasswordError::Gone => Self::unauthenticated(),
            CreateAppPasswordError::Unavailable(err) => err.into(),
        }
    }
}

impl From<RemoveAppPasswordError> for ApiError {
    fn from(err: RemoveAppPasswordError) -> Self {
        match err {
            RemoveAppPasswordError::Unknown => Self::not_found(),
            RemoveAppPasswordError::Unavailable(err) => err.into(),
        }
    }
}
