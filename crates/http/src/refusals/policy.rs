//! HTTP errors of client policies.

use actix_web::http::StatusCode;
use pia_policy::ClientPolicyError;
use pia_web::{ApiError, FieldError};
use serde_json::json;

use crate::HttpError;
use crate::admin::row_version::stale;

impl From<ClientPolicyError> for HttpError {
    fn from(err: ClientPolicyError) -> Self {
        let message = err.to_string();
        let invalid = |field: &str| {
            ApiError::invalid(vec![FieldError {
                field: field.to_owned(),
                code: "invalid",
                message: message.clone(),
            }])
        };

        Self::from(match err {
            ClientPolicyError::NameMissing | ClientPolicyError::NameInvalid => invalid("name"),
            ClientPolicyError::DescriptionInvalid => invalid("description"),
            ClientPolicyError::Document(_) => invalid("document"),
            ClientPolicyError::NameTaken => {
                ApiError::refused(StatusCode::CONFLICT, "name_taken", message)
            }
            ClientPolicyError::Unknown | ClientPolicyError::UnknownGroup => ApiError::not_found(),
            ClientPolicyError::Stale => stale(),
            ClientPolicyError::UnknownAssigned => {
                ApiError::refused(StatusCode::BAD_REQUEST, "client_policy_not_found", message)
            }
            ClientPolicyError::InUse { groups } => {
                ApiError::refused(StatusCode::CONFLICT, "client_policy_in_use", message)
                    .with("groups", json!(groups))
            }
            ClientPolicyError::Unavailable(err) => err.into(),
        })
    }
}
