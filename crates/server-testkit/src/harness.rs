//! The application as deployed: real workers, a real socket, its own database
//! and its own folder.
//!
//! `TestConfig::on(database).with("Section__Key", value).start()` composes a server
//! as `pia-server` does, except that it runs on the test's runtime and is stopped
//! when the `TestApp` is dropped. Settings are named like environment variables.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use actix_web::dev::ServerHandle;
use diesel::dsl;
use diesel::sql_types::BigInt;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use pia_kernel::{Clock, SystemClock};
use pia_policy::{Edition, SigningKey, Terms};
use pia_server::{AdminError, Listen, Server, administer, compose};
use pia_settings::{Command, Config, LiveConfig, Sources};
use pia_storage::{Database, DbError, on_conn};
use pia_testkit::databases::TestDatabase;
use pia_web::TrustedProxies;
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::client::Client;

/// Password of every account.
pub const PASSWORD: &str = "correct horse battery staple";
/// Key that signs access tokens.
pub const JWT_KEY: &str = "kK3vJx7Qd0w2Zr8Tn5Yb1Lm6Pc4Hs9Gf";
/// Key that seals data.
pub const MASTER_KEY: &str = "3f9c1e7ab25d804657e1c3d9f0b8a2641d7e5c9b3a8f60427c1e9d5b3f7a8064";

/// Server of a single test.
pub struct TestApp {
    /// Address of the server.
    pub addr: SocketAddr,
    /// Settings; `apply` changes them as a reload would.
    pub config: Arc<LiveConfig>,
    /// Token whose cancellation ends open streams, as a shutdown does.
    pub stop: CancellationToken,
    /// Folder of its files.
    pub dir: PathBuf,
    sources: Sources,
    server: ServerHandle,
    _dir: TempDir,
    database: Arc<TestDatabase>,
}

/// Configuration of a server before it starts.
pub struct TestConfig {
    database: Arc<TestDatabase>,
    variables: Vec<(String, String)>,
    clock: Arc<dyn Clock>,
    /// Content of the licence file.
    licence: Option<Vec<u8>>,
}

/// Settings that make tests quick: cheap hashes, and budgets that do not end.
const BASE: &[(&str, &str)] = &[
    ("Server__Address", "127.0.0.1:0"),
    ("Server__Workers", "2"),
    ("Jwt__SecretKey", JWT_KEY),
    ("Encryption__MasterKey", MASTER_KEY),
    ("PasswordHashing__MemoryKib", "64"),
    ("PasswordHashing__Iterations", "1"),
    // Tests of knowledge bases switch it on.
    ("Knowledge__ConnectionString", ""),
    ("RateLimits__Global", "1000000"),
    ("RateLimits__Auth", "1000000"),
    ("RateLimits__LocalAuth", "1000000"),
    ("RateLimits__Ai", "1000000"),
    ("RateLimits__Sync", "1000000"),
];

impl TestConfig {
    /// Configures a licensed server on this database.
    pub fn on(database: TestDatabase) -> Self {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self {
            database: Arc::new(database),
            variables: BASE.iter().map(owned).collect(),
            clock: Arc::new(SystemClock),
            licence: Some(licence(&terms()).into_bytes()),
        }
    }

    /// Configures a licensed server on another server's database.
    pub fn beside(app: &TestApp) -> Self {
        Self { database: Arc::clone(&app.database), ..Self::on(TestDatabase::sqlite()) }
    }

    /// Removes a variable that these tests set, so that a file can set it.
    pub fn without(mut self, name: &str) -> Self {
        self.variables.retain(|(it, _)| it != name);
        self
    }

    /// Sets a setting, named as an environment variable.
    #[expect(clippy::needless_pass_by_value, reason = "callers write texts and numbers")]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.variables.retain(|(it, _)| it != name);
        self.variables.push((name.to_owned(), value.to_string()));
        self
    }

    /// Sets the upstream of all AI models.
    pub fn with_upstream(self, endpoint: &str) -> Self {
        self.with("Ai__Endpoint", endpoint)
            .with("Ai__ApiKey", "sk-the-upstreams-key")
            .with("Ai__Model", "test-model")
    }

    /// Replaces the licence, or removes it.
    pub fn licensed(self, licence: Option<Terms>) -> Self {
        Self { licence: licence.map(|it| self::licence(&it).into_bytes()), ..self }
    }

    /// Replaces the content of the licence file, which need not be valid.
    pub fn licence_file(self, content: &[u8]) -> Self {
        Self { licence: Some(content.to_vec()), ..self }
    }

    /// Enables the outbox, with a relay address where nothing listens.
    pub fn with_mail(self) -> Self {
        self.with_relay_at(9)
    }

    /// Replaces the clock of the server.
    pub fn at(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// Starts a server with these settings.
    pub async fn start(self) -> TestApp {
        Box::pin(TestApp::start(self)).await
    }
}

/// Returns the terms of a licence with all features except those of the managed service.
pub fn terms() -> Terms {
    Terms::new("A test", Edition::Enterprise, SystemClock.now())
}

/// Returns the text of a licence file, signed with the development key.
pub fn licence(terms: &Terms) -> String {
    let key = include_str!("../../../xtask/dev-license-key");
    SigningKey::parse(key).expect("the development key").issue(terms).expect("a licence")
}

impl TestApp {
    /// Starts a licensed server on SQLite.
    pub async fn spawn() -> Self {
        TestConfig::on(TestDatabase::sqlite()).start().await
    }

    async fn start(setting: TestConfig) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dir = folder.path().to_owned();

        if let Some(content) = &setting.licence {
            std::fs::write(dir.join("license.lic"), content).expect("a licence file");
        }

        let sources = to_sources(&dir, setting.variables, &setting.database);
        let config = sources.load_config().expect("settings");
        let listen = listen_settings(&config);
        let config = Arc::new(LiveConfig::new(config));
        let app = Box::pin(compose(&config, &sources, setting.clock)).await.expect("a server");
        let Server { addr, background, server, .. } = Server::bind(listen, app).expect("a port");
        let handle = server.handle();
        let stop = background.stop.clone();

        #[expect(clippy::disallowed_methods, reason = "stopped on drop")]
        let _running = tokio::spawn(async move {
            drop(server.await);
            background.finish().await;
        });

        let database = setting.database;

        Self { addr, config, stop, dir, sources, server: handle, _dir: folder, database }
    }

    /// Writes settings to `appsettings.json` and reloads them at once.
    pub fn reload(&self, settings: &serde_json::Value) {
        let path = self.dir.join("appsettings.json");
        std::fs::write(path, settings.to_string()).expect("a settings file");
        drop(self.config.reload(&self.sources));
    }

    /// Returns the files of its database; none on PostgreSQL.
    pub fn database_files(&self) -> Vec<PathBuf> {
        let Some(file) = self.database.url.strip_prefix("sqlite://") else { return Vec::new() };
        let folder = Path::new(file).parent().expect("a folder");
        let entries = folder.read_dir().expect("a folder");
        entries.map(|it| it.expect("an entry").path()).collect()
    }

    /// Executes a statement in its database, over a connection of its own.
    pub async fn execute(&self, sql: &str) {
        execute(&self.open_as_owner(), sql).await;
    }

    /// Returns the number of rows of a `table`, which may have a condition:
    /// `accounts WHERE …`.
    pub async fn count(&self, table: &str) -> i64 {
        let db = self.open_as_owner();
        let count = dsl::sql::<BigInt>(&format!("(SELECT COUNT(*) FROM {table})"));
        let query = diesel::select(count);
        let result: Result<i64, DbError> =
            on_conn!(db.reader(), |conn| query.get_result(conn).await?);
        result.expect("a count")
    }

    /// Opens its database as the owner of the tables, who sees all rows.
    fn open_as_owner(&self) -> Database {
        let startup = self.config.latest().database.startup.clone();
        let owner = startup.migration_target.as_ref().unwrap_or(&startup.target);
        Database::open(owner, startup.options).expect("a database")
    }

    /// Runs `pia-server admin …`, as another process would.
    pub async fn admin(&self, line: &str) -> Result<String, AdminError> {
        self.admin_at(line, Arc::new(SystemClock)).await
    }

    /// Runs the command with another clock.
    pub async fn admin_at(&self, line: &str, clock: Arc<dyn Clock>) -> Result<String, AdminError> {
        let words: Vec<String> =
            std::iter::once("admin").chain(line.split(' ')).map(str::to_owned).collect();
        let (command, _) = Sources::from_command_line(Vec::new(), &words).expect("a command");
        let admin_command = match command {
            Command::Admin(command) => Some(command),
            _ => None,
        };
        let config = self.sources.read_for_admin().expect("settings");
        administer(&config, admin_command.expect("an admin command"), clock).await
    }

    /// Returns the database that the server runs on.
    pub fn database(&self) -> &TestDatabase {
        &self.database
    }

    /// Returns the token in the setup token file, if there is one.
    pub fn setup_token(&self) -> Option<String> {
        let token = std::fs::read_to_string(self.dir.join(".setup-token")).ok()?;
        Some(token.trim().to_owned())
    }

    /// Returns a client that is not signed in.
    pub fn anonymous(&self) -> Client {
        Client::new(self.addr)
    }

    /// Registers a new account and returns a client that is signed in.
    pub async fn signed_in(&self) -> Client {
        let email = format!("{}@example.org", uuid::Uuid::now_v7().simple());
        self.sign_up(&email).await
    }

    /// Registers a new account and returns two clients that are signed in to it.
    pub async fn two_devices(&self) -> (Client, Client) {
        let email = format!("{}@example.org", uuid::Uuid::now_v7().simple());
        let first = self.sign_up(&email).await;
        let credentials = json!({ "email": email, "password": PASSWORD });
        let envelope = self.anonymous().post("/auth/login/local", &credentials).await;
        (first, self.anonymous().with_tokens(&envelope.body))
    }

    /// Registers an account with this address and returns a client that is signed in.
    pub async fn sign_up(&self, email: &str) -> Client {
        let client = self.anonymous();
        let credentials = json!({ "email": email, "password": PASSWORD });
        let registered = client.post("/auth/register", &credentials).await;
        assert_eq!(registered.status, 200, "{:?}", registered.body);
        let envelope = client.post("/auth/login/local", &credentials).await;
        assert_eq!(envelope.status, 200, "{:?}", envelope.body);
        client.with_tokens(&envelope.body)
    }
}

impl Drop for TestApp {
    fn drop(&mut self) {
        drop(self.server.stop(false));
    }
}

/// Executes a statement in a database.
pub async fn execute(db: &Database, sql: &str) {
    let result: Result<(), DbError> = on_conn!(db.writer(), |conn| conn.batch_execute(sql).await?);
    result.expect("a statement");
}

fn to_sources(
    dir: &Path,
    mut variables: Vec<(String, String)>,
    database: &TestDatabase,
) -> Sources {
    let mut set = |name: &str, value: String| variables.push((name.to_owned(), value));
    set("PIA_ENVIRONMENT", "Development".to_owned());
    set("PIA_CONTENT_ROOT", dir.display().to_string());
    set("Database__Provider", database.provider().name().to_owned());
    set("Database__ConnectionString", database.url.clone());
    if let Some([owner, maintenance]) = &database.roles {
        set("Database__MigrationConnectionString", owner.clone());
        set("Database__MaintenanceConnectionString", maintenance.clone());
    }
    Sources::from_command_line(variables, &[]).expect("sources").1
}

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
