//! The settings: their sections, defaults and layers.

mod admin_command;
mod api_key_command;
mod command;
mod credits_command;
mod environment;
mod group_command;
mod group_setting;
mod sources;

mod ai;
mod audit;
mod database;
mod encryption;
mod free_tier;
mod jwt;
mod license;
mod local_auth;
mod logging;
mod metrics;
mod oauth;
mod open_api;
mod password_hashing;
mod rate_limits;
mod server;
mod setup;
mod smtp;
mod sync;
mod token_usage;

mod live;
mod watch;

mod fault;
mod notice;

mod field;
mod layers;
mod section;
mod snapshot;
mod unknown;

mod base_url;
mod byte_size;
mod known_secrets;
mod setting;
mod span;

use std::path::PathBuf;
use std::sync::Arc;

use fault::Reason;
use pia_assistant::FreeTier;
use section::{Outcome, Section};
use snapshot::Snapshot;

pub use admin_command::AdminCommand;
pub use ai::{Ai, ListedEntries};
pub use api_key_command::ApiKeyCommand;
pub use audit::Audit;
pub use base_url::BaseUrl;
pub use command::{Command, USAGE};
pub use credits_command::CreditsCommand;
pub use database::{DatabaseConfig, MigrationTargets};
pub use encryption::Encryption;
pub use environment::Environment;
pub use fault::{Code, Faults, SettingError};
pub use group_command::GroupCommand;
pub use jwt::Jwt;
pub use license::License;
pub use live::{LiveConfig, SettingChanges};
pub use local_auth::LocalAuth;
pub use logging::{LogFormat, Logging};
pub use metrics::MetricsConfig;
pub use notice::Notice;
pub use oauth::OAuth;
pub use open_api::OpenApi;
pub use password_hashing::PasswordHashing;
pub use rate_limits::RateLimits;
pub use server::{ServerConfig, TlsFiles};
pub use setup::SetupConfig;
pub use smtp::Smtp;
pub use snapshot::Effect;
pub use sources::Sources;
pub use sync::SyncConfig;
pub use token_usage::TokenUsage;
pub use watch::{Watch, watch};

/// The sections there are.
const SECTIONS: [&str; 19] = [
    "Ai",
    "Audit",
    "Database",
    "Encryption",
    "FreeTier",
    "Jwt",
    "License",
    "LocalAuth",
    "Logging",
    "Metrics",
    "OAuth",
    "OpenApi",
    "PasswordHashing",
    "RateLimits",
    "Server",
    "Setup",
    "Smtp",
    "Sync",
    "TokenUsage",
];

/// Configuration of a serving process. Its `Debug` shows no secret.
#[derive(Debug, Clone)]
pub struct Config {
    /// Environment that the server runs in.
    pub environment: Environment,
    /// Base of relative paths.
    pub dir: PathBuf,
    /// Addresses of the server.
    pub server: ServerConfig,
    /// Database.
    pub database: DatabaseConfig,
    /// Tokens and sessions.
    pub jwt: Jwt,
    /// Source of the data keys.
    pub encryption: Encryption,
    /// Accounts with a password.
    pub local_auth: LocalAuth,
    /// Cost of password hashes.
    pub password_hashing: PasswordHashing,
    /// Number of times that callers may call.
    pub rate_limits: RateLimits,
    /// The licence's file.
    pub license: License,
    /// Set-up of a server without a licence.
    pub setup: SetupConfig,
    /// Identity providers.
    pub oauth: OAuth,
    /// The API's description.
    pub open_api: OpenApi,
    /// Metrics.
    pub metrics: MetricsConfig,
    /// Log output.
    pub logging: Logging,
    /// Upstream models.
    pub ai: Ai,
    /// Through which relay mail is sent.
    pub smtp: Smtp,
    /// The audit log.
    pub audit: Audit,
    /// Synchronisation of devices.
    pub sync: SyncConfig,
    /// Start of the weeks of budgets.
    pub token_usage: TokenUsage,
    /// Those who do not pay.
    pub free_tier: FreeTier,
    /// Notices for the operator, each worth a warning in the log.
    pub notices: Vec<Notice>,
    snapshot: Arc<Snapshot>,
}

/// Configuration of a migration of the database.
#[derive(Debug, Clone)]
pub struct MigrationConfig {
    /// Database, and the roles that migrate it.
    pub database: MigrationTargets,
    /// Log output.
    pub logging: Logging,
    /// Notices for the operator, each worth a warning in the log.
    pub notices: Vec<Notice>,
}

/// Configuration of administration from the command line.
#[derive(Debug, Clone)]
pub struct AdminConfig {
    /// Database.
    pub database: DatabaseConfig,
    /// Keys that seal audit entries and emails.
    pub encryption: Encryption,
    /// The licence's file, for its limits.
    pub license: License,
    /// Base of links.
    pub server: ServerConfig,
    /// Through which relay the server sends the letters that are left for it.
    pub smtp: Smtp,
    /// Models that groups may be given.
    pub catalogue: ListedEntries,
}

impl Config {
    /// Reads all sections before any is missed, so that every fault is found.
    fn from_section(all: &mut Section<'_>) -> Option<Self> {
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
        let smtp = Smtp::from_section(&mut all.section("Smtp"));
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
            smtp,
            audit,
            sync,
            token_usage,
            free_tier,
            notices: Vec::new(),
            snapshot: Arc::default(),
        };
        config.check(all);
        Some(config)
    }

    /// Checks settings against each other. One secret for two purposes would
    /// disclose one by the other.
    fn check(&self, all: &mut Section<'_>) {
        if self.encryption.has_key(self.jwt.keys.current.expose()) {
            let reason = Reason::weak("expected another secret than Encryption:MasterKey");
            all.section("Jwt").refuse("SecretKey", reason);
        }
        // Not refused: mail may be set up later, and until then nobody comes in
        // who should not.
        if self.local_auth.accounts.require_verification && self.smtp.relay.is_none() {
            let text = "nobody new can come in: without Smtp:Host no letter goes out to verify an \
                        address with";
            all.section("LocalAuth").note("RequireEmailVerification", text);
        }
    }

    fn with(self, outcome: Outcome) -> Self {
        Self { notices: outcome.notices, snapshot: Arc::new(outcome.snapshot), ..self }
    }
}

impl MigrationConfig {
    fn from_section(all: &mut Section<'_>) -> Option<Self> {
        let database = MigrationTargets::from_section(&mut all.section("Database"));
        let logging = Logging::from_section(&mut all.section("Logging"));
        Some(Self { database: database?, logging, notices: Vec::new() })
    }
}

impl AdminConfig {
    fn from_section(all: &mut Section<'_>) -> Option<Self> {
        let database = DatabaseConfig::from_section(&mut all.section("Database"));
        let encryption = Encryption::from_section(&mut all.section("Encryption"));
        let license = License::from_section(&mut all.section("License"));
        let server = ServerConfig::from_section(&mut all.section("Server"));
        let smtp = Smtp::from_section(&mut all.section("Smtp"));
        let catalogue = ListedEntries::from_section(&all.section("Ai").section("Providers"));
        let (database, encryption) = (database?, encryption?);
        Some(Self { database, encryption, license, server: server?, smtp, catalogue })
    }
}

#[cfg(test)]
mod tests;
