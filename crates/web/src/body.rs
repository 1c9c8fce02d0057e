//! Request bodies: bounded, decompressed, and JSON with the path of an error.

use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use actix_web::HttpMessage;
use actix_web::dev::{Decompress, Payload};
use actix_web::error::PayloadError;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName};
use actix_web::web::{Bytes, BytesMut, Data};
use actix_web::{FromRequest, HttpRequest};
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{self, LocalBoxStream};
use futures_util::{FutureExt, StreamExt};
use pia_json::structural_bytes;
use pia_kernel::truncate;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::time::Instant;

use crate::body_memory::MemoryPermit;
use crate::budgets::Payer;
use crate::extract::{BodyLimit, ServiceCaller};
use crate::{ApiError, BodyMemory, Caller, ClientAddress, FieldError};

/// Time within which at least `MIN_BYTES_IN_WINDOW` more of a body must arrive:
/// 4 KiB a second.
const RATE_WINDOW: Duration = Duration::from_secs(30);
const MIN_BYTES_IN_WINDOW: usize = 30 * 4 * 1024;
/// Maximum time for receiving a body.
const MAX_UPLOAD_TIME: Duration = Duration::from_mins(10);
const MAX_SMALL_UPLOAD_TIME: Duration = Duration::from_secs(30);
/// Maximum length of a small body.
const MAX_SMALL_BODY_BYTES: usize = 1024 * 1024;
/// Byte order mark that some programs send before UTF-8. It is not part of the
/// JSON (RFC 8259, 8.1).
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Maximum length of a description of an invalid value, in characters.
const MAX_REASON_CHARS: usize = 200;
/// Size of the input decompressed at once. It may expand a thousandfold in
/// memory before its length can be checked.
const INFLATE_CHUNK_BYTES: usize = 256;

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
        let raw = RawBody::from_request(request, payload);
        async move {
            expected?;
            parse(&raw.await?).map(Self)
        }
        .boxed_local()
    }
}

impl<T: DeserializeOwned + Default + 'static> FromRequest for OptionalBody<T> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let expected = RawBody::expect_json(request);
        let raw = RawBody::from_request(request, payload);
        async move {
            let raw = raw.await?;
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

/// Reads a request's body from its chunks, no longer than the route table
/// allows.
pub(crate) fn read_body(
    request: &HttpRequest,
    chunks: BodyChunks,
) -> LocalBoxFuture<'static, Result<RawBody, ApiError>> {
    let limit = request.extensions().get::<BodyLimit>().map_or(0, |it| it.0);
    let permit =
        request.app_data::<Data<BodyMemory>>().map(|it| it.new_permit(body_payer(request)));
    let content_length = content_length(request).min(limit);
    let timeout =
        if limit > MAX_SMALL_BODY_BYTES { MAX_UPLOAD_TIME } else { MAX_SMALL_UPLOAD_TIME };
    let (encoding, is_json) = (check_encoding(request), RawBody::expect_json(request).is_ok());
    async move {
        encoding?;
        let read = collect_body(chunks, Size { content_length, limit }, permit);
        let read = tokio::time::timeout(timeout, read).await;
        let RawBody(bytes) = read.map_err(|_elapsed| too_slow())??;
        let has_bom = is_json && bytes.starts_with(BYTE_ORDER_MARK);
        Ok(RawBody(if has_bom { bytes.slice(BYTE_ORDER_MARK.len()..) } else { bytes }))
    }
    .boxed_local()
}

fn body_payer(request: &HttpRequest) -> Option<Payer> {
    let extensions = request.extensions();
    let address = || extensions.get::<ClientAddress>()?.ip.map(Payer::address);
    if extensions.get::<ServiceCaller>().is_some() {
        return Some(Payer::Service);
    }
    extensions.get::<Caller>().map(|it| Payer::User(it.0.user)).or_else(address)
}

/// Announced and maximum size of a body.
struct Size {
    content_length: usize,
    limit: usize,
}

pub(crate) type BodyChunks = LocalBoxStream<'static, Result<Bytes, PayloadError>>;

/// Returns the chunks of a body, decompressed if it is compressed.
pub(crate) fn decompressed(payload: Payload, request: &HttpRequest) -> BodyChunks {
    if !request.headers().contains_key(CONTENT_ENCODING) {
        return payload.boxed_local();
    }
    let small = payload.flat_map(|chunk| stream::iter(split_for_inflating(chunk))).boxed_local();
    Decompress::from_headers(small, request.headers()).boxed_local()
}

pub(crate) fn split_for_inflating(
    chunk: Result<Bytes, PayloadError>,
) -> impl Iterator<Item = Result<Bytes, PayloadError>> {
    let mut rest = Some(chunk);
    std::iter::from_fn(move || match rest.take()? {
        Ok(mut chunk) if chunk.len() > INFLATE_CHUNK_BYTES => {
            let first = chunk.split_to(INFLATE_CHUNK_BYTES);
            rest = Some(Ok(chunk));
            Some(Ok(first))
        }
        last => Some(last),
    })
}

async fn collect_body(
    mut body: BodyChunks,
    size: Size,
    mut permit: Option<MemoryPermit>,
) -> Result<RawBody, ApiError> {
    let limit = size.limit;
    let mut buffer = BytesMut::new();
    let mut single = None;
    let mut rate = Rate::new();
    loop {
        let next = tokio::time::timeout_at(rate.window_end, body.next()).await;
        let Some(chunk) = next.map_err(|_elapsed| too_slow())? else { break };
        let chunk = chunk.map_err(|err| payload_error(&err))?;
        let length = buffer.len() + single.as_ref().map_or(0, Bytes::len) + chunk.len();
        rate.advance_to(length);
        if length > limit {
            return Err(ApiError::too_large(limit));
        }
        if let Some(permit) = &mut permit {
            permit.grow_to(length)?;
        }
        // A body of a single chunk is not copied.
        match (single.take(), buffer.is_empty()) {
            (None, true) => single = Some(chunk),
            (first, is_second) => {
                if is_second {
                    // Unwritten memory takes no space, while growth by doubling
                    // temporarily takes twice as much.
                    buffer.reserve(size.content_length);
                }
                buffer.extend_from_slice(first.as_deref().unwrap_or_default());
                buffer.extend_from_slice(&chunk);
            }
        }
    }
    let bytes = single.unwrap_or_else(|| buffer.freeze());
    Ok(RawBody(match permit.filter(MemoryPermit::is_counted) {
        Some(permit) => Bytes::from_owner(TrackedBytes { bytes, _permit: permit }),
        None => bytes,
    }))
}

/// Minimum rate at which a body must arrive.
///
/// It applies to each window, so that a sender cannot send a first part fast
/// and then hold the memory for as long as it likes.
struct Rate {
    window_end: Instant,
    required: usize,
}

impl Rate {
    fn new() -> Self {
        Self { window_end: Instant::now() + RATE_WINDOW, required: MIN_BYTES_IN_WINDOW }
    }

    /// Starts the next window if enough has arrived in this one.
    fn advance_to(&mut self, length: usize) {
        if length >= self.required {
            self.window_end = Instant::now() + RATE_WINDOW;
            self.required = length + MIN_BYTES_IN_WINDOW;
        }
    }
}

/// Bytes whose memory is released with the last slice of them.
struct TrackedBytes {
    bytes: Bytes,
    _permit: MemoryPermit,
}

impl AsRef<[u8]> for TrackedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    // serde would accept an array as the values of a struct in order.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(match serde_json::from_slice::<IgnoredAny>(bytes) {
            Ok(_) => no_object(),
            Err(err) => malformed_json_error(&err),
        });
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let parsed = serde_path_to_error::deserialize(&mut json).map_err(|err| {
        let field = truncate(&err.path().to_string(), MAX_REASON_CHARS).to_owned();
        let json_err = err.into_inner();
        if json_err.is_data() {
            let field = if field == "." { String::new() } else { field };
            let reason = format_json_error(&json_err);
            let message = if field.is_empty() { reason } else { format!("`{field}`: {reason}") };
            return ApiError::invalid(vec![FieldError { field, code: "invalid", message }]);
        }
        malformed_json_error(&json_err)
    })?;
    json.end().map_err(|err| malformed_json_error(&err))?;
    Ok(parsed)
}

fn no_object() -> ApiError {
    ApiError::invalid(vec![FieldError {
        field: String::new(),
        code: "invalid",
        message: "The body must be a JSON object.".to_owned(),
    }])
}

/// Returns serde's description of an error, without line and column, which the
/// field name replaces, and without the value, which may be a secret or of any
/// length.
pub fn format_json_error(err: &serde_json::Error) -> String {
    let text = err.to_string();
    let location = if err.line() > 0 { text.rsplit_once(" at line ") } else { None };
    let text = location.map_or(text.as_str(), |(reason, _)| reason);
    let kinds = ["invalid type: ", "invalid value: ", "unknown variant "];
    let Some(kind) = kinds.into_iter().find(|it| text.starts_with(it)) else {
        return truncate(text, MAX_REASON_CHARS).to_owned();
    };
    let parts = text.strip_prefix(kind).and_then(|it| it.rsplit_once(", expected "));
    let Some((actual, expected)) = parts else {
        return kind.trim_end_matches([':', ' ']).to_owned();
    };
    let actual = actual.split(['`', '"']).next().unwrap_or_default();
    let expected = truncate(expected, MAX_REASON_CHARS);
    format!("{}, expected {expected}", format!("{kind}{actual}").trim_end())
}

/// Returns the error for a body that is not valid JSON.
pub fn malformed_json_error(err: &serde_json::Error) -> ApiError {
    let message = format!(
        "The request body is not valid JSON (line {}, column {}).",
        err.line(),
        err.column()
    );
    ApiError::refused(StatusCode::BAD_REQUEST, "malformed_json", message)
}

fn check_encoding(request: &HttpRequest) -> Result<(), ApiError> {
    let encoding = text(request, CONTENT_ENCODING).unwrap_or("identity").trim();
    let is_single = request.headers().get_all(CONTENT_ENCODING).count() <= 1;
    let known = ["gzip", "deflate", "identity", ""];
    if is_single && known.iter().any(|it| it.eq_ignore_ascii_case(encoding)) {
        return Ok(());
    }
    let message = "Send the body plain, or compressed with gzip or deflate.";
    Err(ApiError::refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding", message))
}

fn too_slow() -> ApiError {
    let message = "The rest of the body did not arrive in time.";
    ApiError::refused(StatusCode::REQUEST_TIMEOUT, "body_timeout", message)
}

fn payload_error(err: &PayloadError) -> ApiError {
    tracing::debug!(error = err as &dyn std::error::Error, "request body could not be read");
    let message = "The body could not be read: it ended early or is not compressed as it says.";
    ApiError::refused(StatusCode::BAD_REQUEST, "unreadable_body", message)
}

/// Returns the announced length; 0 for a compressed body.
fn content_length(request: &HttpRequest) -> usize {
    let compressed = request.headers().contains_key(CONTENT_ENCODING);
    let length = text(request, CONTENT_LENGTH).filter(|_| !compressed);
    length.and_then(|it| it.parse().ok()).unwrap_or(0)
}

fn text(request: &HttpRequest, name: HeaderName) -> Option<&str> {
    request.headers().get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests;
