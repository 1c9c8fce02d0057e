//! Tools that a pod brings. A description is read whenever the pod connects or
//! its tools are replaced, so that it must be cheap; limits are those of
//! `description.rs` in `pods`.

use async_trait::async_trait;
use serde::Serialize;
use serde_json::Value;

use crate::call_context::CallContext;

/// Tool that models can call.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// Returns the description that the server and its models get.
    fn description(&self) -> ToolDescription;

    /// Runs the tool. The model gets the value, or the error as the reason why
    /// there is none. Work that blocks belongs on threads of its own, such as those
    /// of `tokio::task::spawn_blocking`.
    async fn call(&self, arguments: Value, context: CallContext) -> Result<Value, String>;
}

/// Description of a tool.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDescription {
    /// Name, unique within the pod.
    pub name: String,
    /// Explanation of what the tool does and when to use it, for the model.
    pub description: String,
    /// JSON Schema of the arguments, which are an object.
    pub parameters: Value,
    /// JSON Schema of the values that calls return, if the tool promises one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Need of a person's approval; such tools are not offered to models.
    pub dangerous: bool,
    /// Promise that a call may be repeated without harm.
    pub idempotent: bool,
    /// Time limit of a call, up to 600 seconds; the server has a default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u16>,
}

impl ToolDescription {
    /// Describes a tool that is neither dangerous nor idempotent.
    pub fn new(name: &str, description: &str, parameters: Value) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters,
            output_schema: None,
            dangerous: false,
            idempotent: false,
            timeout_seconds: None,
        }
    }
}
