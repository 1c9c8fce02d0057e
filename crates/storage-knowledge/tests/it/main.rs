//! Contract tests of the storage of knowledge bases, on every backend.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod bases;
mod chunks;
mod documents;
mod fixture;
mod questions;
mod queue;
mod reindexing;
