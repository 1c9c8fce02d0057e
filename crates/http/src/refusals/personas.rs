//! HTTP errors of managed personas.

use actix_web::http::StatusCode;
use pia_policy::{PersonaError, Violation};
use pia_web::{ApiError, FieldError};

use crate::HttpError;
use crate::admin::row_version::stale;

impl From<PersonaError> for HttpError {
    fn from(err: PersonaError) -> Self {
        let message = err.to_string();
        let invalid = |field: &str| {
            ApiError::invalid(vec![FieldError {
                field: field.to_owned(),
                code: "unknown",
                message: message.clone(),
            }])
        };

        Self::from(match err {
            PersonaError::Invalid(violations) => invalid_form(violations),
            PersonaError::Unknown => ApiError::not_found(),
            PersonaError::Stale => stale(),
            PersonaError::UnknownGroup(_) => invalid("groupIds"),
            PersonaError::UnknownPlugin(_) => invalid("pluginIds"),
            PersonaError::QuotaExceeded { limit, group } => {
                ApiError::refused(StatusCode::CONFLICT, "quota_exceeded", message)
                    .with("resource", "managed_personas")
                    .with("limit", limit)
                    .with("group", group)
            }
            PersonaError::BaseQuotaExceeded { limit, group } => {
                ApiError::refused(StatusCode::CONFLICT, "quota_exceeded", message)
                    .with("resource", "KnowledgeBases")
                    .with("limit", limit)
                    .with("group", group)
            }
            PersonaError::Unavailable(err) => err.into(),
        })
    }
}

/// Returns the error for these violations.
pub(super) fn invalid_form(violations: Vec<Violation>) -> ApiError {
    let field_error = |it: Violation| {
        let Violation { field, code, message } = it;
        FieldError { field: field.to_owned(), code, message }
    };
    ApiError::invalid(violations.into_iter().map(field_error).collect())
}
