//! Long JSON responses.
//!
//! Serialised as one buffer, a response would be in memory twice while it is
//! sent: once as the body, and once in the output buffer of the connection. In
//! chunks, sent memory is freed early, and little waits to be written.

use std::convert::Infallible;
use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec::IntoIter;

use actix_web::body::{BodySize, MessageBody};
use actix_web::http::header::ContentType;
use actix_web::{HttpResponse, HttpResponseBuilder};
use bytes::Bytes;
use serde::Serialize;

/// Size of a chunk, in bytes.
const CHUNK_BYTES: usize = 32 * 1024;

/// Returns a response with this body. It is serialised completely before
/// anything is sent, so that an error is reported by the status, and the length
/// by the header.
pub(crate) fn json_in_chunks(
    response: &mut HttpResponseBuilder,
    body: &impl Serialize,
) -> HttpResponse {
    let mut writer = ChunkWriter::default();
    match serde_json::to_writer(&mut writer, body) {
        Ok(()) => response.content_type(ContentType::json()).body(writer.into_body()),
        Err(err) => HttpResponse::from_error(err),
    }
}

/// Serialised bytes, cut into chunks that are full except for the last.
#[derive(Default)]
struct ChunkWriter {
    full: Vec<Bytes>,
    last: Vec<u8>,
}

impl ChunkWriter {
    fn into_body(self) -> ChunkedBody {
        let Self { mut full, last } = self;
        full.push(last.into());
        let length = full.iter().map(|it| it.len() as u64).sum();
        ChunkedBody { length, chunks: full.into_iter() }
    }
}

impl Write for ChunkWriter {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if self.last.len() == CHUNK_BYTES {
            let chunk = std::mem::replace(&mut self.last, Vec::with_capacity(CHUNK_BYTES));
            self.full.push(chunk.into());
        }
        let (head, _) = text.split_at(text.len().min(CHUNK_BYTES - self.last.len()));
        self.last.extend_from_slice(head);
        Ok(head.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Body of a response, in chunks.
struct ChunkedBody {
    length: u64,
    chunks: IntoIter<Bytes>,
}

impl MessageBody for ChunkedBody {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Sized(self.length)
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Poll::Ready(self.chunks.next().map(Ok))
    }
}

#[cfg(test)]
mod tests {
    use actix_web::body::to_bytes;

    use super::*;

    #[test]
    fn all_chunks_but_the_last_are_full() {
        for length in [0, 1, CHUNK_BYTES - 2, CHUNK_BYTES - 1, CHUNK_BYTES, 5 * CHUNK_BYTES + 7] {
            let mut writer = ChunkWriter::default();
            serde_json::to_writer(&mut writer, &"x".repeat(length)).unwrap();

            let body = writer.into_body();

            let lengths: Vec<_> = body.chunks.as_slice().iter().map(Bytes::len).collect();
            let (last, full) = lengths.split_last().unwrap();
            assert!(
                full.iter().all(|it| *it == CHUNK_BYTES) && (1..=CHUNK_BYTES).contains(last),
                "{lengths:?}"
            );
            assert_eq!(body.length, length as u64 + 2);
        }
    }

    #[tokio::test]
    async fn the_response_is_the_serialised_value() {
        let numbers: Vec<_> = (0..20_000).collect();

        let response = json_in_chunks(&mut HttpResponse::Ok(), &numbers);

        assert_eq!(response.headers().get("content-type").unwrap(), "application/json");
        let length = response.body().size();
        let body = to_bytes(response.into_body()).await.unwrap();
        assert_eq!(length, BodySize::Sized(body.len() as u64));
        assert_eq!(body, serde_json::to_vec(&numbers).unwrap());
    }
}
