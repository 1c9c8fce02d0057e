//! Contract tests of the storage of groups, client policies, personas and feedback, on every
//! backend.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod client_policies;
mod feedback;
mod groups;
mod membership;
mod people;
mod personas;
mod plugins;
mod setting_overrides;
mod settings;
