//! Tests of the part of an event that the caller sees.

use super::*;

fn extract(calls: &mut ToolCallCollector, event: &Value) -> CallerPart {
    let is_ours = |name: &str| name.starts_with("pia_");
    calls.extract(&Bytes::from(event.to_string()), &is_ours)
}

fn passed(of: &CallerPart) -> Value {
    match of {
        CallerPart::Part(json) => serde_json::from_slice(json).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn called(parts: &Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": { "tool_calls": parts } }] })
}

fn ends() -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] })
}

fn call(index: i64, id: &str, name: &str, arguments: &str) -> Value {
    json!({ "index": index, "id": id, "type": "function",
        "function": { "name": name, "arguments": arguments } })
}

fn more(index: i64, arguments: &str) -> Value {
    json!({ "index": index, "function": { "arguments": arguments } })
}

#[test]
fn what_is_ours_is_stored_with_the_end_that_it_makes() {
    let mut calls = ToolCallCollector::default();
    let message = r#"data: {"choices":[{"delta":{"content":"I will look"}}]}"#;
    calls.record_frames(&Bytes::from(format!("{message}\n\ndata: {{\"x\":1}}\n\n")));

    let first = extract(&mut calls, &called(&json!([call(0, "a", "pia_search", "")])));
    let second = extract(&mut calls, &called(&json!([more(0, "{\"query\":"), more(0, "\"x\"}")])));
    let end = extract(&mut calls, &ends());

    assert_eq!(
        [first, second, end],
        [CallerPart::Nothing, CallerPart::Nothing, CallerPart::Nothing]
    );
    assert!(calls.only_server_calls());
    let (calls, text) = calls.finish();
    let expected = Call {
        id: "a".to_owned(),
        name: "pia_search".to_owned(),
        arguments: r#"{"query":"x"}"#.to_owned(),
    };
    assert_eq!((calls.as_slice(), text.as_str()), ([expected].as_slice(), "I will look"));
}

#[test]
fn what_is_the_callers_goes_on_as_it_came() {
    let mut calls = ToolCallCollector::default();

    assert_eq!(extract(&mut calls, &called(&json!([call(0, "a", "read", "{}")]))), CallerPart::All);
    assert_eq!(extract(&mut calls, &ends()), CallerPart::All);
    assert!(!calls.only_server_calls());
}

#[test]
fn of_both_the_callers_go_on_as_if_they_were_alone() {
    let mut calls = ToolCallCollector::default();
    let ours = call(0, "a", "pia_search", "{}");

    let event = called(&json!([ours, call(1, "b", "read", "")]));
    let first = passed(&extract(&mut calls, &event));
    let second = passed(&extract(&mut calls, &called(&json!([more(1, "{}")]))));

    assert_eq!(first, called(&json!([call(0, "b", "read", "")])));
    assert_eq!(second, called(&json!([more(0, "{}")])));
    assert_eq!(extract(&mut calls, &ends()), CallerPart::All);
}

#[test]
fn what_else_an_event_states_goes_on() {
    let mut calls = ToolCallCollector::default();
    let with = |content: &str| {
        let parts = json!([call(0, "a", "pia_search", "{}")]);
        json!({ "choices": [{ "delta": { "content": content, "tool_calls": parts } }] })
    };
    let usage = json!({ "prompt_tokens": 1, "completion_tokens": 2 });
    let mut end = ends();
    end["usage"] = usage.clone();

    assert_eq!(extract(&mut calls, &with("")), CallerPart::Nothing);
    let words = passed(&extract(&mut calls, &with("words")));
    assert_eq!(words, json!({ "choices": [{ "delta": { "content": "words" } }] }));
    let reported = passed(&extract(&mut calls, &end));
    assert_eq!(reported, json!({ "choices": [], "usage": usage }));
}

#[test]
fn calls_are_distinguished_by_id_by_index_and_by_name() {
    let mut calls = ToolCallCollector::default();
    // Some give each call the same index, and some none at all.
    extract(&mut calls, &called(&json!([call(0, "a", "pia_x", "1")])));
    extract(&mut calls, &called(&json!([call(0, "b", "pia_x", "2")])));
    extract(&mut calls, &called(&json!([{ "function": { "name": "pia_y", "arguments": "3" } }])));
    extract(&mut calls, &called(&json!([{ "function": { "arguments": "4" } }])));

    let (calls, _) = calls.finish();
    let reported: Vec<_> = calls.iter().map(|it| (it.id.as_str(), it.arguments.as_str())).collect();
    assert_eq!(reported, [("a", "1"), ("b", "2"), ("pia_call_2", "34")]);
}

#[test]
fn what_makes_no_sense_is_left_to_others() {
    let mut calls = ToolCallCollector::default();
    for json in ["{", "[]", "{}", r#"{"choices":7}"#, r#"{"choices":[{"delta":[]}]}"#] {
        assert_eq!(calls.extract(&Bytes::from(json), &|_| true), CallerPart::All, "{json}");
    }
}

#[test]
fn what_is_repeated_is_what_upstreams_take() {
    let call = |arguments: &str| Call {
        id: "a".to_owned(),
        name: "n".to_owned(),
        arguments: arguments.to_owned(),
    };
    let read = |bytes: &Bytes| serde_json::from_slice::<Value>(bytes).unwrap();

    let message = read(&assistant_message("", &[call("{\"q\":1}"), call("{\"q\":")]));

    assert!(message["content"].is_null());
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], "{\"q\":1}");
    assert_eq!(message["tool_calls"][1]["function"]["arguments"], "{}");
    let reported = json!({ "role": "tool", "tool_call_id": "a", "content": "x" });
    assert_eq!(read(&tool_result(&call(""), "x")), reported);
}
