//! Contract tests of the storage, on every backend.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests"
)]

mod checkpoints;
mod cluster;
mod counts;
mod effects;
mod notifications;
mod pipelined;
mod readiness;
mod roles;
mod row_security;
mod sqlite_files;
mod start_up;
mod tls;
mod transactions;
