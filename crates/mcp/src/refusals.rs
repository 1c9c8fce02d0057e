//! Errors of tools, which the model reads.

use actix_web::http::StatusCode;
use pia_knowledge::{KnowledgeError, RetrievalError};
use pia_web::{ApiError, RETRY_SOON, format_json_error};
use rmcp::model::{CallToolResult, ContentBlock};

/// Returns the result of a tool that failed. Logs the cause.
pub(crate) fn to_error_result(err: &ApiError) -> CallToolResult {
    let (_, message) = err.code_and_message();
    CallToolResult::error(vec![ContentBlock::text(message)])
}

/// Returns the error of a tool while knowledge is off.
pub(crate) fn switched_off() -> ApiError {
    let message = "Knowledge bases are switched off on this server.";
    ApiError::refused(StatusCode::SERVICE_UNAVAILABLE, "knowledge_disabled", message)
}

/// Returns the error of arguments that do not match the schema of their tool.
pub(crate) fn invalid_arguments(err: &serde_json::Error) -> ApiError {
    let message = format!("The arguments are invalid: {}.", format_json_error(err));
    ApiError::refused(StatusCode::BAD_REQUEST, "invalid_arguments", message)
}

/// Returns the error of a document that does not exist, or that the caller may not read.
pub(crate) fn no_such_document() -> ApiError {
    let message = "There is no document with this id in your knowledge bases.";
    ApiError::refused(StatusCode::NOT_FOUND, "not_found", message)
}

/// Returns the error of a document whose text is not known.
pub(crate) fn no_text(media_type: &str, url: &str) -> ApiError {
    let message =
        format!("The document, of the type {media_type}, has no text. Open it in a browser: {url}");
    ApiError::refused(StatusCode::UNPROCESSABLE_ENTITY, "content_not_text", message)
}

/// Returns the error of a search.
pub(crate) fn search_error(err: RetrievalError) -> ApiError {
    match err {
        RetrievalError::Embedding(err) => {
            let message = "Knowledge bases cannot be searched at present. Try again in a moment.";
            ApiError::refused(StatusCode::SERVICE_UNAVAILABLE, "embedding_unavailable", message)
                .retry_after(RETRY_SOON)
                .because(err)
        }
        RetrievalError::Unavailable(err) => err.into(),
    }
}

/// Returns the error of reading a document.
pub(crate) fn document_error(err: KnowledgeError) -> ApiError {
    match err {
        KnowledgeError::NotFound => no_such_document(),
        KnowledgeError::Unavailable(err) => err.into(),
        unexpected => ApiError::internal(unexpected),
    }
}
