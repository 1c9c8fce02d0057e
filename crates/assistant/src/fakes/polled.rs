//! Single polls of futures.

use std::future::{Future, poll_fn};
use std::task::Poll;

/// Polls a future once and expects that it is not ready.
pub(crate) async fn not_ready<F: Future + Unpin>(future: &mut F) {
    poll_fn(|cx| {
        assert!(std::pin::Pin::new(&mut *future).poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
}
