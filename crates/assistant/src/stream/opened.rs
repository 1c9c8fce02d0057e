//! Call of a turn whose stream is open.

use std::future::Future;
use std::pin::Pin;

use crate::credits::metered_call::MeteredCall;
use crate::credits::usage::Usage;
use crate::error::AssistantError;
use crate::ports::{Frame, Frames};
use crate::stream::start::StartedStream;
use crate::turn::Turn;

/// Call whose stream is being opened.
pub(super) type OpeningStream =
    Pin<Box<dyn Future<Output = Result<OpenedStream, AssistantError>> + Send>>;

/// Call whose stream is open.
pub(super) struct OpenedStream {
    /// First frame, which was read to open the stream.
    pub(super) first: Option<Frame>,
    pub(super) frames: Frames,
    /// Set if some frames could not be parsed.
    pub(super) unreadable: bool,
    /// Set if a part of a response was received.
    pub(super) answers: bool,
    pub(super) metered_call: MeteredCall,
    /// Usage of the turn's earlier calls, also of those that its tools made.
    pub(super) previous_usage: Usage,
    /// Turn, if its model may call tools of the server.
    pub(super) turn: Option<Box<Turn>>,
}

/// Starts a call of a turn, which is stored only if its model may call server
/// tools: a long conversation would otherwise stay in memory.
pub(super) async fn open(mut turn: Box<Turn>) -> Result<OpenedStream, AssistantError> {
    let (StartedStream { first, frames, unreadable }, metered_call) = turn.open().await?;
    let previous_usage = turn.previous_usage;
    let turn = turn.has_tools().then_some(turn);
    Ok(OpenedStream {
        first,
        frames,
        unreadable,
        answers: false,
        metered_call,
        previous_usage,
        turn,
    })
}
