//! What the storage of groups must do on every backend.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod groups;
mod people;
mod settings;
