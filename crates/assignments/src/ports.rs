//! Ports of assignments.

pub(crate) mod assignment_store;
pub(crate) mod engine;
pub(crate) mod operator_store;
pub(crate) mod run_store;
pub(crate) mod schedule_store;
pub(crate) mod step_executor;
pub(crate) mod webhook_sender;
pub(crate) mod webhook_store;
