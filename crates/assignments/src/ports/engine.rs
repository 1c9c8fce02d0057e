//! Workflow engine that drives runs.

use async_trait::async_trait;
use pia_kernel::{AssignmentId, Unavailable};

/// Workflow engine. It decides when a worker advances a run; the run and its
/// progress are stored in the database.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait WorkflowEngine: Send + Sync {
    /// Starts the workflow of an assignment, or does nothing if it was started
    /// before.
    async fn start(&self, id: AssignmentId) -> Result<(), Unavailable>;

    /// Stops the workflow of an assignment that has ended in the database. An
    /// unknown one is ignored.
    async fn stop(&self, id: AssignmentId, mode: StopMode) -> Result<(), Unavailable>;

    /// Returns whether the engine has a workflow of an assignment that waits or
    /// runs.
    async fn is_live(&self, id: AssignmentId) -> Result<bool, Unavailable>;
}

/// Ways to stop a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopMode {
    /// Workflow learns that its user cancelled it, and ends itself.
    Cancel,
    /// Workflow ends at once.
    Terminate,
}
