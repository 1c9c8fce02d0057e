//! Long answers in JSON.
//!
//! In one piece, an answer would lie in memory twice while it is sent: whole, and
//! whole again in what is to be written to the connection. In pieces, what was
//! sent is given back, and little more is ever waiting to be written.

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

/// Size of a piece, in bytes.
const CHUNK_BYTES: usize = 32 * 1024;

/// Answers this. It is written to its end before anything is sent, so that a
/// failure is reported by its status, and the length by its header.
pub(crate) fn json_in_chunks(
    response: &mut HttpResponseBuilder,
    answer: &impl Serialize,
) -> HttpResponse {
    let mut pieces = ChunkWriter::default();
    match serde_json::to_writer(&mut pieces, answer) {
        Ok(()) => response.content_type(ContentType::json()).body(pieces.into_body()),
        Err(err) => HttpResponse::from_error(err),
    }
}

/// Written bytes, cut into pieces of which each is full but the last.
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
        ChunkedBody { length, left: full.into_iter() }
    }
}

impl Write for ChunkWriter {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if self.last.len() == CHUNK_BYTES {
            let full = std::mem::replace(&mut self.last, Vec::with_capacity(CHUNK_BYTES));
            self.full.push(full.into());
        }
        let (fits, _) = text.split_at(text.len().min(CHUNK_BYTES - self.last.len()));
        self.last.extend_from_slice(fits);
        Ok(fits.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The body of an answer.
struct ChunkedBody {
    length: u64,
    left: IntoIter<Bytes>,
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
        Poll::Ready(self.left.next().map(Ok))
    }
}

#[cfg(test)]
mod tests {
    use actix_web::body::to_bytes;

    use super::*;

    #[test]
    fn no_piece_is_longer_than_it_may_be_and_none_is_empty_but_a_last_one() {
        for length in [0, 1, CHUNK_BYTES - 2, CHUNK_BYTES - 1, CHUNK_BYTES, 5 * CHUNK_BYTES + 7] {
            let mut pieces = ChunkWriter::default();
            serde_json::to_writer(&mut pieces, &"x".repeat(length)).unwrap();

            let body = pieces.into_body();

            let lengths: Vec<_> = body.left.as_slice().iter().map(Bytes::len).collect();
            let (last, full) = lengths.split_last().unwrap();
            assert!(
                full.iter().all(|it| *it == CHUNK_BYTES) && (1..=CHUNK_BYTES).contains(last),
                "{lengths:?}"
            );
            assert_eq!(body.length, length as u64 + 2);
        }
    }

    #[tokio::test]
    async fn what_is_sent_is_what_was_to_be_stated() {
        let message: Vec<_> = (0..20_000).collect();

        let answer = json_in_chunks(&mut HttpResponse::Ok(), &message);

        assert_eq!(answer.headers().get("content-type").unwrap(), "application/json");
        let length = answer.body().size();
        let body = to_bytes(answer.into_body()).await.unwrap();
        assert_eq!(length, BodySize::Sized(body.len() as u64));
        assert_eq!(body, serde_json::to_vec(&message).unwrap());
    }
}
