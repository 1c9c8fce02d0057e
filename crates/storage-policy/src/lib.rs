//! Permissions, over SQLite or PostgreSQL: groups and their settings, client
//! policies.

mod client_policies;
mod group_row;
mod groups;
mod settings_row;

pub use client_policies::SqlClientPolicies;
pub use groups::SqlGroups;
