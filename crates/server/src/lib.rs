//! The composition root: the only crate that knows every other.

mod admin;
mod bridges;
mod checkpoints;
mod compose;
mod config;
mod free_group;
mod housekeeping;
mod licence;
mod logging;
mod outbox_worker;
mod process;
mod pulse;
mod readiness;
mod serve;
mod setup;
mod shutdown;
mod tls;

pub use admin::{AdminError, administer};
pub use compose::{AiFactory, App, Background, ComposeError, compose};
pub use config::{
    AdminCommand, AdminConfig, Ai, ApiKeyCommand, Audit, BaseUrl, Code, Command, Config,
    CreditsCommand, DatabaseConfig, Effect, Encryption, Environment, Faults, GroupCommand, Jwt,
    License, ListedEntries, LiveConfig, LocalAuth, LogFormat, Logging, MetricsConfig,
    MigrationConfig, MigrationTargets, Notice, OAuth, OpenApi, PasswordHashing, RateLimits,
    ServerConfig, SettingChanges, SettingError, SetupConfig, Smtp, Sources, SyncConfig, TlsFiles,
    TokenUsage, USAGE, Watch, watch,
};
pub use licence::{LicenceFile, LicenceSeats};
pub use process::{Failure, run};
pub use serve::{Listen, Server};
pub use setup::Setup;
pub use tls::CertificateError;
