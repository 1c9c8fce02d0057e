//! Assignments over their adapters.

use std::sync::Arc;

use pia_assignments::{
    AssignmentAdministration, AssignmentStore, Assignments, OperatorStore, RunStore, Runs, Upkeep,
    WorkflowEngine,
};
use pia_assistant::{Chat, Gateway};
use pia_http::AssignmentsApi;
use pia_identity::AccountStore;
use pia_storage_assignments::{SqlAssignments, SqlOperators};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::ComposeError;
use super::infrastructure::Infrastructure;
use crate::assignment_worker::{AssignmentWorker, start_upkeep};
use crate::bridges::{EmbeddedEngine, ProxySteps};
use crate::worker_lease::WorkerLease;

/// Use cases of assignments, and what runs in the background.
pub(super) struct AssignmentParts {
    pub(super) api: AssignmentsApi,
    upkeep: Upkeep,
    worker: Option<AssignmentWorker>,
}

impl AssignmentParts {
    /// Composes assignments; `gateway` calls the models of their steps.
    pub(super) async fn compose(
        base: &Infrastructure<'_>,
        gateway: &Gateway,
        accounts: Arc<dyn AccountStore>,
    ) -> Result<Self, ComposeError> {
        let sql = Arc::new(SqlAssignments::new(base.db.clone(), base.sealer.clone()));
        let assignments: Arc<dyn AssignmentStore> = Arc::<SqlAssignments>::clone(&sql);
        let store: Arc<dyn RunStore> = sql;
        let operators: Arc<dyn OperatorStore> = Arc::new(SqlOperators::new(base.db.clone()));
        let embedded = EmbeddedEngine::default();
        let wake = Arc::clone(&embedded.wake);
        let engine: Arc<dyn WorkflowEngine> = Arc::new(embedded);
        let settings = base.config.follow(|it| it.operators.assignments);
        let administration = AssignmentAdministration {
            assignments: Arc::clone(&assignments),
            runs: Arc::clone(&store),
            operators: Arc::clone(&operators),
            engine: Arc::clone(&engine),
            clock: base.clock(),
        };
        administration.put_built_in().await.map_err(ComposeError::Assignments)?;
        let steps = Arc::new(ProxySteps { chat: Chat::new(gateway.clone()), accounts });
        let runs = Runs {
            store: Arc::clone(&store),
            steps,
            settings: settings.clone(),
            clock: base.clock(),
        };
        let is_enabled = base.config.latest().operators.engine.is_some();
        let worker = is_enabled.then(|| AssignmentWorker {
            runs,
            lease: WorkerLease::new(Arc::clone(&store), base.clock()),
            concurrency: base.config.follow(|it| it.operators.concurrency),
            wake,
        });
        let upkeep = Upkeep {
            store,
            engine: Arc::clone(&engine),
            settings: settings.clone(),
            clock: base.clock(),
        };
        let assignments =
            Assignments { store: assignments, operators, engine, settings, clock: base.clock() };
        let api = AssignmentsApi { assignments, administration, is_enabled };
        Ok(Self { api, upkeep, worker })
    }

    /// Starts the worker and the upkeep, which end when stopped. Old contents
    /// are deleted even if assignments are off.
    pub(super) fn start(self, tasks: &TaskTracker, stop: &CancellationToken) -> AssignmentsApi {
        start_upkeep(self.upkeep, tasks, stop);
        if let Some(worker) = self.worker {
            worker.start(tasks, stop);
        }
        self.api
    }
}
