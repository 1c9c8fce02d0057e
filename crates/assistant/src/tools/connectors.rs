//! Tools of connectors, which the operator's own programs offer.

use async_trait::async_trait;
use pia_kernel::{GroupId, UserId};
use serde_json::Value;

/// Tool of a connector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectorTool {
    /// Name.
    pub name: String,
    /// Description, which the model reads.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
}

/// Tools of connectors.
#[async_trait]
pub trait ConnectorTools: Send + Sync {
    /// Lists the tools that are granted to a group now. Without an answer there are
    /// none.
    async fn list(&self, group: GroupId) -> Vec<ConnectorTool>;

    /// Calls a tool, if it is still granted. Returns a text for the model, whatever
    /// happened; `arguments` is what the model wrote.
    async fn call(&self, caller: (UserId, GroupId), name: &str, arguments: &str) -> String;
}

/// Tools of a server without connectors.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoConnectorTools;

#[async_trait]
impl ConnectorTools for NoConnectorTools {
    async fn list(&self, _: GroupId) -> Vec<ConnectorTool> {
        Vec::new()
    }

    async fn call(&self, _: (UserId, GroupId), _: &str, _: &str) -> String {
        "This tool is not available.".to_owned()
    }
}
