//! Input of the task that owns a connection.

use actix_web::web::Bytes;
use pia_pods::{PodCall, PodReply, ToolCallError};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use uuid::Uuid;

use crate::transport::Transport;

/// Input of the task that owns a connection.
pub(crate) enum Input {
    /// WebSocket was opened.
    Attached(Transport),
    /// Frame of the WebSocket with this number, which reads on when the permit is
    /// dropped.
    Frame(u32, Bytes, OwnedSemaphorePermit),
    /// End of the WebSocket with this number.
    Lost(u32),
    /// Pod was registered, in answer to the invocation with this id.
    Registered(String, Registration),
    /// Somebody calls the pod.
    Call(PendingCall),
    /// Caller is gone.
    Cancel(Uuid),
    /// Token of the pod is no longer valid.
    Expelled,
    /// Server stops.
    Stopping,
}

/// Outcome of registering a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registration {
    Done,
    /// Token of the pod was revoked.
    Expelled,
    /// Database did not answer.
    Failed,
}

/// Call that somebody waits for.
pub(crate) struct PendingCall {
    pub(crate) id: Uuid,
    pub(crate) call: PodCall,
    pub(crate) reply: oneshot::Sender<Result<PodReply, ToolCallError>>,
}
