//! Server of rmcp in the process of the test.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pia_mcp_client::McpClient;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, serve_server};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Server with tools whose list grows with each change.
#[derive(Clone)]
struct Server {
    pages: Arc<AtomicUsize>,
    events: UnboundedSender<String>,
}

/// Handle of the test.
pub(crate) struct ServerHandle {
    pub(crate) client: McpClient,
    events: UnboundedReceiver<String>,
    _task: JoinSet<()>,
}

impl ServerHandle {
    /// Connects a client with a server that has so many pages of one tool.
    pub(crate) async fn start(pages: usize) -> Self {
        let (sender, events) = unbounded_channel();
        let pages = Arc::new(AtomicUsize::new(pages));
        let server = Server { pages, events: sender };
        let (near, far) = tokio::io::duplex(64 * 1024);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let running = serve_server(server, far).await.expect("an initialization");
            running.waiting().await.expect("no panic");
        });
        let (input, output) = tokio::io::split(near);
        let client = McpClient::over(input, output).await.expect("a client");
        Self { client, events, _task: task }
    }

    /// Waits for the next event of a call.
    pub(crate) async fn next(&mut self) -> String {
        let next = timeout(Duration::from_secs(20), self.events.recv()).await;
        next.expect("an event within twenty seconds").expect("a server")
    }
}

pub(crate) fn arguments(value: Value) -> Map<String, Value> {
    let Value::Object(arguments) = value else { panic!("not an object") };
    arguments
}

impl Server {
    #[expect(deprecated, reason = "servers ask for roots still")]
    async fn run(&self, name: &str, context: RequestContext<RoleServer>) -> CallToolResult {
        match name {
            "wait" => {
                self.events.send("started".to_owned()).ok();
                context.ct.cancelled().await;
                self.events.send("cancelled".to_owned()).ok();
                CallToolResult::success(Vec::new())
            }
            "ask" => {
                let roots = context.peer.list_roots().await;
                let refused = roots.expect_err("a refusal").to_string();
                CallToolResult::success(vec![ContentBlock::text(refused)])
            }
            "change" => {
                self.pages.fetch_add(1, Ordering::Relaxed);
                context.peer.notify_tool_list_changed().await.expect("a notification");
                CallToolResult::structured(json!({ "changed": true }))
            }
            _ => CallToolResult::error(vec![ContentBlock::text("it failed")]),
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed();
        ServerConfig::new(capabilities.build())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|it| it.cursor);
        let page: usize = cursor.map_or(0, |it| it.parse().expect("a page"));
        let schema = arguments(json!({ "type": "object" }));
        let tool = Tool::new(format!("tool-{page}"), "A tool.", Arc::new(schema));
        let mut result = ListToolsResult::with_all_items(vec![tool]);
        let is_last = page + 1 >= self.pages.load(Ordering::Relaxed);
        result.next_cursor = (!is_last).then(|| (page + 1).to_string());
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(self.run(&request.name, context).await.into())
    }
}
