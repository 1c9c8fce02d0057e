//! Messages between a pod and the server, as JSON. The server's side is
//! `messages.rs` of `uplink`, and `description.rs` of `pods`; members that either
//! does not know are ignored.

use pia_kernel::{Secret, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::tool::ToolDescription;

/// Version of the messages, which the server requires exactly.
const PROTOCOL: u8 = 1;

/// Maximum length of a result as JSON, in bytes: the server takes no longer one.
const MAX_RESULT_BYTES: usize = 200 * 1024;

/// Maximum nesting depth of a result. The server ends a connection with a
/// deeper one.
const MAX_RESULT_DEPTH: usize = 64;

/// First message of a pod on each connection.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PodDescription<'a> {
    protocol: u8,
    name: &'a str,
    version: &'a str,
    tools: Vec<ToolDescription>,
    skills: Vec<Value>,
    max_concurrent_calls: usize,
}

impl<'a> PodDescription<'a> {
    pub(crate) fn new(
        name: &'a str,
        version: &'a str,
        tools: Vec<ToolDescription>,
        skills: Vec<Value>,
        max_concurrent_calls: usize,
    ) -> Self {
        Self { protocol: PROTOCOL, name, version, tools, skills, max_concurrent_calls }
    }
}

/// Response to the first message.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HelloResponse {
    pub(crate) pod_id: String,
    pub(crate) connector_id: String,
    /// End of the token of the connection, which older servers do not name.
    pub(crate) token_expires_at: Option<Timestamp>,
}

/// Response to the request for another token.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewToken {
    pub(crate) token: Secret<String>,
    pub(crate) expires_at: Timestamp,
}

/// Call of a tool.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallRequest {
    pub(crate) call_id: String,
    pub(crate) tool: String,
    #[serde(default)]
    pub(crate) arguments: Map<String, Value>,
    pub(crate) timeout_seconds: u64,
}

/// Run of a skill.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunSkillRequest {
    pub(crate) call_id: String,
    pub(crate) skill: String,
    pub(crate) material: String,
    pub(crate) timeout_seconds: u64,
}

/// Formats the result of a call. One that the server would not take is replaced
/// by an error.
pub(crate) fn format_result(outcome: Result<Value, String>) -> Value {
    let result = match outcome {
        Ok(content) => json!({ "content": content }),
        Err(error) => json!({ "content": error, "isError": true }),
    };
    let length = result.to_string().len();
    let error = if length > MAX_RESULT_BYTES {
        format!("the result is too large: {length} of {MAX_RESULT_BYTES} bytes")
    } else if !is_within_depth(&result, MAX_RESULT_DEPTH) {
        "the result is nested too deeply".to_owned()
    } else {
        return result;
    };

    json!({ "content": error, "isError": true })
}

fn is_within_depth(value: &Value, levels: usize) -> bool {
    let Some(inner) = levels.checked_sub(1) else { return false };
    match value {
        Value::Array(items) => items.iter().all(|it| is_within_depth(it, inner)),
        Value::Object(members) => members.values().all(|it| is_within_depth(it, inner)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_values_or_errors() {
        assert_eq!(format_result(Ok(json!({ "a": 1 }))), json!({ "content": { "a": 1 } }));
        assert_eq!(
            format_result(Err("no".to_owned())),
            json!({ "content": "no", "isError": true })
        );
    }

    #[test]
    fn a_result_that_the_server_would_not_take_is_an_error() {
        let large = format_result(Ok("x".repeat(MAX_RESULT_BYTES).into()));
        let nested = |levels| (1..levels).fold(json!(0), |inner, _| json!([inner]));

        assert_eq!(large["isError"], true);
        assert_eq!(format_result(Ok(nested(64)))["content"], "the result is nested too deeply");
        assert_eq!(format_result(Ok(nested(63)))["isError"], Value::Null);
    }
}
