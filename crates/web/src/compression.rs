//! Responses that are not worth compressing, and those that must not be
//! compressed.
//!
//! `Compress` leaves alone what says `Content-Encoding: identity`; that header
//! is our mark, set behind it and taken off before it.

use actix_web::Error;
use actix_web::body::{BodySize, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use actix_web::middleware::Next;

/// Below this a body fits a packet either way.
const MIN_COMPRESSED_BYTES: u64 = 1024;
const IDENTITY: HeaderValue = HeaderValue::from_static("identity");

/// Middleware behind `Compress`: marks short answers, event streams, whose
/// events would wait in the compressor for more, and archives, which are
/// compressed.
pub async fn keep_uncompressed<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let mut answer = next.call(request).await?;
    let short =
        matches!(answer.response().body().size(), BodySize::Sized(n) if n < MIN_COMPRESSED_BYTES);
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let stream = kind.is_some_and(|it| it.starts_with("text/event-stream"));
    let archive = kind == Some("application/zip");
    if short || stream || archive {
        answer.headers_mut().insert(CONTENT_ENCODING, IDENTITY);
    }
    Ok(answer)
}

/// Middleware before `Compress`: takes the mark off again, and lets no client
/// ask for what there is not. `Compress` would refuse that in plain text; an
/// answer in another coding than was requested is what the client can use.
pub async fn acceptable_encoding<B: MessageBody + 'static>(
    mut request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let requested = request.headers().get(ACCEPT_ENCODING).and_then(|it| it.to_str().ok());
    let known = requested.is_some_and(|it| it.contains("gzip") || it.contains("deflate"));
    if !known {
        request.headers_mut().remove(ACCEPT_ENCODING);
    }
    let mut answer = next.call(request).await?;
    if answer.headers().get(CONTENT_ENCODING) == Some(&IDENTITY) {
        answer.headers_mut().remove(CONTENT_ENCODING);
    }
    Ok(answer)
}
