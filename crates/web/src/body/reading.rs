//! Reading of bodies: bounded in length, rate and memory, and decompressed.
//!
//! `read_body` is the only entry, used by the extractors of `body.rs` and
//! `gzipped.rs`. All bounds apply to the decompressed bytes and are checked for each
//! chunk, before it is buffered. Time is bounded twice: in total, and by a minimum
//! rate in each window of 30 seconds (`Rate`).

use std::time::Duration;

use actix_web::dev::{Decompress, Payload};
use actix_web::error::PayloadError;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use actix_web::web::{Bytes, BytesMut, Data};
use actix_web::{HttpMessage, HttpRequest};
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{self, LocalBoxStream};
use futures_util::{FutureExt, StreamExt};
use tokio::time::Instant;

use super::{RawBody, text};
use crate::body_memory::MemoryPermit;
use crate::budgets::Payer;
use crate::extract::{BodyLimit, ServiceCaller};
use crate::{ApiError, BodyMemory, Caller, ClientAddress};

/// Time within which at least `MIN_BYTES_IN_WINDOW` more of a body must arrive:
/// 4 KiB a second.
const RATE_WINDOW: Duration = Duration::from_secs(30);
const MIN_BYTES_IN_WINDOW: usize = 30 * 4 * 1024;
/// Maximum time for receiving a body on a route whose limit is above
/// `MAX_SMALL_BODY_BYTES`; on others `MAX_SMALL_UPLOAD_TIME`.
const MAX_UPLOAD_TIME: Duration = Duration::from_mins(10);
const MAX_SMALL_UPLOAD_TIME: Duration = Duration::from_secs(30);
/// Maximum body limit of a route for small bodies, in bytes.
const MAX_SMALL_BODY_BYTES: usize = 1024 * 1024;
/// Byte order mark that some programs send before UTF-8. It is not part of the
/// JSON (RFC 8259, 8.1).
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Size of the input decompressed at once. It may expand a thousandfold in
/// memory before its length can be checked.
const INFLATE_CHUNK_BYTES: usize = 256;

/// Reads a request's body from its chunks, no longer than the route table
/// allows.
pub(crate) fn read_body(
    request: &HttpRequest,
    chunks: BodyChunks,
) -> LocalBoxFuture<'static, Result<RawBody, ApiError>> {
    let limit = request.extensions().get::<BodyLimit>().map_or(0, |it| it.0);
    let permit =
        request.app_data::<Data<BodyMemory>>().map(|it| it.new_permit(body_payer(request)));
    let content_length = announced_length(request).min(limit);
    let timeout =
        if limit > MAX_SMALL_BODY_BYTES { MAX_UPLOAD_TIME } else { MAX_SMALL_UPLOAD_TIME };
    let encoding = check_encoding(request);
    let is_json = RawBody::expect_json(request).is_ok();
    async move {
        encoding?;
        let body = collect_body(chunks, Size { content_length, limit }, permit);
        let RawBody(bytes) =
            tokio::time::timeout(timeout, body).await.map_err(|_elapsed| too_slow())??;
        let has_bom = is_json && bytes.starts_with(BYTE_ORDER_MARK);
        Ok(RawBody(if has_bom { bytes.slice(BYTE_ORDER_MARK.len()..) } else { bytes }))
    }
    .boxed_local()
}

fn body_payer(request: &HttpRequest) -> Option<Payer> {
    let extensions = request.extensions();
    if extensions.get::<ServiceCaller>().is_some() {
        return Some(Payer::Service);
    }
    if let Some(caller) = extensions.get::<Caller>() {
        return Some(Payer::User(caller.0.user));
    }
    extensions.get::<ClientAddress>()?.ip.map(Payer::address)
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
    let small_chunks =
        payload.flat_map(|chunk| stream::iter(split_for_inflating(chunk))).boxed_local();
    Decompress::from_headers(small_chunks, request.headers()).boxed_local()
}

pub(crate) fn split_for_inflating(
    chunk: Result<Bytes, PayloadError>,
) -> impl Iterator<Item = Result<Bytes, PayloadError>> {
    let mut remaining = Some(chunk);
    std::iter::from_fn(move || match remaining.take()? {
        Ok(mut chunk) if chunk.len() > INFLATE_CHUNK_BYTES => {
            let first = chunk.split_to(INFLATE_CHUNK_BYTES);
            remaining = Some(Ok(chunk));
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
    let mut buffer = BodyBuffer::new(size.content_length);
    let mut rate = Rate::new();
    loop {
        let next = tokio::time::timeout_at(rate.window_end, body.next()).await;
        let Some(received) = next.map_err(|_elapsed| too_slow())? else { break };

        let chunk = received.map_err(|err| payload_error(&err))?;
        let length = buffer.len() + chunk.len();
        rate.advance_to(length);
        if length > size.limit {
            return Err(ApiError::too_large(size.limit));
        }

        if let Some(permit) = &mut permit {
            permit.grow_to(length)?;
        }

        buffer.push(chunk);
    }

    let bytes = buffer.freeze();
    Ok(RawBody(match permit.filter(MemoryPermit::is_counted) {
        Some(permit) => Bytes::from_owner(TrackedBytes { bytes, _permit: permit }),
        None => bytes,
    }))
}

/// Bytes of a body that have arrived. A body of a single chunk is not copied.
struct BodyBuffer {
    content_length: usize,
    single_chunk: Bytes,
    joined_chunks: BytesMut,
}

impl BodyBuffer {
    fn new(content_length: usize) -> Self {
        Self { content_length, single_chunk: Bytes::new(), joined_chunks: BytesMut::new() }
    }

    fn len(&self) -> usize {
        self.single_chunk.len() + self.joined_chunks.len()
    }

    fn push(&mut self, chunk: Bytes) {
        if self.len() == 0 {
            self.single_chunk = chunk;
            return;
        }

        if self.joined_chunks.is_empty() {
            // Unwritten memory takes no space, while growth by doubling
            // temporarily takes twice as much.
            self.joined_chunks.reserve(self.content_length);
            self.joined_chunks.extend_from_slice(&std::mem::take(&mut self.single_chunk));
        }
        self.joined_chunks.extend_from_slice(&chunk);
    }

    fn freeze(self) -> Bytes {
        if self.joined_chunks.is_empty() { self.single_chunk } else { self.joined_chunks.freeze() }
    }
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

fn check_encoding(request: &HttpRequest) -> Result<(), ApiError> {
    let encoding = text(request, CONTENT_ENCODING).unwrap_or("identity").trim();
    let is_single = request.headers().get_all(CONTENT_ENCODING).count() <= 1;
    let known_encodings = ["gzip", "deflate", "identity", ""];
    if is_single && known_encodings.iter().any(|it| it.eq_ignore_ascii_case(encoding)) {
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
fn announced_length(request: &HttpRequest) -> usize {
    if request.headers().contains_key(CONTENT_ENCODING) {
        return 0;
    }
    text(request, CONTENT_LENGTH).and_then(|it| it.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compressed_body_is_read_in_small_chunks() {
        let body = Bytes::from(vec![7; INFLATE_CHUNK_BYTES * 2 + 1]);

        let steps: Vec<usize> = split_for_inflating(Ok(body)).map(|it| it.unwrap().len()).collect();

        assert_eq!(steps, [INFLATE_CHUNK_BYTES, INFLATE_CHUNK_BYTES, 1]);
    }

    #[tokio::test]
    async fn the_memory_of_a_body_is_released_with_its_last_slice() {
        let memory = BodyMemory::new(8 * 1024 * 1024);
        let chunk = Bytes::from(vec![7; 512 * 1024]);
        let body = stream::iter([Ok(chunk)]).boxed_local();
        let size = Size { content_length: 0, limit: usize::MAX };
        let bytes =
            collect_body(body, size, Some(memory.new_permit(None))).await.unwrap().into_bytes();

        let slice = bytes.slice(5..9);
        drop(bytes);

        assert!(memory.new_permit(None).grow_to(768 * 1024).is_err());
        drop(slice);
        assert!(memory.new_permit(None).grow_to(768 * 1024).is_ok());
    }

    /// Returns a body of `first` bytes, and `then` more every ten seconds.
    fn trickle(first: usize, then: usize) -> BodyChunks {
        let start = stream::iter([Ok(Bytes::from(vec![7; first]))]);
        let later_chunks = stream::unfold(0, move |count| async move {
            tokio::time::sleep(Duration::from_secs(10)).await;
            (count < 100).then(|| (Ok(Bytes::from(vec![7; then])), count + 1))
        });
        start.chain(later_chunks).boxed_local()
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_arrives_too_slowly_is_refused() {
        let size = || Size { content_length: 0, limit: usize::MAX };
        let started = Instant::now();

        for (first, then) in [(0, 1), (8 * 1024 * 1024, 40 * 1024 - 1), (8 * 1024 * 1024, 0)] {
            let refused = collect_body(trickle(first, then), size(), None).await.unwrap_err();

            assert!(refused.to_string().starts_with("body_timeout"), "{refused}");
        }
        assert_eq!(started.elapsed(), 3 * RATE_WINDOW);
        assert!(collect_body(trickle(1, 40 * 1024), size(), None).await.is_ok());
    }
}
