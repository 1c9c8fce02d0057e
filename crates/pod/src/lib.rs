//! Pods: programs of an operator that bring tools to a server.

mod messages;
mod tool;

pub use tool::{Tool, ToolDescription};
