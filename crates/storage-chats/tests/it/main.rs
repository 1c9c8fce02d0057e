//! Contract tests for this storage on every backend.

#![expect(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod lists;
mod people;
mod writes;
