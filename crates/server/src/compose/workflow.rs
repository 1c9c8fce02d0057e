//! Choice of the workflow engine.

use std::sync::Arc;

use pia_assignments::{Runs, WorkflowEngine};
use pia_sealing::ServerSeal;
use pia_settings::{EngineConfig, WorkflowServer};
use pia_storage_assignments::SqlAssignments;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::ComposeError;
use super::infrastructure::Infrastructure;
use crate::assignment_worker::AssignmentWorker;
use crate::bridges::EmbeddedEngine;
use crate::worker_lease::WorkerLease;

/// Start of a worker, which ends when stopped.
pub(super) type StartWorker = Box<dyn FnOnce(&TaskTracker, &CancellationToken)>;

/// Workflow engine, and its worker in this instance.
pub(super) struct Workflow {
    pub(super) engine: Arc<dyn WorkflowEngine>,
    /// Start of the worker; `None` if assignments are off.
    pub(super) start_worker: Option<StartWorker>,
}

impl Workflow {
    /// Composes the engine that the settings name; `runs` of `queue` are advanced
    /// by its worker.
    pub(super) fn compose(
        base: &Infrastructure<'_>,
        runs: Runs,
        queue: &Arc<SqlAssignments>,
    ) -> Result<Self, ComposeError> {
        let lease = WorkerLease::new(Arc::clone(&runs.store), base.clock());

        match base.config.latest().operators.engine.clone() {
            None => Ok(Self { engine: Arc::new(EmbeddedEngine::default()), start_worker: None }),
            Some(EngineConfig::Embedded) => {
                let engine = EmbeddedEngine::default();
                let wake = Arc::clone(&engine.wake);
                let concurrency = base.config.follow(|it| it.operators.concurrency);
                let queue = Arc::clone(queue);
                let worker = AssignmentWorker { runs, lease, queue, concurrency, wake };
                let start: StartWorker = Box::new(|tasks, stop| worker.start(tasks, stop));
                Ok(Self { engine: Arc::new(engine), start_worker: Some(start) })
            }
            Some(EngineConfig::Temporal(server)) => {
                let concurrency = base.config.latest().operators.concurrency;
                temporal::compose(server, base.server_seal.clone(), runs, lease, concurrency)
            }
        }
    }
}

#[cfg(feature = "temporal")]
mod temporal {
    use pia_temporal::{TemporalConfig, TemporalEngine, TemporalWorker};

    use super::{
        Arc, ComposeError, Runs, ServerSeal, StartWorker, WorkerLease, Workflow, WorkflowServer,
    };
    use crate::temporal_worker;

    pub(super) fn compose(
        server: WorkflowServer,
        seal: ServerSeal,
        runs: Runs,
        lease: WorkerLease,
        concurrency: u32,
    ) -> Result<Workflow, ComposeError> {
        let WorkflowServer { address, namespace, task_queue, is_tls, api_key } = server;
        let config = TemporalConfig { address, namespace, task_queue, is_tls, api_key };
        let engine = TemporalEngine::new(config, seal)
            .map_err(|err| ComposeError::Workflow(err.to_string()))?;
        let concurrency = concurrency as usize;
        let worker = TemporalWorker { engine: engine.clone(), runs, id: lease.id, concurrency };
        let start: StartWorker =
            Box::new(|tasks, stop| temporal_worker::start(worker, lease, tasks, stop));
        Ok(Workflow { engine: Arc::new(engine), start_worker: Some(start) })
    }
}

#[cfg(not(feature = "temporal"))]
mod temporal {
    use super::{ComposeError, Runs, ServerSeal, WorkerLease, Workflow, WorkflowServer};

    pub(super) fn compose(
        _server: WorkflowServer,
        _seal: ServerSeal,
        _runs: Runs,
        _lease: WorkerLease,
        _concurrency: u32,
    ) -> Result<Workflow, ComposeError> {
        let reason = "this build has no client of Temporal: set Workflow:Address to `embedded`";
        Err(ComposeError::Workflow(reason.to_owned()))
    }
}
