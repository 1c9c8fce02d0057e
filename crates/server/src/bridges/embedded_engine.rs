//! Workflow engine over the server's database.

use std::sync::Arc;

use async_trait::async_trait;
use pia_assignments::{StopMode, WorkflowEngine};
use pia_kernel::{AssignmentId, Unavailable};
use tokio::sync::Notify;

/// Workflow engine over the server's database: what waits there is its queue. A
/// start wakes the worker of this process; PostgreSQL notifies the others, which
/// look once a second in any case.
#[derive(Clone, Default)]
pub(crate) struct EmbeddedEngine {
    /// Notified of each start.
    pub(crate) wake: Arc<Notify>,
}

#[async_trait]
impl WorkflowEngine for EmbeddedEngine {
    async fn start(&self, _id: AssignmentId) -> Result<(), Unavailable> {
        self.wake.notify_one();
        Ok(())
    }

    async fn stop(&self, _id: AssignmentId, _mode: StopMode) -> Result<(), Unavailable> {
        Ok(())
    }

    async fn is_live(&self, _id: AssignmentId) -> Result<bool, Unavailable> {
        Ok(true)
    }
}
