//! Permissions, over SQLite or PostgreSQL: groups and their settings, client
//! policies, managed personas.

mod catalogue;
mod client_policies;
mod group_row;
mod groups;
mod persona_row;
mod personas;
mod settings_row;

pub use client_policies::SqlClientPolicies;
pub use groups::SqlGroups;
pub use personas::SqlManagedPersonas;
