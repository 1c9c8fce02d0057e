//! Benchmarks of the server's speed and memory use, compared with the lower
//! bounds of the same machine.
//!
//! `main.rs` calls one function a benchmark (`gateway`, `identity`, `sync`, …). Each
//! starts what it measures, runs rounds that record figures, and publishes the
//! medians over the rounds as a Markdown report, with a table of targets. A wrong
//! response ends a benchmark with an error; a missed target does not.
//!
//! Read `gateway.rs` first, then `round.rs` for its loads. The gateway compares
//! several contenders and has figures of its own (`figures.rs`, `aims.rs`); all
//! other benchmarks share `measured.rs` and `servers.rs`.

mod admin;
mod aims;
mod answer;
mod assignments;
mod bare_proxy;
mod burst;
mod call;
mod chat_endpoint;
mod closed_loop;
mod connection;
mod contenders;
mod database;
mod failure;
mod figures;
mod floors;
mod gateway;
mod identity;
mod installation;
mod knowledge;
mod limits;
mod litellm;
mod machine;
mod measured;
mod memory;
mod metric;
mod open_loop;
mod options;
mod page;
mod plan;
mod pods;
mod postgres;
mod process;
mod programs;
mod report;
mod round;
mod servers;
mod sign_ins;
mod stats;
#[cfg(test)]
mod stub;
mod sync;
mod table;
mod usage_rows;

pub use admin::admin;
pub use assignments::assignments;
pub use bare_proxy::serve;
pub use failure::Outcome;
pub use gateway::gateway;
pub use identity::identity;
pub use knowledge::knowledge;
pub use options::{Options, USAGE};
pub use pods::pods;
pub use sync::sync;
