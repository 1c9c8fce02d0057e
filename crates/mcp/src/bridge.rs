//! Conversion between the HTTP types of actix-web and of rmcp, whose `http` is
//! a newer one.

use std::convert::Infallible;

use actix_web::http::StatusCode;
use actix_web::http::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderName, ORIGIN};
use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use pia_web::{ApiError, reads_events, reads_json};

/// Media types that rmcp expects a client to accept, both of them.
const BOTH_TYPES: &str = "application/json, text/event-stream";

/// Returns a request as rmcp reads it, without credentials.
///
/// A client that accepts only one of the two media types is served as well.
pub(crate) fn to_rmcp_request(
    request: &HttpRequest,
    body: Bytes,
) -> Result<http::Request<Full<Bytes>>, ApiError> {
    let mut converted = http::Request::post(request.uri().to_string());
    for (name, value) in request.headers().iter().filter(|(it, _)| is_of_protocol(it)) {
        converted = converted.header(name.as_str(), value.as_bytes());
    }
    if reads_json(request.headers()) || reads_events(request.headers()) {
        converted = converted.header(ACCEPT.as_str(), BOTH_TYPES);
    }
    converted.body(Full::new(body)).map_err(ApiError::internal)
}

fn is_of_protocol(name: &HeaderName) -> bool {
    [CONTENT_TYPE, HOST, ORIGIN].contains(name) || name.as_str().starts_with("mcp-")
}

/// Returns the response of rmcp, once its body is complete.
pub(crate) async fn to_actix_response(
    response: http::Response<BoxBody<Bytes, Infallible>>,
) -> HttpResponse {
    let (head, body) = response.into_parts();
    let status = StatusCode::from_u16(head.status.as_u16());
    let mut converted = HttpResponse::build(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
    for (name, value) in &head.headers {
        converted.append_header((name.as_str(), value.as_bytes()));
    }
    // The error of the body is `Infallible`.
    let Ok(body) = body.collect().await;
    converted.body(body.to_bytes())
}
