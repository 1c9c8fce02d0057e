//! Messages between the server and pods, within invocations of SignalR. The pod's
//! side is `messages.rs` of `pod`. What a pod sends may be anything: each reader
//! here checks form and size.

use pia_pods::{CallTarget, PodCall, PodReply, ToolCallError};
use pia_signalr::InvocationResult;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

/// Method of the server with which a pod describes itself.
pub(crate) const HELLO: &str = "Hello";
/// Method of the server with which a pod takes no further calls.
pub(crate) const DRAIN: &str = "Drain";
/// Method of the server with which a pod replaces its token.
pub(crate) const ROTATE_TOKEN: &str = "RotateToken";
/// Method of the server with which a pod reports the progress of a call.
pub(crate) const PROGRESS: &str = "Progress";
/// Method of a pod that calls a tool.
const CALL: &str = "Call";
/// Method of a pod that runs a skill.
const RUN_SKILL: &str = "RunSkill";
/// Method of a pod that cancels a call.
pub(crate) const CANCEL: &str = "Cancel";

/// Maximum length of the text of a result, in bytes.
const MAX_TEXT_BYTES: usize = 200 * 1024;
/// Maximum length of a report of progress, in characters, beyond which it is cut.
const MAX_PROGRESS_CHARS: usize = 500;

/// Progress of a call.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProgressReport {
    pub(crate) call_id: Uuid,
    message: String,
}

impl ProgressReport {
    /// Reads the argument of a pod. It may be anything.
    pub(crate) fn read(argument: Option<Value>) -> Result<Self, String> {
        serde_json::from_value(argument.unwrap_or_default())
            .map_err(|err| format!("Progress has one argument, the report: {err}"))
    }

    /// Returns what the pod reports, cut if it is too long.
    pub(crate) fn into_text(mut self) -> String {
        if let Some((end, _)) = self.message.char_indices().nth(MAX_PROGRESS_CHARS) {
            self.message.truncate(end);
        }
        self.message
    }
}

/// Result of a tool.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallResult {
    /// Text, or another value, which the model reads as JSON.
    content: Value,
    #[serde(default)]
    is_error: bool,
}

/// Returns the method and the argument of a call.
pub(crate) fn invocation(id: Uuid, call: PodCall) -> (&'static str, Value) {
    let call_id = id.to_string();
    let timeout = call.timeout.as_secs();

    match call.target {
        CallTarget::Tool { name, arguments } => {
            let argument = json!({
                "callId": call_id, "tool": name, "arguments": arguments, "timeoutSeconds": timeout,
            });
            (CALL, argument)
        }
        CallTarget::Skill { name, material } => {
            let argument = json!({
                "callId": call_id, "skill": name, "material": material, "timeoutSeconds": timeout,
            });
            (RUN_SKILL, argument)
        }
    }
}

/// Reads what a pod returned for a call. It may be anything.
pub(crate) fn read_reply(result: InvocationResult) -> Result<PodReply, ToolCallError> {
    let value = result.ok().flatten().ok_or(ToolCallError::Failed)?;
    let CallResult { content, is_error } =
        serde_json::from_value(value).map_err(|_other| ToolCallError::Failed)?;
    let size = match &content {
        Value::String(text) => text.len(),
        other => other.to_string().len(),
    };

    if size > MAX_TEXT_BYTES {
        return Err(ToolCallError::Failed);
    }

    Ok(PodReply { content, is_error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_texts_or_json() {
        let read = |value| read_reply(Ok(Some(value)));
        let text = |value| read(value).map(|it| (it.is_error, it.into_text()));
        let reply = |text: &str, is_error| Ok((is_error, text.to_owned()));
        assert_eq!(text(json!({ "content": "Fine." })), reply("Fine.", false));
        assert_eq!(text(json!({ "content": { "a": 1 } })), reply(r#"{"a":1}"#, false));
        assert_eq!(text(json!({ "content": "No.", "isError": true })), reply("No.", true));
        for other in [json!(null), json!("text"), json!({}), json!({ "content": 1, "isError": 2 })]
        {
            assert_eq!(read(other.clone()), Err(ToolCallError::Failed), "{other}");
        }
        let long = json!({ "content": "x".repeat(MAX_TEXT_BYTES + 1) });
        assert_eq!(read(long), Err(ToolCallError::Failed));
        assert_eq!(read_reply(Ok(None)), Err(ToolCallError::Failed));
        assert_eq!(read_reply(Err("no".to_owned())), Err(ToolCallError::Failed));
    }
}
