//! Full responses of chat completions, of which only the relevant parts are
//! parsed.
//!
//! The first choice alone is read: requests for several are refused. A response with an
//! error counts as one without a message.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use pia_json::Members;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::credits;
use crate::credits::usage::Usage;
use crate::stream::chunk::usage_json;
use crate::tools::calls::{Call, set_missing_ids};

/// Response with a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    /// Text of the message, its parts joined; empty for a tool call.
    pub(crate) text: String,
    pub(crate) finish_reason: Option<String>,
    pub(crate) usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    choices: First<'a>,
}

#[derive(Deserialize)]
struct UsageJson<'a> {
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: &'a RawValue,
    #[serde(borrow)]
    finish_reason: Option<Cow<'a, str>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ResponseMessage<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ContentPart<'a> {
    #[serde(borrow)]
    r#type: Option<Cow<'a, str>>,
    text: Option<String>,
}

/// Parses the usage of a response, even of one that is otherwise invalid.
pub(crate) fn usage(body: &[u8]) -> Option<Usage> {
    let top_level: UsageJson<'_> = serde_json::from_slice(body).ok()?;
    credits::usage_json::usage(top_level.usage?.get())
}

/// Checks that this is a response with a message, without parsing its content.
/// Returns the message's JSON and the finish reason.
fn message_json(body: &[u8]) -> Option<(&str, Option<String>)> {
    let top_level: UsageJson<'_> = serde_json::from_slice(body).ok()?;
    if top_level.error.is_some() {
        return None;
    }
    let answer: Envelope<'_> = serde_json::from_slice(body).ok()?;
    let choice = answer.choices.0?;
    if choice.error.is_some() || choice.finish_reason.as_deref() == Some("error") {
        return None;
    }
    let message = choice.message.get();
    message.starts_with('{').then(|| (message, choice.finish_reason.map(Cow::into_owned)))
}

/// Returns whether this is a response with a message; see `message_json`.
pub(crate) fn has_message(body: &[u8]) -> bool {
    message_json(body).is_some()
}

impl Completion {
    /// Returns whether its length was limited.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.finish_reason.as_deref() == Some("length")
    }
}

/// Parses a response and its text, or returns `None` if it is invalid.
pub(crate) fn parse(body: &[u8]) -> Option<Completion> {
    let (json, finish_reason) = message_json(body)?;
    let message: ResponseMessage<'_> = serde_json::from_str(json).ok()?;
    let text = message.content.map_or_else(String::new, text_of);
    Some(Completion { text, finish_reason, usage: usage(body) })
}

/// Returns the tool calls of a response, and the text before them, or `None` if
/// there are none. Arguments that are objects are converted to text.
pub(crate) fn calls(body: &[u8]) -> Option<(Vec<Call>, String)> {
    #[derive(Deserialize)]
    struct ToolCallJson<'a> {
        #[serde(borrow)]
        content: Option<&'a RawValue>,
        tool_calls: Option<Vec<Value>>,
    }

    // Some upstreams send ids as numbers, and arguments as objects.
    let text = |value: Option<&Value>| match value {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => String::new(),
        Some(json) => json.to_string(),
    };
    let (message, _) = message_json(body)?;
    let ToolCallJson { content, tool_calls } = serde_json::from_str(message).ok()?;
    let mut calls: Vec<Call> = tool_calls?
        .iter()
        .filter_map(|call| {
            let function = call.get("function")?;
            let name = function.get("name")?.as_str()?.to_owned();
            Some(Call {
                id: text(call.get("id")),
                name,
                arguments: text(function.get("arguments")),
            })
        })
        .collect();
    set_missing_ids(&mut calls);

    (!calls.is_empty()).then(|| (calls, content.map_or_else(String::new, text_of)))
}

/// Returns the response with only these calls, or `None` if it needs no change
/// or is invalid.
pub(crate) fn with_calls(body: &[u8], remaining: &[Call]) -> Option<Bytes> {
    let mut answer: Value = serde_json::from_slice(body).ok()?;
    let choice = answer.get_mut("choices")?.get_mut(0)?.as_object_mut()?;
    let message = choice.get_mut("message")?.as_object_mut()?;
    let calls = message.get_mut("tool_calls")?.as_array_mut()?;
    if calls.len() == remaining.len() {
        return None;
    }

    calls.retain(|call| {
        let name = call.pointer("/function/name").and_then(Value::as_str);
        remaining.iter().any(|it| Some(it.name.as_str()) == name)
    });

    if calls.is_empty() {
        message.remove("tool_calls");
        choice.insert("finish_reason".to_owned(), Value::from("stop"));
    }

    Some(Bytes::from(answer.to_string()))
}

/// Returns the response with this usage, or `None` if it is not an object.
pub(crate) fn with_usage(body: &[u8], usage: &Usage) -> Option<Bytes> {
    let mut answer: Members<'_> = serde_json::from_slice(body).ok()?;
    answer.set("usage", usage_json(usage));
    Some(Bytes::from(answer.to_json()))
}

/// Returns the text of a response without usage, for counting it, or all of it
/// if its format is unknown.
pub(crate) fn text(body: &[u8]) -> String {
    match parse(body) {
        Some(completion) => completion.text,
        None => String::from_utf8_lossy(body).into_owned(),
    }
}

/// Returns the text of a content that is a string or an array of parts.
fn text_of(content: &RawValue) -> String {
    if let Ok(text) = serde_json::from_str::<String>(content.get()) {
        return text;
    }
    let parts: Vec<ContentPart<'_>> = serde_json::from_str(content.get()).unwrap_or_default();
    parts
        .into_iter()
        .filter(|part| part.r#type.as_deref().is_none_or(|kind| kind == "text"))
        .filter_map(|part| part.text)
        .collect()
}

/// First element of an array; the rest is skipped.
struct First<'a>(Option<Choice<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for First<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = First<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let first_choice = seq.next_element()?;
                IgnoredAny.visit_seq(seq)?;
                Ok(First(first_choice))
            }
        }

        deserializer.deserialize_seq(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_may_be_a_string_or_parts() {
        let text_of_content = |content: &str| {
            let body = format!(r#"{{"choices":[{{"message":{{"content":{content}}}}},7]}}"#);
            parse(body.as_bytes()).unwrap().text
        };

        assert_eq!(text_of_content(r#""a\nb""#), "a\nb");
        assert_eq!(
            text_of_content(r#"[{"type":"text","text":"a"},{"type":"x"},{"text":"b"}]"#),
            "ab"
        );
        assert_eq!(text_of_content("null"), "");
        assert_eq!(text_of_content("7"), "");
    }

    #[test]
    fn usage_and_finish_reason_are_parsed() {
        let body = br#"{"choices":[{"message":{},"finish_reason":"length"}],
            "usage":{"prompt_tokens":4,"completion_tokens":2}}"#;

        let answer = parse(body).unwrap();

        assert_eq!(answer.finish_reason.as_deref(), Some("length"));
        assert_eq!(
            answer.usage,
            Some(Usage { input: 4, cached_input: 0, output: 2, connector: 0, reasoning: 0 })
        );
    }

    #[test]
    fn a_call_is_parsed_with_arguments_of_any_type() {
        let body = br#"{"choices":[{"message":{"tool_calls":[
            {"id":7,"function":{"name":"a","arguments":{"query":"x"}}},"odd",{"function":7}]}}]}"#;

        let (calls, _) = calls(body).unwrap();

        let [call] = calls.as_slice() else { panic!("{calls:?}") };
        assert_eq!(call.id, "7");
        assert_eq!(call.name, "a");
        assert_eq!(call.arguments, r#"{"query":"x"}"#);
    }

    #[test]
    fn calls_of_the_server_can_be_removed() {
        let body = br#"{"id":"c","choices":[{"message":{"content":"so","tool_calls":[
            {"id":"1","function":{"name":"a","arguments":"{}"}},
            {"function":{"name":"b","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;

        let (calls, text) = calls(body).unwrap();

        let ids: Vec<_> = calls.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(ids, ["1", "pia_call_1"]);
        assert_eq!(text, "so");
        assert_eq!(with_calls(body, &calls), None);

        let reduce_to = |calls: &[Call]| -> Value {
            serde_json::from_slice(&with_calls(body, calls).unwrap()).unwrap()
        };
        let with_second_call = reduce_to(&calls[1..]);
        let remaining = &with_second_call["choices"][0]["message"]["tool_calls"];
        assert_eq!(remaining[0]["function"]["name"], "b");
        assert_eq!(remaining.as_array().unwrap().len(), 1);

        let without_calls = reduce_to(&[]);
        assert_eq!(without_calls["choices"][0]["finish_reason"], "stop");
        assert!(without_calls["choices"][0]["message"].get("tool_calls").is_none());
    }

    #[test]
    fn a_response_without_a_message_is_invalid() {
        let bodies = [
            "<html>",
            "{}",
            "[]",
            r#"{"choices":[]}"#,
            r#"{"choices":[{}]}"#,
            r#"{"choices":[{"message":null}]}"#,
            r#"{"choices":[{"message":"x"}]}"#,
            r#"{"error":{"message":"no"},"choices":[{"message":{}}]}"#,
            r#"{"choices":[{"message":{"content":"part"},"finish_reason":"error"}]}"#,
            r#"{"choices":[{"message":{"content":"part"},"error":{"message":"sk-1"}}]}"#,
        ];
        for body in bodies {
            assert!(!has_message(body.as_bytes()), "{body}");
        }
        assert!(has_message(br#"{"error":null,"choices":[{"message":{}}]}"#));
    }
}
