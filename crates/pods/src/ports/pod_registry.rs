//! Registry of connected pods, which all instances share. A pod is stored by
//! `put` and extended by `keep_alive`; otherwise it soon does not count as
//! connected any more, and `sweep` removes it later.

use async_trait::async_trait;
use pia_kernel::{GroupId, SideEffects, Timestamp, Unavailable};

use crate::connected_pod::{ConnectedPod, PodId};

/// Registry of connected pods.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait PodRegistry: Send + Sync {
    /// Stores a pod with its description, or replaces the description of a stored pod.
    async fn put(
        &self,
        pod: ConnectedPod,
        now: Timestamp,
    ) -> Result<PodRegistrationOutcome, Unavailable>;

    /// Extends the time until which pods count as connected. Returns the pods whose
    /// standing is to change.
    async fn keep_alive(
        &self,
        pods: Vec<PodId>,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<(PodId, PodStanding)>, Unavailable>;

    /// Marks a pod as one that takes no further calls and is to end. Returns false if it
    /// is not connected, or is an MCP server.
    async fn drain(&self, pod: PodId, effects: SideEffects) -> Result<bool, Unavailable>;

    /// Removes a pod.
    async fn remove(&self, pod: PodId) -> Result<(), Unavailable>;

    /// Removes the pods whose connection expired before this time.
    async fn sweep(&self, before: Timestamp) -> Result<(), Unavailable>;

    /// Lists the pods that are connected now, the longest connected first; of
    /// connectors that are granted to a group, or of all.
    async fn list_connected(
        &self,
        granted_to: Option<GroupId>,
        now: Timestamp,
    ) -> Result<Vec<ConnectedPod>, Unavailable>;

    /// Counts a call and writes its entry of the audit log, in the background but before
    /// the server ends. A failure is logged: since the tool has had its effect, the model
    /// gets the result nevertheless.
    async fn record(&self, call: CallRecord, effects: SideEffects);
}

/// Outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodCallOutcome {
    /// Pod returned a result.
    Completed,
    /// Pod returned none.
    Failed,
}

/// Call that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallRecord {
    /// Pod that was called.
    pub pod: PodId,
    /// Outcome of the call.
    pub outcome: PodCallOutcome,
    /// Duration in milliseconds.
    pub milliseconds: i64,
}

/// Outcome of registering a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodRegistrationOutcome {
    /// Pod is stored.
    Done {
        /// Expiry of its token; `None` if it needs none.
        token_expires_at: Option<Timestamp>,
    },
    /// Token of the pod was revoked or has expired, or its connector was deleted.
    TokenGone,
}

/// Standing of a pod that is to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodStanding {
    /// Pod is not stored any more: its token was revoked or has expired, or the
    /// database was away for long. It is to be stored again, if its token permits it.
    Unregistered,
    /// Pod takes no further calls, and is to end.
    Draining,
}
