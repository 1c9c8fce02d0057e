//! Streamed answers of Anthropic's.

use std::collections::BTreeMap;

use bytes::Bytes;
use pia_assistant::Frame;
use serde_json::{Value, json};

use super::answer::{Tokens, finish_reason, link, now, status_of};
use crate::dialect::links::Links;
use crate::dialect::reply::{Translate, TranslatedFrames};

/// A stream.
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
        /// Text after it: its citations.
        cited: String,
    },
    Call {
        number: usize,
        has_arguments: bool,
    },
    Thinking,
    /// Block of the upstream's own tools, or unknown.
    Hidden,
}

impl Translate for Stream {
    fn event(&mut self, json: &Bytes, first: bool, stated: &mut TranslatedFrames) {
        let Ok(event) = serde_json::from_slice::<Value>(json) else {
            // Whoever reads on finds that it is broken.
            return stated.push_unchanged(json);
        };
        let number = event.get("index").and_then(Value::as_u64).unwrap_or_default();
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message_start" => self.begin(event.get("message"), stated),
            "content_block_start" => self.begin_block(number, event.get("content_block"), stated),
            "content_block_delta" => self.go_on(number, event.get("delta"), stated),
            "content_block_stop" => self.end_block(number, stated),
            "message_delta" => {
                self.tokens.add_usage(event.get("usage"));
                let reason = event.pointer("/delta/stop_reason").and_then(Value::as_str);
                self.finish_reason = reason.map(finish_reason).or(self.finish_reason);
                stated.frames.push_back(Frame::Alive);
            }
            "message_stop" => self.end(stated),
            "error" => {
                let error = event.get("error").cloned().unwrap_or_else(|| json!({}));
                stated.error(Some(status_of(&error)), &error, first);
            }
            // A sign of life, or a kind of event that came later than this.
            _ => stated.frames.push_back(Frame::Alive),
        }
    }

    fn is_finished(&self) -> Option<bool> {
        Some(self.finished)
    }
}

impl Stream {
    fn begin(&mut self, message: Option<&Value>, stated: &mut TranslatedFrames) {
        let text = |key: &str| message.and_then(|it| it.get(key)).and_then(Value::as_str);
        text("id").unwrap_or_default().clone_into(&mut self.id);
        text("model").unwrap_or_default().clone_into(&mut self.model);
        self.created = now();
        self.tokens.add_usage(message.and_then(|it| it.get("usage")));
        self.push_delta(&json!({ "role": "assistant", "content": "" }), stated);
    }

    fn begin_block(&mut self, number: u64, block: Option<&Value>, stated: &mut TranslatedFrames) {
        let of = |key: &str| block.and_then(|it| it.get(key)).and_then(Value::as_str);
        let begun = match of("type").unwrap_or_default() {
            "text" => {
                if let Some(text) = of("text").filter(|it| !it.is_empty()) {
                    self.push_delta(&json!({ "content": text }), stated);
                }
                Block::Text { cited: String::new() }
            }
            "thinking" => Block::Thinking,
            "tool_use" => {
                let number = self.calls;
                self.calls += 1;
                let input = block.and_then(|it| it.get("input")).and_then(Value::as_object);
                let input = input.filter(|it| !it.is_empty());
                let arguments = input.map(|it| json!(it).to_string()).unwrap_or_default();
                let has_arguments = !arguments.is_empty();
                let function = json!({ "name": of("name"), "arguments": arguments });
                self.call(
                    &json!({ "index": number, "id": of("id"), "type": "function", "function": function }),
                    stated,
                );
                Block::Call { number, has_arguments }
            }
            _ => Block::Hidden,
        };
        self.blocks.insert(number, begun);
    }

    fn go_on(&mut self, number: u64, delta: Option<&Value>, stated: &mut TranslatedFrames) {
        let of = |key: &str| delta.and_then(|it| it.get(key)).and_then(Value::as_str);
        let words = |key: &str| of(key).filter(|it| !it.is_empty());
        match self.blocks.get_mut(&number) {
            Some(Block::Text { cited }) => {
                if let Some(citation) = delta.and_then(|it| it.get("citation")) {
                    cited.extend(link(&mut self.links, citation));
                }
                if let Some(text) = words("text") {
                    return self.push_delta(&json!({ "content": text }), stated);
                }
            }
            Some(Block::Thinking) => {
                if let Some(thought) = words("thinking") {
                    return self.push_delta(&json!({ "reasoning_content": thought }), stated);
                }
            }
            Some(Block::Call { number, has_arguments }) => {
                if let Some(more) = words("partial_json") {
                    *has_arguments = true;
                    let call = json!({ "index": *number, "function": { "arguments": more } });
                    return self.call(&call, stated);
                }
            }
            Some(Block::Hidden) | None => {}
        }
        stated.frames.push_back(Frame::Alive);
    }

    fn end_block(&mut self, number: u64, stated: &mut TranslatedFrames) {
        match self.blocks.remove(&number) {
            Some(Block::Text { cited }) if !cited.is_empty() => {
                self.push_delta(&json!({ "content": cited }), stated);
            }
            // A call of a tool that takes nothing is one with an empty object.
            Some(Block::Call { number, has_arguments: false }) => {
                self.call(&json!({ "index": number, "function": { "arguments": "{}" } }), stated);
            }
            _ => stated.frames.push_back(Frame::Alive),
        }
    }

    fn end(&mut self, stated: &mut TranslatedFrames) {
        let choices = json!([{
            "index": 0,
            "delta": {},
            "finish_reason": self.finish_reason.unwrap_or("stop"),
        }]);
        stated.push_parsed(&self.chunk(&choices));
        let mut usage = self.chunk(&json!([]));
        if let Some(members) = usage.as_object_mut() {
            members.insert("usage".to_owned(), self.tokens.json());
        }
        stated.push_parsed(&usage);
        stated.frames.push_back(Frame::Done);
        self.finished = true;
    }

    fn push_delta(&self, delta: &Value, stated: &mut TranslatedFrames) {
        let chunk = self.chunk(&json!([{ "index": 0, "delta": delta }]));
        stated.plain(chunk.to_string().as_bytes());
    }

    fn call(&self, call: &Value, stated: &mut TranslatedFrames) {
        stated
            .push_parsed(&self.chunk(&json!([{ "index": 0, "delta": { "tool_calls": [call] } }])));
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
