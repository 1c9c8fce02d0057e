//! Request body in pieces.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// Body that sends its pieces without joining them, so that a large request is
/// held once. Its length is known and sent as `Content-Length`: some upstreams
/// refuse chunked requests.
#[derive(Debug)]
pub(crate) struct Pieces {
    remaining: VecDeque<Bytes>,
    length: u64,
}

impl Pieces {
    pub(crate) fn new(pieces: Vec<Bytes>) -> Self {
        let remaining = VecDeque::from(pieces);
        Self { length: remaining.iter().map(|it| it.len() as u64).sum(), remaining }
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.remaining.pop_front();
        self.length -= piece.as_ref().map_or(0, |it| it.len() as u64);
        Poll::Ready(piece.map(|it| Ok(Frame::data(it))))
    }

    fn is_end_stream(&self) -> bool {
        self.remaining.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn pieces_arrive_in_order_and_uncopied() {
        let large_piece = Bytes::from(vec![b'x'; 4096]);
        let mut body = Pieces::new(vec![Bytes::from_static(b"["), large_piece.clone()]);
        assert_eq!(body.size_hint().exact(), Some(4097));

        let first_piece = body.frame().await.unwrap().unwrap().into_data().unwrap();
        let second_piece = body.frame().await.unwrap().unwrap().into_data().unwrap();

        assert_eq!(first_piece, "[");
        assert_eq!(second_piece.as_ptr(), large_piece.as_ptr());
        assert!(body.frame().await.is_none());
        assert_eq!(body.size_hint().exact(), Some(0));
    }
}
