//! Input of the task that owns a connection.
//!
//! There are two queues: `Input` from the WebSockets and from work in the
//! background, `LinkInput` from callers of the pod. Numbers of WebSockets begin
//! at 1; input of any but the present one is ignored.

use actix_web::web::Bytes;
use pia_kernel::Timestamp;
use pia_pods::{PodCall, PodReply, ProgressSink, RotatedToken, ToolCallError};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use uuid::Uuid;

use crate::transport::Transport;

/// Input of the task that owns a connection.
pub(crate) enum Input {
    /// The pod opened the WebSocket of its connection.
    Attached(Transport),
    /// Frame of the WebSocket with this number, which reads on when the permit is
    /// dropped.
    Frame(u32, Bytes, OwnedSemaphorePermit),
    /// End of the WebSocket with this number.
    Lost(u32),
    /// Pod was registered, in answer to the invocation with this id if it has one.
    Registered(Option<String>, HelloOutcome),
    /// Token of the pod was replaced, or not, in answer to the invocation with this id.
    Rotated(String, Option<Box<RotatedToken>>),
    /// The server stops, and ends its connections.
    Stopping,
}

/// Input from the rest of the server, by the link to a pod.
pub(crate) enum LinkInput {
    /// Somebody calls the pod. Boxed, as a channel allocates many at once.
    Call(Box<PendingCall>),
    /// The caller no longer waits for the result of this call.
    Cancel(Uuid),
    /// Pod is not registered any more.
    Unregistered,
    /// An administrator wants the pod to end.
    Draining,
}

/// Outcome of registering a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HelloOutcome {
    /// Pod is stored; its token ends at this time, if at all.
    Done(Option<Timestamp>),
    /// Token of the pod was revoked or has expired.
    Expelled,
    /// Database did not answer.
    Failed,
}

/// Call that somebody waits for.
pub(crate) struct PendingCall {
    pub(crate) id: Uuid,
    pub(crate) call: PodCall,
    pub(crate) progress: ProgressSink,
    pub(crate) reply: oneshot::Sender<Result<PodReply, ToolCallError>>,
}
