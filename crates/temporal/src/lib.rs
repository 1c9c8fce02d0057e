//! Workflow engine on a Temporal server, for any number of instances.
//!
//! A workflow drives the run of one assignment: it schedules a step, waits, and
//! schedules the next. It contains the assignment's id and nothing else; the run
//! and its progress are stored in the database. Payloads are sealed before they
//! leave the process.

mod codec;
mod connection;
mod engine;
mod steps;
mod worker;
mod workflow;

pub use connection::{TemporalConfig, TemporalConfigError};
pub use engine::TemporalEngine;
pub use worker::TemporalWorker;
