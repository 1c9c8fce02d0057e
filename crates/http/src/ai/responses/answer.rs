//! Response bodies in the shape of OpenAI's responses.

use pia_kernel::{Clock as _, SystemClock};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::members::{pointer_or_null, text, with};

/// Members of the request that a response repeats.
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

/// Members of the request that a response repeats.
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
        // Clients read these without looking whether they are there.
        for (name, usual) in [
            ("parallel_tool_calls", json!(true)),
            ("tool_choice", json!("auto")),
            ("tools", json!([])),
        ] {
            if let Some(value) = echo.get_mut(name).filter(|it| it.is_null()) {
                *value = usual;
            }
        }
        Self(echo)
    }
}

/// An answer that has begun.
pub(super) struct Response {
    id: String,
    created_at: i64,
    echo: Echo,
}

/// Reasons for an incomplete response.
const FINISH_LENGTH: &str = "length";
const FILTER: &str = "content_filter";

impl Response {
    pub(super) fn new(echo: Echo) -> Self {
        let created_at = SystemClock.now().micros() / 1_000_000;
        Self { id: new_id("resp"), created_at, echo }
    }

    /// The response with this status, output and usage.
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
            "usage": usage.map(self::usage),
        });
        if let Some(members) = response.as_object_mut() {
            members.extend(self.echo.0.clone());
        }
        response
    }

    /// The response that has ended for this reason.
    pub(super) fn ended(&self, reason: &str, output: &[Value], usage: Option<&Value>) -> Value {
        let why = match reason {
            FINISH_LENGTH => "max_output_tokens",
            FILTER => FILTER,
            _ => return self.object("completed", output, usage),
        };
        let response = self.object("incomplete", output, usage);
        with(response, "incomplete_details", json!({ "reason": why }))
    }

    /// The response of a whole chat completion.
    pub(super) fn complete_with(&self, completion: &[u8]) -> serde_json::Result<Value> {
        let completion: Value = serde_json::from_slice(completion)?;
        let choice = pointer_or_null(&completion, "/choices/0");
        let mut output = Vec::new();
        let message = text(choice, "/message/content");
        if !message.is_empty() {
            output.push(message_item(&new_id("msg"), message));
        }
        for call in pointer_or_null(choice, "/message/tool_calls").as_array().into_iter().flatten()
        {
            let (name, arguments) =
                (text(call, "/function/name"), text(call, "/function/arguments"));
            output.push(function_call_item(&new_id("fc"), text(call, "/id"), name, arguments));
        }
        let usage = completion.get("usage").filter(|it| !it.is_null());
        Ok(self.ended(text(choice, "/finish_reason"), &output, usage))
    }
}

/// An id of our own; nobody can ask for what it names.
pub(super) fn new_id(kind: &str) -> String {
    format!("{kind}_{}", Uuid::now_v7().simple())
}

/// A message that is whole.
pub(super) fn message_item(id: &str, message: &str) -> Value {
    json!({
        "id": id,
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": [{ "type": "output_text", "text": message, "annotations": [], "logprobs": [] }],
    })
}

/// A function call that is whole.
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

fn usage(reported: &Value) -> Value {
    let of = |pointer: &str| pointer_or_null(reported, pointer).as_i64().unwrap_or(0);
    let (input, output) = (of("/prompt_tokens"), of("/completion_tokens"));
    let cached = of("/prompt_tokens_details/cached_tokens");
    let reasoning = of("/completion_tokens_details/reasoning_tokens");
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

    fn whole(completion: &Value) -> Value {
        let request = json!({ "model": "m", "metadata": { "a": "b" } });
        let echo = Echo::from_request(request.as_object().unwrap().clone());
        Response::new(echo).complete_with(completion.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn text_and_calls_are_items_of_the_output() {
        let response = whole(&json!({
            "choices": [{
                "message": { "content": "Hi", "tool_calls": [
                    { "id": "call", "function": { "name": "look", "arguments": "{}" } },
                ] },
                "finish_reason": "tool_calls",
            }],
            "usage": { "prompt_tokens": 3, "completion_tokens": 2 },
        }));

        assert_eq!((&response["status"], &response["model"]), (&json!("completed"), &json!("m")));
        assert_eq!(response["output"][0]["content"][0]["text"], "Hi");
        assert_eq!(response["output"][1]["call_id"], "call");
        assert_eq!(response["usage"]["total_tokens"], 5);
        assert_eq!(response["metadata"], json!({ "a": "b" }));
    }

    #[test]
    fn an_answer_that_was_cut_off_is_incomplete() {
        for (reason, why) in [("length", "max_output_tokens"), ("content_filter", "content_filter")]
        {
            let choice = json!({ "message": { "content": "Hi" }, "finish_reason": reason });

            let response = whole(&json!({ "choices": [choice] }));

            assert_eq!(response["status"], "incomplete");
            assert_eq!(response["incomplete_details"]["reason"], why);
            assert!(response["usage"].is_null());
        }
    }
}
