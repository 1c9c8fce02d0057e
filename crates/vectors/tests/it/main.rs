//! Contract tests of both vector stores, and tests of each.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod contract;
mod embedded;
mod fake;
mod sample;
mod server;
