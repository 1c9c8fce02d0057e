//! Normalisation of what some upstreams write otherwise than callers read it.

use bytes::Bytes;
use memchr::memmem;
use serde_json::{Map, Value};

use crate::credits;
use crate::stream::chunk::usage_json;
use pia_json::Members;

type Object = Map<String, Value>;

/// Treatment of an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NormalizeAction {
    /// JSON needs no repair.
    Fine,
    /// JSON was repaired to this.
    Mended(Bytes),
    /// JSON has no content left.
    Nothing,
}

/// Mends an event: callers fail at values of a type that they do not expect,
/// read deltas and no messages, and take whatever is said of a guardrail for
/// ours. What cannot be mended is left out.
///
/// A message counts as a delta unless there were deltas before: then it repeats
/// the whole answer.
pub(crate) fn normalize_event(json: &[u8], after_deltas: bool) -> NormalizeAction {
    let Ok(Value::Object(mut event)) = serde_json::from_slice(json) else {
        return NormalizeAction::Fine;
    };
    let mut odd = event.remove("guardrail").is_some();
    odd |= remove_invalid_usage(&mut event);
    let choices = event.get_mut("choices").and_then(Value::as_array_mut);
    let mut chosen = false;
    for choice in choices.into_iter().flatten().filter_map(Value::as_object_mut) {
        odd |= normalize_choice(choice, after_deltas);
        chosen = true;
    }
    if !odd {
        return NormalizeAction::Fine;
    }
    let states = |key| event.get(key).is_some_and(|it: &Value| !it.is_null());
    if chosen || states("usage") || states("error") {
        NormalizeAction::Mended(Bytes::from(Value::Object(event).to_string()))
    } else {
        NormalizeAction::Nothing
    }
}

/// Returns whether there is a delta in these events. A key inside a text shows
/// with a backslash before its quote.
pub(crate) fn has_delta(events: &[u8]) -> bool {
    memmem::find(events, br#""delta""#).is_some()
}

/// Mends a whole answer in the same way.
pub(crate) fn normalize_answer(answer: Bytes) -> Bytes {
    let is_worth_it = [br#""tool_calls""#.as_slice(), br#""usage""#.as_slice()]
        .iter()
        .any(|key| memmem::find(&answer, key).is_some());
    if !is_worth_it {
        return answer;
    }
    let Ok(mut members) = serde_json::from_slice::<Members<'_>>(&answer) else { return answer };
    let usage = members.get("usage").map(normalize_usage).unwrap_or_default();
    match usage {
        NormalizedUsage::Fine => {}
        NormalizedUsage::Mended(ref mended) => members.set("usage", mended.clone()),
        NormalizedUsage::Nonsense => members.remove("usage"),
    }
    let usage = usage != NormalizedUsage::Fine;
    let choices = members.get("choices").filter(|it| it.contains(r#""tool_calls""#));
    let mut choices = choices.and_then(|it| serde_json::from_str::<Value>(it).ok());
    let mut calls = false;
    for choice in choices.iter_mut().filter_map(Value::as_array_mut).flatten() {
        let message = choice.get_mut("message").and_then(Value::as_object_mut);
        calls |= message.is_some_and(normalize_tool_calls);
    }
    if let Some(choices) = choices.filter(|_| calls) {
        members.set("choices", choices.to_string());
    }
    if usage || calls { Bytes::from(members.to_json()) } else { answer }
}

/// Treatment of usage.
#[derive(Debug, Default, PartialEq, Eq)]
enum NormalizedUsage {
    #[default]
    Fine,
    Mended(String),
    Nonsense,
}

fn normalize_usage(json: &str) -> NormalizedUsage {
    match credits::usage_json::usage(json) {
        _ if json == "{}" || credits::usage_json::is_common(json) => NormalizedUsage::Fine,
        Some(usage) => NormalizedUsage::Mended(usage_json(&usage)),
        None => NormalizedUsage::Nonsense,
    }
}

/// Usage that reports nothing that makes sense.
fn remove_invalid_usage(event: &mut Object) -> bool {
    let Some(usage) = event.get("usage").filter(|it| !it.is_null()) else { return false };
    let empty = usage.as_object().is_some_and(Map::is_empty);
    let odd = !empty && credits::usage_json::usage(&usage.to_string()).is_none();
    if odd {
        event.remove("usage");
    }
    odd
}

fn normalize_choice(choice: &mut Object, after_deltas: bool) -> bool {
    let mut odd = normalize_delta(choice, after_deltas);
    if choice.get("finish_reason").is_some_and(|it| !it.is_null() && !it.is_string()) {
        choice.remove("finish_reason");
        odd = true;
    }
    let delta = choice.get_mut("delta").and_then(Value::as_object_mut);
    odd | delta.is_some_and(normalize_tool_calls)
}

/// Puts a message in the place of a delta that is not there.
fn normalize_delta(choice: &mut Object, after_deltas: bool) -> bool {
    let input = choice.get("delta").filter(|it| !it.is_null());
    if input.is_some_and(Value::is_object) {
        return false;
    }
    let odd = input.is_some();
    let Some(Value::Object(message)) = choice.remove("message") else {
        if odd {
            choice.insert("delta".to_owned(), Value::Object(Object::new()));
        }
        return odd;
    };
    let delta = if after_deltas { Object::new() } else { message };
    choice.insert("delta".to_owned(), Value::Object(delta));
    true
}

fn normalize_tool_calls(delta: &mut Object) -> bool {
    let Some(calls) = delta.get_mut("tool_calls").filter(|it| !it.is_null()) else { return false };
    let mut odd = !calls.is_array();
    if let Value::Object(one) = calls {
        *calls = Value::Array(vec![Value::Object(std::mem::take(one))]);
    }
    let Value::Array(list) = calls else {
        delta.remove("tool_calls");
        return odd;
    };
    list.retain_mut(|call| {
        let call = call.as_object_mut();
        let is_call = call.is_some();
        odd |= call.is_none_or(normalize_tool_call);
        is_call
    });
    if odd && list.is_empty() {
        delta.remove("tool_calls");
    }
    odd
}

fn normalize_tool_call(call: &mut Object) -> bool {
    let mut odd =
        normalize_member(call, "id", Value::is_string, |it| it.is_number().then(|| text(&it)));
    odd |= normalize_member(call, "index", Value::is_u64, |it| whole(&it));
    odd |= normalize_member(call, "type", Value::is_string, |_| None);
    odd |= normalize_member(call, "function", Value::is_object, |_| None);
    let function = call.get_mut("function").and_then(Value::as_object_mut);
    odd | function.is_some_and(|function| {
        let odd = normalize_member(function, "name", Value::is_string, |_| None);
        odd | normalize_member(function, "arguments", Value::is_string, |it| Some(text(&it)))
    })
}

/// Mends a member that is there and no null, or leaves it out.
fn normalize_member(
    object: &mut Object,
    key: &str,
    is_right: fn(&Value) -> bool,
    mend: fn(Value) -> Option<Value>,
) -> bool {
    let odd = object.get(key).is_some_and(|it| !it.is_null() && !is_right(it));
    if odd && let Some(mended) = object.remove(key).and_then(mend) {
        object.insert(key.to_owned(), mended);
    }
    odd
}

/// Serializes JSON into a string value.
fn text(value: &Value) -> Value {
    Value::String(value.to_string())
}

/// The whole number that a number with a point, or a text, stands for.
fn whole(value: &Value) -> Option<Value> {
    let digits = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let digits = digits.strip_suffix(".0").unwrap_or(&digits);
    digits.parse::<u64>().ok().map(Value::from)
}

#[cfg(test)]
#[path = "normalize_tests.rs"]
mod tests;
