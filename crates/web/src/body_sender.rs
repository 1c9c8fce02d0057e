//! Answers that are made piece by piece, beside the worker that sends them.

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

/// Sender of the pieces of a response body. Dropped before [`end`](Self::end),
/// it cuts the connection: a part is never taken for the whole.
pub struct BodySender {
    pieces: Sender<BodyChunk>,
    chunk_timeout: Duration,
}

enum BodyChunk {
    More(Bytes),
    End,
}

/// Error: the client hung up or was too slow, so no more is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyUnread;

/// The answer ends before its end.
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
    /// A feed, and the body that it fills.
    pub(crate) fn new() -> (Self, BoxStream<'static, Result<Bytes, BodyCut>>) {
        Self::with_chunk_timeout(CHUNK_TIMEOUT)
    }

    fn with_chunk_timeout(
        patience: Duration,
    ) -> (Self, BoxStream<'static, Result<Bytes, BodyCut>>) {
        let (pieces, receiver) = channel(MAX_QUEUED_CHUNKS);
        (Self { pieces, chunk_timeout: patience }, body(receiver).boxed())
    }

    /// Sends a piece as soon as the client has taken those before.
    pub async fn send(&self, piece: Bytes) -> Result<(), BodyUnread> {
        self.send_chunk(BodyChunk::More(piece)).await
    }

    /// Says that the answer is whole.
    pub async fn end(self) -> Result<(), BodyUnread> {
        self.send_chunk(BodyChunk::End).await
    }

    async fn send_chunk(&self, piece: BodyChunk) -> Result<(), BodyUnread> {
        match tokio::time::timeout(self.chunk_timeout, self.pieces.send(piece)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(BodyUnread),
        }
    }
}

fn body(receiver: Receiver<BodyChunk>) -> impl Stream<Item = Result<Bytes, BodyCut>> {
    stream::unfold(Some(receiver), |receiver| async {
        let mut receiver = receiver?;
        match receiver.recv().await {
            Some(BodyChunk::More(piece)) => Some((Ok(piece), Some(receiver))),
            Some(BodyChunk::End) => None,
            None => Some((Err(BodyCut), None)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_fed_comes_out_and_ends() {
        let (feed, body) = BodySender::new();

        feed.send(Bytes::from_static(b"a")).await.unwrap();
        feed.end().await.unwrap();

        let pieces: Vec<_> = body.map(|it| it.unwrap()).collect().await;
        assert_eq!(pieces, ["a"]);
    }

    #[tokio::test]
    async fn what_is_not_ended_is_cut() {
        let (feed, body) = BodySender::new();

        feed.send(Bytes::from_static(b"a")).await.unwrap();
        drop(feed);

        let pieces: Vec<_> = body.map(|it| it.is_ok()).collect().await;
        assert_eq!(pieces, [true, false]);
    }

    #[tokio::test]
    async fn a_client_who_hangs_up_or_reads_nothing_ends_it() {
        let (left, body) = BodySender::new();
        drop(body);
        let (stalled, _body) = BodySender::with_chunk_timeout(Duration::from_millis(1));

        let unread = left.send(Bytes::new()).await;
        let mut taken = 0;
        while stalled.send(Bytes::new()).await.is_ok() {
            taken += 1;
        }

        assert_eq!((unread, taken), (Err(BodyUnread), MAX_QUEUED_CHUNKS));
    }
}
