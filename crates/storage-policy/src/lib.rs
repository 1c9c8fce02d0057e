//! Permissions, over SQLite or PostgreSQL: groups and their settings, client
//! policies, managed personas, plugins and certificates; and reports on answers.

mod certificates;
mod client_policies;
mod feedback;
mod feedback_row;
mod group_row;
mod groups;
mod members;
mod membership;
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
