//! Request bodies, as bytes and as JSON.
//!
//! Handlers take `Body<T>` for JSON, or `RawBody` for bytes that are parsed or
//! forwarded elsewhere. Both read through `reading.rs`, which enforces the row's
//! limit, the memory of `body_memory.rs` and a minimum rate; `json.rs` reports the
//! path of an invalid value. `Gzipped` (`gzipped.rs`) wraps either for routes of the
//! desktop client.

mod json;
mod reading;

use std::fmt;
use std::ops::Deref;

use actix_web::dev::Payload;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, HeaderName};
use actix_web::web::Bytes;
use actix_web::{FromRequest, HttpRequest};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use pia_json::structural_bytes;
use serde::de::DeserializeOwned;

use crate::ApiError;

pub(crate) use self::json::parse;
pub use self::json::{format_json_error, malformed_json_error, null_as_default};
pub(crate) use self::reading::{BodyChunks, decompressed, read_body, split_for_inflating};

/// JSON body, no longer than the route table allows.
#[derive(Debug)]
pub struct Body<T>(pub T);

/// Optional JSON body; the default value if it is empty.
#[derive(Debug)]
pub struct OptionalBody<T>(pub T);

/// Body as bytes, decompressed, no longer than the route table allows.
///
/// Its memory is reserved until the last slice of it is dropped.
pub struct RawBody(Bytes);

impl fmt::Debug for RawBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawBody({} bytes)", self.0.len())
    }
}

impl Deref for RawBody {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.0
    }
}

impl RawBody {
    /// Returns the bytes. Handlers that wait for other services pass them on,
    /// so that the memory is freed as early as possible.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    /// Rejects a JSON body of more than `max` values: as a tree, each takes
    /// many times the memory of its two bytes.
    pub fn expect_values(&self, max: usize) -> Result<(), ApiError> {
        if count_separators(&self.0) <= max {
            return Ok(());
        }
        let message = format!("The body has more than {max} values.");
        Err(ApiError::refused(StatusCode::BAD_REQUEST, "too_many_values", message))
    }

    /// Rejects any media type but JSON; a missing one counts as JSON.
    pub fn expect_json(request: &HttpRequest) -> Result<(), ApiError> {
        let content_type = text(request, CONTENT_TYPE).unwrap_or("application/json");
        let essence =
            content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let subtype = essence.strip_prefix("application/").unwrap_or_default();
        if subtype == "json" || subtype.ends_with("+json") {
            return Ok(());
        }

        let message = "Send JSON, with `Content-Type: application/json`.";
        Err(ApiError::refused(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            message,
        ))
    }
}

/// Returns an upper bound of the number of values in a JSON text.
fn count_separators(json: &[u8]) -> usize {
    structural_bytes(json).filter(|it| matches!(it, b',' | b':' | b'[' | b'{')).count()
}

impl<T: DeserializeOwned + 'static> FromRequest for Body<T> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let expected = RawBody::expect_json(request);
        let reading = RawBody::from_request(request, payload);
        async move {
            expected?;
            parse(&reading.await?).map(Self)
        }
        .boxed_local()
    }
}

impl<T: DeserializeOwned + Default + 'static> FromRequest for OptionalBody<T> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let expected = RawBody::expect_json(request);
        let reading = RawBody::from_request(request, payload);
        async move {
            let raw = reading.await?;
            if raw.is_empty() {
                return Ok(Self(T::default()));
            }
            expected?;
            parse(&raw).map(Self)
        }
        .boxed_local()
    }
}

impl FromRequest for RawBody {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        read_body(request, decompressed(payload.take(), request))
    }
}

fn text(request: &HttpRequest, name: HeaderName) -> Option<&str> {
    request.headers().get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests;
