//! Contract tests of the storage of groups, on every backend.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod groups;
mod people;
mod settings;
