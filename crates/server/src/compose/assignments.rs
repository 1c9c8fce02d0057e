//! Assignments over their adapters.

use std::sync::Arc;

use pia_assignments::{
    AssignmentAdministration, AssignmentSettings, AssignmentStore, Assignments, OperatorStore,
    RunStore, Runs, Schedules, Upkeep, UserSteps, Webhooks,
};
use pia_assistant::{Chat, Gateway};
use pia_http::AssignmentsApi;
use pia_identity::AccountStore;
use pia_kernel::LiveSetting;
use pia_pods::ToolPlane;
use pia_policy::Feature;
use pia_storage_assignments::{SqlAssignments, SqlOperators, SqlWebhooks};
use pia_webhooks::WebhookClient;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::ComposeError;
use super::infrastructure::Infrastructure;
use super::workflow::{StartWorker, Workflow};
use crate::assignment_worker::{start_schedules, start_upkeep};
use crate::bridges::{FeatureLicence, ProxySteps};
use crate::webhook_worker::start_webhooks;

/// Use cases of assignments, and what runs in the background.
pub(super) struct AssignmentParts {
    pub(super) api: AssignmentsApi,
    upkeep: Upkeep,
    start_worker: Option<StartWorker>,
    licence: FeatureLicence,
}

impl AssignmentParts {
    /// Composes assignments; `gateway` calls the models of their steps,
    /// and `pods` run hosted skills.
    pub(super) async fn compose(
        base: &Infrastructure<'_>,
        gateway: &Gateway,
        accounts: Arc<dyn AccountStore>,
        pods: ToolPlane,
    ) -> Result<Self, ComposeError> {
        let sql = Arc::new(SqlAssignments::new(base.db.clone(), base.sealer.clone()));
        let assignments: Arc<dyn AssignmentStore> = Arc::<SqlAssignments>::clone(&sql);
        let store: Arc<dyn RunStore> = Arc::<SqlAssignments>::clone(&sql);
        let operators: Arc<dyn OperatorStore> = Arc::new(SqlOperators::new(base.db.clone()));
        let settings = base.config.follow(|it| it.operators.assignments);
        let runs = Runs {
            store: Arc::clone(&store),
            steps: Arc::new(ProxySteps { chat: Chat::new(gateway.clone()), accounts, pods }),
            settings: settings.clone(),
            clock: base.clock(),
            user_steps: UserSteps::default(),
        };
        let Workflow { engine, start_worker } = Workflow::compose(base, runs, &sql)?;
        let administration = AssignmentAdministration {
            assignments: Arc::clone(&assignments),
            runs: Arc::clone(&store),
            schedules: Arc::<SqlAssignments>::clone(&sql),
            operators: Arc::clone(&operators),
            engine: Arc::clone(&engine),
            clock: base.clock(),
        };
        administration.put_built_in().await.map_err(ComposeError::Assignments)?;
        let licence = base.licence_of(Feature::AiProxy);
        let is_enabled = start_worker.is_some();

        let upkeep = Upkeep {
            store,
            engine: Arc::clone(&engine),
            settings: settings.clone(),
            clock: base.clock(),
        };

        let schedules = Schedules {
            store: sql,
            operators: Arc::clone(&operators),
            engine: Arc::clone(&engine),
            settings: settings.clone(),
            clock: base.clock(),
        };

        let webhooks = compose_webhooks(base, settings.clone())?;
        let assignments =
            Assignments { store: assignments, operators, engine, settings, clock: base.clock() };
        let api = AssignmentsApi { assignments, schedules, administration, webhooks, is_enabled };

        Ok(Self { api, upkeep, start_worker, licence })
    }

    /// Starts the worker and the upkeep, which end when stopped. Old contents
    /// are deleted even if assignments are off.
    pub(super) fn start(self, tasks: &TaskTracker, stop: &CancellationToken) -> AssignmentsApi {
        start_upkeep(self.upkeep, tasks, stop);
        start_webhooks(&self.api.webhooks, tasks, stop);
        if self.api.is_enabled {
            start_schedules(self.api.schedules.clone(), self.licence, tasks, stop);
        }
        if let Some(start) = self.start_worker {
            start(tasks, stop);
        }
        self.api
    }
}

fn compose_webhooks(
    base: &Infrastructure<'_>,
    settings: LiveSetting<AssignmentSettings>,
) -> Result<Webhooks, ComposeError> {
    let allows_private = base.config.follow(|it| it.operators.allows_private_webhooks);
    Ok(Webhooks {
        store: Arc::new(SqlWebhooks::new(base.db.unrestricted())),
        sender: Arc::new(WebhookClient::new(base.tls.config(), allows_private)?),
        settings,
        clock: base.clock(),
    })
}
