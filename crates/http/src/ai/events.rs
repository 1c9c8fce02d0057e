//! Streamed responses.

use std::convert::Infallible;

use actix_web::HttpResponse;
use actix_web::http::header::{CACHE_CONTROL, ContentType, HeaderName};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};

use crate::ai::provenance::AI_GENERATED;

/// Header that prevents nginx from buffering events.
const UNBUFFERED: (HeaderName, &str) = (HeaderName::from_static("x-accel-buffering"), "no");

/// Streams the events of a model's answer.
pub(super) fn events(events: impl Stream<Item = Bytes> + 'static) -> HttpResponse {
    let content_type =
        "text/event-stream".parse().map_or_else(|_| ContentType::plaintext(), ContentType);
    HttpResponse::Ok()
        .insert_header(content_type)
        .insert_header((CACHE_CONTROL, "no-cache"))
        .insert_header(UNBUFFERED)
        .insert_header(AI_GENERATED)
        .streaming(events.map(Ok::<_, Infallible>))
}
