//! What is plugged into what.

use std::sync::Arc;
use std::time::Duration;

use pia_assistant::Gateway;
use pia_console::Console;
use pia_http::{AiApi, Api};
use pia_identity::{
    AccessTokens, AccountStore, Accounts, AttemptStore, FactorChallenges, FactorPorts,
    FactorSettings, RefreshKeys, Registration, RegistrationPorts, SecondFactors, Sessions, SignIn,
    SignInHistory, SignInLog, SignInPorts, SignInSettings, Standings,
};
use pia_kernel::{Clock, Live};
use pia_passwords::Argon2Hasher;
use pia_policy::VerifyingKey;
use pia_sealing::{AcceptNew, KeyError, KeyGuard, MasterKeys, Sealer};
use pia_storage::{Database, StartError};
use pia_storage_assistant::SqlUsageLog;
use pia_storage_identity::{
    SqlAccounts, SqlAttempts, SqlChallenges, SqlFactors, SqlSessions, SqlSignIns,
};
use pia_storage_sealing::{SqlKeyRegister, SqlSalts};
use pia_upstream::{Limits, SetupError, Tls, TlsError, TokioWaits, Upstream};
use pia_web::{Budgets, Gates, Metrics, RouteTable, Runner};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::bridges::SealedSecrets;
use crate::config::{Encryption, LiveConfig};
use crate::housekeeping::Housekeeping;
use crate::licence::{LicenceFile, LicenceSeats};
use crate::readiness::Looks;
use crate::setup::Setup;

/// How long each of the things that are still under way at the end may take.
const LAST_WRITES: Duration = Duration::from_secs(10);

/// Everything a listening server needs.
pub struct App {
    /// What handlers call.
    pub api: Api,
    /// What the set-up pages call.
    pub console: Console,
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
}

/// Makes the AI use cases of one worker, with connections of its own.
#[derive(Clone)]
pub struct AiFactory {
    gateway: Gateway,
    limits: Live<Limits>,
    tls: Tls,
}

impl AiFactory {
    /// The use cases of the worker that this is called on.
    pub fn on_worker(&self) -> Result<AiApi, SetupError> {
        let upstream = Arc::new(Upstream::new(self.limits.clone(), &self.tls)?);
        Ok(AiApi::new(Gateway { upstream, ..self.gateway.clone() }))
    }
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
    let sealer = sealer(&start.encryption, &db).await?;
    let runner = Runner::here();
    let metrics = Metrics::default();
    let stop = CancellationToken::new();
    let tasks = TaskTracker::new();

    let licence = Arc::new(LicenceFile::open(
        start.license.path.clone(),
        VerifyingKey::built_in(),
        Arc::clone(&clock),
    ));
    let setup = Setup::open(Arc::clone(&licence), start.setup.token_path.clone());
    let identity = Identity::compose(config, &db, (&licence, sealer), &clock)?;
    let usage = SqlUsageLog::start(db.clone(), &tasks, &Handle::current());
    count(&metrics, &usage);
    let ai = AiFactory::compose(config, &usage, stop.clone(), &clock)?;
    begin(&tasks, &stop, &setup, &identity, &clock);

    let readiness = Looks::new(db, licence.state(), Arc::clone(&clock));
    let api = Api {
        registration: identity.registration,
        sign_in: identity.sign_in,
        sessions: identity.sessions,
        history: identity.history,
        accounts: identity.accounts,
        second_factors: identity.second_factors,
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
    let console = Console { desk: Arc::new(setup), runner: runner.clone() };
    let background = Background { stop, tasks, runner, usage };
    Ok(App { api, console, gates, metrics, ai, background })
}

/// What seals under the master key. Stops the start with one that the stored
/// data was not sealed with.
async fn sealer(encryption: &Encryption, db: &Database) -> Result<Sealer, KeyError> {
    let keys = MasterKeys {
        current: encryption.master_key.clone(),
        previous: encryption.previous_master_key.clone(),
    };
    let accept = if encryption.accept_new_master_key { AcceptNew::Yes } else { AcceptNew::No };
    match KeyGuard::check(&keys, accept, &SqlKeyRegister::new(db.clone())).await? {
        KeyGuard::Known => {}
        KeyGuard::Succeeded => tracing::info!("the master key follows the previous one"),
        KeyGuard::GivenUp => {
            tracing::warn!(
                "the master key is new: what the old one sealed cannot be read any more"
            );
        }
    }
    Ok(Sealer::new(keys, Arc::new(SqlSalts::new(db.clone()))))
}

/// Identity's use cases over their adapters.
struct Identity {
    tokens: AccessTokens,
    standings: Standings,
    sessions: Sessions,
    sign_in: SignIn,
    history: SignInHistory,
    registration: Registration,
    accounts: Accounts,
    second_factors: SecondFactors,
    challenges: FactorChallenges,
    attempts: Arc<dyn AttemptStore>,
}

impl Identity {
    fn compose(
        config: &LiveConfig,
        db: &Database,
        (licence, sealer): (&LicenceFile, Sealer),
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, ComposeError> {
        let start = config.latest();
        let clock = || Arc::clone(clock);
        let accounts: Arc<dyn AccountStore> = Arc::new(SqlAccounts::new(db.clone()));
        let attempts: Arc<dyn AttemptStore> = Arc::new(SqlAttempts::new(db.clone()));
        let log: Arc<dyn SignInLog> = Arc::new(SqlSignIns::new(db.clone()));
        let cost = config.follow(|it| it.password_hashing.cost);
        let hasher = Arc::new(Argon2Hasher::new(cost, start.password_hashing.size)?);
        let standings = Standings::new(Arc::clone(&accounts), clock());
        let settings = config.follow(|it| it.jwt.sessions);
        let (keys, names) = (&start.jwt.keys, start.jwt.names.clone());
        let tokens = AccessTokens::new(keys, names, settings.clone(), clock());
        let sessions = Sessions::new(
            Arc::new(SqlSessions::new(db.clone())),
            standings.clone(),
            (tokens.clone(), RefreshKeys::derive(keys)),
            settings,
            clock(),
        );
        let sign_in = SignInPorts {
            accounts: Arc::clone(&accounts),
            attempts: Arc::clone(&attempts),
            hasher: Arc::clone(&hasher) as _,
            log: Arc::clone(&log),
        };
        let factors = FactorPorts {
            accounts: Arc::clone(&accounts),
            factors: Arc::new(SqlFactors::new(db.clone())),
            attempts: Arc::clone(&attempts),
            hasher: Arc::clone(&hasher) as _,
            secrets: Arc::new(SealedSecrets(sealer)),
        };
        let registration = RegistrationPorts {
            accounts: Arc::clone(&accounts),
            hasher,
            seats: Arc::new(LicenceSeats::new(licence.state(), clock())),
        };
        let rules = config.follow(|it| it.local_auth.registration.clone());
        let guesses = Live::new(SignInSettings::default());
        let settings = Live::new(FactorSettings::default());
        let challenges = FactorChallenges::new(
            Arc::new(SqlChallenges::new(db.clone())),
            factors.clone(),
            settings.clone(),
            clock(),
        );
        Ok(Self {
            second_factors: SecondFactors::new(factors, standings.clone(), settings, clock()),
            sign_in: SignIn::new(sign_in, sessions.clone(), challenges.clone(), guesses, clock()),
            history: SignInHistory::new(log, clock()),
            challenges,
            registration: Registration::new(registration, rules, clock()),
            accounts: Accounts::new(accounts, standings.clone(), clock()),
            tokens,
            standings,
            sessions,
            attempts,
        })
    }
}

impl AiFactory {
    fn compose(
        config: &LiveConfig,
        usage: &SqlUsageLog,
        stop: CancellationToken,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, ComposeError> {
        let (limits, tls) = (config.follow(|it| it.ai.limits.clone()), Tls::native()?);
        let gateway = Gateway {
            // Of the main runtime; each worker puts its own in the place.
            upstream: Arc::new(Upstream::new(limits.clone(), &tls)?),
            usage: Arc::new(usage.clone()),
            waits: Arc::new(TokioWaits::new(stop)),
            clock: Arc::clone(clock),
            targets: config.follow(|it| it.ai.targets.clone()),
            settings: config.follow(|it| it.ai.settings.clone()),
        };
        Ok(Self { gateway, limits, tls })
    }
}

fn begin(
    tasks: &TaskTracker,
    stop: &CancellationToken,
    setup: &Setup,
    identity: &Identity,
    clock: &Arc<dyn Clock>,
) {
    let housekeeping = Housekeeping {
        sessions: identity.sessions.clone(),
        history: identity.history.clone(),
        second_factors: identity.second_factors.clone(),
        challenges: identity.challenges.clone(),
        attempts: Arc::clone(&identity.attempts),
        clock: Arc::clone(clock),
    };
    tasks.spawn(housekeeping.run(stop.clone()));
    let (watch, stop) = (setup.clone().watch(), stop.clone());
    tasks.spawn(async move {
        tokio::select! {
            () = watch => {}
            () = stop.cancelled() => {}
        }
    });
}

fn count(metrics: &Metrics, usage: &SqlUsageLog) {
    let (written, waiting) = (usage.clone(), usage.clone());
    let (dropped, failures) = (usage.clone(), usage.clone());
    metrics.counter(
        "ai_usage_written",
        "AI calls whose usage is in the database",
        Box::new(move || written.written()),
    );
    metrics.gauge(
        "ai_usage_waiting",
        "AI calls whose usage waits for the database",
        Box::new(move || waiting.waiting()),
    );
    metrics.counter(
        "ai_usage_dropped",
        "AI calls whose usage was lost, the database being away for too long",
        Box::new(move || dropped.dropped()),
    );
    metrics.counter(
        "ai_usage_write_failures",
        "Times that usage could not be written and was tried again",
        Box::new(move || failures.failures()),
    );
}
