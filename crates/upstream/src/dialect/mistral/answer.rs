//! Answers of Mistral, in the common form.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::WEB_SEARCH;
use crate::dialect::SearchMode;
use crate::dialect::links::Links;
use crate::dialect::reply::{Translate, TranslatedFrames};

/// A stream.
#[derive(Debug)]
pub(in crate::dialect) struct Stream(MessageNormalizer);

impl Stream {
    pub(in crate::dialect) fn new(search: SearchMode) -> Self {
        Self(MessageNormalizer::new(search))
    }
}

impl Translate for Stream {
    fn event(&mut self, json: &Bytes, first: bool, message: &mut TranslatedFrames) {
        let Ok(mut event) = serde_json::from_slice::<Value>(json) else {
            return message.push_unchanged(json);
        };
        if event.get("choices").is_none() {
            return message.plain(json);
        }
        let mut worth = event.get("usage").is_some_and(Value::is_object)
            || event.get("error").is_some_and(|it| !it.is_null());
        let mut silent = true;
        let choices = event.get_mut("choices").and_then(Value::as_array_mut);
        for choice in choices.into_iter().flatten().filter_map(Value::as_object_mut) {
            match normalize_finish_reason(choice) {
                FinishKind::Error => return message.error(Some(502), &failure(), first),
                FinishKind::Reason => worth = true,
                FinishKind::Open => {}
            }
            if let Some(delta) = choice.get_mut("delta").and_then(Value::as_object_mut) {
                self.0.normalize_message(delta);
                worth |= delta.contains_key("tool_calls");
                silent &= delta.is_empty();
            }
        }
        let json = Bytes::from(event.to_string());
        match (worth, silent) {
            (true, _) => message.push_unchanged(&json),
            (false, true) => message.frames.push_back(pia_assistant::Frame::Alive),
            (false, false) => message.plain(&json),
        }
    }
}

/// A whole answer.
pub(in crate::dialect) fn mistral_full_response(answer: Bytes, search: SearchMode) -> Bytes {
    let Ok(mut read) = serde_json::from_slice::<Value>(&answer) else { return answer };
    let choices = read.get_mut("choices").and_then(Value::as_array_mut);
    let mut failed = false;
    for choice in choices.into_iter().flatten().filter_map(Value::as_object_mut) {
        failed |= matches!(normalize_finish_reason(choice), FinishKind::Error);
        let several = choice.remove("messages");
        let one = choice.remove("message");
        let messages = match several {
            Some(Value::Array(messages)) => messages,
            _ => one.into_iter().collect(),
        };
        if let Some(message) = merge_messages(messages, search) {
            choice.insert("message".to_owned(), message);
        }
    }
    if failed && let Some(members) = read.as_object_mut() {
        members.insert("error".to_owned(), failure());
    }
    Bytes::from(read.to_string())
}

/// Merges the messages of an answer: Mistral's own tools speak in between, which is not for the
/// caller.
fn merge_messages(messages: Vec<Value>, search: SearchMode) -> Option<Value> {
    let mut reader = MessageNormalizer::new(search);
    let mut whole: Option<Map<String, Value>> = None;
    for (number, message) in messages.into_iter().enumerate() {
        let Value::Object(mut message) = message else { continue };
        message.entry("index").or_insert_with(|| number.into());
        reader.normalize_message(&mut message);
        if message.is_empty() {
            continue;
        }
        let whole =
            whole.get_or_insert_with(|| Map::from_iter([("role".into(), "assistant".into())]));
        for (key, value) in message {
            match (whole.get_mut(&key), value) {
                (Some(Value::String(text)), Value::String(more)) if key != "role" => {
                    text.push_str(&more);
                }
                (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
                (_, value) => drop(whole.insert(key, value)),
            }
        }
    }
    whole.map(Value::Object)
}

enum FinishKind {
    Open,
    Reason,
    Error,
}

/// Reads the reason for the end, and gives it the name that all know.
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

/// State of the conversation so far.
#[derive(Debug)]
struct MessageNormalizer {
    search: SearchMode,
    links: Links,
    /// The messages of Mistral's own tools.
    of_tools: BTreeSet<u64>,
    /// The calls of Mistral's own tools, by their message and number.
    calls: BTreeSet<(u64, u64)>,
}

impl MessageNormalizer {
    fn new(search: SearchMode) -> Self {
        let links = Links::default();
        Self { search, links, of_tools: BTreeSet::new(), calls: BTreeSet::new() }
    }

    /// Takes out of a message what is not for the caller; nothing is left of
    /// one by a tool.
    fn normalize_message(&mut self, message: &mut Map<String, Value>) {
        let number = message.remove("index").and_then(|it| it.as_u64()).unwrap_or_default();
        message.remove("metadata");
        if message.get("role").is_some_and(|it| it == "tool") {
            self.of_tools.insert(number);
        }
        if self.of_tools.contains(&number) {
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
        calls.retain(|call| {
            let place = (number, call.get("index").and_then(Value::as_u64).unwrap_or_default());
            match call.pointer("/function/name").and_then(Value::as_str) {
                Some(WEB_SEARCH) if self.search == SearchMode::On => {
                    self.calls.insert(place);
                }
                Some(name) if !name.is_empty() => {
                    self.calls.remove(&place);
                }
                _ => {}
            }
            !self.calls.contains(&place)
        });
        if calls.is_empty() {
            message.remove("tool_calls");
        }
    }

    /// The text and the thoughts of several chunks, links included.
    fn texts(&mut self, chunks: &[Value]) -> (String, String) {
        let (mut text, mut thinking) = (String::new(), String::new());
        for chunk in chunks {
            let of = |key: &str| chunk.get(key).and_then(Value::as_str);
            match of("type") {
                Some("text") | None => text.push_str(of("text").unwrap_or_default()),
                Some("thinking") => thinking.push_str(&thoughts(chunk)),
                Some("tool_reference") => {
                    if self.links.add(of("url").unwrap_or_default(), of("title")) {
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
