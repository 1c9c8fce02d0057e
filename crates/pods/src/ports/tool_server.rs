//! Servers of tools, which this server connects to itself.

use async_trait::async_trait;
use pia_kernel::Secret;

use crate::description::PodTool;
use crate::error::ToolCallError;
use crate::ports::pod_link::{PodCall, PodReply};

/// Connection with a server of tools. It ends when it is dropped.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait ToolServer: Send + Sync {
    /// Lists its tools.
    async fn tools(&self) -> Result<Vec<PodTool>, ToolServerError>;

    /// Calls a tool. The server is told to cancel the call if this is dropped.
    async fn call(&self, call: PodCall) -> Result<PodReply, ToolCallError>;

    /// Waits until the server has announced other tools.
    async fn tools_changed(&self);

    /// Waits for the end of the connection.
    async fn closed(&self);
}

/// Address of an MCP server, with the token that it requires.
#[derive(Debug, Clone)]
pub struct McpEndpoint {
    /// URL of the server.
    pub url: String,
    /// Bearer token, if the server requires one.
    pub token: Option<Secret<String>>,
}

/// Reason why a server of tools cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ToolServerError(pub String);

/// Connections with servers of tools.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait ToolServers: Send + Sync {
    /// Returns whether the URL and token of an MCP server are well-formed, and the URL
    /// is permitted.
    fn permits(&self, endpoint: &McpEndpoint) -> bool;

    /// Connects with an MCP server.
    async fn connect(&self, endpoint: &McpEndpoint)
    -> Result<Box<dyn ToolServer>, ToolServerError>;
}

/// No servers of tools, for commands that need none.
#[derive(Debug, Clone, Copy)]
pub struct NoToolServers;

#[async_trait]
impl ToolServers for NoToolServers {
    fn permits(&self, _: &McpEndpoint) -> bool {
        false
    }

    async fn connect(&self, _: &McpEndpoint) -> Result<Box<dyn ToolServer>, ToolServerError> {
        Err(ToolServerError("MCP servers are not connected to here".to_owned()))
    }
}
