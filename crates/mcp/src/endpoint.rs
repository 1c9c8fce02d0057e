//! `POST /mcp`: one JSON-RPC message.
//!
//! A server of rmcp is built for each request and dropped with it. The message is
//! checked first, since rmcp's own error for a malformed body would be misleading.

use std::sync::Arc;

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use pia_web::{ApiError, Caller, Gates, RawBody, reads_json};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use crate::bridge::{to_actix_response, to_rmcp_request};
use crate::knowledge_server::KnowledgeServer;
use crate::mcp::Mcp;
use crate::message::{check_message, invalid_message};
use crate::origin::own_origin;

/// Maximum number of values in a message.
const MAX_VALUES: usize = 10_000;

pub(crate) async fn post(
    caller: Caller,
    mcp: Data<Mcp>,
    gates: Data<Gates>,
    request: HttpRequest,
    body: RawBody,
) -> Result<HttpResponse, ApiError> {
    body.expect_values(MAX_VALUES)?;
    if let Err(error) = check_message(&body) {
        return Ok(invalid_message(error));
    }
    let config = server_config(&mcp.public_url, reads_json(request.headers()));
    let server = KnowledgeServer::of_request(Mcp::clone(&mcp), gates, caller.0.group);
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, config);
    let request = to_rmcp_request(&request, body.into_bytes())?;
    Ok(to_actix_response(service.handle(request).await).await)
}

/// Returns the settings of a server without sessions.
///
/// Any `Host` is allowed, as proxies may replace it: pages of a rebound name
/// are refused for their origin, and have no token.
fn server_config(public_url: &str, as_json: bool) -> StreamableHttpServerConfig {
    StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(as_json)
        .with_sse_keep_alive(None)
        .disable_allowed_hosts()
        .with_allowed_origins(own_origin(public_url))
        .enforce_origin_validation()
}
