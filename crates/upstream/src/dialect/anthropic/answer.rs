//! Anthropic's full responses, and what they share with streams.
//!
//! The response is a list of blocks: text with its citations, thoughts, and tool calls;
//! other types are dropped. `stream.rs` uses the names of finish reasons, the statuses
//! of errors, the links and the token counts of this file.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use pia_assistant::UpstreamError;
use serde_json::{Map, Value, json};

use crate::dialect::links::Links;
use crate::dialect::reply::refusal;

/// Translates a full response into the common format.
pub(in crate::dialect) fn anthropic_full_response(answer: &Bytes) -> Result<Bytes, UpstreamError> {
    let answer: Value =
        serde_json::from_slice(answer).map_err(|_invalid| UpstreamError::Malformed)?;
    if let Some(error) = answer.get("error").filter(|it| !it.is_null()) {
        return Err(refusal(status_of(error), error));
    }

    let blocks = answer.get("content").and_then(Value::as_array).ok_or(UpstreamError::Malformed)?;
    let mut tokens = Tokens::default();
    tokens.add_usage(answer.get("usage"));
    let reason = answer.get("stop_reason").and_then(Value::as_str).map_or("stop", finish_reason);
    let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default();
    let completion = json!({
        "id": text("id"),
        "object": "chat.completion",
        "created": now(),
        "model": text("model"),
        "choices": [{ "index": 0, "message": message(blocks), "finish_reason": reason }],
        "usage": tokens.json(),
    });

    Ok(Bytes::from(completion.to_string()))
}

fn message(blocks: &[Value]) -> Value {
    let mut text = String::new();
    let mut thinking = String::new();
    let mut calls = Vec::new();
    let mut links = Links::default();
    for block in blocks {
        let field = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        match field("type") {
            "text" => {
                text.push_str(field("text"));
                for citation in
                    block.get("citations").and_then(Value::as_array).into_iter().flatten()
                {
                    text.extend(link(&mut links, citation));
                }
            }
            "thinking" => thinking.push_str(field("thinking")),
            "tool_use" => {
                let arguments =
                    block.get("input").map_or_else(|| "{}".to_owned(), Value::to_string);
                calls.push(json!({
                    "id": field("id"),
                    "type": "function",
                    "function": { "name": field("name"), "arguments": arguments },
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

/// Returns a link to the cited source, to follow the text, or `None` if it was
/// linked before.
pub(super) fn link(links: &mut Links, citation: &Value) -> Option<String> {
    let field = |key: &str| citation.get(key).and_then(Value::as_str);
    if links.add(field("url")?, field("title")) { links.last() } else { None }
}

/// Returns the common name of a stop reason; unknown ones count as a regular end.
pub(super) fn finish_reason(stop_reason: &str) -> &'static str {
    match stop_reason {
        "tool_use" => "tool_calls",
        // The last is a long search that the caller would have to continue.
        "max_tokens" | "model_context_window_exceeded" | "pause_turn" => "length",
        "refusal" => "content_filter",
        _ => "stop",
    }
}

/// Returns the status that Anthropic sends with such an error.
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

/// Returns the seconds since 1970, which the common format requires and
/// Anthropic does not send.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs())
}

/// Token counts of a response so far.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tokens {
    input: u64,
    cache_read: u64,
    cache_written: u64,
    output: u64,
}

impl Tokens {
    /// Updates the counts, which are cumulative, from a usage object.
    pub(super) fn add_usage(&mut self, usage: Option<&Value>) {
        let count = |key: &str| usage.and_then(|it| it.get(key)).and_then(Value::as_u64);
        self.input = count("input_tokens").unwrap_or(self.input);
        self.cache_read = count("cache_read_input_tokens").unwrap_or(self.cache_read);
        self.cache_written = count("cache_creation_input_tokens").unwrap_or(self.cache_written);
        self.output = count("output_tokens").unwrap_or(self.output);
    }

    /// Returns the usage in the common format, in which all input is counted
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
