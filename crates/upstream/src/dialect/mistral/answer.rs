//! Mistral's responses in the common format.
//!
//! Three things differ: contents may be arrays of chunks (text, thoughts, references),
//! calls and results of Mistral's own web search appear as messages, and a failure may
//! be a finish reason. `MessageNormalizer` handles the first two, alike in streams and
//! in full responses, which may consist of several messages.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::WEB_SEARCH;
use crate::dialect::SearchMode;
use crate::dialect::links::Links;
use crate::dialect::reply::{Translate, TranslatedFrames};

/// Maximum number of calls and messages of Mistral's own tools in a response.
const MAX_OWN_CALLS: usize = 256;

/// Translation of a stream.
#[derive(Debug)]
pub(in crate::dialect) struct Stream(MessageNormalizer);

impl Stream {
    pub(in crate::dialect) fn new(search: SearchMode) -> Self {
        Self(MessageNormalizer::new(search))
    }
}

impl Translate for Stream {
    fn event(&mut self, json: &Bytes, first: bool, output: &mut TranslatedFrames) {
        let Ok(mut event) = serde_json::from_slice::<Value>(json) else {
            return output.push_upstream_event(json);
        };
        if event.get("choices").is_none() {
            return output.push_forwarded(json);
        }

        let mut is_significant = event.get("usage").is_some_and(Value::is_object)
            || event.get("error").is_some_and(|it| !it.is_null());
        let mut no_content = true;
        let choices = event.get_mut("choices").and_then(Value::as_array_mut);
        for choice in choices.into_iter().flatten().filter_map(Value::as_object_mut) {
            match normalize_finish_reason(choice) {
                FinishKind::Error => return output.push_error(Some(502), &failure(), first),
                FinishKind::Reason => is_significant = true,
                FinishKind::Open => {}
            }

            if let Some(delta) = choice.get_mut("delta").and_then(Value::as_object_mut) {
                self.0.normalize_message(delta);
                is_significant |= delta.contains_key("tool_calls");
                no_content &= delta.is_empty();
            }
        }

        if self.0.exceeds_limit() {
            return output.push_error(Some(502), &failure(), first);
        }

        let json = Bytes::from(event.to_string());

        if is_significant {
            output.push_upstream_event(&json);
        } else if no_content {
            output.frames.push_back(pia_assistant::Frame::Alive);
        } else {
            output.push_forwarded(&json);
        }
    }
}

/// Translates a full response.
pub(in crate::dialect) fn mistral_full_response(answer: Bytes, search: SearchMode) -> Bytes {
    let Ok(mut parsed) = serde_json::from_slice::<Value>(&answer) else { return answer };

    let choices = parsed.get_mut("choices").and_then(Value::as_array_mut);
    let mut failed = false;
    for choice in choices.into_iter().flatten().filter_map(Value::as_object_mut) {
        failed |= matches!(normalize_finish_reason(choice), FinishKind::Error);
        let several_messages = choice.remove("messages");
        let single_message = choice.remove("message");
        let messages = match several_messages {
            Some(Value::Array(messages)) => messages,
            _ => single_message.into_iter().collect(),
        };

        if let Some(message) = merge_messages(messages, search) {
            choice.insert("message".to_owned(), message);
        }
    }

    if failed && let Some(members) = parsed.as_object_mut() {
        members.insert("error".to_owned(), failure());
    }

    Bytes::from(parsed.to_string())
}

/// Merges the messages of a response and drops those of Mistral's own tools.
fn merge_messages(messages: Vec<Value>, search: SearchMode) -> Option<Value> {
    let mut normalizer = MessageNormalizer::new(search);
    let mut merged_message: Option<Map<String, Value>> = None;
    for (number, message) in messages.into_iter().enumerate() {
        let Value::Object(mut message) = message else { continue };

        message.entry("index").or_insert_with(|| number.into());
        normalizer.normalize_message(&mut message);
        if message.is_empty() {
            continue;
        }

        let members = merged_message
            .get_or_insert_with(|| Map::from_iter([("role".into(), "assistant".into())]));

        for (key, value) in message {
            match (members.get_mut(&key), value) {
                (Some(Value::String(text)), Value::String(more)) if key != "role" => {
                    text.push_str(&more);
                }
                (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
                (_, value) => drop(members.insert(key, value)),
            }
        }
    }

    merged_message.map(Value::Object)
}

enum FinishKind {
    Open,
    Reason,
    Error,
}

/// Reads the finish reason and gives it its common name.
fn normalize_finish_reason(choice: &mut Map<String, Value>) -> FinishKind {
    match choice.get("finish_reason").and_then(Value::as_str) {
        None | Some("") => FinishKind::Open,
        Some("error") => FinishKind::Error,
        Some("model_length") => {
            choice.insert("finish_reason".to_owned(), "length".into());
            FinishKind::Reason
        }
        Some(_) => FinishKind::Reason,
    }
}

fn failure() -> Value {
    json!({ "type": "upstream_error" })
}

/// State of the response so far.
#[derive(Debug)]
struct MessageNormalizer {
    search: SearchMode,
    links: Links,
    /// Messages of Mistral's own tools, by index.
    tool_messages: BTreeSet<u64>,
    /// Calls of Mistral's own tools.
    own_calls: BTreeSet<CallPosition>,
}

/// Indexes of a tool call and of its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CallPosition {
    message: u64,
    call: u64,
}

impl MessageNormalizer {
    fn new(search: SearchMode) -> Self {
        let links = Links::default();
        Self { search, links, tool_messages: BTreeSet::new(), own_calls: BTreeSet::new() }
    }

    /// Returns whether there were more calls of own tools than are permitted.
    fn exceeds_limit(&self) -> bool {
        self.tool_messages.len() + self.own_calls.len() > MAX_OWN_CALLS
    }

    /// Removes members that are not for the caller from a message, and all members from a
    /// message of Mistral's own tools.
    fn normalize_message(&mut self, message: &mut Map<String, Value>) {
        let number = message.remove("index").and_then(|it| it.as_u64()).unwrap_or_default();
        message.remove("metadata");

        if message.get("role").is_some_and(|it| it == "tool") {
            self.tool_messages.insert(number);
        }

        if self.tool_messages.contains(&number) {
            message.clear();
            return;
        }

        message.remove("tool_call_id");
        self.normalize_tool_calls(number, message);

        if let Some(Value::Array(chunks)) = message.get("content") {
            let (text, thinking) = self.texts(chunks);
            message.insert("content".to_owned(), text.into());
            if !thinking.is_empty() {
                message.insert("reasoning_content".to_owned(), thinking.into());
            }
        }
    }

    fn normalize_tool_calls(&mut self, number: u64, message: &mut Map<String, Value>) {
        let Some(Value::Array(calls)) = message.get_mut("tool_calls") else {
            message.remove("tool_calls");
            return;
        };

        // A later part of a streamed call may have no name: the position tells
        // whose it is.
        calls.retain(|call| {
            let index = call.get("index").and_then(Value::as_u64).unwrap_or_default();
            let position = CallPosition { message: number, call: index };

            match call.pointer("/function/name").and_then(Value::as_str) {
                Some(WEB_SEARCH) if self.search == SearchMode::On => {
                    self.own_calls.insert(position);
                }
                Some(name) if !name.is_empty() => {
                    self.own_calls.remove(&position);
                }
                _ => {}
            }

            !self.own_calls.contains(&position)
        });

        if calls.is_empty() {
            message.remove("tool_calls");
        }
    }

    /// Returns the text, with links, and the thoughts of several chunks.
    fn texts(&mut self, chunks: &[Value]) -> (String, String) {
        let mut text = String::new();
        let mut thinking = String::new();
        for chunk in chunks {
            let field = |key: &str| chunk.get(key).and_then(Value::as_str);
            match field("type") {
                Some("text") | None => text.push_str(field("text").unwrap_or_default()),
                Some("thinking") => thinking.push_str(&thoughts(chunk)),
                Some("tool_reference") => {
                    if self.links.add(field("url").unwrap_or_default(), field("title")) {
                        text.extend(self.links.last());
                    }
                }
                Some(_) => {}
            }
        }

        (text, thinking)
    }
}

fn thoughts(chunk: &Value) -> String {
    chunk.get("thinking").map(crate::dialect::reply::text_of).unwrap_or_default()
}
