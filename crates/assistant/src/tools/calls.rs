//! Tool calls in a stream: those of the server are collected, those of the
//! caller are forwarded.
//!
//! `ChatStream` passes each event with a tool call to `extract`, and everything that it
//! forwards to `record_frames`. At the end of the call `only_server_calls` decides
//! whether the turn continues; `finish` then returns the calls and the text before them,
//! which `assistant_message` and `tool_result` format for the next request.

use bytes::Bytes;
use serde_json::{Map, Value, json};

/// Maximum number of tool calls of a response, far more than models make: an upstream that
/// begins calls without end must not fill the memory.
pub(crate) const MAX_CALLS: usize = 128;
/// Maximum length of the id and the name of a call together.
pub(crate) const MAX_CALL_KEY_BYTES: usize = 1024;
/// Maximum length of the stored output before a tool call.
const MAX_TEXT_BYTES: usize = 256 * 1024;
/// Maximum length of arguments; longer ones become invalid.
const MAX_ARGUMENTS_BYTES: usize = 64 * 1024;

/// Call of one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    /// JSON object as text, unless the model wrote something else.
    pub(crate) arguments: String,
}

/// Failure of a tool, as a text for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFailure(pub String);

/// Call of one of the server's tools that was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUse {
    /// Name of the tool.
    pub name: String,
    /// True if it failed.
    pub failed: bool,
}

/// Part of an event that is for the caller.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CallerPart {
    /// Event as it was: it has no call of a server tool.
    All,
    /// Event without its calls of server tools.
    Part(Bytes),
    /// Empty rest: the event only had calls of server tools.
    Nothing,
}

/// Collector of the calls of one stream.
#[derive(Debug, Default)]
pub(crate) struct ToolCallCollector {
    open: Vec<PartialCall>,
    /// Content so far, as frames or JSON.
    content: Vec<Bytes>,
    length: usize,
    /// Set if there were more calls, or longer names, than are permitted.
    exceeds_limit: bool,
}

#[derive(Debug)]
struct PartialCall {
    index: Option<i64>,
    call: Call,
    is_server_call: bool,
    /// Set if its arguments were too long.
    is_cut: bool,
}

impl ToolCallCollector {
    /// Returns whether there were more calls, or longer names, than are permitted.
    pub(crate) fn exceeds_limit(&self) -> bool {
        self.exceeds_limit
    }

    /// Stores frames that were forwarded, for their content.
    pub(crate) fn record_frames(&mut self, frames: &Bytes) {
        if self.length < MAX_TEXT_BYTES {
            self.length += frames.len();
            self.content.push(frames.clone());
        }
    }

    /// Removes calls for which `is_server_tool` holds from an event, and the
    /// end of a response that has no other calls.
    pub(crate) fn extract(
        &mut self,
        json: &Bytes,
        is_server_tool: &dyn Fn(&str) -> bool,
    ) -> CallerPart {
        let Ok(Value::Object(mut event)) = serde_json::from_slice(json) else {
            return CallerPart::All;
        };

        let has_usage = event.get("usage").is_some_and(|it| !it.is_null());
        let Some(choice) = event.get_mut("choices").and_then(|it| it.get_mut(0)?.as_object_mut())
        else {
            return CallerPart::All;
        };
        let was_changed = self.remove_server_calls(choice, is_server_tool);
        let ends = choice.get("finish_reason").is_some_and(|it| !it.is_null());
        let is_continued = ends && self.only_server_calls();
        if is_continued {
            choice.remove("finish_reason");
        }

        if !was_changed && !is_continued {
            return CallerPart::All;
        }
        // What is left of the event: its end or its text, its usage alone, or nothing.
        if ends && !is_continued || has_content(choice) {
            return caller_part(&Value::Object(event));
        }
        if has_usage {
            event.insert("choices".to_owned(), json!([]));
            return caller_part(&Value::Object(event));
        }

        CallerPart::Nothing
    }

    /// Removes calls of the server from a choice, and returns whether it was
    /// changed.
    fn remove_server_calls(
        &mut self,
        choice: &mut Map<String, Value>,
        is_server_tool: &dyn Fn(&str) -> bool,
    ) -> bool {
        let Some(delta) = choice.get_mut("delta").and_then(Value::as_object_mut) else {
            return false;
        };
        let Some(calls) = delta.get_mut("tool_calls").and_then(Value::as_array_mut) else {
            return false;
        };

        let mut was_changed = false;
        calls.retain_mut(|part| {
            let at = self.record_part(part, is_server_tool);
            let before = self.open.get(..at).unwrap_or_default();
            let index = before.iter().filter(|it| !it.is_server_call).count();
            let Some(open) = self.open.get(at) else { return true };

            // Remaining calls are numbered without the removed ones.
            if !open.is_server_call
                && open.index.is_some_and(|it| usize::try_from(it) != Ok(index))
                && let Some(members) = part.as_object_mut()
            {
                members.insert("index".to_owned(), json!(index));
                was_changed = true;
            }

            was_changed |= open.is_server_call;

            !open.is_server_call
        });

        if calls.is_empty() {
            delta.remove("tool_calls");
        }

        was_changed
    }

    /// Adds a part to its call, which may start with it, and returns the
    /// position of the call. A call beyond the limits has none.
    fn record_part(&mut self, part: &Value, is_server_tool: &dyn Fn(&str) -> bool) -> usize {
        let id = text(part.get("id"));
        let index = part.get("index").and_then(Value::as_i64);
        let function = part.get("function");
        let name = text(function.and_then(|it| it.get("name")));
        // Parts that follow may lack id, index or name: the latest call that
        // contradicts none of them is continued.
        let started_at = self.open.iter().rposition(|it| {
            let has_id = id.is_empty() || it.call.id == id;
            let has_index = index.is_none() || it.index == index;
            let has_name = !id.is_empty() || name.is_empty() || it.call.name == name;
            has_id && has_index && has_name
        });
        let at = started_at.unwrap_or(self.open.len());
        if at >= MAX_CALLS || id.len() + name.len() > MAX_CALL_KEY_BYTES {
            self.exceeds_limit = true;
            return self.open.len();
        }
        if started_at.is_none() {
            let call = Call { id: id.to_owned(), name: name.to_owned(), arguments: String::new() };
            let is_server_call = is_server_tool(name);
            self.open.push(PartialCall { index, call, is_server_call, is_cut: false });
        }

        let arguments = text(function.and_then(|it| it.get("arguments")));

        if let Some(open) = self.open.get_mut(at).filter(|it| !it.is_cut) {
            open.is_cut = open.call.arguments.len() + arguments.len() > MAX_ARGUMENTS_BYTES;
            if open.is_cut {
                // Without the rest they are no JSON, whatever part follows.
                "{".clone_into(&mut open.call.arguments);
            } else {
                open.call.arguments.push_str(arguments);
            }
        }

        at
    }

    /// Returns whether there are calls, and all of them are of the server: then
    /// the response is not over, whatever the finish reason.
    pub(crate) fn only_server_calls(&self) -> bool {
        !self.open.is_empty() && self.open.iter().all(|it| it.is_server_call)
    }

    /// Returns the calls, and the text before them.
    pub(crate) fn finish(self) -> (Vec<Call>, String) {
        let mut calls: Vec<Call> = self.open.into_iter().map(|it| it.call).collect();
        set_missing_ids(&mut calls);
        (calls, self.content.iter().map(|it| text_of(it)).collect())
    }
}

/// Sets the missing ids of calls, to which tool results refer.
pub(crate) fn set_missing_ids(calls: &mut [Call]) {
    for (at, call) in calls.iter_mut().enumerate() {
        if call.id.is_empty() {
            call.id = format!("pia_call_{at}");
        }
    }
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

fn caller_part(event: &Value) -> CallerPart {
    CallerPart::Part(Bytes::from(event.to_string()))
}

/// Returns whether a choice has more than a role and empty values.
fn has_content(choice: &Map<String, Value>) -> bool {
    let Some(delta) = choice.get("delta").and_then(Value::as_object) else { return false };
    delta.iter().any(|(key, value)| key != "role" && !value.is_null() && value.as_str() != Some(""))
}

/// Returns the text of frames, or of the JSON of one.
fn text_of(frames: &[u8]) -> String {
    frames
        .split(|it| *it == b'\n')
        .filter(|it| !it.is_empty())
        .filter_map(|line| {
            let json = line.strip_prefix(b"data: ").unwrap_or(line);
            let event: Value = serde_json::from_slice(json).ok()?;
            Some(event.pointer("/choices/0/delta/content")?.as_str()?.to_owned())
        })
        .collect()
}

/// Returns the assistant's message with the calls for the next request.
pub(crate) fn assistant_message(text: &str, calls: &[Call]) -> Bytes {
    let calls: Vec<Value> = calls
        .iter()
        .map(|Call { id, name, arguments }| {
            // Some upstreams refuse arguments that are not JSON.
            let is_valid = serde_json::from_str::<Map<String, Value>>(arguments).is_ok();
            let arguments = if is_valid { arguments } else { "{}" };
            let function = json!({ "name": name, "arguments": arguments });
            json!({ "id": id, "type": "function", "function": function })
        })
        .collect();

    let content = if text.is_empty() { Value::Null } else { Value::from(text) };
    let message = json!({ "role": "assistant", "content": content, "tool_calls": calls });
    Bytes::from(message.to_string())
}

/// Returns the message that carries a tool's result in the next request.
pub(crate) fn tool_result(call: &Call, text: &str) -> Bytes {
    let message = json!({ "role": "tool", "tool_call_id": call.id, "content": text });
    Bytes::from(message.to_string())
}

#[cfg(test)]
#[path = "calls_tests.rs"]
mod tests;
