//! Contract tests of the storage of pods, on every backend.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod connectors;
mod registry;
mod relay;
