//! Configuration of a process, by its purpose.
//!
//! Serving, migrating and administration read different sections, so that a
//! migration, for example, needs no signing keys. A new section is added to
//! `SECTIONS`, to `Config` and to `Config::from_section`; checks between sections
//! are in `check`.

use std::path::PathBuf;
use std::sync::Arc;

use pia_assistant::FreeTier;
use pia_identity::ConsoleSettings;
use pia_policy::FeedbackSettings;
use pia_storage::DatabaseKind;

use crate::error::Reason;
use crate::knowledge::{read_embedding_model, vector_target};
use crate::section::{Outcome, Section};
use crate::snapshot::Snapshot;
use crate::{
    Ai, Audit, DatabaseConfig, Encryption, Environment, Jwt, KnowledgeConfig, License,
    ListedEntries, LocalAuth, Logging, MetricsConfig, MigrationTargets, Notice, OAuth, OpenApi,
    OperatorsConfig, PasswordHashing, RateLimits, ServerConfig, SetupConfig, Smtp, SyncConfig,
    TokenUsage, VectorTarget, admin, feedback, free_tier,
};

/// All sections. Errors in other environment variables are not reported, as they
/// belong to other programs.
pub(crate) const SECTIONS: [&str; 27] = [
    "Admin",
    "Ai",
    "Audit",
    "Chunking",
    "Database",
    "Embeddings",
    "Encryption",
    "Feedback",
    "FreeTier",
    "Jwt",
    "Knowledge",
    "License",
    "LocalAuth",
    "Logging",
    "Metrics",
    "OAuth",
    "OpenApi",
    "Operators",
    "PasswordHashing",
    "RateLimits",
    "Rerank",
    "Server",
    "Setup",
    "Smtp",
    "Sync",
    "TokenUsage",
    "Workflow",
];

/// Configuration of a serving process. Its `Debug` omits secrets.
#[derive(Debug, Clone)]
pub struct Config {
    /// Environment that the server runs in.
    pub environment: Environment,
    /// Base of relative paths.
    pub dir: PathBuf,
    /// Public URL, listening address and TLS of the server.
    pub server: ServerConfig,
    /// Database that stores all data.
    pub database: DatabaseConfig,
    /// Tokens and sessions.
    pub jwt: Jwt,
    /// Source of the data keys.
    pub encryption: Encryption,
    /// Accounts with a password.
    pub local_auth: LocalAuth,
    /// Cost of password hashes.
    pub password_hashing: PasswordHashing,
    /// Rate limits of callers.
    pub rate_limits: RateLimits,
    /// File of the licence.
    pub license: License,
    /// Set-up of a server without a licence.
    pub setup: SetupConfig,
    /// Identity providers that accounts sign in with.
    pub oauth: OAuth,
    /// Publication of the OpenAPI document.
    pub open_api: OpenApi,
    /// Access to `/metrics`.
    pub metrics: MetricsConfig,
    /// Level and format of the log.
    pub logging: Logging,
    /// Upstream models, and limits of their calls.
    pub ai: Ai,
    /// Ingestion and searches of knowledge bases.
    pub knowledge: KnowledgeConfig,
    /// Workflow engine and limits of assignments.
    pub operators: OperatorsConfig,
    /// Mail relay and sender.
    pub smtp: Smtp,
    /// Sessions in the administration console.
    pub admin: ConsoleSettings,
    /// Recipients and retention of feedback.
    pub feedback: FeedbackSettings,
    /// Settings of the audit log.
    pub audit: Audit,
    /// Synchronisation of devices.
    pub sync: SyncConfig,
    /// Start of the weeks of budgets.
    pub token_usage: TokenUsage,
    /// Rules for users without a paid plan.
    pub free_tier: FreeTier,
    /// Notices for the operator, each worth a warning in the log.
    pub notices: Vec<Notice>,
    pub(crate) snapshot: Arc<Snapshot>,
}

/// Configuration of a migration of the database.
#[derive(Debug, Clone)]
pub struct MigrationConfig {
    /// Database, and the roles that migrate it.
    pub database: MigrationTargets,
    /// Level and format of the log.
    pub logging: Logging,
    /// Notices for the operator, each worth a warning in the log.
    pub notices: Vec<Notice>,
}

/// Configuration of the preparation of a pod.
#[derive(Debug, Clone)]
pub struct ProvisionConfig {
    /// Database that the connector is stored in.
    pub database: DatabaseConfig,
    /// File of the licence, for its features.
    pub license: License,
}

/// Configuration of administration from the command line.
#[derive(Debug, Clone)]
pub struct AdminConfig {
    /// Database that is administered.
    pub database: DatabaseConfig,
    /// Keys that seal audit entries and emails.
    pub encryption: Encryption,
    /// File of the licence, for its limits.
    pub license: License,
    /// Base of links.
    pub server: ServerConfig,
    /// Mail relay, by which the server later sends queued emails.
    pub smtp: Smtp,
    /// Models that groups may be assigned.
    pub catalogue: ListedEntries,
    /// Retention of the audit log.
    pub audit: Audit,
    /// Vector store; `None` if knowledge is off.
    pub vectors: Option<VectorTarget>,
    /// Name of the model that embeds documents.
    pub embedding_model: String,
}

impl Config {
    /// Reads all sections before any of them is required, so that every error
    /// is found.
    pub(crate) fn from_section(all: &mut Section<'_>) -> Option<Self> {
        let server = ServerConfig::from_section(&mut all.section("Server"));
        let database = DatabaseConfig::from_section(&mut all.section("Database"));
        let jwt = Jwt::from_section(&mut all.section("Jwt"));
        let encryption = Encryption::from_section(&mut all.section("Encryption"));
        let mut local_auth = LocalAuth::from_section(&mut all.section("LocalAuth"));
        let password_hashing = PasswordHashing::from_section(&mut all.section("PasswordHashing"));
        let rate_limits = RateLimits::from_section(&mut all.section("RateLimits"));
        let license = License::from_section(&mut all.section("License"));
        let setup = SetupConfig::from_section(&mut all.section("Setup"));
        let oauth = OAuth::from_section(&mut all.section("OAuth"));
        let open_api = OpenApi::from_section(&mut all.section("OpenApi"));
        let metrics = MetricsConfig::from_section(&mut all.section("Metrics"));
        let logging = Logging::from_section(&mut all.section("Logging"));
        let ai = Ai::from_section(&mut all.section("Ai"));
        let knowledge = KnowledgeConfig::from_sections(all, &ai.catalogue);
        let operators = OperatorsConfig::from_sections(all);
        let smtp = Smtp::from_section(&mut all.section("Smtp"));
        let admin = admin::from_section(&mut all.section("Admin"));
        let feedback = feedback::from_section(&mut all.section("Feedback"));
        let audit = Audit::from_section(&mut all.section("Audit"));
        let sync = SyncConfig::from_section(&mut all.section("Sync"));
        let token_usage = TokenUsage::from_section(&mut all.section("TokenUsage"));
        let free_tier = free_tier::from_section(&mut all.section("FreeTier"));
        local_auth.registration.suspended = free_tier.suspended;

        let config = Self {
            environment: all.environment().clone(),
            dir: all.dir().to_owned(),
            server: server?,
            database: database?,
            jwt: jwt?,
            encryption: encryption?,
            local_auth,
            password_hashing: password_hashing?,
            rate_limits,
            license,
            setup,
            oauth,
            open_api,
            metrics,
            logging,
            ai,
            knowledge,
            operators,
            smtp,
            admin,
            feedback,
            audit,
            sync,
            token_usage,
            free_tier,
            notices: Vec::new(),
            snapshot: Arc::default(),
        };
        config.check(all);
        config.check_vectors(all);

        Some(config)
    }

    /// Checks settings against each other. One secret for two purposes would
    /// disclose one through the other.
    fn check(&self, all: &mut Section<'_>) {
        if self.encryption.has_key(self.jwt.keys.current.expose()) {
            let reason = Reason::weak("expected another secret than Encryption:MasterKey");
            all.section("Jwt").refuse("SecretKey", reason);
        }
        // Not an error: mail may be configured later, and until then only new
        // users are locked out.
        if self.local_auth.accounts.require_verification && self.smtp.relay.is_none() {
            let text = "new users cannot sign in: without Smtp:Host no email is sent to verify \
                        their addresses";
            all.section("LocalAuth").warn("RequireEmailVerification", text);
        }
    }

    /// Warns of an embedded store that several instances might use.
    fn check_vectors(&self, all: &mut Section<'_>) {
        let stores = self.knowledge.stores.as_ref();
        let is_embedded = stores.is_some_and(|it| matches!(it.vectors, VectorTarget::Embedded(_)));
        let kind = self.database.startup.target.provider();
        if is_embedded && kind == DatabaseKind::Postgres && !self.environment.is_development() {
            let text = "is for a single instance: several instances need a Qdrant server";
            all.section("Knowledge").warn("ConnectionString", text);
        }
    }

    pub(crate) fn with(self, outcome: Outcome) -> Self {
        Self { notices: outcome.notices, snapshot: Arc::new(outcome.snapshot), ..self }
    }
}

impl MigrationConfig {
    pub(crate) fn from_section(all: &mut Section<'_>) -> Option<Self> {
        let database = MigrationTargets::from_section(&mut all.section("Database"));
        let logging = Logging::from_section(&mut all.section("Logging"));
        Some(Self { database: database?, logging, notices: Vec::new() })
    }
}

impl ProvisionConfig {
    pub(crate) fn from_section(all: &mut Section<'_>) -> Option<Self> {
        let database = DatabaseConfig::from_section(&mut all.section("Database"));
        let license = License::from_section(&mut all.section("License"));
        Some(Self { database: database?, license })
    }
}

impl AdminConfig {
    pub(crate) fn from_section(all: &mut Section<'_>) -> Option<Self> {
        let database = DatabaseConfig::from_section(&mut all.section("Database"));
        let encryption = Encryption::from_section(&mut all.section("Encryption"));
        let license = License::from_section(&mut all.section("License"));
        let server = ServerConfig::from_section(&mut all.section("Server"));
        let smtp = Smtp::from_section(&mut all.section("Smtp"));
        let catalogue = ListedEntries::from_section(&all.section("Ai").section("Providers"));
        let audit = Audit::from_section(&mut all.section("Audit"));
        let vectors = vector_target(all);
        let embedding_model = read_embedding_model(all);

        let database = database?;
        let encryption = encryption?;
        Some(Self {
            database,
            encryption,
            license,
            server: server?,
            smtp,
            catalogue,
            audit,
            vectors,
            embedding_model,
        })
    }
}
