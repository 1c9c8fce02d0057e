//! Permissions, over SQLite or PostgreSQL: groups and their settings, client
//! policies, managed personas; and reports on answers.

mod catalogue;
mod client_policies;
mod feedback;
mod feedback_row;
mod group_row;
mod groups;
mod persona_row;
mod personas;
mod settings_row;

pub use client_policies::SqlClientPolicies;
pub use feedback::SqlFeedback;
pub use groups::SqlGroups;
pub use personas::SqlManagedPersonas;
