//! What is plugged into what.

mod ai;
mod identity;
mod letters;
mod mail;
mod people;
mod passkeys;
mod providers;
mod lifecycle;

use std::sync::Arc;
use std::time::Duration;

use pia_console::{Console, Reception};
use pia_http::{Api, Browsers};
use pia_identity::{Passkeys, ProviderSignIn};
use pia_kernel::Clock;
use pia_policy::VerifyingKey;
use pia_sealing::{AcceptNew, KeyError, KeyGuard, MasterKeys, Sealer, ServerSeal};
use pia_storage::{Database, StartError};
use pia_storage_assistant::SqlUsageLog;
use pia_storage_identity::SqlFirstAdmin;
use pia_storage_sealing::{SqlKeyRegister, SqlSalts};
use pia_upstream::{SetupError, Tls, TlsError};
use pia_web::{Budgets, Gates, Metrics, RouteTable, Runner};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::bridges::PageAccounts;
use crate::config::{Encryption, LiveConfig};
use crate::housekeeping::Housekeeping;
use crate::licence::LicenceFile;
use crate::readiness::Looks;
use crate::setup::{Administrators, Setup};
use identity::Identity;
use lifecycle::Lifecycle;
use people::People;

pub use ai::AiFactory;

/// How long each of the things that are still under way at the end may take.
const LAST_WRITES: Duration = Duration::from_secs(10);

/// Everything a listening server needs.
pub struct App {
    /// What handlers call.
    pub api: Api,
    /// What the set-up pages call.
    pub console: Console,
    /// What the pages of accounts call.
    pub reception: Reception,
    /// Who reaches them.
    pub gates: Gates,
    /// What is counted.
    pub metrics: Metrics,
    /// What the handlers of each worker call upstream models through.
    pub ai: AiFactory,
    /// What goes on beside requests, and ends with the server.
    pub background: Background,
}

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ComposeError {
    /// The database is not there, or not as it must be.
    #[error(transparent)]
    Database(#[from] StartError),
    /// The master key is not the one that the data was sealed with.
    #[error(transparent)]
    MasterKey(#[from] KeyError),
    /// The threads that hash passwords cannot be started.
    #[error("SVC-RUN-001: the threads that hash passwords cannot be started: {0}")]
    Threads(#[from] std::io::Error),
    /// TLS to upstream models cannot be spoken.
    #[error("SVC-RUN-002: TLS to upstream models cannot be set up: {0}")]
    Tls(#[from] TlsError),
    /// The client for upstream models cannot be made.
    #[error("SVC-RUN-003: the client for upstream models cannot be made: {0}")]
    Upstream(#[from] SetupError),
    /// The client for identity providers cannot be made.
    #[error("SVC-RUN-005: the client for identity providers cannot be made: {0}")]
    Providers(#[from] pia_providers::SetupError),
}

/// What goes on beside requests.
pub struct Background {
    /// Cancelled, it ends streams that are still open, with their last words.
    pub stop: CancellationToken,
    tasks: TaskTracker,
    runner: Runner,
    usage: SqlUsageLog,
}

impl Background {
    /// Waits for what was begun, once nobody asks for more.
    pub async fn finish(self) {
        self.stop.cancel();
        if !self.runner.finish(LAST_WRITES).await {
            tracing::error!("use cases that did not end in time are cut off");
        }
        // What was not written is logged there.
        let _left = self.usage.drain(LAST_WRITES).await;
        self.tasks.close();
        drop(tokio::time::timeout(LAST_WRITES, self.tasks.wait()).await);
    }
}

/// Wires adapters into domains, and domains into the surfaces.
///
/// Call it on the runtime that outlives all others: connections to the
/// database are driven there.
pub async fn compose(config: &LiveConfig, clock: Arc<dyn Clock>) -> Result<App, ComposeError> {
    let start = config.latest();
    let db = pia_storage::start(start.database.startup.clone()).await?;
    let encryption = &start.encryption;
    let accept = if encryption.accept_new_master_key { AcceptNew::Yes } else { AcceptNew::No };
    let keys = master_keys(encryption, accept, &db).await?;
    let mail = config.follow(|it| it.smtp.relay.is_some());
    let db = db.with_effects(ServerSeal::new(keys.clone()), mail.clone());
    let sealer = Sealer::new(keys, Arc::new(SqlSalts::new(db.clone())));
    let runner = Runner::here();
    let metrics = Metrics::default();
    let stop = CancellationToken::new();
    let tasks = TaskTracker::new();

    let licence = Arc::new(LicenceFile::open(
        start.license.path.clone(),
        VerifyingKey::built_in(),
        Arc::clone(&clock),
    ));
    let admins = Administrators::look(Arc::new(SqlFirstAdmin::new(db.clone()))).await;
    let setup = Setup::open(Arc::clone(&licence), start.setup.token_path.clone(), admins);
    let tls = Tls::native()?;
    let identity = Identity::compose(config, &db, (&licence, sealer), &mail, &clock)?;
    let people = People::compose(config, &db, (&identity, &setup), &clock);
    let public_url = start.server.public_url.as_str();
    let (passkeys, passkey_sign_in) = passkeys::compose(&db, public_url, &identity, &clock);
    let provider_sign_in = providers::compose(config, &db, (&identity, &licence, &tls), &clock)?;
    let usage = SqlUsageLog::start(db.clone(), &tasks, &Handle::current());
    ai::count(&metrics, &usage);
    let ai = AiFactory::compose(config, &usage, (stop.clone(), tls), &clock)?;
    let lifecycle = Lifecycle::compose(config, &db, &identity, &clock);
    begin(&tasks, &stop, &setup, (&identity, &people, &passkeys, &provider_sign_in, &lifecycle), &clock);
    mail::begin(config, &db, (&tasks, &stop), &metrics, (mail, &clock));

    let readiness = Looks::new(db, licence.state(), Arc::clone(&clock));
    let reception = reception(config, &identity, &runner);
    let api = Api {
        registration: identity.registration,
        sign_in: identity.sign_in,
        provider_sign_in,
        browsers: Browsers::at(start.server.public_url.as_str()),
        sessions: identity.sessions,
        history: identity.history,
        accounts: identity.accounts,
        second_factors: identity.second_factors,
        verification: identity.letters.verification,
        password_resets: identity.letters.resets,
        passwords: identity.letters.passwords,
        app_passwords: identity.app_passwords,
        passkeys,
        passkey_sign_in,
        export: lifecycle.export,
        deletion: lifecycle.deletion,
        readiness: Arc::new(readiness),
        openapi: config.follow(|it| it.open_api.enabled),
        runner: runner.clone(),
    };
    let budgets =
        Arc::new(Budgets::new(start.rate_limits.quotas, identity.attempts, Arc::clone(&clock)));
    let resized = Arc::clone(&budgets);
    config.on_change(move |it| resized.resize(it.rate_limits.quotas));
    let gates = Gates {
        table: RouteTable::new(
            pia_http::routes().into_iter().chain(pia_console::routes()).collect(),
        ),
        tokens: identity.tokens,
        standings: identity.standings,
        budgets,
        licence: licence.state(),
        setup_url: start.server.setup_url.clone(),
        rules: config.follow(|it| it.local_auth.accounts),
        metrics_token: config.follow(|it| it.metrics.token.clone()),
        clock,
        runner: runner.clone(),
    };
    let first_admin = people.first_admin;
    let console = Console { desk: Arc::new(setup), first_admin, runner: runner.clone() };
    let background = Background { stop, tasks, runner, usage };
    Ok(App { api, console, reception, gates, metrics, ai, background })
}

/// What the pages of accounts call.
fn reception(config: &LiveConfig, identity: &Identity, runner: &Runner) -> Reception {
    let accounts = PageAccounts {
        registration: identity.registration.clone(),
        verification: identity.letters.verification.clone(),
        resets: identity.letters.resets.clone(),
        rules: config.follow(|it| it.local_auth.registration.clone()),
    };
    Reception {
        desk: Arc::new(accounts),
        public_url: config.latest().server.public_url.to_string(),
        runner: runner.clone(),
    }
}

/// The keys that data is sealed with. Stops the start with one that the stored
/// data was not sealed with.
pub(crate) async fn master_keys(
    encryption: &Encryption,
    accept: AcceptNew,
    db: &Database,
) -> Result<MasterKeys, KeyError> {
    let keys = MasterKeys {
        current: encryption.master_key.clone(),
        previous: encryption.previous_master_key.clone(),
    };
    match KeyGuard::check(&keys, accept, &SqlKeyRegister::new(db.clone())).await? {
        KeyGuard::Known => {}
        KeyGuard::Succeeded => tracing::info!("the master key follows the previous one"),
        KeyGuard::GivenUp => {
            tracing::warn!(
                "the master key is new: what the old one sealed cannot be read any more"
            );
        }
    }
    Ok(keys)
}

fn begin(
    tasks: &TaskTracker,
    stop: &CancellationToken,
    setup: &Setup,
    (identity, people, passkeys, provider_sign_in, lifecycle): (
        &Identity,
        &People,
        &Passkeys,
        &ProviderSignIn,
        &Lifecycle,
    ),
    clock: &Arc<dyn Clock>,
) {
    let housekeeping = Housekeeping {
        sessions: identity.sessions.clone(),
        history: identity.history.clone(),
        second_factors: identity.second_factors.clone(),
        challenges: identity.challenges.clone(),
        verification: identity.letters.verification.clone(),
        passkeys: passkeys.clone(),
        provider_sign_in: provider_sign_in.clone(),
        attempts: Arc::clone(&identity.attempts),
        guesses: Arc::clone(&identity.guesses),
        invitations: people.invitations.clone(),
        audit: Arc::clone(&lifecycle.audit),
        audit_kept: lifecycle.audit_kept.clone(),
        eraser: Arc::clone(&lifecycle.eraser),
        clock: Arc::clone(clock),
    };
    tasks.spawn(housekeeping.run(stop.clone()));
    tasks.spawn(setup.clone().watch(stop.clone()));
}
