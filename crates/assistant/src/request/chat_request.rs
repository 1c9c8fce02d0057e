//! Chat completion requests: validation, and the part that is forwarded.
//!
//! `parse` reads the top level in place; the prompt that it returns consists of slices of
//! the body. Only listed keys are forwarded, so that a parameter that this server does not
//! know cannot enable anything at an upstream.

use std::fmt;

use bytes::Bytes;
use pia_json::MemberKey;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::error::{AssistantError, Violation};
use crate::request;
use crate::request::prompt_body::{ModelHint, UpstreamPrompt};
use crate::routing::refusal::Tools;
use crate::stream::answer::UsageChunks;
use crate::tools::RequestTools;

/// Members to forward after messages and tools, in this order. Everything else,
/// such as `user`, `store` and `metadata`, is dropped.
const FORWARDED_KEYS: [&str; 12] = [
    "tool_choice",
    "parallel_tool_calls",
    "temperature",
    "top_p",
    "stop",
    "seed",
    "response_format",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
];

/// Keys that upstreams refuse without tools.
const TOOL_KEYS: [&str; 2] = ["tool_choice", "parallel_tool_calls"];

/// Members that are parsed, and not forwarded unchanged.
const PARSED_KEYS: [&str; 10] = [
    "messages",
    "tools",
    "stream",
    "stream_options",
    "n",
    "max_tokens",
    "max_completion_tokens",
    "reasoning_effort",
    "model",
    "metadata",
];

/// Returns the keys that are read; all others are ignored.
pub fn keys() -> impl Iterator<Item = &'static str> {
    FORWARDED_KEYS.into_iter().chain(PARSED_KEYS)
}

/// Request, by the form of its response.
pub(crate) enum RequestedChoice {
    Full(UpstreamPrompt),
    Stream(UpstreamPrompt, UsageChunks),
}

/// Parses the body of a request. Only its top level is parsed, in place: large
/// contents are neither copied nor unescaped.
pub(crate) fn parse(body: &Bytes) -> Result<RequestedChoice, AssistantError> {
    let request: RequestMembers<'_> =
        serde_json::from_slice(body).map_err(|err| malformed_error(&err))?;
    let mut violations = Vec::new();
    let mut checked_messages = request::messages::check(request.get("messages"), &mut violations);
    let request_tools =
        RequestTools::check(request.get("tools"), request.get("tool_choice"), &mut violations);
    let tools = request_tools.sent();
    request::parameters::check(&|key| request.get(key), &mut violations);
    if !violations.is_empty() {
        return Err(AssistantError::Invalid(violations));
    }

    let usage = match request.get("stream_options").map(RawValue::get) {
        Some(options) if request::parameters::include_usage(options) => UsageChunks::Included,
        _ => UsageChunks::Omitted,
    };

    // Tools are part of the prompt that the upstream counts.
    if let Some(tools) = request.get("tools") {
        checked_messages.text.words.add(tools.get().as_bytes());
    }

    let prompt = UpstreamPrompt {
        messages: request.get("messages").map_or_else(Bytes::new, |it| slice(body, it)),
        leading: None,
        tool_list: match request.get("tools") {
            Some(list) if tools == Tools::Sent => Some(slice(body, list)),
            _ => None,
        },
        parameters: forwarded_parameters(body, &request, tools),
        text: checked_messages.text,
        tools,
        may_call: request.get("tool_choice").is_none_or(|it| it.get() == "\"auto\""),
        pictures: checked_messages.pictures,
        address: checked_messages.address.or(request_tools.address),
        hosted: request_tools.hosted,
        max_output: request::parameters::cap(&|key| request.get(key)),
        effort: request.get("reasoning_effort").and_then(request::parameters::effort),
        model_hint: ModelHint {
            model: request.get("model").and_then(request::parameters::name),
            persona_type: request.get("metadata").and_then(request::parameters::persona_type),
        },
    };

    match request.get("stream").map(RawValue::get) {
        Some("true") => Ok(RequestedChoice::Stream(prompt, usage)),
        _ => Ok(RequestedChoice::Full(prompt)),
    }
}

/// Returns a value as a slice of the request.
fn slice(body: &Bytes, value: &RawValue) -> Bytes {
    body.slice_ref(value.get().as_bytes())
}

/// Returns the other members to forward.
fn forwarded_parameters(
    body: &Bytes,
    request: &RequestMembers<'_>,
    tools: Tools,
) -> Vec<(&'static str, Bytes)> {
    FORWARDED_KEYS
        .into_iter()
        .filter(|it| tools == Tools::Sent || !TOOL_KEYS.contains(it))
        .filter_map(|key| Some((key, slice(body, request.get(key)?))))
        .collect()
}

/// Returns the error for broken JSON, or for JSON that is not an object. It
/// repeats none of the body.
pub(crate) fn malformed_error(err: &serde_json::Error) -> AssistantError {
    match err.classify() {
        Category::Data => AssistantError::Invalid(vec![Violation::new(
            "",
            "invalid_type",
            "The request body must be a JSON object.",
        )]),
        Category::Io | Category::Syntax | Category::Eof => {
            AssistantError::Malformed(err.to_string())
        }
    }
}

/// Known members of a request. Of duplicate keys the last counts, and null
/// counts as absent.
struct RequestMembers<'a>(Vec<(&'static str, &'a RawValue)>);

impl<'a> RequestMembers<'a> {
    fn get(&self, key: &str) -> Option<&'a RawValue> {
        let (_, value) = self.0.iter().find(|(it, _)| *it == key)?;
        (value.get() != "null").then_some(*value)
    }

    fn set(&mut self, key: &'static str, value: &'a RawValue) {
        self.0.retain(|(it, _)| *it != key);
        self.0.push((key, value));
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RequestMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = RequestMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = RequestMembers(Vec::new());
                while let Some(MemberKey(key)) = map.next_key()? {
                    match keys().find(|it| *it == key) {
                        Some(known_key) => members.set(known_key, map.next_value()?),
                        None => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

#[cfg(test)]
#[path = "chat_request_tests.rs"]
mod tests;
