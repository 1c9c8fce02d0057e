//! Tools of an MCP server, which is a child process. `main.rs` starts it,
//! replaces the pod's tools by its own, follows their changes, and stops it after
//! the last call. If the server ends by itself, the pod ends with an error.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pia_mcp_client::{McpClient, McpError, McpTool};
use pia_pod::{CallContext, Pod, Tool, ToolDescription};
use serde_json::Value;
use tokio::process::Command;
use tokio::time::sleep;

use crate::options::TOKEN_VARIABLES;

/// Maximum time limit of a call. The pod ends most calls earlier.
const MAX_CALL: Duration = Duration::from_mins(10);
/// Maximum length of all descriptions together, which are one message.
const MAX_DESCRIPTIONS_BYTES: usize = 200 * 1024;
/// Time between a change of the tools and their list, for further changes.
const CHANGE_DELAY: Duration = Duration::from_secs(1);

/// Running MCP server.
pub(crate) struct McpServer {
    client: Arc<McpClient>,
}

impl McpServer {
    /// Starts a command, without the token of the pod in its environment.
    pub(crate) async fn start(program: &str, arguments: &[String]) -> Result<Self, McpError> {
        let mut command = Command::new(program);
        command.args(arguments);
        for variable in TOKEN_VARIABLES {
            command.env_remove(variable);
        }
        Ok(Self { client: Arc::new(McpClient::spawn(command).await?) })
    }

    /// Returns the tools that it has now.
    pub(crate) async fn tools(&self) -> Result<Vec<Arc<dyn Tool>>, McpError> {
        let mut length = 0;
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        for tool in self.client.tools().await? {
            let tool = RemoteTool { client: Arc::clone(&self.client), tool };
            let description = serde_json::to_string(&tool.description()).unwrap_or_default();
            if length + description.len() > MAX_DESCRIPTIONS_BYTES {
                let name = &tool.tool.name;
                tracing::warn!(tool = name, "a tool is left out: the descriptions are too large");
                continue;
            }
            length += description.len();
            tools.push(Arc::new(tool));
        }

        Ok(tools)
    }

    /// Replaces the tools of the pod when they change. Returns at the end of
    /// the server.
    pub(crate) async fn follow(&self, pod: &Pod) {
        let following = async {
            loop {
                self.client.tools_changed().await;
                sleep(CHANGE_DELAY).await;
                match self.tools().await {
                    Ok(tools) => pod.replace_tools(tools),
                    Err(error) => tracing::warn!(%error, "the tools are not listed again"),
                }
            }
        };

        tokio::select! {
            () = following => {}
            () = self.client.closed() => {}
        }
    }

    /// Stops the server. Its calls have ended.
    pub(crate) async fn stop(self) {
        if let Some(client) = Arc::into_inner(self.client) {
            client.close().await;
        }
    }
}

/// Tool of an MCP server.
struct RemoteTool {
    client: Arc<McpClient>,
    tool: McpTool,
}

#[async_trait]
impl Tool for RemoteTool {
    fn description(&self) -> ToolDescription {
        let McpTool { name, description, parameters, .. } = &self.tool;
        ToolDescription {
            output_schema: self.tool.output_schema.clone(),
            dangerous: self.tool.dangerous,
            idempotent: self.tool.idempotent,
            ..ToolDescription::new(name, description, parameters.clone())
        }
    }

    async fn call(&self, arguments: Value, context: CallContext) -> Result<Value, String> {
        let Value::Object(arguments) = arguments else {
            return Err("the arguments must be an object".to_owned());
        };
        let result = self
            .client
            .call(&self.tool.name, arguments, MAX_CALL, context.cancelled)
            .await
            .map_err(|err| err.to_string())?;
        match result.content {
            content if !result.is_error => Ok(content),
            Value::String(text) => Err(text),
            other => Err(other.to_string()),
        }
    }
}
