//! Server of one request, with the tools of its caller.
//!
//! `endpoint.rs` creates one for each request, for the group of the caller. An error
//! of a tool is a result that the model reads (`refusals.rs`); only an unknown tool,
//! or a list that cannot be loaded, is an error of the protocol.

use actix_web::web::Data;
use pia_kernel::{GroupId, RequestContext};
use pia_web::{ApiError, Gates, Licensing};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::{ErrorData, RoleServer, ServerHandler, service};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tracing::{Instrument, Span};

use crate::fetch::fetch;
use crate::mcp::Mcp;
use crate::refusals::{invalid_arguments, to_error_result};
use crate::search::search;
use crate::tools::{FETCH, SEARCH, tools};

const INSTRUCTIONS: &str = "Search the knowledge bases of the user's organisation before you answer questions about it. \
     Fetch a document if its passages are not enough. Cite the documents that you use.";

/// Server of one request.
#[derive(Clone)]
pub(crate) struct KnowledgeServer {
    mcp: Mcp,
    gates: Data<Gates>,
    group: GroupId,
    /// Context and span of the request, which rmcp serves on a task of its own.
    context: RequestContext,
    span: Span,
}

impl KnowledgeServer {
    /// Creates the server of the current request, whose caller is a member of
    /// this group.
    pub(crate) fn of_request(mcp: Mcp, gates: Data<Gates>, group: GroupId) -> Self {
        Self { mcp, gates, group, context: RequestContext::current(), span: Span::current() }
    }

    /// Runs a future as part of the request.
    async fn in_request<F: Future>(&self, future: F) -> F::Output {
        self.context.clone().scope(future).instrument(self.span.clone()).await
    }

    async fn list(&self) -> Result<ListToolsResult, ApiError> {
        let bases = match self.mcp.retrieval.clone() {
            Some(retrieval) => {
                let group = self.group;
                self.mcp.runner.run(async move { retrieval.bases(group, None).await }).await?
            }
            None => Vec::new(),
        };
        Ok(ListToolsResult::with_all_items(tools(&bases)?))
    }

    /// Searches while the licence is in force: a search may call a provider.
    async fn search(&self, arguments: Value) -> Result<CallToolResult, ApiError> {
        self.gates.check_licence(Licensing::InForce)?;
        structured(&search(&self.mcp, self.group, parse(arguments)?).await?)
    }

    async fn fetch(&self, arguments: Value) -> Result<CallToolResult, ApiError> {
        structured(&fetch(&self.mcp, self.group, parse(arguments)?).await?)
    }
}

impl ServerHandler for KnowledgeServer {
    fn get_info(&self) -> ServerConfig {
        let program = Implementation::new("pia-server", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(program.with_title("Knowledge bases"))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: service::RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.in_request(async { self.list().await.map_err(|err| to_protocol_error(&err)) }).await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: service::RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        self.in_request(async {
            let result = match &*request.name {
                SEARCH => self.search(arguments).await,
                FETCH => self.fetch(arguments).await,
                _ => return Err(ErrorData::invalid_params("There is no such tool.", None)),
            };
            Ok(result.unwrap_or_else(|err| to_error_result(&err)).into())
        })
        .await
    }
}

fn parse<T: DeserializeOwned>(arguments: Value) -> Result<T, ApiError> {
    serde_json::from_value(arguments).map_err(|err| invalid_arguments(&err))
}

fn structured(result: &impl Serialize) -> Result<CallToolResult, ApiError> {
    serde_json::to_value(result).map(CallToolResult::structured).map_err(ApiError::internal)
}

/// Returns the error of a request that is no call of a tool. Logs the cause.
fn to_protocol_error(err: &ApiError) -> ErrorData {
    let (_, message) = err.code_and_message();
    ErrorData::internal_error(message.to_owned(), None)
}
