//! Contract tests of the storage of groups, client policies and personas, on every
//! backend.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod client_policies;
mod groups;
mod people;
mod personas;
mod settings;
