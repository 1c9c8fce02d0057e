//! Contract tests for this storage on every backend.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod device_reader;
mod devices;
mod people;
mod recovery;
