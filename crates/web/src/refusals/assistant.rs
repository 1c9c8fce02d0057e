//! The AI proxy.

use actix_web::http::StatusCode;
use pia_assistant::{AssistantError, Violation};

use crate::{ApiError, FieldError};

impl From<Violation> for FieldError {
    fn from(violation: Violation) -> Self {
        let Violation { field, code, message } = violation;
        Self { field, code, message }
    }
}

/// 400 stands only for what the caller can mend: the desktop client repeats a
/// request that was refused so, without its tools. 429 is kept for budgets:
/// the client shows each as one that is used up.
impl From<AssistantError> for ApiError {
    fn from(err: AssistantError) -> Self {
        let told = |status, code| Self::refused(status, code, err.message());
        match err {
            AssistantError::Malformed(_) => told(StatusCode::BAD_REQUEST, "malformed_json"),
            AssistantError::Invalid(violations) => {
                Self::invalid(violations.into_iter().map(Into::into).collect())
            }
            AssistantError::TextTooLong { limit } => too_long(limit, &err.message()),
            AssistantError::NotConfigured => {
                told(StatusCode::SERVICE_UNAVAILABLE, "ai_not_configured")
            }
            AssistantError::ToolsRefused => told(StatusCode::BAD_REQUEST, "tools_not_supported"),
            AssistantError::ContextTooLong => told(StatusCode::BAD_GATEWAY, "context_too_long"),
            AssistantError::UpstreamBusy { retry_after } => {
                told(StatusCode::BAD_GATEWAY, "upstream_busy").retry_after(retry_after)
            }
            AssistantError::Crowded { retry_after } => {
                told(StatusCode::SERVICE_UNAVAILABLE, "ai_crowded").retry_after(retry_after)
            }
            AssistantError::UpstreamFailed => told(StatusCode::BAD_GATEWAY, "upstream_failed"),
            AssistantError::UpstreamTimeout => {
                told(StatusCode::GATEWAY_TIMEOUT, "upstream_timeout")
            }
            AssistantError::Unavailable => {
                told(StatusCode::SERVICE_UNAVAILABLE, "unavailable").retry_after(crate::error::SOON)
            }
            AssistantError::Stopping => {
                told(StatusCode::SERVICE_UNAVAILABLE, "stopping").retry_after(crate::error::SOON)
            }
        }
    }
}

/// The one refusal that clients know by a key of its own, `code`.
fn too_long(limit: usize, message: &str) -> ApiError {
    const CODE: &str = "optimize_text_too_long";
    let errors = serde_json::json!([{ "field": "text", "code": "too_long", "message": message }]);
    ApiError::refused(StatusCode::BAD_REQUEST, CODE, message)
        .with("code", CODE)
        .with("limit", limit)
        .with("errors", errors)
}
