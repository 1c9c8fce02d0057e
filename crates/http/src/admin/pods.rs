//! `/api/admin/connectors/…`: pods that are connected, and calls that try their
//! tools.

use actix_web::web::{Data, Json};
use pia_kernel::{ConnectorId, Timestamp};
use pia_pods::{ConnectedPod, PodId, PodTool, ToolCallError};
use pia_web::{Body, Caller, PathId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::auth::Done;
use crate::{Api, HttpError};

/// Pod that is connected to any instance.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConnectedPodResponse {
    #[schema(format = Uuid)]
    id: String,
    #[schema(format = Uuid)]
    connector_id: String,
    name: String,
    version: String,
    /// Names of its tools.
    tools: Vec<String>,
    /// Names of the skills that it runs.
    skills: Vec<String>,
    /// Machine of the instance that it is connected to.
    host: String,
    #[schema(value_type = String, format = DateTime)]
    connected_at: Timestamp,
    calls: i64,
    /// Number of calls that failed.
    failures: i64,
    /// Mean duration of its calls in milliseconds.
    mean_milliseconds: i64,
    /// True if it takes no further calls, and ends.
    is_draining: bool,
}

/// Tool that the connected pods of a connector bring.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConnectorToolResponse {
    name: String,
    /// Description, which the model reads.
    description: String,
    /// JSON Schema of the arguments.
    #[schema(value_type = Object)]
    parameters: Value,
    /// JSON Schema of the result; missing if it may be anything.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<Value>,
    /// True if models may not call it.
    is_dangerous: bool,
    /// True if a call may be repeated without a further effect.
    is_idempotent: bool,
    /// Time limit of a call.
    timeout_seconds: u32,
}

/// Call that tries a tool.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct TestCallRequest {
    /// Name of the tool.
    tool: String,
    /// Arguments, an object.
    #[schema(value_type = Object)]
    arguments: Box<RawValue>,
}

/// Outcome of a call that tried a tool.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TestCallResponse {
    /// `completed`, or `failed` if the tool says so; if it was not called or returned no
    /// result, `not_granted`, `invalid_arguments`, `busy`, `lost`, `timed_out` or
    /// `unavailable`.
    outcome: &'static str,
    /// Result as models read it, or the reason why there is none.
    text: String,
}

/// Lists the pods that are connected to any instance.
pub(crate) async fn list(api: Data<Api>) -> Result<Json<Vec<ConnectedPodResponse>>, HttpError> {
    let pods = api.run(|api| async move { api.connectors.connected().await }).await?;
    Ok(Json(pods.into_iter().map(Into::into).collect()))
}

/// Lists the tools that the connected pods of a connector bring, by name.
pub(crate) async fn tools(
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Vec<ConnectorToolResponse>>, HttpError> {
    let tools = api.run(|api| async move { api.connectors.tools(ConnectorId(id)).await }).await?;
    Ok(Json(tools.into_iter().map(Into::into).collect()))
}

/// Ends a pod: it gets no further calls, and is disconnected after those in progress.
pub(crate) async fn drain(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Done>, HttpError> {
    let by = Some(caller.0.user);
    api.run(|api| async move { api.connectors.drain(by, PodId(id)).await }).await?;
    Ok(Json(Done::success()))
}

/// Calls a tool of a connector to try it, also one that is dangerous or granted to
/// nobody.
pub(crate) async fn test_call(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    Body(request): Body<TestCallRequest>,
) -> Result<Json<TestCallResponse>, HttpError> {
    let by = caller.0.user;

    let result = api
        .run(|api| async move {
            api.connectors.find(ConnectorId(id)).await?;
            let arguments = request.arguments.get();
            let tool = &request.tool;
            Ok::<_, HttpError>(api.tools.try_tool(by, ConnectorId(id), tool, arguments).await)
        })
        .await?;

    Ok(Json(match result {
        Ok(reply) => TestCallResponse { outcome: reply.outcome(), text: reply.into_text() },
        Err(err) => TestCallResponse { outcome: err.name(), text: reason(&err) },
    }))
}

/// Returns the reason for administrators, who may try what models may not call.
fn reason(err: &ToolCallError) -> String {
    match err {
        ToolCallError::NotGranted => "No connected pod has this tool.".to_owned(),
        err => err.to_string(),
    }
}

impl From<PodTool> for ConnectorToolResponse {
    fn from(tool: PodTool) -> Self {
        Self {
            name: tool.name,
            description: tool.description,
            parameters: tool.parameters,
            output_schema: tool.output_schema,
            is_dangerous: tool.dangerous,
            is_idempotent: tool.idempotent,
            timeout_seconds: tool.timeout_seconds,
        }
    }
}

impl From<ConnectedPod> for ConnectedPodResponse {
    fn from(pod: ConnectedPod) -> Self {
        let description = pod.description;
        Self {
            id: pod.id.0.to_string(),
            connector_id: pod.connector.to_string(),
            name: description.name,
            version: description.version,
            tools: description.tools.into_iter().map(|it| it.name).collect(),
            skills: description.skills.into_iter().map(|it| it.name).collect(),
            host: pod.host,
            connected_at: pod.connected_at,
            calls: pod.calls,
            failures: pod.failures,
            mean_milliseconds: pod.milliseconds.checked_div(pod.calls).unwrap_or_default(),
            is_draining: pod.is_draining,
        }
    }
}
