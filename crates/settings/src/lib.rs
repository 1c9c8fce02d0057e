//! The settings of the server: their sections, defaults and layers.
//!
//! `Sources` (`sources.rs`) collects files, environment and command line as `Layer`s
//! (`layers.rs`). `Config::from_section` (`config.rs`) reads the merged settings,
//! each section in a file of its own, each setting through a `Field` (`field.rs`),
//! and collects all errors before it fails. `LiveConfig` (`live.rs`) reads the
//! sources again while the server runs.
//!
//! Read `jwt.rs` first: a typical section. A setting exists because a section reads
//! it: snapshots, the console's list and the search for misspelled keys all use the
//! keys that were read.

mod admin_command;
mod api_key_command;
mod command;
mod config;
mod credits_command;
mod environment;
mod group_command;
mod group_setting;
mod kb_command;
mod sources;

mod admin;
mod ai;
mod audit;
mod audit_command;
mod database;
mod encryption;
mod free_tier;
mod jwt;
mod knowledge;
mod license;
mod local_auth;
mod logging;
mod metrics;
mod oauth;
mod open_api;
mod operators;
mod password_hashing;
mod pods_command;
mod provision_command;
mod rate_limits;
mod server;
mod setup;
mod smtp;
mod sync;
mod token_usage;
mod vector_target;

mod live;
mod watch;

mod error;
mod notice;

mod feedback;
mod field;
mod layers;
mod section;
mod snapshot;
mod unknown;

mod base_url;
mod byte_size;
mod known_secrets;
mod ratio;
mod setting;
mod span;

pub use admin_command::AdminCommand;
pub use ai::{Ai, ListedEntries};
pub use api_key_command::ApiKeyCommand;
pub use audit::Audit;
pub use audit_command::AuditCommand;
pub use base_url::BaseUrl;
pub use command::{Command, USAGE};
pub use config::{AdminConfig, Config, MigrationConfig, ProvisionConfig};
pub use credits_command::CreditsCommand;
pub use database::{DatabaseConfig, MigrationTargets};
pub use encryption::Encryption;
pub use environment::Environment;
pub use error::{Code, SettingError, SettingErrors};
pub use group_command::GroupCommand;
pub use jwt::Jwt;
pub use kb_command::KbCommand;
pub use knowledge::{EmbedderConfig, KnowledgeConfig, KnowledgeStores};
pub use license::License;
pub use live::{LiveConfig, SettingChanges};
pub use local_auth::LocalAuth;
pub use logging::{LogFormat, Logging};
pub use metrics::MetricsConfig;
pub use notice::Notice;
pub use oauth::OAuth;
pub use open_api::OpenApi;
pub use operators::{EngineConfig, OperatorsConfig, WorkflowServer};
pub use password_hashing::PasswordHashing;
pub use pods_command::PodsCommand;
pub use provision_command::ProvisionCommand;
pub use rate_limits::RateLimits;
pub use server::{ServerConfig, TlsFiles};
pub use setup::SetupConfig;
pub use smtp::Smtp;
pub use sources::Sources;
pub use sync::SyncConfig;
pub use token_usage::TokenUsage;
pub use vector_target::VectorTarget;
pub use watch::{Watch, watch};

#[cfg(test)]
mod tests;
