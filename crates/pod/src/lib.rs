//! Pods: programs of an operator that bring tools to a server.

mod backoff;
mod connection;
mod endpoint;
mod error;
mod messages;
mod tool;

pub use error::PodError;
pub use tool::{Tool, ToolDescription};
