//! Reading bodies: bounded, decompressed, and JSON with the place of a fault.

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
use pia_kernel::truncate;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::time::Instant;

use crate::body_memory::MemoryPermit;
use crate::budgets::Payer;
use crate::extract::BodyLimit;
use crate::{ApiError, BodyMemory, Caller, ClientAddress, FieldError};

/// The time in which a sender of a body must have sent at least
/// `MIN_BYTES_IN_WINDOW` more of it: 4 KiB a second.
const RATE_WINDOW: Duration = Duration::from_secs(30);
const MIN_BYTES_IN_WINDOW: usize = 30 * 4 * 1024;
/// Maximum time for receiving a whole body.
const MAX_UPLOAD_TIME: Duration = Duration::from_mins(10);
const MAX_SMALL_UPLOAD_TIME: Duration = Duration::from_secs(30);
/// Up to here a body is a small one.
const MAX_SMALL_BODY_BYTES: usize = 1024 * 1024;
/// Byte order mark that some programs put before a text in UTF-8. It is no part
/// of the JSON (RFC 8259, 8.1).
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Maximum length of a description of an invalid value, in characters.
const MAX_REASON_CHARS: usize = 200;
/// Size of the input decompressed at once. It may grow a thousandfold in memory before its length
/// can be checked.
const INFLATE_CHUNK_BYTES: usize = 256;

/// A JSON body, no longer than the route table allows.
#[derive(Debug)]
pub struct Body<T>(pub T);

/// A JSON body that may be left out, which is the default then.
#[derive(Debug)]
pub struct OptionalBody<T>(pub T);

/// A body as it was sent, decompressed, no longer than the route table allows.
///
/// It takes its room as long as any part of it is held, wherever that goes.
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
    /// Returns the body. Handlers that wait for others give it away, so that it
    /// is freed when it is no longer needed.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    /// Refuses a JSON body of more values than this: made into a tree, each takes
    /// many times the room of its two bytes.
    pub fn expect_values(&self, max: usize) -> Result<(), ApiError> {
        if count_separators(&self.0) <= max {
            return Ok(());
        }
        let message = format!("The body has more than {max} values.");
        Err(ApiError::refused(StatusCode::BAD_REQUEST, "too_many_values", message))
    }

    /// Refuses any other media type than JSON; none at all is taken as JSON.
    pub fn expect_json(request: &HttpRequest) -> Result<(), ApiError> {
        let input = text(request, CONTENT_TYPE).unwrap_or("application/json");
        let essence = input.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
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

/// Returns an upper bound of the number of values in a text, if it is JSON.
fn count_separators(json: &[u8]) -> usize {
    let (mut count, mut in_text, mut escaped) = (0, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b':' | b'[' | b'{' if !in_text => count += 1,
            _ => {}
        }
    }
    count
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

/// Reads a request's body out of these pieces, no longer than the route table
/// allows.
pub(crate) fn read_body(
    request: &HttpRequest,
    pieces: BodyChunks,
) -> LocalBoxFuture<'static, Result<RawBody, ApiError>> {
    let limit = request.extensions().get::<BodyLimit>().map_or(0, |it| it.0);
    let room = request.app_data::<Data<BodyMemory>>().map(|it| it.new_permit(body_payer(request)));
    let announced = content_length(request).min(limit);
    let longest =
        if limit > MAX_SMALL_BODY_BYTES { MAX_UPLOAD_TIME } else { MAX_SMALL_UPLOAD_TIME };
    let (coding, is_json) = (known_coding(request), RawBody::expect_json(request).is_ok());
    async move {
        coding?;
        let read = collect_body(pieces, Size { content_length: announced, limit }, room);
        let read = tokio::time::timeout(longest, read).await;
        let RawBody(bytes) = read.map_err(|_elapsed| too_slow())??;
        let marked = is_json && bytes.starts_with(BYTE_ORDER_MARK);
        Ok(RawBody(if marked { bytes.slice(BYTE_ORDER_MARK.len()..) } else { bytes }))
    }
    .boxed_local()
}

fn body_payer(request: &HttpRequest) -> Option<Payer> {
    let extensions = request.extensions();
    let address = || extensions.get::<ClientAddress>()?.ip.map(Payer::address);
    extensions.get::<Caller>().map(|it| Payer::User(it.0.user)).or_else(address)
}

/// Announced and maximum size of a body.
struct Size {
    content_length: usize,
    limit: usize,
}

pub(crate) type BodyChunks = LocalBoxStream<'static, Result<Bytes, PayloadError>>;

/// The body, decompressed if it is compressed.
pub(crate) fn decompressed(payload: Payload, request: &HttpRequest) -> BodyChunks {
    if !request.headers().contains_key(CONTENT_ENCODING) {
        return payload.boxed_local();
    }
    let small = payload.flat_map(|piece| stream::iter(split_for_inflating(piece))).boxed_local();
    Decompress::from_headers(small, request.headers()).boxed_local()
}

pub(crate) fn split_for_inflating(
    piece: Result<Bytes, PayloadError>,
) -> impl Iterator<Item = Result<Bytes, PayloadError>> {
    let mut rest = Some(piece);
    std::iter::from_fn(move || match rest.take()? {
        Ok(mut piece) if piece.len() > INFLATE_CHUNK_BYTES => {
            let first = piece.split_to(INFLATE_CHUNK_BYTES);
            rest = Some(Ok(piece));
            Some(Ok(first))
        }
        last => Some(last),
    })
}

async fn collect_body(
    mut body: BodyChunks,
    size: Size,
    mut room: Option<MemoryPermit>,
) -> Result<RawBody, ApiError> {
    let limit = size.limit;
    let mut whole = BytesMut::new();
    let mut only = None;
    let mut rate = Rate::new();
    loop {
        let next = tokio::time::timeout_at(rate.window_end, body.next()).await;
        let Some(piece) = next.map_err(|_elapsed| too_slow())? else { break };
        let piece = piece.map_err(|err| payload_error(&err))?;
        let length = whole.len() + only.as_ref().map_or(0, Bytes::len) + piece.len();
        rate.advance_to(length);
        if length > limit {
            return Err(ApiError::too_large(limit));
        }
        if let Some(room) = &mut room {
            room.grow_to(length)?;
        }
        // A body that came in one piece is not copied.
        match (only.take(), whole.is_empty()) {
            (None, true) => only = Some(piece),
            (first, begins) => {
                if begins {
                    // What is not written to takes no memory, and what grows
                    // by doubling takes twice as much for a moment.
                    whole.reserve(size.content_length);
                }
                whole.extend_from_slice(first.as_deref().unwrap_or_default());
                whole.extend_from_slice(&piece);
            }
        }
    }
    let bytes = only.unwrap_or_else(|| whole.freeze());
    Ok(RawBody(match room.filter(MemoryPermit::is_counted) {
        Some(room) => Bytes::from_owner(TrackedBytes { bytes, _room: room }),
        None => bytes,
    }))
}

/// The rate at which a body arrives.
///
/// A sender who sends the first part fast must go on at the least rate: an
/// average over the whole would let it hold the memory for as long as it
/// likes.
struct Rate {
    window_end: Instant,
    needed: usize,
}

impl Rate {
    fn new() -> Self {
        Self { window_end: Instant::now() + RATE_WINDOW, needed: MIN_BYTES_IN_WINDOW }
    }

    /// Begins the next window if enough came for this one.
    fn advance_to(&mut self, length: usize) {
        if length >= self.needed {
            self.window_end = Instant::now() + RATE_WINDOW;
            self.needed = length + MIN_BYTES_IN_WINDOW;
        }
    }
}

/// Bytes whose room is given back with the last slice of them.
struct TrackedBytes {
    bytes: Bytes,
    _room: MemoryPermit,
}

impl AsRef<[u8]> for TrackedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    // serde would take an array for an object's values in their order.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(match serde_json::from_slice::<IgnoredAny>(bytes) {
            Ok(_) => no_object(),
            Err(fault) => malformed_json_error(&fault),
        });
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let parsed = serde_path_to_error::deserialize(&mut json).map_err(|err| {
        let field = truncate(&err.path().to_string(), MAX_REASON_CHARS).to_owned();
        let fault = err.into_inner();
        if fault.is_data() {
            let field = if field == "." { String::new() } else { field };
            let reason = format_json_error(&fault);
            let message = if field.is_empty() { reason } else { format!("`{field}`: {reason}") };
            return ApiError::invalid(vec![FieldError { field, code: "invalid", message }]);
        }
        malformed_json_error(&fault)
    })?;
    json.end().map_err(|fault| malformed_json_error(&fault))?;
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
/// field reports better, and without the value, which may be a secret or have no
/// end.
pub fn format_json_error(fault: &serde_json::Error) -> String {
    let reported = fault.to_string();
    let place = if fault.line() > 0 { reported.rsplit_once(" at line ") } else { None };
    let reported = place.map_or(reported.as_str(), |(reason, _)| reason);
    let kinds = ["invalid type: ", "invalid value: ", "unknown variant "];
    let Some(kind) = kinds.into_iter().find(|it| reported.starts_with(it)) else {
        return truncate(reported, MAX_REASON_CHARS).to_owned();
    };
    let parts = reported.strip_prefix(kind).and_then(|it| it.rsplit_once(", expected "));
    let Some((input, expected)) = parts else {
        return kind.trim_end_matches([':', ' ']).to_owned();
    };
    let input = input.split(['`', '"']).next().unwrap_or_default();
    let expected = truncate(expected, MAX_REASON_CHARS);
    format!("{}, expected {expected}", format!("{kind}{input}").trim_end())
}

/// Returns the error for a body that is no JSON.
pub fn malformed_json_error(fault: &serde_json::Error) -> ApiError {
    let message = format!(
        "The request body is not valid JSON (line {}, column {}).",
        fault.line(),
        fault.column()
    );
    ApiError::refused(StatusCode::BAD_REQUEST, "malformed_json", message)
}

fn known_coding(request: &HttpRequest) -> Result<(), ApiError> {
    let coding = text(request, CONTENT_ENCODING).unwrap_or("identity").trim();
    let once = request.headers().get_all(CONTENT_ENCODING).count() <= 1;
    let known = ["gzip", "deflate", "identity", ""];
    if once && known.iter().any(|it| it.eq_ignore_ascii_case(coding)) {
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

/// The length that the sender says; nothing of a compressed body.
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
