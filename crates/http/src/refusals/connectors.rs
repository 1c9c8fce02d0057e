//! HTTP errors of connectors.

use actix_web::http::StatusCode;
use pia_pods::ConnectorError;
use pia_web::{ApiError, FieldError};

use crate::HttpError;

impl From<ConnectorError> for HttpError {
    fn from(err: ConnectorError) -> Self {
        let message = err.to_string();
        let invalid = |field: &str, code| {
            ApiError::invalid(vec![FieldError {
                field: field.to_owned(),
                code,
                message: message.clone(),
            }])
        };

        let refused = |code| ApiError::refused(StatusCode::CONFLICT, code, &message);
        Self::from(match err {
            ConnectorError::NotFound | ConnectorError::NoPod => ApiError::not_found(),
            ConnectorError::NameTaken => refused("name_taken"),
            ConnectorError::SkillTaken => refused("skill_name_taken"),
            ConnectorError::TooManyTokens => refused("too_many_tokens"),
            ConnectorError::InvalidName => invalid("name", "invalid"),
            ConnectorError::InvalidMcp => invalid("mcp", "invalid"),
            ConnectorError::IsMcp => refused("mcp_connector"),
            ConnectorError::UnknownGroup => invalid("groupIds", "unknown"),
            ConnectorError::Unavailable(err) => err.into(),
        })
    }
}
