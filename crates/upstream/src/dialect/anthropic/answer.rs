//! Whole answers of Anthropic's, and what they have in common with streams.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use pia_assistant::UpstreamError;
use serde_json::{Map, Value, json};

use crate::dialect::links::Links;
use crate::dialect::reply::{malformed_response, refusal};

/// A whole answer in the common form.
pub(in crate::dialect) fn anthropic_full_response(answer: &Bytes) -> Result<Bytes, UpstreamError> {
    let answer: Value = serde_json::from_slice(answer).map_err(|_invalid| malformed_response())?;
    if let Some(error) = answer.get("error").filter(|it| !it.is_null()) {
        return Err(refusal(status_of(error), error));
    }
    let blocks = answer.get("content").and_then(Value::as_array).ok_or_else(malformed_response)?;
    let mut tokens = Tokens::default();
    tokens.add_usage(answer.get("usage"));
    let reason = answer.get("stop_reason").and_then(Value::as_str).map_or("stop", finish_reason);
    let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default();
    let whole = json!({
        "id": text("id"),
        "object": "chat.completion",
        "created": now(),
        "model": text("model"),
        "choices": [{ "index": 0, "message": message(blocks), "finish_reason": reason }],
        "usage": tokens.json(),
    });
    Ok(Bytes::from(whole.to_string()))
}

fn message(blocks: &[Value]) -> Value {
    let (mut text, mut thinking, mut calls) = (String::new(), String::new(), Vec::new());
    let mut links = Links::default();
    for block in blocks {
        let of = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        match of("type") {
            "text" => {
                text.push_str(of("text"));
                for citation in
                    block.get("citations").and_then(Value::as_array).into_iter().flatten()
                {
                    text.extend(link(&mut links, citation));
                }
            }
            "thinking" => thinking.push_str(of("thinking")),
            "tool_use" => {
                let arguments =
                    block.get("input").map_or_else(|| "{}".to_owned(), Value::to_string);
                calls.push(json!({
                    "id": of("id"),
                    "type": "function",
                    "function": { "name": of("name"), "arguments": arguments },
                }));
            }
            _ => {}
        }
    }
    let mut message = Map::new();
    message.insert("role".to_owned(), "assistant".into());
    message.insert("content".to_owned(), text.into());
    if !thinking.is_empty() {
        message.insert("reasoning_content".to_owned(), thinking.into());
    }
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), calls.into());
    }
    Value::Object(message)
}

/// The place that was cited, to stand behind the words; nothing where it was
/// linked before.
pub(super) fn link(links: &mut Links, citation: &Value) -> Option<String> {
    let of = |key: &str| citation.get(key).and_then(Value::as_str);
    if links.add(of("url")?, of("title")) { links.last() } else { None }
}

pub(super) fn finish_reason(stop_reason: &str) -> &'static str {
    match stop_reason {
        "tool_use" => "tool_calls",
        // The last is a long search that the caller would have to ask to go on.
        "max_tokens" | "model_context_window_exceeded" | "pause_turn" => "length",
        "refusal" => "content_filter",
        _ => "stop",
    }
}

/// With which status such an error comes where it is reported with one.
pub(super) fn status_of(error: &Value) -> u16 {
    match error.get("type").and_then(Value::as_str).unwrap_or_default() {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    }
}

/// Seconds since 1970, which the form requests and Anthropic does not tell.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs())
}

/// The tokens of an answer so far.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tokens {
    input: u64,
    cache_read: u64,
    cache_written: u64,
    output: u64,
}

impl Tokens {
    /// Takes what is reported; all of it is cumulative.
    pub(super) fn add_usage(&mut self, usage: Option<&Value>) {
        let reported = |key: &str| usage.and_then(|it| it.get(key)).and_then(Value::as_u64);
        self.input = reported("input_tokens").unwrap_or(self.input);
        self.cache_read = reported("cache_read_input_tokens").unwrap_or(self.cache_read);
        self.cache_written = reported("cache_creation_input_tokens").unwrap_or(self.cache_written);
        self.output = reported("output_tokens").unwrap_or(self.output);
    }

    /// Returns the usage in the common form, in which all input is counted
    /// together.
    pub(super) fn json(self) -> Value {
        let input = self.input.saturating_add(self.cache_read).saturating_add(self.cache_written);
        json!({
            "prompt_tokens": input,
            "completion_tokens": self.output,
            "total_tokens": input.saturating_add(self.output),
            "prompt_tokens_details": { "cached_tokens": self.cache_read },
        })
    }
}
