//! Starts and ends of workflows.
//!
//! The workflow's id is derived from the assignment's, so that starting twice is
//! harmless. Every call ends after two seconds. If the server is down, a user's
//! assignment is refused, and one of a schedule is started by
//! `Upkeep::reconcile`.

use std::sync::Arc;

use async_trait::async_trait;
use pia_assignments::{StopMode, WorkflowEngine};
use pia_kernel::{AssignmentId, Unavailable};
use pia_sealing::ServerSeal;
use temporalio_client::errors::WorkflowInteractionError;
use temporalio_client::{
    Client, WorkflowCancelOptions, WorkflowDescribeOptions, WorkflowExecutionStatus,
    WorkflowHandle, WorkflowIdConflictPolicy, WorkflowIdReusePolicy, WorkflowStartOptions,
    WorkflowTerminateOptions,
};

use crate::connection::{
    LazyConnection, TemporalConfig, TemporalConfigError, unavailable, with_timeout,
};
use crate::workflow::AssignmentWorkflow;

/// Workflow engine on a Temporal server.
#[derive(Clone)]
pub struct TemporalEngine {
    pub(crate) connection: Arc<LazyConnection>,
}

impl TemporalEngine {
    /// Creates an engine whose payloads are sealed by `seal`. The server need not
    /// be running yet.
    pub fn new(config: TemporalConfig, seal: ServerSeal) -> Result<Self, TemporalConfigError> {
        Ok(Self { connection: Arc::new(LazyConnection::new(config, seal)?) })
    }

    async fn workflow(
        &self,
        id: AssignmentId,
    ) -> Result<WorkflowHandle<Client, AssignmentWorkflow>, Unavailable> {
        Ok(self.connection.client().await?.get_workflow_handle(workflow_id(id)))
    }
}

#[async_trait]
impl WorkflowEngine for TemporalEngine {
    async fn start(&self, id: AssignmentId) -> Result<(), Unavailable> {
        let options = WorkflowStartOptions::new(&self.connection.task_queue, workflow_id(id))
            .id_conflict_policy(WorkflowIdConflictPolicy::UseExisting)
            // One that has ended is started again; it ends at once if the
            // assignment has ended too.
            .id_reuse_policy(WorkflowIdReusePolicy::AllowDuplicate)
            .build();

        with_timeout(async {
            let client = self.connection.client().await?;
            client
                .start_workflow(AssignmentWorkflow::run, id.0, options)
                .await
                .map(drop)
                .map_err(unavailable)
        })
        .await
    }

    async fn stop(&self, id: AssignmentId, mode: StopMode) -> Result<(), Unavailable> {
        with_timeout(async {
            let workflow = self.workflow(id).await?;
            let response = match mode {
                StopMode::Cancel => workflow.cancel(WorkflowCancelOptions::default()).await,
                StopMode::Terminate => {
                    workflow.terminate(WorkflowTerminateOptions::default()).await
                }
            };
            ignore_not_found(response).map(drop)
        })
        .await
    }

    async fn is_live(&self, id: AssignmentId) -> Result<bool, Unavailable> {
        with_timeout(async {
            let workflow = self.workflow(id).await?;
            let description =
                ignore_not_found(workflow.describe(WorkflowDescribeOptions::default()).await)?;
            Ok(description.is_some_and(|it| it.status() == WorkflowExecutionStatus::Running))
        })
        .await
    }
}

/// Returns the answer about a workflow; `None` if it is unknown or has ended.
fn ignore_not_found<T>(
    answer: Result<T, WorkflowInteractionError>,
) -> Result<Option<T>, Unavailable> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        // A namespace that is not found is an outage.
        Err(WorkflowInteractionError::NotFound(status)) if !is_of_namespace(status.details()) => {
            Ok(None)
        }
        Err(err) => Err(unavailable(err)),
    }
}

/// Returns whether the details of an error say that the namespace is unknown.
fn is_of_namespace(details: &[u8]) -> bool {
    const TYPE: &[u8] = b"NamespaceNotFoundFailure";
    details.windows(TYPE.len()).any(|it| it == TYPE)
}

fn workflow_id(id: AssignmentId) -> String {
    format!("assignment-{id}")
}
