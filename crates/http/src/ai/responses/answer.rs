//! Response objects of OpenAI's responses API.

use pia_kernel::{Clock as _, SystemClock};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::members::{pointer_or_null, text, with};

/// Fields of the request that a response repeats.
const ECHOED_FIELDS: [&str; 10] = [
    "instructions",
    "max_output_tokens",
    "metadata",
    "parallel_tool_calls",
    "reasoning",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_p",
];

/// Reason for the end of a completion that reached the maximum number of tokens.
const FINISH_LENGTH: &str = "length";
/// Reason for the end of a completion that was filtered; also that of the response.
const FILTER: &str = "content_filter";

/// Fields of the request that a response repeats.
#[derive(Debug, Clone)]
pub(super) struct Echo(Map<String, Value>);

impl Echo {
    pub(super) fn from_request(mut request: Map<String, Value>) -> Self {
        let mut echo: Map<String, Value> = ECHOED_FIELDS
            .iter()
            .map(|&name| (name.to_owned(), request.remove(name).unwrap_or(Value::Null)))
            .collect();

        let model = request.remove("model").unwrap_or_else(|| json!(pia_assistant::DEFAULT_MODEL));
        echo.insert("model".to_owned(), model);

        // Clients read these without checking that they exist.
        for (name, default) in [
            ("parallel_tool_calls", json!(true)),
            ("tool_choice", json!("auto")),
            ("tools", json!([])),
        ] {
            if let Some(value) = echo.get_mut(name).filter(|it| it.is_null()) {
                *value = default;
            }
        }

        Self(echo)
    }
}

/// Response in progress.
pub(super) struct Response {
    id: String,
    created_at: i64,
    echo: Echo,
}

impl Response {
    pub(super) fn new(echo: Echo) -> Self {
        let created_at = SystemClock.now().micros() / 1_000_000;
        Self { id: new_id("resp"), created_at, echo }
    }

    /// Returns the response object with this status, output and usage.
    pub(super) fn object(&self, status: &str, output: &[Value], usage: Option<&Value>) -> Value {
        let mut response = json!({
            "id": self.id,
            "object": "response",
            "created_at": self.created_at,
            "status": status,
            "error": null,
            "incomplete_details": null,
            "output": output,
            "previous_response_id": null,
            "store": false,
            "truncation": "disabled",
            "usage": usage.map(usage_object),
        });

        if let Some(members) = response.as_object_mut() {
            members.extend(self.echo.0.clone());
        }

        response
    }

    /// Returns the final response object for a finish reason.
    pub(super) fn final_object(
        &self,
        reason: &str,
        output: &[Value],
        usage: Option<&Value>,
    ) -> Value {
        let Some(incomplete_reason) = incomplete_reason(reason) else {
            return self.object("completed", output, usage);
        };
        let response = self.object("incomplete", output, usage);
        with(response, "incomplete_details", json!({ "reason": incomplete_reason }))
    }

    /// Returns the response object of a full chat completion.
    pub(super) fn complete_with(&self, completion: &[u8]) -> serde_json::Result<Value> {
        let completion: Value = serde_json::from_slice(completion)?;
        let choice = pointer_or_null(&completion, "/choices/0");
        let finish_reason = text(choice, "/finish_reason");
        let mut output = Vec::new();
        let content = text(choice, "/message/content");
        if !content.is_empty() {
            output.push(message_item(&new_id("msg"), content, finish_reason));
        }

        for call in pointer_or_null(choice, "/message/tool_calls").as_array().into_iter().flatten()
        {
            let name = text(call, "/function/name");
            let arguments = text(call, "/function/arguments");
            output.push(function_call_item(&new_id("fc"), text(call, "/id"), name, arguments));
        }

        let usage = completion.get("usage").filter(|it| !it.is_null());

        Ok(self.final_object(finish_reason, &output, usage))
    }
}

/// Returns a new id; the object it names cannot be retrieved.
pub(super) fn new_id(kind: &str) -> String {
    format!("{kind}_{}", Uuid::now_v7().simple())
}

/// Returns the reason for which a response is incomplete, by that for the end of its
/// completion.
fn incomplete_reason(finish_reason: &str) -> Option<&'static str> {
    match finish_reason {
        FINISH_LENGTH => Some("max_output_tokens"),
        FILTER => Some(FILTER),
        _ => None,
    }
}

/// Returns the message item of a completion that ended for this reason.
pub(super) fn message_item(id: &str, content: &str, finish_reason: &str) -> Value {
    let is_incomplete = incomplete_reason(finish_reason).is_some();
    json!({
        "id": id,
        "type": "message",
        "status": if is_incomplete { "incomplete" } else { "completed" },
        "role": "assistant",
        "content": [{ "type": "output_text", "text": content, "annotations": [], "logprobs": [] }],
    })
}

/// Returns a complete function call item.
pub(super) fn function_call_item(id: &str, call_id: &str, name: &str, arguments: &str) -> Value {
    json!({
        "id": id,
        "type": "function_call",
        "status": "completed",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
    })
}

fn usage_object(usage: &Value) -> Value {
    let count = |pointer: &str| pointer_or_null(usage, pointer).as_i64().unwrap_or(0);
    let input = count("/prompt_tokens");
    let output = count("/completion_tokens");
    let cached = count("/prompt_tokens_details/cached_tokens");
    let reasoning = count("/completion_tokens_details/reasoning_tokens");
    json!({
        "input_tokens": input,
        "input_tokens_details": { "cached_tokens": cached },
        "output_tokens": output,
        "output_tokens_details": { "reasoning_tokens": reasoning },
        "total_tokens": input + output,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(completion: &Value) -> Value {
        let request = json!({ "model": "m", "metadata": { "a": "b" } });
        let echo = Echo::from_request(request.as_object().unwrap().clone());
        Response::new(echo).complete_with(completion.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn text_and_calls_are_items_of_the_output() {
        let response = complete(&json!({
            "choices": [{
                "message": { "content": "Hi", "tool_calls": [
                    { "id": "call", "function": { "name": "look", "arguments": "{}" } },
                ] },
                "finish_reason": "tool_calls",
            }],
            "usage": { "prompt_tokens": 3, "completion_tokens": 2 },
        }));

        assert_eq!(response["status"], "completed");
        assert_eq!(response["model"], "m");
        assert_eq!(response["output"][0]["status"], "completed");
        assert_eq!(response["output"][0]["content"][0]["text"], "Hi");
        assert_eq!(response["output"][1]["call_id"], "call");
        assert_eq!(response["usage"]["total_tokens"], 5);
        assert_eq!(response["metadata"], json!({ "a": "b" }));
    }

    #[test]
    fn a_truncated_response_is_incomplete() {
        for (reason, expected) in
            [("length", "max_output_tokens"), ("content_filter", "content_filter")]
        {
            let choice = json!({ "message": { "content": "Hi" }, "finish_reason": reason });

            let response = complete(&json!({ "choices": [choice] }));

            assert_eq!(response["status"], "incomplete");
            assert_eq!(response["incomplete_details"]["reason"], expected);
            assert_eq!(response["output"][0]["status"], "incomplete");
            assert!(response["usage"].is_null());
        }
    }
}
