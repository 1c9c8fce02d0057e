//! Response bodies that are produced in chunks, independently of the worker
//! that sends them.
//!
//! `Runner::stream_body` creates the pair: a task on the main runtime calls
//! `send` for each chunk and at last `end`, while the worker polls the stream.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use actix_web::web::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt as _};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Maximum number of chunks that wait for the client.
const MAX_QUEUED_CHUNKS: usize = 2;

/// Maximum time that a client may take for one chunk.
const CHUNK_TIMEOUT: Duration = Duration::from_mins(1);

/// Sender of the chunks of a response body. Dropped before [`end`](Self::end),
/// it aborts the connection, so that an incomplete body is never taken for a
/// complete one.
pub struct BodySender {
    chunks: Sender<BodyChunk>,
    chunk_timeout: Duration,
}

enum BodyChunk {
    More(Bytes),
    End,
}

/// Error: the client disconnected or was too slow, so no more is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyUnread;

/// Error: the body ended before it was complete.
#[derive(Debug)]
pub struct BodyCut;

impl fmt::Display for BodyUnread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nobody reads the answer")
    }
}

impl Error for BodyUnread {}

impl fmt::Display for BodyCut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer could not be finished")
    }
}

impl Error for BodyCut {}

impl BodySender {
    /// Returns a sender, and the body that it fills.
    pub(crate) fn new() -> (Self, BoxStream<'static, Result<Bytes, BodyCut>>) {
        Self::with_chunk_timeout(CHUNK_TIMEOUT)
    }

    fn with_chunk_timeout(
        chunk_timeout: Duration,
    ) -> (Self, BoxStream<'static, Result<Bytes, BodyCut>>) {
        let (chunks, receiver) = channel(MAX_QUEUED_CHUNKS);
        (Self { chunks, chunk_timeout }, body(receiver).boxed())
    }

    /// Sends a chunk, once the client has taken those before.
    pub async fn send(&self, chunk: Bytes) -> Result<(), BodyUnread> {
        self.send_chunk(BodyChunk::More(chunk)).await
    }

    /// Completes the body.
    pub async fn end(self) -> Result<(), BodyUnread> {
        self.send_chunk(BodyChunk::End).await
    }

    async fn send_chunk(&self, chunk: BodyChunk) -> Result<(), BodyUnread> {
        match tokio::time::timeout(self.chunk_timeout, self.chunks.send(chunk)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(BodyUnread),
        }
    }
}

fn body(receiver: Receiver<BodyChunk>) -> impl Stream<Item = Result<Bytes, BodyCut>> {
    stream::unfold(Some(receiver), |state| async {
        let mut receiver = state?;
        match receiver.recv().await {
            Some(BodyChunk::More(chunk)) => Some((Ok(chunk), Some(receiver))),
            Some(BodyChunk::End) => None,
            None => Some((Err(BodyCut), None)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sent_chunks_arrive_and_the_body_ends() {
        let (sender, body) = BodySender::new();

        sender.send(Bytes::from_static(b"a")).await.unwrap();
        sender.end().await.unwrap();

        let chunks: Vec<_> = body.map(|it| it.unwrap()).collect().await;
        assert_eq!(chunks, ["a"]);
    }

    #[tokio::test]
    async fn a_dropped_sender_aborts_the_body() {
        let (sender, body) = BodySender::new();

        sender.send(Bytes::from_static(b"a")).await.unwrap();
        drop(sender);

        let chunks: Vec<_> = body.map(|it| it.is_ok()).collect().await;
        assert_eq!(chunks, [true, false]);
    }

    #[tokio::test]
    async fn a_client_that_disconnects_or_stalls_ends_the_body() {
        let (disconnected, body) = BodySender::new();
        drop(body);
        let (stalled, _body) = BodySender::with_chunk_timeout(Duration::from_millis(1));

        let unread = disconnected.send(Bytes::new()).await;
        let mut sent_chunks = 0;
        while stalled.send(Bytes::new()).await.is_ok() {
            sent_chunks += 1;
        }

        assert_eq!(unread, Err(BodyUnread));
        assert_eq!(sent_chunks, MAX_QUEUED_CHUNKS);
    }
}
