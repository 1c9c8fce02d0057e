//! Requests in Mistral's format.
//!
//! Mistral refuses unknown members, so they are left out. Messages are passed on as
//! they are, unless a role or the id of a tool call has to be corrected.

use bytes::Bytes;
use pia_assistant::{CapName, ChatBody, ChatCall, UpstreamError};
use pia_json::{JsonWriter, Rope, quoted};

use super::WEB_SEARCH;
use crate::dialect::ending::BodySuffix;
use crate::dialect::reply::unreadable;
use crate::dialect::{ResponseMode, SearchMode};

/// Parameters with the same name and no further restriction.
const SHARED_PARAMETERS: [&str; 6] = [
    "parallel_tool_calls",
    "stop",
    "response_format",
    "presence_penalty",
    "frequency_penalty",
    "reasoning_effort",
];
/// Parameters of a model, which an agent defines itself.
const MODEL_PARAMETERS: [&str; 2] = ["temperature", "top_p"];

/// Length of the id of a tool call in bytes.
const TOOL_CALL_ID_LEN: usize = 9;

/// Returns the body, and whether Mistral is to search the web.
pub(super) fn body(
    call: &ChatCall,
    mode: ResponseMode,
) -> Result<(Vec<Bytes>, SearchMode), UpstreamError> {
    let target = &call.target;
    let messages: Vec<Rope> =
        call.body.messages.elements().ok_or_else(unreadable)?.iter().map(message).collect();
    let mut request = JsonWriter::default();
    request.text(r#"{"messages":["#).list(&messages).text("]");

    for (key, value) in &call.body.parameters {
        let is_allowed = SHARED_PARAMETERS.contains(key)
            || (MODEL_PARAMETERS.contains(key) && target.agent.is_none());
        if is_allowed {
            request.text(",").quoted(key).text(":").bytes(value);
        }
    }

    if let Some(seed) = call.body.parameter("seed") {
        request.text(r#","random_seed":"#).rope(&seed);
    }

    let search = write_tools(&call.body, SearchMode::for_target(target), &mut request);
    let model = match &target.agent {
        Some(agent) => BodySuffix::default().member("agent_id", &quoted(agent)),
        None => BodySuffix::model(&target.model),
    };
    let mut ending = model.cap_as(call.max_output, CapName::MaxTokens).effort(call.effort);
    // Mistral always reports usage.
    if mode == ResponseMode::Streamed {
        ending = ending.member("stream", "true");
    }

    Ok((ending.close_written(request), search))
}

/// Writes the tools, and returns whether Mistral's own search is among them: a tool of the
/// caller with its name replaces it.
fn write_tools(body: &ChatBody, requested: SearchMode, request: &mut JsonWriter) -> SearchMode {
    let mut tools = body.tools.as_ref().and_then(Rope::elements).unwrap_or_default();
    let caller_tools = tools.len();
    let name_taken = tools.iter().any(|it| name_of(it).as_deref() == Some(WEB_SEARCH));
    let search = if name_taken { SearchMode::Off } else { requested };
    if search == SearchMode::On {
        tools.push(Rope::from(r#"{"type":"web_search"}"#));
    }

    if !tools.is_empty() {
        request.text(r#","tools":["#).list(&tools).text("]");
    }

    if caller_tools > 0
        && let Some(choice) = body.parameter("tool_choice")
    {
        request.text(r#","tool_choice":"#);
        match choice.string().as_deref() {
            Some("required") => request.quoted("any"),
            _ => request.rope(&choice),
        };
    }

    search
}

fn name_of(tool: &Rope) -> Option<String> {
    tool.members()?.get("function")?.members()?.string("name")
}

/// Returns a message with roles and ids that Mistral accepts.
fn message(message: &Rope) -> Rope {
    let Some(members) = message.members() else { return message.clone() };

    let is_developer = members.string("role").as_deref() == Some("developer");
    let invalid_result_id = members.string("tool_call_id").filter(|it| !is_valid_id(it));
    let calls = members.get("tool_calls").and_then(Rope::elements).unwrap_or_default();
    let has_invalid_calls =
        calls.iter().any(|call| id_of(call).is_some_and(|id| !is_valid_id(&id)));
    if !is_developer && !has_invalid_calls && invalid_result_id.is_none() {
        return message.clone();
    }

    let mut corrected = JsonWriter::default();
    let mut separator = "{";
    for (key, value) in members.iter() {
        corrected.text(separator).quoted(key).text(":");
        match (key, &invalid_result_id) {
            ("role", _) if is_developer => corrected.quoted("system"),
            ("tool_call_id", Some(id)) => corrected.quoted(&to_valid_id(id)),
            ("tool_calls", _) if has_invalid_calls => {
                let valid_calls: Vec<Rope> = calls.iter().map(tool_call).collect();
                corrected.text("[").list(&valid_calls).text("]")
            }
            _ => corrected.rope(value),
        };
        separator = ",";
    }
    corrected.text("}").finish()
}

fn tool_call(call: &Rope) -> Rope {
    let Some(members) = call.members() else { return call.clone() };

    let mut corrected = JsonWriter::default();
    let mut separator = "{";
    for (key, value) in members.iter() {
        corrected.text(separator).quoted(key).text(":");
        match (key, value.string()) {
            ("id", Some(id)) => corrected.quoted(&to_valid_id(&id)),
            _ => corrected.rope(value),
        };
        separator = ",";
    }
    corrected.text("}").finish()
}

fn id_of(call: &Rope) -> Option<String> {
    call.members()?.string("id")
}

fn is_valid_id(id: &str) -> bool {
    id.len() == TOOL_CALL_ID_LEN && id.bytes().all(|it| it.is_ascii_alphanumeric())
}

/// Returns a valid id for Mistral, always the same for an id, so that calls and
/// results still match: a conversation may have begun with another model, whose
/// ids are longer. An invalid id becomes the digits of its FNV-1a hash.
fn to_valid_id(id: &str) -> String {
    if is_valid_id(id) {
        return id.to_owned();
    }

    let mut hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut valid = String::with_capacity(TOOL_CALL_ID_LEN);
    for _ in 0..TOOL_CALL_ID_LEN {
        let digit = u32::try_from(hash % 36).unwrap_or_default();
        valid.extend(char::from_digit(digit, 36));
        hash /= 36;
    }

    valid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valid_id_is_unchanged_and_another_becomes_valid() {
        assert_eq!(to_valid_id("D681PevKs"), "D681PevKs");
        for id in ["call_abc", "toolu_01NRLabsLyVHZPKxbKvkfSMn", "", "D681PevK-"] {
            assert!(is_valid_id(&to_valid_id(id)), "{id}");
            assert_eq!(to_valid_id(id), to_valid_id(id));
        }
        assert_ne!(to_valid_id("call_1"), to_valid_id("call_2"));
    }
}
