//! MCP servers, as servers of tools.
//!
//! `permits` is called when an administrator enters an address, `connect` whenever a
//! connection is opened: the settings may forbid private addresses in between.

use async_trait::async_trait;
use pia_kernel::Secret;
use pia_mcp_client::{McpClient, McpError, McpTool};
use pia_pods::{
    CallTarget, McpEndpoint, PodCall, PodReply, PodTool, ToolCallError, ToolServer,
    ToolServerError, ToolServers,
};
use pia_webhooks::Egress;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Time limit of a call in seconds: servers do not publish theirs.
const CALL_SECONDS: u32 = 60;

/// Maximum length of a URL.
const MAX_URL_BYTES: usize = 2_000;

/// MCP servers at permitted addresses.
pub(crate) struct McpServers(pub(crate) Egress);

struct McpServer(McpClient);

#[async_trait]
impl ToolServers for McpServers {
    fn permits(&self, endpoint: &McpEndpoint) -> bool {
        let is_visible =
            |token: &Secret<String>| token.expose().bytes().all(|it| it.is_ascii_graphic());
        let is_token = endpoint.token.as_ref().is_none_or(is_visible);
        let is_short = endpoint.url.len() <= MAX_URL_BYTES;
        // A query could contain a secret, and URLs are displayed.
        let permitted = self.0.permitted(&endpoint.url);
        is_token && is_short && permitted.is_some_and(|(_, url)| url.query().is_none())
    }

    async fn connect(
        &self,
        endpoint: &McpEndpoint,
    ) -> Result<Box<dyn ToolServer>, ToolServerError> {
        let (http, url) = self
            .0
            .permitted(&endpoint.url)
            .ok_or_else(|| ToolServerError("the URL is not permitted".to_owned()))?;
        let connecting = McpClient::connect(url, http.clone(), endpoint.token.clone());
        Ok(Box::new(McpServer(Box::pin(connecting).await.map_err(|err| tool_server_error(&err))?)))
    }
}

#[async_trait]
impl ToolServer for McpServer {
    async fn tools(&self) -> Result<Vec<PodTool>, ToolServerError> {
        let tools = self.0.tools().await.map_err(|err| tool_server_error(&err))?;
        Ok(tools.into_iter().map(pod_tool).collect())
    }

    async fn call(&self, call: PodCall) -> Result<PodReply, ToolCallError> {
        let CallTarget::Tool { name, arguments: Value::Object(arguments) } = call.target else {
            return Err(ToolCallError::Failed);
        };

        // Dropped with this call, which notifies the server.
        let cancelled = CancellationToken::new();
        let outcome = Box::pin(self.0.call(&name, arguments, call.timeout, cancelled)).await;
        match outcome {
            Ok(result) => Ok(PodReply { content: result.content, is_error: result.is_error }),
            // The model may try something else.
            Err(McpError::Refused(reason)) => {
                Ok(PodReply { content: reason.into(), is_error: true })
            }
            Err(McpError::TimedOut(_)) => Err(ToolCallError::TimedOut),
            Err(McpError::Closed | McpError::Cancelled | McpError::Transport(_)) => {
                Err(ToolCallError::Lost)
            }
            Err(err) => {
                tracing::debug!(error = %err, tool = name, "a tool of an MCP server failed");
                Err(ToolCallError::Failed)
            }
        }
    }

    async fn tools_changed(&self) {
        self.0.tools_changed().await;
    }

    async fn closed(&self) {
        self.0.closed().await;
    }
}

fn pod_tool(tool: McpTool) -> PodTool {
    PodTool {
        name: tool.name,
        description: tool.description,
        parameters: tool.parameters,
        output_schema: tool.output_schema,
        dangerous: tool.dangerous,
        idempotent: tool.idempotent,
        timeout_seconds: CALL_SECONDS,
    }
}

fn tool_server_error(err: &McpError) -> ToolServerError {
    ToolServerError(err.to_string())
}
