//! Answers that are made piece by piece, beside the worker that sends them.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use actix_web::web::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt as _};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Number of pieces that wait for the client at most.
const WAITING: usize = 2;

/// Duration for which a client may take for one piece.
const PATIENCE: Duration = Duration::from_mins(1);

/// Sender of the pieces of a response body. Dropped before [`end`](Self::end),
/// it cuts the connection: a part is never taken for the whole.
pub struct BodySender {
    pieces: Sender<Piece>,
    patience: Duration,
}

enum Piece {
    More(Bytes),
    End,
}

/// Nobody takes any more pieces: the client hung up, or took too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unread;

/// The answer ends before its end.
#[derive(Debug)]
pub struct Cut;

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nobody reads the answer")
    }
}

impl Error for Unread {}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer could not be finished")
    }
}

impl Error for Cut {}

impl BodySender {
    /// A feed, and the body that it fills.
    pub(crate) fn new() -> (Self, BoxStream<'static, Result<Bytes, Cut>>) {
        Self::waiting(PATIENCE)
    }

    fn waiting(patience: Duration) -> (Self, BoxStream<'static, Result<Bytes, Cut>>) {
        let (pieces, receiver) = channel(WAITING);
        (Self { pieces, patience }, body(receiver).boxed())
    }

    /// Sends a piece as soon as the client has taken those before.
    pub async fn send(&self, piece: Bytes) -> Result<(), Unread> {
        self.put(Piece::More(piece)).await
    }

    /// Says that the answer is whole.
    pub async fn end(self) -> Result<(), Unread> {
        self.put(Piece::End).await
    }

    async fn put(&self, piece: Piece) -> Result<(), Unread> {
        match tokio::time::timeout(self.patience, self.pieces.send(piece)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Unread),
        }
    }
}

fn body(receiver: Receiver<Piece>) -> impl Stream<Item = Result<Bytes, Cut>> {
    stream::unfold(Some(receiver), |receiver| async {
        let mut receiver = receiver?;
        match receiver.recv().await {
            Some(Piece::More(piece)) => Some((Ok(piece), Some(receiver))),
            Some(Piece::End) => None,
            None => Some((Err(Cut), None)),
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
        let (stalled, _body) = BodySender::waiting(Duration::from_millis(1));

        let unread = left.send(Bytes::new()).await;
        let mut taken = 0;
        while stalled.send(Bytes::new()).await.is_ok() {
            taken += 1;
        }

        assert_eq!((unread, taken), (Err(Unread), WAITING));
    }
}
