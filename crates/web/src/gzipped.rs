//! Bodies whose compression is detected by their first bytes.
//!
//! Handlers take `Gzipped<Body<T>>` instead of `Body<T>`. Only a body without a
//! `Content-Encoding` is inspected.

use actix_web::dev::{Decompress, Payload};
use actix_web::http::header::{CONTENT_ENCODING, ContentEncoding};
use actix_web::web::{Bytes, BytesMut};
use actix_web::{FromRequest, HttpRequest};
use futures_util::future::LocalBoxFuture;
use futures_util::stream;
use futures_util::{FutureExt, StreamExt};
use serde::de::DeserializeOwned;

use crate::body::{BodyChunks, decompressed, parse, read_body, split_for_inflating};
use crate::{ApiError, Body, RawBody};

/// First bytes of each gzip stream; no JSON starts with them.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// [`RawBody`] or [`Body`] that may be compressed with gzip without a header.
///
/// The desktop client loses the header when it repeats a request that was
/// refused with 429, but sends the same bytes.
#[derive(Debug)]
pub struct Gzipped<B>(pub B);

impl FromRequest for Gzipped<RawBody> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let reading = read_body(request, chunks(payload.take(), request));
        async move { reading.await.map(Self) }.boxed_local()
    }
}

impl<T: DeserializeOwned + 'static> FromRequest for Gzipped<Body<T>> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let expected = RawBody::expect_json(request);
        let reading = read_body(request, chunks(payload.take(), request));
        async move {
            expected?;
            parse(&reading.await?).map(|it| Self(Body(it)))
        }
        .boxed_local()
    }
}

/// Returns the chunks of a body, decompressed if its header or its first bytes
/// say that it is compressed.
fn chunks(payload: Payload, request: &HttpRequest) -> BodyChunks {
    let coding = request.headers().get(CONTENT_ENCODING);
    let is_undeclared = coding.is_none_or(|it| it.as_bytes().eq_ignore_ascii_case(b"identity"));
    if is_undeclared { detected(payload.boxed_local()) } else { decompressed(payload, request) }
}

/// Inspects the first bytes when they are polled.
fn detected(mut payload: BodyChunks) -> BodyChunks {
    let inspected = async move {
        let mut beginning = BytesMut::new();
        while beginning.len() < MAGIC.len() {
            match payload.next().await {
                // A first chunk that is long enough is not copied.
                Some(Ok(chunk)) if beginning.is_empty() && chunk.len() >= MAGIC.len() => {
                    return chain(chunk, payload);
                }
                Some(Ok(chunk)) => beginning.extend_from_slice(&chunk),
                Some(Err(err)) => return stream::iter([Err(err)]).boxed_local(),
                None => break,
            }
        }

        chain(beginning.freeze(), payload)
    };

    stream::once(inspected).flatten().boxed_local()
}

/// Returns the body that begins with these bytes, decompressed if they say that it is
/// compressed.
fn chain(beginning: Bytes, remaining: BodyChunks) -> BodyChunks {
    let is_compressed = beginning.starts_with(&MAGIC);
    let body = stream::iter([Ok(beginning)]).chain(remaining);
    if is_compressed {
        let small_chunks = body.flat_map(|chunk| stream::iter(split_for_inflating(chunk)));
        return Decompress::new(small_chunks, ContentEncoding::Gzip).boxed_local();
    }
    body.boxed_local()
}

#[cfg(test)]
mod tests {
    use actix_web::error::PayloadError;

    use super::*;

    /// Text `{}`, compressed.
    const COMPRESSED: [u8; 22] =
        [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xab, 0xae, 5, 0, 0x43, 0xbf, 0xa6, 0xa3, 2, 0, 0, 0];

    async fn read_all(chunks: &[&[u8]]) -> Result<Vec<u8>, PayloadError> {
        let received: Vec<_> = chunks.iter().map(|it| Ok(Bytes::copy_from_slice(it))).collect();
        let mut body = detected(stream::iter(received).boxed_local());
        let mut bytes = Vec::new();
        while let Some(chunk) = body.next().await {
            bytes.extend_from_slice(&chunk?);
        }
        Ok(bytes)
    }

    #[tokio::test]
    async fn a_gzip_body_is_decompressed_in_any_chunks() {
        let single_bytes: Vec<&[u8]> = COMPRESSED.chunks(1).collect();

        assert_eq!(read_all(&[&COMPRESSED]).await.unwrap(), b"{}");
        assert_eq!(read_all(&single_bytes).await.unwrap(), b"{}");
        assert_eq!(read_all(&[b"", &COMPRESSED[..1], &COMPRESSED[1..]]).await.unwrap(), b"{}");
    }

    #[tokio::test]
    async fn another_body_is_left_unchanged() {
        for plain in [&b"{\"a\":1}"[..], b"", b"{", b"\x1f", b"\x8b\x1f"] {
            let single_bytes: Vec<&[u8]> = plain.chunks(1).collect();

            assert_eq!(read_all(&[plain]).await.unwrap(), plain);
            assert_eq!(read_all(&single_bytes).await.unwrap(), plain);
        }
    }

    #[tokio::test]
    async fn a_truncated_gzip_body_is_an_error() {
        assert!(read_all(&[&COMPRESSED[..12]]).await.is_err());
        assert!(read_all(&[&[0x1f, 0x8b, 0xff, 0xff]]).await.is_err());
    }
}
