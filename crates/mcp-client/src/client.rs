//! Client of one server.
//!
//! Order of the calls: connect, `tools`, any number of `call`s, at once too, and
//! `close`. `tools_changed` says when to list again, `closed` when to connect again.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pia_kernel::Secret;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientRequest, Cursor, ListToolsRequest,
    ListToolsResult, PaginatedRequestParams, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RunningService};
use rmcp::transport::Transport;
use rmcp::{RoleClient, ServiceError, serve_client};
use serde_json::{Map, Value};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::error::McpError;
use crate::guard::{ConnectionEvents, GuardedTransport};
use crate::refusals::Refusals;
use crate::result::McpResult;
use crate::tool::{McpTool, ToolList};

/// Maximum length of a message of a server: that of a result, written twice
/// and with many escapes.
#[cfg(any(feature = "stdio", feature = "http"))]
pub(crate) const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// Time for the connection and its initialization.
const INITIALIZATION_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for the list of tools.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for the end of a connection.
const CLOSING_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of pages of the list of tools.
const MAX_PAGES: usize = 100;

/// Connection with an MCP server. It ends when it is dropped.
pub struct McpClient {
    service: RunningService<RoleClient, Refusals>,
    events: Arc<ConnectionEvents>,
    /// Token of the connection, which errors must not contain.
    secret: Option<Secret<String>>,
}

impl McpClient {
    /// Initializes the server behind a transport.
    #[cfg_attr(not(any(feature = "stdio", feature = "http")), expect(dead_code, reason = "unused"))]
    pub(crate) async fn initialize<T: Transport<RoleClient> + 'static>(
        transport: T,
        secret: Option<Secret<String>>,
    ) -> Result<Self, McpError> {
        let events = Arc::new(ConnectionEvents::default());
        let transport = GuardedTransport::new(transport, Arc::clone(&events));
        let serving = Box::pin(serve_client(Refusals, transport));
        let service = timeout(INITIALIZATION_TIMEOUT, serving)
            .await
            .map_err(|_elapsed| McpError::TimedOut(INITIALIZATION_TIMEOUT))?
            .map_err(|err| McpError::from_initialization(&err, secret.as_ref()))?;
        Ok(Self { service, events, secret })
    }

    /// Returns the tools of the server, at most 100. Those that no model could
    /// call, or that claim a name of the server's own tools, are left out.
    pub async fn tools(&self) -> Result<Vec<McpTool>, McpError> {
        timeout(LIST_TIMEOUT, self.list()).await.unwrap_or(Err(McpError::TimedOut(LIST_TIMEOUT)))
    }

    async fn list(&self) -> Result<Vec<McpTool>, McpError> {
        let mut tools = ToolList::default();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let page = self.page(cursor).await?;
            tools.extend(page.tools);
            cursor = page.next_cursor;
            if tools.is_truncated() || cursor.is_none() {
                return Ok(tools.into_tools());
            }
        }

        tracing::warn!(pages = MAX_PAGES, "further pages of tools of an MCP server are left out");

        Ok(tools.into_tools())
    }

    async fn page(&self, cursor: Option<Cursor>) -> Result<ListToolsResult, McpError> {
        let params = cursor.map(|it| PaginatedRequestParams::default().with_cursor(Some(it)));
        let request = ListToolsRequest { params, ..ListToolsRequest::default() };
        let options = PeerRequestOptions::with_timeout(LIST_TIMEOUT);
        let page = async {
            let request = ClientRequest::ListToolsRequest(request);
            self.service.send_request_with_option(request, options).await?.await_response().await
        };
        match page.await.map_err(|err| self.error(&err))? {
            ServerResult::ListToolsResult(page) => Ok(page),
            _ => Err(McpError::Protocol("its list of tools is malformed")),
        }
    }

    /// Calls a tool. When the call is cancelled or its time is over, the server
    /// is notified, and its result is ignored.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        limit: Duration,
        cancelled: CancellationToken,
    ) -> Result<McpResult, McpError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        // Dropping a request before its end notifies the server.
        let response = tokio::select! {
            biased;
            () = cancelled.cancelled() => return Err(McpError::Cancelled),
            response = Box::pin(self.service.call_tool_once(params)) => response,
            () = sleep(limit) => return Err(McpError::TimedOut(limit)),
        };

        match response.map_err(|err| self.error(&err))? {
            CallToolResponse::Complete(result) => McpResult::new(result),
            _ => Err(McpError::Protocol("it wants input during a call")),
        }
    }

    /// Waits until the server has announced other tools since the last time.
    pub async fn tools_changed(&self) {
        self.events.tools_changed.notified().await;
    }

    /// Waits for the end of the connection. Over HTTP there may be none: a
    /// server that is gone may come back.
    pub async fn closed(&self) {
        self.events.closed.cancelled().await;
    }

    /// Closes the connection, and waits until a child process has ended.
    pub async fn close(mut self) {
        self.service.close_with_timeout(CLOSING_TIMEOUT).await.ok();
    }

    fn error(&self, error: &ServiceError) -> McpError {
        McpError::from_service(error, self.secret.as_ref())
    }
}

impl fmt::Debug for McpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpClient").finish_non_exhaustive()
    }
}
