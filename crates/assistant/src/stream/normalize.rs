//! Normalisation of events that callers would not accept.
//!
//! The repairs come before `chunk.rs`, which assumes valid types. `normalize_event` is for
//! events that the filter selects, `normalize_answer` for full responses.

use bytes::Bytes;
use memchr::memmem;
use pia_json::{Members, quoted};
use serde_json::{Map, Value};

use crate::credits;
use crate::stream::call_indices::CallIndices;
use crate::stream::chunk::usage_json;

type Object = Map<String, Value>;

/// Treatment of an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NormalizeAction {
    /// JSON needs no repair.
    Unchanged,
    /// JSON was repaired to this.
    Repaired(Bytes),
    /// JSON has no content left.
    Dropped,
}

/// Repairs an event: callers fail at values of unexpected types, read deltas
/// and no messages, and take any guardrail mark for ours. Invalid members that cannot
/// be repaired are removed.
///
/// A message counts as a delta unless there were deltas before: then it repeats
/// the entire response.
pub(crate) fn normalize_event(
    json: &[u8],
    after_deltas: bool,
    call_indices: &mut CallIndices,
) -> NormalizeAction {
    let Ok(Value::Object(mut event)) = serde_json::from_slice(json) else {
        return NormalizeAction::Unchanged;
    };

    let mut is_changed = event.remove("guardrail").is_some();
    is_changed |= remove_invalid_usage(&mut event);
    let choices = event.get_mut("choices").and_then(Value::as_array_mut);
    let mut has_choice = false;
    for choice in choices.into_iter().flatten().filter_map(Value::as_object_mut) {
        is_changed |= normalize_choice(choice, after_deltas, call_indices);
        has_choice = true;
    }

    if !is_changed {
        return NormalizeAction::Unchanged;
    }

    let has = |key| event.get(key).is_some_and(|it: &Value| !it.is_null());
    if has_choice || has("usage") || has("error") {
        NormalizeAction::Repaired(Bytes::from(Value::Object(event).to_string()))
    } else {
        NormalizeAction::Dropped
    }
}

/// Returns whether there is a delta in these events. A key inside a text has a
/// backslash before its quote.
pub(crate) fn has_delta(events: &[u8]) -> bool {
    memmem::find(events, br#""delta""#).is_some()
}

/// Repairs a full response in the same way.
pub(crate) fn normalize_answer(answer: Bytes) -> Bytes {
    let Ok(mut members) = serde_json::from_slice::<Members<'_>>(&answer) else { return answer };

    let usage = members.get("usage").map(normalize_usage).unwrap_or_default();
    match usage {
        NormalizedUsage::Unchanged => {}
        NormalizedUsage::Repaired(ref repaired) => members.set("usage", repaired.clone()),
        NormalizedUsage::Invalid => members.remove("usage"),
    }

    let mut choices = members
        .get("choices")
        .filter(|it| it.contains(r#""tool_calls""#))
        .and_then(|it| serde_json::from_str::<Value>(it).ok());
    let mut has_repaired_calls = false;
    for choice in choices.iter_mut().filter_map(Value::as_array_mut).flatten() {
        let message = choice.get_mut("message").and_then(Value::as_object_mut);
        has_repaired_calls |= message.is_some_and(normalize_tool_calls);
    }
    if has_repaired_calls && let Some(choices) = choices {
        members.set("choices", choices.to_string());
    }

    let finished_choices = members.get("choices").and_then(with_finish_reasons);
    let is_changed =
        usage != NormalizedUsage::Unchanged || has_repaired_calls || finished_choices.is_some();
    if let Some(choices_json) = finished_choices {
        members.set("choices", choices_json);
    }

    if is_changed { Bytes::from(members.to_json()) } else { answer }
}

/// Returns the choices of a full response with finish reasons that clients know; `None`
/// if they have them.
fn with_finish_reasons(choices_json: &str) -> Option<String> {
    let mut choices: Vec<Members<'_>> = serde_json::from_str(choices_json).ok()?;
    let mut is_changed = false;
    for choice in &mut choices {
        let sent_reason = choice.get("finish_reason").and_then(parse_reason);
        let reason = match &sent_reason {
            Some(reason) => known_reason(reason),
            None if has_tool_calls(choice) => "tool_calls",
            None => "stop",
        };
        if sent_reason.as_deref() != Some(reason) {
            choice.set("finish_reason", quoted(reason));
            is_changed = true;
        }
    }

    if !is_changed {
        return None;
    }

    let choices_json: Vec<String> = choices.iter().map(Members::to_json).collect();
    Some(format!("[{}]", choices_json.join(",")))
}

fn parse_reason(json: &str) -> Option<String> {
    serde_json::from_str(json).ok().filter(|it: &String| !it.is_empty())
}

fn has_tool_calls(choice: &Members<'_>) -> bool {
    let message = choice.get("message").and_then(|it| serde_json::from_str::<Value>(it).ok());
    let calls = message.as_ref().and_then(|it| it.get("tool_calls")?.as_array());
    calls.is_some_and(|it| !it.is_empty())
}

/// Returns the finish reason of OpenAI's API for one of a model: some clients fail at any
/// other. `error` is reported as an error later.
fn known_reason(reason: &str) -> &'static str {
    match reason.to_ascii_lowercase().as_str() {
        "length" | "max_tokens" | "model_length" => "length",
        "tool_calls" | "tool_use" => "tool_calls",
        "content_filter" => "content_filter",
        "function_call" => "function_call",
        "error" => "error",
        _ => "stop",
    }
}

/// Treatment of usage.
#[derive(Debug, Default, PartialEq, Eq)]
enum NormalizedUsage {
    #[default]
    Unchanged,
    Repaired(String),
    Invalid,
}

fn normalize_usage(json: &str) -> NormalizedUsage {
    match credits::usage_json::usage(json) {
        _ if json == "{}" || credits::usage_json::is_common(json) => NormalizedUsage::Unchanged,
        Some(usage) => NormalizedUsage::Repaired(usage_json(&usage)),
        None => NormalizedUsage::Invalid,
    }
}

/// Removes invalid usage and returns whether there was any.
fn remove_invalid_usage(event: &mut Object) -> bool {
    let Some(usage) = event.get("usage").filter(|it| !it.is_null()) else { return false };
    let is_empty = usage.as_object().is_some_and(Map::is_empty);
    let is_invalid = !is_empty && credits::usage_json::usage(&usage.to_string()).is_none();
    if is_invalid {
        event.remove("usage");
    }
    is_invalid
}

fn normalize_choice(
    choice: &mut Object,
    after_deltas: bool,
    call_indices: &mut CallIndices,
) -> bool {
    let mut is_changed = normalize_delta(choice, after_deltas);
    is_changed |= normalize_finish_reason(choice);
    if let Some(delta) = choice.get_mut("delta").and_then(Value::as_object_mut) {
        is_changed |= normalize_tool_calls(delta);
        is_changed |= call_indices.set_missing(delta);
    }
    is_changed
}

/// Replaces a finish reason that clients do not know, and removes an invalid or empty one.
fn normalize_finish_reason(choice: &mut Object) -> bool {
    let Some(sent_reason) = choice.get("finish_reason").filter(|it| !it.is_null()) else {
        return false;
    };
    match sent_reason.as_str().filter(|it| !it.is_empty()).map(known_reason) {
        Some(reason) if sent_reason == reason => return false,
        Some(reason) => choice.insert("finish_reason".to_owned(), Value::from(reason)),
        None => choice.remove("finish_reason"),
    };
    true
}

/// Replaces a missing delta by the message, and an invalid one by an empty one.
fn normalize_delta(choice: &mut Object, after_deltas: bool) -> bool {
    let present_delta = choice.get("delta").filter(|it| !it.is_null());
    if present_delta.is_some_and(Value::is_object) {
        return false;
    }

    let is_changed = present_delta.is_some();
    let Some(Value::Object(message)) = choice.remove("message") else {
        if is_changed {
            choice.insert("delta".to_owned(), Value::Object(Object::new()));
        }
        return is_changed;
    };

    let delta = if after_deltas { Object::new() } else { message };
    choice.insert("delta".to_owned(), Value::Object(delta));

    true
}

/// Repairs the tool calls of a delta or message. Returns whether any was changed.
fn normalize_tool_calls(delta: &mut Object) -> bool {
    let Some(calls) = delta.get_mut("tool_calls").filter(|it| !it.is_null()) else { return false };

    let mut is_changed = !calls.is_array();

    if let Value::Object(call) = calls {
        *calls = Value::Array(vec![Value::Object(std::mem::take(call))]);
    }

    let Value::Array(list) = calls else {
        delta.remove("tool_calls");
        return is_changed;
    };

    list.retain_mut(|call| {
        let call = call.as_object_mut();
        let is_call = call.is_some();
        is_changed |= call.is_none_or(normalize_tool_call);
        is_call
    });

    if is_changed && list.is_empty() {
        delta.remove("tool_calls");
    }

    is_changed
}

fn normalize_tool_call(call: &mut Object) -> bool {
    let mut is_changed =
        normalize_member(call, "id", Value::is_string, |it| it.is_number().then(|| text(&it)));
    is_changed |= normalize_member(call, "index", Value::is_u64, |it| integer(&it));
    is_changed |= normalize_member(call, "type", Value::is_string, |_| None);
    is_changed |= normalize_member(call, "function", Value::is_object, |_| None);
    if let Some(function) = call.get_mut("function").and_then(Value::as_object_mut) {
        is_changed |= normalize_member(function, "name", Value::is_string, |_| None);
        is_changed |=
            normalize_member(function, "arguments", Value::is_string, |it| Some(text(&it)));
    }
    is_changed
}

/// Repairs a member that is invalid and not null, or removes it.
fn normalize_member(
    object: &mut Object,
    key: &str,
    is_valid: fn(&Value) -> bool,
    repair: fn(Value) -> Option<Value>,
) -> bool {
    let is_changed = object.get(key).is_some_and(|it| !it.is_null() && !is_valid(it));
    if is_changed && let Some(repaired) = object.remove(key).and_then(repair) {
        object.insert(key.to_owned(), repaired);
    }
    is_changed
}

/// Serializes JSON into a string value.
fn text(value: &Value) -> Value {
    Value::String(value.to_string())
}

/// Converts a number with a decimal point, or a string, to an integer.
fn integer(value: &Value) -> Option<Value> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let digits = text.strip_suffix(".0").unwrap_or(&text);
    digits.parse::<u64>().ok().map(Value::from)
}

#[cfg(test)]
#[path = "normalize_tests.rs"]
mod tests;
