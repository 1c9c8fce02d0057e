//! Tools of connectors, which the operator's own programs offer.

use async_trait::async_trait;
use pia_kernel::{GroupId, UserId};
use serde_json::Value;

use crate::tools::calls::ToolFailure;

/// Port of connectors' tools; implemented in `server` over `pods`.
#[async_trait]
pub trait ConnectorTools: Send + Sync {
    /// Lists the tools that are granted to a group now; none if they cannot be read.
    async fn list(&self, group: GroupId) -> Vec<ConnectorTool>;

    /// Calls a tool for a user, if it is still granted to the user's group. `arguments`
    /// is the text of the model, which need not be valid JSON.
    async fn call(
        &self,
        user: UserId,
        group: GroupId,
        name: &str,
        arguments: &str,
    ) -> Result<String, ToolFailure>;
}

/// Tool of a connector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectorTool {
    /// Name, which the model calls it by.
    pub name: String,
    /// Description, which the model reads.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
}

/// Tools of a server without connectors.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoConnectorTools;

#[async_trait]
impl ConnectorTools for NoConnectorTools {
    async fn list(&self, _: GroupId) -> Vec<ConnectorTool> {
        Vec::new()
    }

    async fn call(&self, _: UserId, _: GroupId, _: &str, _: &str) -> Result<String, ToolFailure> {
        Err(ToolFailure("This tool is not available.".to_owned()))
    }
}
