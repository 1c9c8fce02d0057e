//! Workflow engine on a Temporal server, for any number of instances.
//!
//! A workflow drives the run of one assignment: it schedules a step, waits, and
//! schedules the next. It contains the assignment's id and nothing else; the run
//! and its progress are stored in the database. Payloads are sealed before they
//! leave the process.
//!
//! `engine.rs` starts and stops workflows, for the use cases of `assignments`;
//! `worker.rs` polls the task queue and executes `workflow.rs` (deterministic,
//! replayed) and `steps.rs` (everything else). Begin with `workflow.rs`.

mod codec;
mod connection;
mod engine;
mod steps;
mod worker;
mod workflow;

pub use connection::{TemporalConfig, TemporalConfigError};
pub use engine::TemporalEngine;
pub use worker::TemporalWorker;
