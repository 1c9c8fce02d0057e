//! Full response from an upstream that was to stream.

use pia_assistant::{Frame, UpstreamError};
use serde_json::Value;

/// Converts a full response to a single chunk and the end.
///
/// Some servers do not stream with some models and respond in one piece; to the
/// caller that is a stream with a single chunk.
pub(crate) fn frames(answer: &[u8]) -> Result<[Frame; 2], UpstreamError> {
    let mut answer: Value =
        serde_json::from_slice(answer).map_err(|_invalid| UpstreamError::Malformed)?;
    let members = answer.as_object_mut().ok_or(UpstreamError::Malformed)?;
    members.insert("object".to_owned(), "chat.completion.chunk".into());
    let failed = members.get("error").is_some_and(|it| !it.is_null());
    let mut has_message = false;
    if let Some(Value::Array(choices)) = members.get_mut("choices") {
        for choice in choices.iter_mut().filter_map(Value::as_object_mut) {
            if let Some(mut message) = choice.remove("message").filter(Value::is_object) {
                number_tool_calls(&mut message);
                choice.insert("delta".to_owned(), message);
                has_message = true;
            }
        }
    }

    // An error is passed on; the reader of the chunk explains it.
    if !(has_message || failed) {
        return Err(UpstreamError::Malformed);
    }

    let chunk = serde_json::to_vec(&answer).map_err(|_unwritable| UpstreamError::Malformed)?;

    Ok([Frame::Inspect(chunk.into()), Frame::Done])
}

/// Numbers the tool calls, as a stream does.
fn number_tool_calls(message: &mut Value) {
    let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
    for (number, call) in calls.into_iter().flatten().enumerate() {
        if let Some(call) = call.as_object_mut() {
            call.insert("index".to_owned(), number.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_message_becomes_the_delta() {
        let answer = json!({
            "object": "chat.completion",
            "choices": [{
                "message": { "content": null, "tool_calls": [{ "id": "a" }, { "id": "b" }] },
                "finish_reason": "tool_calls",
            }],
            "usage": { "prompt_tokens": 1 },
        });

        let [Frame::Inspect(chunk), Frame::Done] = frames(answer.to_string().as_bytes()).unwrap()
        else {
            panic!("no chunk and end");
        };

        assert_eq!(
            serde_json::from_slice::<Value>(&chunk).unwrap(),
            json!({
                "object": "chat.completion.chunk",
                "choices": [{
                    "delta": {
                        "content": null,
                        "tool_calls": [{ "id": "a", "index": 0 }, { "id": "b", "index": 1 }],
                    },
                    "finish_reason": "tool_calls",
                }],
                "usage": { "prompt_tokens": 1 },
            })
        );
    }

    #[test]
    fn a_response_without_a_message_is_malformed_unless_it_is_an_error() {
        for answer in ["[]", "{", "{}", r#"{"choices":[]}"#, r#"{"choices":[{"message":null}]}"#] {
            assert_eq!(frames(answer.as_bytes()), Err(UpstreamError::Malformed), "{answer}");
        }
        assert!(frames(br#"{"error":{"code":"context_length_exceeded"}}"#).is_ok());
    }
}
