//! Tests of the part of an event for the caller.

use super::*;

fn extract(calls: &mut ToolCallCollector, event: &Value) -> CallerPart {
    let is_server_tool = |name: &str| name.starts_with("pia_");
    calls.extract(&Bytes::from(event.to_string()), &is_server_tool)
}

fn changed_event(part: &CallerPart) -> Value {
    match part {
        CallerPart::Part(json) => serde_json::from_slice(json).unwrap(),
        CallerPart::All | CallerPart::Nothing => panic!("{part:?}"),
    }
}

fn tool_call_event(parts: &Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": { "tool_calls": parts } }] })
}

fn end_event() -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] })
}

fn call(index: i64, id: &str, name: &str, arguments: &str) -> Value {
    json!({ "index": index, "id": id, "type": "function",
        "function": { "name": name, "arguments": arguments } })
}

fn continue_call(index: i64, arguments: &str) -> Value {
    json!({ "index": index, "function": { "arguments": arguments } })
}

#[test]
fn server_calls_are_collected_and_their_end_is_removed() {
    let mut calls = ToolCallCollector::default();
    let content_frame = r#"data: {"choices":[{"delta":{"content":"I will look"}}]}"#;
    calls.record_frames(&Bytes::from(format!("{content_frame}\n\ndata: {{\"x\":1}}\n\n")));

    let start_of_call = json!([call(0, "a", "pia_search", "")]);
    let end_of_call = json!([continue_call(0, "{\"query\":"), continue_call(0, "\"x\"}")]);
    for event in [tool_call_event(&start_of_call), tool_call_event(&end_of_call), end_event()] {
        assert_eq!(extract(&mut calls, &event), CallerPart::Nothing);
    }

    assert!(calls.only_server_calls());
    let (calls, text) = calls.finish();
    let expected = Call {
        id: "a".to_owned(),
        name: "pia_search".to_owned(),
        arguments: r#"{"query":"x"}"#.to_owned(),
    };
    assert_eq!(calls, [expected]);
    assert_eq!(text, "I will look");
}

#[test]
fn caller_calls_are_forwarded_unchanged() {
    let mut calls = ToolCallCollector::default();

    assert_eq!(
        extract(&mut calls, &tool_call_event(&json!([call(0, "a", "read", "{}")]))),
        CallerPart::All
    );
    assert_eq!(extract(&mut calls, &end_event()), CallerPart::All);
    assert!(!calls.only_server_calls());
}

#[test]
fn caller_calls_are_renumbered_without_server_calls() {
    let mut calls = ToolCallCollector::default();
    let server_call = call(0, "a", "pia_search", "{}");

    let event = tool_call_event(&json!([server_call, call(1, "b", "read", "")]));
    let caller_event = changed_event(&extract(&mut calls, &event));
    assert_eq!(caller_event, tool_call_event(&json!([call(0, "b", "read", "")])));

    let next_event = tool_call_event(&json!([continue_call(1, "{}")]));
    let next_caller_event = changed_event(&extract(&mut calls, &next_event));
    assert_eq!(next_caller_event, tool_call_event(&json!([continue_call(0, "{}")])));

    assert_eq!(extract(&mut calls, &end_event()), CallerPart::All);
}

#[test]
fn other_contents_of_an_event_are_forwarded() {
    let mut calls = ToolCallCollector::default();
    let with = |content: &str| {
        let parts = json!([call(0, "a", "pia_search", "{}")]);
        json!({ "choices": [{ "delta": { "content": content, "tool_calls": parts } }] })
    };
    let usage = json!({ "prompt_tokens": 1, "completion_tokens": 2 });
    let mut end = end_event();
    end["usage"] = usage.clone();

    assert_eq!(extract(&mut calls, &with("")), CallerPart::Nothing);
    let words = changed_event(&extract(&mut calls, &with("words")));
    assert_eq!(words, json!({ "choices": [{ "delta": { "content": "words" } }] }));
    let usage_event = changed_event(&extract(&mut calls, &end));
    assert_eq!(usage_event, json!({ "choices": [], "usage": usage }));
}

#[test]
fn calls_are_distinguished_by_id_index_and_name() {
    let mut calls = ToolCallCollector::default();
    // Some upstreams use the same index for all calls, and some none.
    extract(&mut calls, &tool_call_event(&json!([call(0, "a", "pia_x", "1")])));
    extract(&mut calls, &tool_call_event(&json!([call(0, "b", "pia_x", "2")])));
    extract(
        &mut calls,
        &tool_call_event(&json!([{ "function": { "name": "pia_y", "arguments": "3" } }])),
    );
    extract(&mut calls, &tool_call_event(&json!([{ "function": { "arguments": "4" } }])));

    let (calls, _) = calls.finish();
    let merged: Vec<_> = calls.iter().map(|it| (it.id.as_str(), it.arguments.as_str())).collect();
    assert_eq!(merged, [("a", "1"), ("b", "2"), ("pia_call_2", "34")]);
}

#[test]
fn the_number_and_the_names_of_calls_are_limited() {
    let mut calls = ToolCallCollector::default();
    for number in 0..=MAX_CALLS {
        assert!(!calls.exceeds_limit(), "{number}");
        let part = call(0, &format!("c{number}"), "pia_x", "");
        extract(&mut calls, &tool_call_event(&json!([part])));
    }
    assert!(calls.exceeds_limit());
    assert_eq!(calls.finish().0.len(), MAX_CALLS);

    let mut calls = ToolCallCollector::default();
    let part = call(0, "a", &"x".repeat(MAX_CALL_KEY_BYTES), "");
    extract(&mut calls, &tool_call_event(&json!([part])));
    assert!(calls.exceeds_limit());
}

#[test]
fn arguments_that_are_too_long_are_invalid() {
    let mut calls = ToolCallCollector::default();
    let long_text = "x".repeat(MAX_ARGUMENTS_BYTES);
    let parts = [
        call(0, "a", "pia_search", "{\"query\":\""),
        continue_call(0, &long_text),
        continue_call(0, "\"}"),
    ];
    for part in parts {
        extract(&mut calls, &tool_call_event(&json!([part])));
    }

    assert_eq!(calls.finish().0[0].arguments, "{");
}

#[test]
fn invalid_events_are_forwarded() {
    let mut calls = ToolCallCollector::default();
    for json in ["{", "[]", "{}", r#"{"choices":7}"#, r#"{"choices":[{"delta":[]}]}"#] {
        assert_eq!(calls.extract(&Bytes::from(json), &|_| true), CallerPart::All, "{json}");
    }
}

#[test]
fn repeated_messages_are_valid() {
    let call = |arguments: &str| Call {
        id: "a".to_owned(),
        name: "n".to_owned(),
        arguments: arguments.to_owned(),
    };
    let parse = |bytes: &Bytes| serde_json::from_slice::<Value>(bytes).unwrap();
    let message = parse(&assistant_message("", &[call("{\"q\":1}"), call("{\"q\":")]));

    assert!(message["content"].is_null());
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], "{\"q\":1}");
    assert_eq!(message["tool_calls"][1]["function"]["arguments"], "{}");
    let expected = json!({ "role": "tool", "tool_call_id": "a", "content": "x" });
    assert_eq!(parse(&tool_result(&call(""), "x")), expected);
}
