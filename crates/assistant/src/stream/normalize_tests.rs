//! Tests of events that need normalisation.

use serde_json::json;

use super::*;

/// Returns the normalised event, or null if nothing is left.
fn after(event: &Value, after_deltas: bool) -> Value {
    let mut call_indices = CallIndices::default();
    match normalize_event(event.to_string().as_bytes(), after_deltas, &mut call_indices) {
        NormalizeAction::Unchanged => event.clone(),
        NormalizeAction::Repaired(json) => {
            let repaired = serde_json::from_slice(&json).unwrap();
            assert_ne!(&repaired, event, "there was nothing to mend");
            repaired
        }
        NormalizeAction::Dropped => Value::Null,
    }
}

fn calling(calls: &Value) -> Value {
    json!({ "id": "c", "choices": [{ "index": 0, "delta": { "tool_calls": calls } }] })
}

/// Returns the normalised calls of an event.
fn calls(input: &Value) -> Value {
    after(&calling(input), true)["choices"][0]["delta"]["tool_calls"].clone()
}

#[test]
fn common_events_are_unchanged() {
    let events = [
        json!({ "choices": [{ "delta": { "content": "x" }, "finish_reason": null }] }),
        json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }], "usage": null }),
        json!({ "choices": [{ "delta": {}, "message": { "content": "x" } }] }),
        json!({ "choices": [{ "delta": null, "finish_reason": "stop" }] }),
        json!({ "choices": [{ "finish_reason": "stop" }] }),
        json!({ "choices": [], "usage": { "prompt_tokens": 1, "completion_tokens": 2 } }),
        json!({ "choices": [], "usage": {} }),
        json!({ "error": { "message": "no" } }),
        calling(&json!([{ "index": 0, "id": "a", "type": "function",
            "function": { "name": "f", "arguments": "{" } }])),
        calling(&json!([{ "index": 0, "id": null, "function": { "arguments": "}" } }])),
        calling(&json!(null)),
        calling(&json!([])),
    ];
    for event in events {
        assert_eq!(
            normalize_event(event.to_string().as_bytes(), true, &mut CallIndices::default()),
            NormalizeAction::Unchanged,
            "{event}"
        );
    }
    for none in ["[]", "7", "{"] {
        let action = normalize_event(none.as_bytes(), false, &mut CallIndices::default());
        assert_eq!(action, NormalizeAction::Unchanged);
    }
}

#[test]
fn an_upstreams_guardrail_mark_is_removed() {
    let mark_alone = json!({ "guardrail": { "protected": true } });
    let without_choices = json!({ "guardrail": { "protected": true }, "choices": [] });
    let with_content = json!({ "guardrail": false, "choices": [{ "delta": { "content": "x" } }] });
    let with_usage = json!({ "guardrail": 1, "usage": { "prompt_tokens": 1 } });

    assert_eq!(after(&mark_alone, false), Value::Null);
    assert_eq!(after(&without_choices, false), Value::Null);
    assert_eq!(
        after(&with_content, false),
        json!({ "choices": [{ "delta": { "content": "x" } }] })
    );
    assert_eq!(after(&with_usage, false), json!({ "usage": { "prompt_tokens": 1 } }));
}

#[test]
fn a_message_is_a_delta_unless_there_were_deltas() {
    let event = json!({ "choices": [{ "message": { "content": "x" }, "finish_reason": "stop" }] });

    assert_eq!(
        after(&event, false),
        json!({ "choices": [{ "delta": { "content": "x" }, "finish_reason": "stop" }] })
    );
    assert_eq!(
        after(&event, true),
        json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] })
    );
    assert!(has_delta(br#"data: {"choices":[{"delta":{}}]}"#));
    assert!(!has_delta(br#"{"choices":[{"message":{"content":"\"delta\""}}]}"#));
}

#[test]
fn calls_in_a_message_are_repaired() {
    let call = json!({ "function": { "name": "f", "arguments": { "a": 1 } } });
    let event = json!({ "choices": [{ "message": { "tool_calls": [call] } }] });

    let calls = &after(&event, false)["choices"][0]["delta"]["tool_calls"];

    assert_eq!(calls[0]["function"]["arguments"], r#"{"a":1}"#);
}

#[test]
fn an_invalid_delta_becomes_empty() {
    for invalid in [json!("text"), json!([1]), json!(7)] {
        let event = json!({ "choices": [{ "delta": invalid, "finish_reason": "stop" }] });

        let expected = json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] });
        assert_eq!(after(&event, true), expected, "{invalid}");
    }
}

#[test]
fn an_invalid_finish_reason_is_removed() {
    for invalid in [json!(1), json!(true), json!({ "reason": "stop" }), json!("")] {
        let event = json!({ "choices": [{ "delta": {}, "finish_reason": invalid }] });

        assert_eq!(after(&event, true), json!({ "choices": [{ "delta": {} }] }), "{invalid}");
    }
}

#[test]
fn an_unknown_finish_reason_becomes_a_known_one() {
    for (reason, expected) in [
        ("max_tokens", "length"),
        ("MAX_TOKENS", "length"),
        ("model_length", "length"),
        ("tool_use", "tool_calls"),
        ("eos", "stop"),
        ("STOP", "stop"),
    ] {
        let event = json!({ "choices": [{ "delta": {}, "finish_reason": reason }] });
        let answer = json!({ "choices": [{ "message": {}, "finish_reason": reason }] });

        let normalized = normalize_answer(Bytes::from(answer.to_string()));

        let expected_event = json!({ "choices": [{ "delta": {}, "finish_reason": expected }] });
        assert_eq!(after(&event, true), expected_event, "{reason}");
        let expected_answer = json!({ "choices": [{ "message": {}, "finish_reason": expected }] });
        assert_eq!(normalized, expected_answer.to_string(), "{reason}");
    }
    for known in ["stop", "length", "tool_calls", "content_filter", "function_call", "error"] {
        let answer = json!({ "choices": [{ "message": {}, "finish_reason": known }] }).to_string();

        assert_eq!(normalize_answer(Bytes::from(answer.clone())), answer);
        assert_eq!(known_reason(known), known);
    }
}

#[test]
fn a_full_response_without_a_finish_reason_gets_one() {
    for (message, reason) in [
        (json!({ "content": "x" }), "stop"),
        (json!({ "tool_calls": [] }), "stop"),
        (json!({ "tool_calls": [{ "id": "a" }] }), "tool_calls"),
    ] {
        for missing in [json!(null), json!("")] {
            let answer = json!({ "choices": [{ "message": message, "finish_reason": missing }] });

            let normalized = normalize_answer(Bytes::from(answer.to_string()));

            let expected = json!({ "choices": [{ "message": message, "finish_reason": reason }] });
            assert_eq!(normalized, expected.to_string());
        }
    }
}

#[test]
fn members_of_calls_are_converted_or_removed() {
    let function =
        |function: Value| calls(&json!([{ "function": function }]))[0]["function"].clone();
    let call = |call: Value| calls(&json!([call]))[0].clone();

    assert_eq!(
        function(json!({ "arguments": { "a": [1] } })),
        json!({ "arguments": "{\"a\":[1]}" })
    );
    assert_eq!(function(json!({ "arguments": 7 })), json!({ "arguments": "7" }));
    assert_eq!(function(json!({ "name": 7, "arguments": "" })), json!({ "arguments": "" }));
    let first_call = json!({ "id": "a", "index": 0 });
    assert_eq!(call(json!({ "function": "f", "id": "a" })), first_call);
    assert_eq!(call(json!({ "id": 12 })), json!({ "id": "12", "index": 0 }));
    assert_eq!(call(json!({ "id": ["a"], "index": 0 })), json!({ "index": 0 }));
    for (input, index) in [(json!("2"), 2), (json!(2.0), 2)] {
        assert_eq!(call(json!({ "index": input })), json!({ "index": index }));
    }
    for invalid in [json!(-1), json!(1.5), json!("one"), json!([])] {
        assert_eq!(call(json!({ "index": invalid, "id": "a" })), first_call);
    }
    assert_eq!(call(json!({ "type": 1, "id": "a" })), first_call);
}

#[test]
fn invalid_calls_are_removed_and_a_single_one_becomes_a_list() {
    let first_call = json!([{ "id": "a", "index": 0 }]);
    assert_eq!(calls(&json!([1, "x", { "id": "a" }, null])), first_call);
    assert_eq!(calls(&json!({ "id": "a" })), first_call);
    for invalid in [json!("x"), json!(7), json!([1, 2]), json!([[]])] {
        assert_eq!(calls(&invalid), Value::Null, "{invalid}");
    }
}

#[test]
fn invalid_usage_is_removed() {
    for invalid in [json!("many"), json!([1]), json!(5), json!({ "prompt_tokens": [] })] {
        let alone = json!({ "choices": [], "usage": invalid });
        let beside = json!({ "choices": [{ "delta": {} }], "usage": invalid });

        assert_eq!(after(&alone, true), Value::Null, "{invalid}");
        assert_eq!(after(&beside, true), json!({ "choices": [{ "delta": {} }] }), "{invalid}");
    }
}

#[test]
fn a_full_response_is_repaired() {
    let answer = |calls: Value, usage: Value| {
        let message = json!({ "content": "x", "tool_calls": calls });
        json!({ "choices": [{ "message": message, "finish_reason": "stop" }], "usage": usage })
    };
    let normalized = |it: &Value| normalize_answer(Bytes::from(it.to_string()));
    let valid_usage = json!({ "prompt_tokens": 1, "completion_tokens": 2 });
    let call = |arguments: Value| json!([{ "id": "a", "function": { "arguments": arguments } }]);
    let fine = answer(call(json!("{}")), valid_usage.clone());

    let invalid: Value =
        serde_json::from_slice(&normalized(&answer(call(json!({})), json!("x")))).unwrap();

    assert_eq!(normalized(&fine), fine.to_string());
    let mut expected = answer(call(json!("{}")), valid_usage);
    expected.as_object_mut().unwrap().remove("usage");
    assert_eq!(invalid, expected);
    for (usage, expected) in [
        (json!({ "prompt_tokens": "5", "completion_tokens": 2.0 }), [5, 2]),
        (json!({ "prompt_tokens": -5, "completion_tokens": 1e15 }), [0, 1_000_000_000]),
        (json!({ "input_tokens": 5, "output_tokens": 2 }), [5, 2]),
        (json!({ "prompt_tokens": 5, "completion_tokens": 2, "total_tokens": "7" }), [5, 2]),
    ] {
        let invalid = answer(Value::Null, usage.clone()).to_string();
        let normalized: Value =
            serde_json::from_slice(&normalize_answer(Bytes::from(invalid))).unwrap();
        let usage_of = |key: &str| normalized["usage"][key].as_u64().unwrap();
        assert_eq!(["prompt_tokens", "completion_tokens"].map(usage_of), expected, "{usage}");
        assert_eq!(usage_of("total_tokens"), expected[0] + expected[1], "{usage}");
    }
    for none in ["<html>", "[]", r#"{"choices":"tool_calls"}"#] {
        assert_eq!(normalize_answer(Bytes::from(none)), none);
    }
}
