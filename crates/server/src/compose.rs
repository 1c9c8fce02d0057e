//! Composition: which adapter serves which port.
//!
//! `compose` builds all parts in the order of their dependencies; each file of
//! `compose/` builds one. Functions that take a `TaskTracker` and a token `stop` also
//! start background work, which `Background::finish` ends.

mod administration;
mod ai;
mod assignments;
mod chats;
mod e2ee;
mod emails;
mod groups;
mod identity;
mod infrastructure;
mod knowledge;
mod lifecycle;
mod mail;
mod maintenance;
mod operations;
mod passkeys;
mod pods;
mod providers;
mod provisioning;
mod settings;
mod surfaces;
mod sync;
mod use_cases;
mod workflow;

use std::sync::Arc;
use std::time::Duration;

use pia_console::{AccountPages, SetupPages};
use pia_http::Api;
use pia_identity::DEFAULT_GROUP;
use pia_kernel::{Clock, Unavailable};
use pia_mcp::Mcp;
use pia_policy::Groups;
use pia_scim::Scim;
use pia_sealing::MasterKeyError;
use pia_settings::{LiveConfig, Sources};
use pia_storage::StartupError;
use pia_storage_assistant::SqlCreditStore;
use pia_storage_lifecycle::SqlAuditChain;
use pia_storage_policy::SqlGroups;
use pia_uplink::Uplink;
use pia_upstream::{TlsError, UpstreamSetupError};
use pia_vectors::VectorSetupError;
use pia_web::{DatabaseHealth, Gates, Metrics, Runner};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::free_group::FreeGroup;
use crate::location_database::LocationDatabaseError;
use crate::tls::{CertificateError, ServedCertificate};
use crate::{audit_sequencer, checkpoints, database_health, settings_follower};
use assignments::AssignmentParts;
use infrastructure::Infrastructure;
use knowledge::KnowledgeParts;
use operations::OperatedParts;
use pods::PodParts;
use surfaces::ApiParts;
use use_cases::UseCases;

pub(crate) use administration::{AdministrationParts, administration};
pub use ai::AiFactory;
pub(crate) use groups::GroupPolicy;
pub(crate) use infrastructure::{fold_addresses, master_keys};
pub(crate) use knowledge::{knowledge_bases, open_vectors};

/// Timeout of each part of the background work that shutdown waits for.
const FINISH_TIMEOUT: Duration = Duration::from_secs(10);

/// Everything a listening server needs.
pub struct App {
    /// Services of the handlers.
    pub api: Api,
    /// Services of SCIM.
    pub scim: Scim,
    /// Services of the uplink hub.
    pub uplink: Uplink,
    /// Services of the Model Context Protocol.
    pub mcp: Mcp,
    /// Services of the setup pages.
    pub setup_pages: SetupPages,
    /// Services of the account pages.
    pub account_pages: AccountPages,
    /// Gates before the handlers.
    pub gates: Gates,
    /// Metrics of the server, which `/metrics` reports.
    pub metrics: Metrics,
    /// Factory of each worker's clients of upstream models.
    pub ai: AiFactory,
    /// Administration of groups, of their settings and members.
    pub groups: Groups,
    /// Certificate of connections, if the server terminates TLS itself.
    pub(crate) certificate: Option<ServedCertificate>,
    /// Background work, which ends with the server.
    pub background: Background,
}

/// Reasons why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ComposeError {
    /// The database cannot be opened, or its schema is not as required.
    #[error(transparent)]
    Database(#[from] StartupError),
    /// The master key is not the one that the data was sealed with.
    #[error(transparent)]
    MasterKey(#[from] MasterKeyError),
    /// The threads that hash passwords cannot be started.
    #[error("SVC-RUN-001: the threads that hash passwords cannot be started: {0}")]
    Threads(#[from] std::io::Error),
    /// TLS to upstream models cannot be set up.
    #[error("SVC-RUN-002: TLS to upstream models cannot be set up: {0}")]
    Tls(#[from] TlsError),
    /// The server's own certificate cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The client for upstream models cannot be created.
    #[error("SVC-RUN-003: the client for upstream models cannot be created: {0}")]
    Upstream(#[from] UpstreamSetupError),
    /// The client for identity providers cannot be created.
    #[error("SVC-RUN-005: the client for identity providers cannot be created: {0}")]
    Providers(#[from] pia_providers::ProviderSetupError),
    /// HTTP client for webhooks could not be created.
    #[error(transparent)]
    Egress(#[from] pia_webhooks::EgressSetupError),
    /// The stamps in the database cannot be read or written.
    #[error("SVC-RUN-006: the watermarks of devices cannot be checked: {0}")]
    Stamps(Unavailable),
    /// Addresses of accounts cannot be normalised.
    #[error("SVC-RUN-007: the email addresses of accounts cannot be normalised: {0}")]
    Addresses(Unavailable),
    /// The vector store cannot be used.
    #[error("SVC-RUN-009: the vector store cannot be used: {0}")]
    Vectors(#[from] VectorSetupError),
    /// The queue of documents cannot be read.
    #[error("SVC-RUN-010: the documents of knowledge bases cannot be read: {0}")]
    Knowledge(Unavailable),
    /// Operators of the skills that the server ships cannot be stored.
    #[error("SVC-RUN-011: the operators of assignments cannot be stored: {0}")]
    Assignments(Unavailable),
    /// The workflow engine cannot be used.
    #[error("SVC-RUN-012: the workflow engine cannot be used: {0}")]
    Workflow(String),
    /// The database of locations cannot be used.
    #[error(transparent)]
    Locations(#[from] LocationDatabaseError),
    /// Settings that were changed in the console cannot be read.
    #[error("SVC-RUN-008: the settings that were changed in the console cannot be read: {0}")]
    Settings(Unavailable),
}

/// Background work beside requests.
pub struct Background {
    /// Ends open streams with a final event when it is cancelled.
    pub stop: CancellationToken,
    tasks: TaskTracker,
    runner: Runner,
    credit_store: SqlCreditStore,
}

impl Background {
    /// Waits for running work, once no new work is started.
    pub async fn finish(self) {
        self.stop.cancel();
        if !self.runner.finish(FINISH_TIMEOUT).await {
            tracing::error!("shutdown timed out; running work is cancelled");
        }
        // Losses are logged by `drain`.
        let _left = self.credit_store.drain(FINISH_TIMEOUT).await;
        self.tasks.close();
        drop(tokio::time::timeout(FINISH_TIMEOUT, self.tasks.wait()).await);
    }
}

/// Wires adapters into domains, and domains into the surfaces.
///
/// Call it on the runtime that outlives all others: connections to the
/// database are driven there.
pub async fn compose(
    config: &Arc<LiveConfig>,
    sources: &Sources,
    clock: Arc<dyn Clock>,
) -> Result<App, ComposeError> {
    let base = Infrastructure::open(config, clock).await?;
    let use_cases = UseCases::compose(&base, settings::compose(&base, sources).await?)?;
    let GroupPolicy { groups, rules } = group_policy(config, &base, &use_cases);
    let stop = CancellationToken::new();
    let tasks = TaskTracker::new();
    let runner = start_runner(&base, &tasks, &stop);
    let metrics = Metrics::default();
    let credit_store = start_credit_store(&base, &tasks);

    let mut ai =
        AiFactory::compose(&base, &credit_store, &rules, use_cases.personas.clone(), stop.clone())?;
    let knowledge = Box::pin(KnowledgeParts::compose(&base, ai.gateway())).await?;
    ai.set_knowledge(knowledge.search);
    knowledge.worker.into_iter().for_each(|it| it.start(&tasks, &stop));

    let pods = PodParts::compose(&base, &tasks)?;
    ai.set_connectors(Arc::new(pods.tools(&tasks)));

    let accounts = Arc::clone(&use_cases.identity_parts.proofs.ports.accounts);
    let parts = AssignmentParts::compose(&base, ai.gateway(), accounts, pods.plane.clone());
    let assignments = Box::pin(parts).await?.start(&tasks, &stop);
    ai.register_metrics(&metrics, &credit_store);

    let operation = OperatedParts {
        base: &base,
        use_cases: &use_cases,
        gateway: ai.gateway(),
        questions: &knowledge.api.questions,
        metrics: &metrics,
    }
    .start(&tasks, &stop);
    start_followers(&base, &use_cases, &tasks, &stop);

    Ok(App {
        setup_pages: surfaces::setup_pages(&base, &use_cases, &runner),
        account_pages: surfaces::account_pages(&base, &use_cases, &runner),
        gates: surfaces::gates(&base, &use_cases, &runner),
        mcp: surfaces::mcp(&base, &knowledge.api, knowledge.retrieval, &runner),
        uplink: pods.start(&base, &runner, &tasks, &stop),
        scim: surfaces::scim(&base, &use_cases, groups.clone(), &runner),
        api: surfaces::api(
            &base,
            ApiParts {
                use_cases,
                groups: groups.clone(),
                credits: ai.credits(),
                operation,
                knowledge: knowledge.api,
                assignments,
                connectors: pods.connectors,
                tools: pods.plane,
            },
            &runner,
        ),
        metrics,
        ai,
        groups,
        certificate: base.certificate.clone(),
        background: Background { stop, tasks, runner, credit_store },
    })
}

/// Composes the groups; the free one is the default group, unless another is configured.
fn group_policy(
    config: &LiveConfig,
    base: &Infrastructure<'_>,
    use_cases: &UseCases,
) -> GroupPolicy {
    let free = config.follow(|it| it.free_tier.group.unwrap_or(DEFAULT_GROUP));
    GroupPolicy::compose(&base.db, &use_cases.identity_parts.callers, free, &base.clock)
}

/// Returns the runner of handlers, which refuses work while the database is down, and
/// starts the check of the database's health.
fn start_runner(
    base: &Infrastructure<'_>,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) -> Runner {
    let (health_sender, health) = watch::channel(true);
    tasks.spawn(database_health::watch(base.db.clone(), health_sender, stop.clone()));
    let limit = base.config.latest().database.startup.options.statement_timeout;
    Runner::on_current_runtime().with_health(DatabaseHealth::new(health, limit))
}

/// Starts the store of credits on the current runtime.
fn start_credit_store(base: &Infrastructure<'_>, tasks: &TaskTracker) -> SqlCreditStore {
    let weeks = base.config.follow(|it| it.token_usage.weeks);
    SqlCreditStore::start(base.db.clone(), weeks, base.clock(), tasks, &Handle::current())
}

/// Starts the tasks that checkpoint the database and follow the audit log, the
/// settings and the licence. They end when stopped.
fn start_followers(
    base: &Infrastructure<'_>,
    use_cases: &UseCases,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) {
    tasks.spawn(checkpoints::run(base.db.clone(), stop.clone()));
    let chain = SqlAuditChain::new(base.db.clone());
    tasks.spawn(audit_sequencer::run(chain, stop.clone()));
    tasks.spawn(settings_follower::run(use_cases.settings.clone(), stop.clone()));
    let configured = base.config.follow(|it| it.free_tier.group);
    let free_group = FreeGroup { configured, groups: Arc::new(SqlGroups::new(base.db.clone())) };
    tasks.spawn(free_group.watch(stop.clone()));
    tasks.spawn(base.setup.clone().watch(stop.clone()));
}
