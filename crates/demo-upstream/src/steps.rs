//! Body that is sent step by step.

use std::fmt;
use std::future::pending;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream};

/// Next action while a body is sent.
pub(crate) enum Step {
    Send(Bytes),
    Wait(Duration),
    /// Flushes what was sent so far in a separate packet.
    Flush,
    /// Sends nothing more and keeps the connection open.
    Hang,
    /// Closes the connection in the middle of the response.
    Break,
}

/// Error of a body that was aborted on request.
#[derive(Debug)]
pub(crate) struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cut as asked")
    }
}

impl std::error::Error for Cut {}

/// Returns the body that the steps produce. `held` is dropped with the body: when it
/// has been sent, or when its reader has left.
pub(crate) fn body<H>(
    steps: Vec<Step>,
    held: H,
) -> impl Stream<Item = Result<Bytes, Cut>> + use<H> {
    stream::unfold((steps.into_iter(), held), |(mut steps, held)| async move {
        loop {
            match steps.next()? {
                Step::Send(bytes) => return Some((Ok(bytes), (steps, held))),
                Step::Break => return Some((Err(Cut), (steps, held))),
                Step::Wait(time) => tokio::time::sleep(time).await,
                Step::Flush => tokio::task::yield_now().await,
                Step::Hang => pending().await,
            }
        }
    })
}
