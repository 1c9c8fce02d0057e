//! A body that is sent step by step.

use std::fmt;
use std::future::pending;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream};

/// Next action while a body is sent.
pub(crate) enum Step {
    Send(Bytes),
    Wait(Duration),
    /// Lets what was sent so far leave in a packet of its own.
    Flush,
    /// Sends nothing more and keeps the connection open.
    Hang,
    /// The connection breaks.
    Break,
}

/// Error of a body that was cut off on request.
#[derive(Debug)]
pub(crate) struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cut as asked")
    }
}

impl std::error::Error for Cut {}

/// The body that the steps make. What is `held` is dropped with it, so when
/// it has been sent and when its reader has gone.
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
