//! Permissions, over SQLite or PostgreSQL: groups and their settings.

mod group_row;
mod groups;
mod settings_row;

pub use groups::SqlGroups;
