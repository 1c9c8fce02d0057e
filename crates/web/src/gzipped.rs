//! Bodies whose compression is seen by their first bytes.

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

/// A [`RawBody`] or [`Body`] that may be compressed with gzip and not say so.
///
/// The desktop client loses the header when it repeats a request that was
/// refused with 429, but sends the same bytes.
#[derive(Debug)]
pub struct Gzipped<B>(pub B);

impl FromRequest for Gzipped<RawBody> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let raw = read_body(request, pieces(payload.take(), request));
        async move { raw.await.map(Self) }.boxed_local()
    }
}

impl<T: DeserializeOwned + 'static> FromRequest for Gzipped<Body<T>> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let expected = RawBody::expect_json(request);
        let raw = read_body(request, pieces(payload.take(), request));
        async move {
            expected?;
            parse(&raw.await?).map(|it| Self(Body(it)))
        }
        .boxed_local()
    }
}

/// The body, decompressed if it says that it is compressed, or looks so.
fn pieces(payload: Payload, request: &HttpRequest) -> BodyChunks {
    let coding = request.headers().get(CONTENT_ENCODING);
    let silent = coding.is_none_or(|it| it.as_bytes().eq_ignore_ascii_case(b"identity"));
    if silent { replayed(payload.boxed_local()) } else { decompressed(payload, request) }
}

/// Looks at the first bytes once they are requested.
fn replayed(mut payload: BodyChunks) -> BodyChunks {
    let looked = async move {
        let mut first = BytesMut::new();
        while first.len() < MAGIC.len() {
            match payload.next().await {
                Some(Ok(piece)) if first.is_empty() && piece.len() >= MAGIC.len() => {
                    return chain(piece, payload);
                }
                Some(Ok(piece)) => first.extend_from_slice(&piece),
                Some(Err(err)) => return stream::iter([Err(err)]).boxed_local(),
                None => break,
            }
        }
        chain(first.freeze(), payload)
    };
    stream::once(looked).flatten().boxed_local()
}

fn chain(first: Bytes, rest: BodyChunks) -> BodyChunks {
    let compressed = first.starts_with(&MAGIC);
    let whole = stream::iter([Ok(first)]).chain(rest);
    if compressed {
        let whole = whole.flat_map(|piece| stream::iter(split_for_inflating(piece)));
        return Decompress::new(whole, ContentEncoding::Gzip).boxed_local();
    }
    whole.boxed_local()
}

#[cfg(test)]
mod tests {
    use actix_web::error::PayloadError;

    use super::*;

    /// `{}`, compressed.
    const PACKED: [u8; 22] =
        [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xab, 0xae, 5, 0, 0x43, 0xbf, 0xa6, 0xa3, 2, 0, 0, 0];

    async fn read_all(pieces: &[&[u8]]) -> Result<Vec<u8>, PayloadError> {
        let pieces: Vec<_> = pieces.iter().map(|it| Ok(Bytes::copy_from_slice(it))).collect();
        let mut body = replayed(stream::iter(pieces).boxed_local());
        let mut whole = Vec::new();
        while let Some(piece) = body.next().await {
            whole.extend_from_slice(&piece?);
        }
        Ok(whole)
    }

    #[tokio::test]
    async fn what_begins_as_gzip_does_is_unpacked_however_it_is_cut() {
        let single: Vec<&[u8]> = PACKED.chunks(1).collect();

        assert_eq!(read_all(&[&PACKED]).await.unwrap(), b"{}");
        assert_eq!(read_all(&single).await.unwrap(), b"{}");
        assert_eq!(read_all(&[b"", &PACKED[..1], &PACKED[1..]]).await.unwrap(), b"{}");
    }

    #[tokio::test]
    async fn what_begins_otherwise_is_left_as_it_is() {
        for plain in [&b"{\"a\":1}"[..], b"", b"{", b"\x1f", b"\x8b\x1f"] {
            let single: Vec<&[u8]> = plain.chunks(1).collect();

            assert_eq!(read_all(&[plain]).await.unwrap(), plain);
            assert_eq!(read_all(&single).await.unwrap(), plain);
        }
    }

    #[tokio::test]
    async fn what_only_begins_as_gzip_does_is_broken() {
        assert!(read_all(&[&PACKED[..12]]).await.is_err());
        assert!(read_all(&[&[0x1f, 0x8b, 0xff, 0xff]]).await.is_err());
    }
}
