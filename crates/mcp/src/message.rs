//! Check of a body: it must be one JSON-RPC message.

use actix_web::HttpResponse;
use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcError};

/// Checks that a body is one message; rmcp would answer that its media type is
/// not supported. Batches are refused too: they exist only in revision
/// 2025-03-26.
pub(crate) fn check_message(body: &[u8]) -> Result<(), ErrorData> {
    if body.trim_ascii_start().starts_with(b"[") {
        return Err(ErrorData::invalid_request("Send one message: there are no batches.", None));
    }
    match serde_json::from_slice::<ClientJsonRpcMessage>(body) {
        Ok(_) => Ok(()),
        Err(err) if err.is_data() => {
            Err(ErrorData::invalid_request("The body is not a message of MCP.", None))
        }
        Err(_may_quote) => Err(ErrorData::parse_error("The body is not JSON.", None)),
    }
}

/// Returns the response to a body that is not one message.
pub(crate) fn invalid_message(error: ErrorData) -> HttpResponse {
    HttpResponse::BadRequest().json(JsonRpcError::new(None, error))
}
