//! Permissions, over SQLite or PostgreSQL: groups and their settings, client
//! policies, managed personas, plugins and certificates; and reports on answers.
//!
//! Client policies, personas and plugins share one pattern: a write locks the catalogue,
//! checks the expected version, writes, raises the version of the catalogue and writes
//! the side effects. Read `client_policies.rs` first. Deleted rows stay, marked by
//! `deleted_at`, which every query must exclude.

mod certificates;
mod client_policies;
mod feedback;
mod feedback_row;
mod group_row;
mod group_use;
mod groups;
mod members;
mod membership;
mod persona_assignment;
mod persona_row;
mod personas;
mod plugin_row;
mod plugins;
mod policy_versions;
mod setting_overrides;
mod settings_row;

pub use certificates::SqlCertificates;
pub use client_policies::SqlClientPolicies;
pub use feedback::SqlFeedback;
pub use groups::SqlGroups;
pub use personas::SqlManagedPersonas;
pub use plugins::SqlPlugins;
pub use setting_overrides::SqlSettingOverrides;
