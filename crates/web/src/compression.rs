//! Exclusion of responses from compression.
//!
//! `Compress` skips responses with `Content-Encoding: identity`. This header
//! serves as a marker, set before it and removed after it.

use actix_web::Error;
use actix_web::body::{BodySize, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use actix_web::middleware::Next;

/// Minimum length of a compressed body; shorter ones fit a packet anyway.
const MIN_COMPRESSED_BYTES: u64 = 1024;
const IDENTITY: HeaderValue = HeaderValue::from_static("identity");

/// Middleware inside `Compress`: marks short responses, event streams, whose
/// events would be buffered by the compressor, and archives, which are already
/// compressed.
pub async fn keep_uncompressed<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let mut response = next.call(request).await?;
    let is_short =
        matches!(response.response().body().size(), BodySize::Sized(n) if n < MIN_COMPRESSED_BYTES);
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let is_stream = content_type.is_some_and(|it| it.starts_with("text/event-stream"));
    let is_archive = content_type == Some("application/zip");
    if is_short || is_stream || is_archive {
        response.headers_mut().insert(CONTENT_ENCODING, IDENTITY);
    }
    Ok(response)
}

/// Middleware outside `Compress`: removes the marker, and replaces an
/// unsupported `Accept-Encoding`. `Compress` would reject it in plain text,
/// while an uncompressed response is usable for every client.
pub async fn acceptable_encoding<B: MessageBody + 'static>(
    mut request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let accept_encoding = request.headers().get(ACCEPT_ENCODING).and_then(|it| it.to_str().ok());
    let is_supported =
        accept_encoding.is_some_and(|it| it.contains("gzip") || it.contains("deflate"));
    if !is_supported {
        request.headers_mut().remove(ACCEPT_ENCODING);
    }
    let mut response = next.call(request).await?;
    if response.headers().get(CONTENT_ENCODING) == Some(&IDENTITY) {
        response.headers_mut().remove(CONTENT_ENCODING);
    }
    Ok(response)
}
