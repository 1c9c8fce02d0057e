//! Versions of resources in `ETag`, `If-Match` and `If-None-Match`.
//!
//! Users have versions (`ScimUser::version`), groups have none. Tags are
//! weak, `W/"…"`, and accepted in either form.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::http::header::{ETAG, HeaderName, IF_MATCH, IF_NONE_MATCH};
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use pia_web::ApiError;

use crate::refusals::stale;

/// Version that a write expects; `None` accepts any.
#[derive(Debug)]
pub(crate) struct ExpectedVersion(pub(crate) Option<String>);

/// Version that the client has.
#[derive(Debug)]
pub(crate) struct KnownVersion(pub(crate) Option<String>);

impl FromRequest for ExpectedVersion {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(match header(request, IF_MATCH) {
            None | Some("*") => Ok(Self(None)),
            Some(tag) => opaque(tag).map(|it| Self(Some(it))).ok_or_else(stale),
        })
    }
}

impl FromRequest for KnownVersion {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(header(request, IF_NONE_MATCH).and_then(opaque))))
    }
}

/// Returns the tag of a version.
pub(crate) fn tag(version: &str) -> String {
    format!("W/\"{version}\"")
}

/// Returns the response to a client that has this version.
pub(crate) fn not_modified(version: &str) -> HttpResponse {
    HttpResponse::NotModified().insert_header((ETAG, tag(version))).finish()
}

fn header(request: &HttpRequest, name: HeaderName) -> Option<&str> {
    request.headers().get(name).map(|it| it.to_str().unwrap_or_default().trim())
}

/// Returns the text of a single tag, weak or not.
fn opaque(tag: &str) -> Option<String> {
    let tag = tag.strip_prefix("W/").unwrap_or(tag);
    let text = tag.strip_prefix('"')?.strip_suffix('"')?;
    (!text.contains('"')).then(|| text.to_owned())
}
