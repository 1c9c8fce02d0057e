//! The process, from its command line to its exit.
//!
//! Begin at `run`. `serve` shows the order of a server's life: settings, log,
//! composition, the watches over settings and the certificate, signals, listening;
//! then draining, which waits for running requests (`shutdown.rs`), and the end of
//! background work.

use std::fmt;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::Data;
use pia_kernel::SystemClock;
use pia_settings::{
    AdminCommand, Command, Config, LiveConfig, MigrationTargets, ProvisionCommand, SettingErrors,
    Sources, USAGE, watch,
};
use pia_storage::StartupError;
use pia_web::TrustedProxies;

use crate::admin::{AdminError, PodProvisioned, administer, provision_pod};
use crate::compose::{ComposeError, compose};
use crate::logging::{self, LogLevel};
use crate::serve::{Listen, Server};
use crate::shutdown;
use crate::tls::{CertificateError, ServedCertificate};

/// Argument with which the server starts itself to extract the text of a file.
pub(crate) const EXTRACT: &str = "extract";

const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Reasons why the process failed.
pub enum Failure {
    /// Settings are invalid; each error is reported.
    Settings(SettingErrors),
    /// The database cannot be migrated.
    Database(StartupError),
    /// An administration command failed.
    Admin(AdminError),
    /// A part of the server cannot be created.
    Compose(ComposeError),
    /// The certificate cannot be used.
    Tls(CertificateError),
    /// The address cannot be listened on, or the system refused something.
    System(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(errors) => write!(f, "{errors}"),
            Self::Database(err) => write!(f, "{err}"),
            Self::Admin(err) => write!(f, "error: {err}"),
            Self::Compose(err) => write!(f, "{err}"),
            Self::Tls(err) => write!(f, "{err}"),
            Self::System(err) => f.write_str(err),
        }
    }
}

/// Extracts the text of a file if this process was started for that, and returns
/// its exit code. Call it before any thread is started: the process loses what
/// it does not need.
pub fn extract() -> Option<u8> {
    let is_child = std::env::args_os().nth(1).is_some_and(|it| it == EXTRACT);
    is_child.then(pia_extraction::run_child)
}

/// Runs the command of the command line.
pub async fn run() -> Result<(), Failure> {
    let (command, sources) = Sources::of_process().map_err(Failure::Settings)?;
    match command {
        Command::Help => print(USAGE),
        Command::Version => print(concat!("pia-server ", env!("CARGO_PKG_VERSION"), "\n")),
        Command::MigrateOnly => migrate(&sources).await,
        Command::Admin(command) => admin(&sources, command).await,
        Command::ProvisionPod(command) => provision(&sources, command).await,
        Command::Serve => Box::pin(serve(sources)).await,
    }
}

fn print(text: &str) -> Result<(), Failure> {
    std::io::stdout().write_all(text.as_bytes()).map_err(system("standard output"))
}

/// Runs an administration command. Logs nothing: its result is its output, and
/// warnings are on standard error.
async fn admin(sources: &Sources, command: AdminCommand) -> Result<(), Failure> {
    let config = sources.read_for_admin().map_err(Failure::Settings)?;
    for notice in sources.unknown_settings().map_err(Failure::Settings)? {
        writeln!(std::io::stderr(), "warning: {notice}").map_err(system("standard error"))?;
    }
    let output =
        administer(&config, command, Arc::new(SystemClock)).await.map_err(Failure::Admin)?;
    print(&output)
}

/// Prepares a pod. Standard output has its JSON object and nothing else.
async fn provision(sources: &Sources, command: ProvisionCommand) -> Result<(), Failure> {
    let config = sources.read_for_provisioning().map_err(Failure::Settings)?;
    let PodProvisioned { output, warnings } =
        provision_pod(&config, command, Arc::new(SystemClock)).await.map_err(Failure::Admin)?;
    for warning in warnings {
        writeln!(std::io::stderr(), "{warning}").map_err(system("standard error"))?;
    }
    print(&output)
}

async fn migrate(sources: &Sources) -> Result<(), Failure> {
    let config = sources.read_for_migration().map_err(Failure::Settings)?;
    let _level = logging::start(&config.logging);
    let MigrationTargets { target, migration_target, maintenance_target } = config.database;
    let migrator = migration_target.as_ref();
    let maintenance = maintenance_target.as_ref();
    let applied = pia_storage::migrate_only(&target, migrator, maintenance)
        .await
        .map_err(Failure::Database)?;

    for name in &applied {
        tracing::info!(db.migration = name, "migration applied");
    }

    tracing::info!(applied = applied.len(), "database schema is up to date");

    Ok(())
}

async fn serve(sources: Sources) -> Result<(), Failure> {
    let config = sources.load_config().map_err(Failure::Settings)?;
    let level = logging::start(&config.logging);
    for notice in &config.notices {
        tracing::warn!("{notice}");
    }
    let listen = listen_settings(&config);
    let shutdown = config.server.shutdown_timeout;
    let live = Arc::new(LiveConfig::new(config));
    let app = Box::pin(compose(&live, &sources, Arc::new(SystemClock)))
        .await
        .map_err(Failure::Compose)?;
    let _settings_watch = follow(Arc::clone(&live), sources, level)?;
    let certificate = app.certificate.clone();
    let _certificate_watch = certificate.clone().map(follow_certificate).transpose()?;
    let tls =
        certificate.map(ServedCertificate::server_config).transpose().map_err(Failure::Tls)?;

    let stop_requested = shutdown::requested().map_err(system("signals"))?;
    let server =
        Server::bind(Listen { tls, ..listen }, app).map_err(system("the server's address"))?;
    let Server { addr, background, metrics, draining, connections, server } = server;
    tracing::info!(server.address = %addr, version = env!("CARGO_PKG_VERSION"), "listening");

    let handle = server.handle();
    let mut serving = std::pin::pin!(server);
    tokio::select! {
        outcome = &mut serving => return outcome.map_err(system("the server")),
        () = stop_requested => {}
    }

    tracing::info!(
        requests = metrics.in_flight(),
        "shutdown requested; waiting for running requests"
    );
    draining.begin();
    connections.stop();
    drop(handle.stop(true));
    tokio::select! {
        // Still polled, as it refuses new connections. Not awaited alone, as it
        // would wait for idle connections too.
        outcome = &mut serving => outcome.map_err(system("the server"))?,
        () = shutdown::drained(Data::clone(&metrics), background.stop.clone(), shutdown) => {}
    }
    background.finish().await;
    tracing::info!("stopped");
    Ok(())
}

/// Returns the listening settings without TLS.
fn listen_settings(config: &Config) -> Listen {
    let server = &config.server;
    Listen {
        address: server.address,
        base_path: server.base_path.clone(),
        proxies: TrustedProxies::new(server.trusted_proxies.clone()),
        strict_transport: server.strict_transport.clone(),
        workers: server.workers,
        connections: server.max_connections_per_worker,
        body_memory: server.max_body_memory,
        tls: None,
        shutdown: server.shutdown_timeout,
    }
}

fn follow(
    live: Arc<LiveConfig>,
    sources: Sources,
    level: LogLevel,
) -> Result<pia_settings::Watch, Failure> {
    live.on_change(move |config| level.set(&config.logging.level));
    let files = sources.files();
    // Errors in new settings are logged by `reload`.
    let reload = move || drop(live.reload(&sources));
    watch(files, POLL_INTERVAL, reload).map_err(system("the watch over settings"))
}

fn follow_certificate(certificate: ServedCertificate) -> Result<pia_settings::Watch, Failure> {
    let files = certificate.files();
    let reload = move || certificate.reload();
    watch(files, POLL_INTERVAL, reload).map_err(system("the watch over the certificate"))
}

/// Returns a conversion of errors of the system; `what` names what failed.
fn system(what: &'static str) -> impl Fn(std::io::Error) -> Failure {
    move |err| Failure::System(format!("SVC-RUN-004: {what}: {err}"))
}
