//! Streamed responses.

use std::convert::Infallible;

use actix_web::HttpResponse;
use actix_web::http::header::{CACHE_CONTROL, ContentType, HeaderName};
use futures_util::StreamExt;
use pia_assistant::ChatStream;

use crate::ai::provenance::AI_GENERATED;

/// Header that prevents nginx from buffering events.
pub(super) const UNBUFFERED: (HeaderName, &str) =
    (HeaderName::from_static("x-accel-buffering"), "no");

pub(super) fn events(answer: ChatStream) -> HttpResponse {
    let content_type =
        "text/event-stream".parse().map_or_else(|_| ContentType::plaintext(), ContentType);
    HttpResponse::Ok()
        .insert_header(content_type)
        .insert_header((CACHE_CONTROL, "no-cache"))
        .insert_header(UNBUFFERED)
        .insert_header(AI_GENERATED)
        .streaming(answer.map(Ok::<_, Infallible>))
}
