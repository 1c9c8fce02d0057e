//! Requests in Mistral's format.
//!
//! Mistral refuses unknown members, so they are left out.

use bytes::Bytes;
use pia_assistant::{CapName, ChatBody, ChatCall, UpstreamError};

use super::WEB_SEARCH;
use crate::dialect::ending::BodySuffix;
use crate::dialect::reply::unreadable;
use crate::dialect::{ResponseMode, SearchMode};
use pia_json::{JsonWriter, Rope, quoted};

/// Parameters with the same name and no further restriction.
const KNOWN: [&str; 6] = [
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
    let messages = call.body.messages.elements().ok_or_else(unreadable)?;
    let messages: Vec<Rope> = messages.iter().map(message).collect();
    let mut request = JsonWriter::default();
    request.text(r#"{"messages":["#).list(&messages).text("]");

    for (key, value) in &call.body.parameters {
        if KNOWN.contains(key) || (MODEL_PARAMETERS.contains(key) && target.agent.is_none()) {
            request.text(",").quoted(key).text(":").bytes(value);
        }
    }

    if let Some(seed) = call.body.parameter("seed") {
        request.text(r#","random_seed":"#).rope(&seed);
    }

    let search = tools(&call.body, SearchMode::for_target(target), &mut request);

    let ending = match &target.agent {
        Some(agent) => BodySuffix::default().member("agent_id", &quoted(agent)),
        None => BodySuffix::model(&target.model),
    };
    let ending = ending.cap_as(call.max_output, CapName::MaxTokens).effort(call.effort);
    // Mistral always reports usage.
    let ending = match mode {
        ResponseMode::Streamed => ending.member("stream", "true"),
        ResponseMode::Full => ending,
    };

    Ok((ending.close_written(request), search))
}

/// Writes the tools. A tool of the caller with the name of Mistral's own
/// replaces it.
fn tools(body: &ChatBody, requested: SearchMode, request: &mut JsonWriter) -> SearchMode {
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

/// Returns a message with what Mistral does not accept corrected.
fn message(message: &Rope) -> Rope {
    let Some(members) = message.members() else { return message.clone() };

    let developer = members.string("role").as_deref() == Some("developer");
    let result_id = members.string("tool_call_id").filter(|it| !is_valid_id(it));
    let calls = members.get("tool_calls").and_then(Rope::elements).unwrap_or_default();
    let foreign = calls.iter().any(|call| id_of(call).is_some_and(|id| !is_valid_id(&id)));
    if !developer && !foreign && result_id.is_none() {
        return message.clone();
    }

    let mut written = JsonWriter::default();
    let mut before = "{";
    for (key, value) in members.iter() {
        written.text(before).quoted(key).text(":");

        match (key, &result_id) {
            ("role", _) if developer => written.quoted("system"),
            ("tool_call_id", Some(id)) => written.quoted(&to_valid_id(id)),
            ("tool_calls", _) if foreign => {
                let calls: Vec<Rope> = calls.iter().map(tool_call).collect();
                written.text("[").list(&calls).text("]")
            }
            _ => written.rope(value),
        };
        before = ",";
    }

    written.text("}").finish()
}

fn tool_call(call: &Rope) -> Rope {
    let Some(members) = call.members() else { return call.clone() };

    let mut written = JsonWriter::default();
    let mut before = "{";
    for (key, value) in members.iter() {
        written.text(before).quoted(key).text(":");
        match (key, value.string()) {
            ("id", Some(id)) => written.quoted(&to_valid_id(&id)),
            _ => written.rope(value),
        };
        before = ",";
    }

    written.text("}").finish()
}

fn id_of(call: &Rope) -> Option<String> {
    call.members()?.string("id")
}

fn is_valid_id(id: &str) -> bool {
    id.len() == TOOL_CALL_ID_LEN && id.bytes().all(|it| it.is_ascii_alphanumeric())
}

/// Returns a valid id for Mistral, always the same for an id: a conversation
/// may have begun with another model, whose ids are longer.
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
