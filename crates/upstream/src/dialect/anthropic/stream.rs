//! Anthropic's streams.
//!
//! A stream is `message_start`, then for each block a start, deltas and a stop, then
//! `message_delta` with stop reason and usage, and `message_stop`. Each with content becomes
//! one chunk of the common format, except that citations wait for the end of their block,
//! and that finish reason, usage and `[DONE]` are sent together at the end. Events without
//! content become `Frame::Alive`, so that the upstream does not count as silent.

use std::collections::BTreeMap;

use bytes::Bytes;
use pia_assistant::Frame;
use serde_json::{Value, json};

use super::answer::{Tokens, finish_reason, link, now, status_of};
use crate::dialect::links::Links;
use crate::dialect::reply::{Translate, TranslatedFrames};

/// Maximum number of blocks that are open at once. The API sends one after the other.
const MAX_OPEN_BLOCKS: usize = 128;

/// State of a stream.
#[derive(Debug, Default)]
pub(in crate::dialect) struct Stream {
    id: String,
    model: String,
    created: u64,
    tokens: Tokens,
    /// Open blocks, by number.
    blocks: BTreeMap<u64, Block>,
    calls: usize,
    links: Links,
    finish_reason: Option<&'static str>,
    finished: bool,
}

#[derive(Debug)]
enum Block {
    Text {
        /// Citations to append to the text.
        cited: String,
    },
    Call {
        /// Number among the calls, while blocks of all types are numbered together.
        number: usize,
        has_arguments: bool,
    },
    Thinking,
    /// Block of the upstream's own tools, or unknown.
    Hidden,
}

impl Translate for Stream {
    fn event(&mut self, json: &Bytes, first: bool, output: &mut TranslatedFrames) {
        let Ok(event) = serde_json::from_slice::<Value>(json) else {
            // The reader of the frame reports that it is broken.
            return output.push_upstream_event(json);
        };

        let number = event.get("index").and_then(Value::as_u64).unwrap_or_default();

        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message_start" => self.start_message(event.get("message"), output),
            "content_block_start" if self.blocks.len() >= MAX_OPEN_BLOCKS => {
                output.push_error(Some(502), &json!({ "type": "api_error" }), first);
            }
            "content_block_start" => self.start_block(number, event.get("content_block"), output),
            "content_block_delta" => self.continue_block(number, event.get("delta"), output),
            "content_block_stop" => self.end_block(number, output),
            "message_delta" => {
                self.tokens.add_usage(event.get("usage"));
                let reason = event.pointer("/delta/stop_reason").and_then(Value::as_str);
                self.finish_reason = reason.map(finish_reason).or(self.finish_reason);
                output.frames.push_back(Frame::Alive);
            }
            "message_stop" => self.end(output),
            "error" => {
                let error = event.get("error").cloned().unwrap_or_else(|| json!({}));
                output.push_error(Some(status_of(&error)), &error, first);
            }
            // A ping, or an event type that is newer than this code.
            _ => output.frames.push_back(Frame::Alive),
        }
    }

    fn is_finished(&self) -> Option<bool> {
        Some(self.finished)
    }
}

impl Stream {
    fn start_message(&mut self, message: Option<&Value>, output: &mut TranslatedFrames) {
        let text = |key: &str| message.and_then(|it| it.get(key)).and_then(Value::as_str);
        text("id").unwrap_or_default().clone_into(&mut self.id);
        text("model").unwrap_or_default().clone_into(&mut self.model);
        self.created = now();
        self.tokens.add_usage(message.and_then(|it| it.get("usage")));
        self.push_delta(&json!({ "role": "assistant", "content": "" }), output);
    }

    fn start_block(&mut self, number: u64, block: Option<&Value>, output: &mut TranslatedFrames) {
        let field = |key: &str| block.and_then(|it| it.get(key)).and_then(Value::as_str);
        let block_state = match field("type").unwrap_or_default() {
            "text" => {
                if let Some(text) = field("text").filter(|it| !it.is_empty()) {
                    self.push_delta(&json!({ "content": text }), output);
                }
                Block::Text { cited: String::new() }
            }
            "thinking" => Block::Thinking,
            "tool_use" => {
                let number = self.calls;
                self.calls += 1;
                let arguments = block
                    .and_then(|it| it.get("input"))
                    .and_then(Value::as_object)
                    .filter(|it| !it.is_empty())
                    .map(|it| json!(it).to_string())
                    .unwrap_or_default();
                let has_arguments = !arguments.is_empty();
                let function = json!({ "name": field("name"), "arguments": arguments });
                self.push_call(
                    &json!({ "index": number, "id": field("id"), "type": "function", "function": function }),
                    output,
                );

                Block::Call { number, has_arguments }
            }
            _ => Block::Hidden,
        };
        self.blocks.insert(number, block_state);
    }

    fn continue_block(
        &mut self,
        number: u64,
        delta: Option<&Value>,
        output: &mut TranslatedFrames,
    ) {
        let field = |key: &str| delta.and_then(|it| it.get(key)).and_then(Value::as_str);
        let non_empty = |key: &str| field(key).filter(|it| !it.is_empty());

        match self.blocks.get_mut(&number) {
            Some(Block::Text { cited }) => {
                if let Some(citation) = delta.and_then(|it| it.get("citation")) {
                    cited.extend(link(&mut self.links, citation));
                }
                if let Some(text) = non_empty("text") {
                    return self.push_delta(&json!({ "content": text }), output);
                }
            }
            Some(Block::Thinking) => {
                if let Some(thought) = non_empty("thinking") {
                    return self.push_delta(&json!({ "reasoning_content": thought }), output);
                }
            }
            Some(Block::Call { number, has_arguments }) => {
                if let Some(arguments) = non_empty("partial_json") {
                    *has_arguments = true;
                    let call = json!({ "index": *number, "function": { "arguments": arguments } });
                    return self.push_call(&call, output);
                }
            }
            Some(Block::Hidden) | None => {}
        }

        output.frames.push_back(Frame::Alive);
    }

    fn end_block(&mut self, number: u64, output: &mut TranslatedFrames) {
        match self.blocks.remove(&number) {
            Some(Block::Text { cited }) if !cited.is_empty() => {
                self.push_delta(&json!({ "content": cited }), output);
            }
            // A call without arguments has an empty object.
            Some(Block::Call { number, has_arguments: false }) => {
                let call = json!({ "index": number, "function": { "arguments": "{}" } });
                self.push_call(&call, output);
            }
            _ => output.frames.push_back(Frame::Alive),
        }
    }

    fn end(&mut self, output: &mut TranslatedFrames) {
        let choices = json!([{
            "index": 0,
            "delta": {},
            "finish_reason": self.finish_reason.unwrap_or("stop"),
        }]);
        output.push_value(&self.chunk(&choices));
        let mut usage = self.chunk(&json!([]));
        if let Some(members) = usage.as_object_mut() {
            members.insert("usage".to_owned(), self.tokens.json());
        }

        output.push_value(&usage);
        output.frames.push_back(Frame::Done);
        self.finished = true;
    }

    fn push_delta(&self, delta: &Value, output: &mut TranslatedFrames) {
        let chunk = self.chunk(&json!([{ "index": 0, "delta": delta }]));
        output.push_forwarded(chunk.to_string().as_bytes());
    }

    fn push_call(&self, call: &Value, output: &mut TranslatedFrames) {
        let choices = json!([{ "index": 0, "delta": { "tool_calls": [call] } }]);
        output.push_value(&self.chunk(&choices));
    }

    fn chunk(&self, choices: &Value) -> Value {
        json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
        })
    }
}
