//! Anthropic's dialect.

use super::*;

fn claude(model: &str) -> Target {
    Target::new(ProviderType::Anthropic, NOWHERE, model)
}

fn request_body(model: &str, effort: ReasoningEffort, members: &Value) -> Value {
    sent_body(
        &ChatCall { effort: Some(effort), ..chat_call(claude(model), members) },
        ResponseMode::Full,
    )
}

fn text(words: &str) -> Value {
    json!({ "type": "text", "text": words })
}

#[test]
fn it_is_called_with_its_own_headers() {
    let target = Target::new(ProviderType::Anthropic, "https://api.anthropic.com", "claude-opus-5");

    let prepared = prepare(&chat_call(target, &hello()), ResponseMode::Full).unwrap();

    assert_eq!(prepared.url, "https://api.anthropic.com/v1/messages");
    assert_eq!(prepared.headers["x-api-key"], "sk-secret");
    assert_eq!(prepared.headers["anthropic-version"], "2023-06-01");
    assert!(!prepared.headers.contains_key("authorization"));
}

#[test]
fn a_conversation_is_translated() {
    let body = json!({
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "developer", "content": [text("Be kind."), text(" ")] },
            { "role": "user", "content": [
                text("What is this?"),
                { "type": "image_url", "image_url": { "url": "data:image/jpg;base64,QUJD+/A=" } },
                { "type": "image_url", "image_url": { "url": "https://images.example/a.png" } },
            ] },
            { "role": "assistant", "content": "Let me see.", "tool_calls": [
                { "id": "call:1", "type": "function",
                  "function": { "name": "look", "arguments": "{\"at\": [1, \"x\"]}" } },
                { "id": "call_2", "type": "function",
                  "function": { "name": "look", "arguments": "" } },
            ] },
            { "role": "tool", "tool_call_id": "call:1", "content": "a cat" },
            { "role": "tool", "tool_call_id": "call_2", "content": "" },
            { "role": "user", "content": "Well?" },
        ],
        "tools": [{ "type": "function", "function": {
            "name": "look", "description": "Looks.", "parameters": { "type": "object" } } }],
        "temperature": 1.5,
        "stop": ["END", " "],
        "seed": 1,
        "frequency_penalty": 1,
    });

    let request_body =
        sent_body(&chat_call(claude("claude-sonnet-4-5"), &body), ResponseMode::Streamed);

    let base64 = json!({ "type": "base64", "media_type": "image/jpeg", "data": "QUJD+/A=" });
    let url = json!({ "type": "url", "url": "https://images.example/a.png" });
    let expected = json!({
        "model": "claude-sonnet-4-5",
        "max_tokens": 32000,
        "system": [text("Be brief."), text("Be kind.")],
        "messages": [
            { "role": "user", "content": [
                text("What is this?"),
                { "type": "image", "source": base64 },
                { "type": "image", "source": url },
            ] },
            { "role": "assistant", "content": [
                text("Let me see."),
                { "type": "tool_use", "id": "call_1", "name": "look", "input": { "at": [1, "x"] } },
                { "type": "tool_use", "id": "call_2", "name": "look", "input": {} },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "call_1", "content": [text("a cat")] },
                { "type": "tool_result", "tool_use_id": "call_2" },
                text("Well?"),
            ] },
        ],
        "tools": [{ "name": "look", "description": "Looks.", "input_schema": { "type": "object" } }],
        "temperature": 1,
        "stop_sequences": ["END"],
        "stream": true,
    });
    assert_eq!(request_body, expected);
}

/// Returns the block that is sent for a part.
fn sent_part(part: &Value) -> Result<Value, UpstreamError> {
    let body = json!({ "messages": [{ "role": "user", "content": [part] }] });
    let prepared = prepare(&chat_call(claude("claude-opus-5"), &body), ResponseMode::Full)?;
    let request: Value = serde_json::from_slice(&prepared.body.concat()).unwrap();
    Ok(request["messages"][0]["content"][0].clone())
}

#[test]
fn files_become_documents() {
    let file = |file: Value| sent_part(&json!({ "type": "file", "file": file })).unwrap();

    let pdf = file(json!({
        "file_data": "data:application/pdf;base64,JVBERi0=", "filename": "a \"b\".pdf" }));
    let text = file(json!({ "file_data": "data:text/markdown;base64,IyBIw7Z0ZWw=" }));

    let source = json!({ "type": "base64", "media_type": "application/pdf", "data": "JVBERi0=" });
    assert_eq!(pdf, json!({ "type": "document", "source": source, "title": "a \"b\".pdf" }));
    let source = json!({ "type": "text", "media_type": "text/plain", "data": "# Hötel" });
    assert_eq!(text, json!({ "type": "document", "source": source }));
}

#[test]
fn parts_without_equivalent_are_refused() {
    for part in [
        json!({ "type": "file", "file": { "file_id": "file-1" } }),
        json!({ "type": "file", "file": { "file_data": "data:application/zip;base64,AAAA" } }),
        json!({ "type": "file", "file": { "file_data": "data:text/plain;base64,*" } }),
        json!({ "type": "input_audio", "input_audio": { "data": "AAAA", "format": "wav" } }),
        json!({ "type": "video_url", "video_url": { "url": "data:video/mp4;base64,AAAA" } }),
        json!({ "type": "hologram" }),
    ] {
        let refusal = sent_part(&part).unwrap_err();

        assert!(matches!(refusal, UpstreamError::UnsupportedPart(_)), "{part}");
    }
}

#[test]
fn messages_of_the_system_and_the_assistant_may_only_have_texts() {
    let image =
        json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } });
    let file = json!({ "type": "file", "file": { "file_data": "data:text/plain;base64,eA==" } });
    let prepare_as = |role: &str, part: &Value| {
        let message = json!({ "role": role, "content": [text("Hello."), part] });
        let body = json!({ "messages": [message, { "role": "user", "content": "Well?" }] });
        prepare(&chat_call(claude("claude-opus-5"), &body), ResponseMode::Full)
    };

    for role in ["system", "developer", "assistant"] {
        for part in [&image, &file, &json!({ "type": "hologram" })] {
            let outcome = prepare_as(role, part);

            assert!(matches!(outcome, Err(UpstreamError::UnsupportedPart(_))), "{role} {part}");
        }
    }

    let refusal = json!({ "type": "refusal", "refusal": "No." });
    let thought = json!({ "type": "thinking", "thinking": "Hm." });
    for (part, expected) in
        [(refusal, json!([text("Hello."), text("No.")])), (thought, json!([text("Hello.")]))]
    {
        let request = prepare_as("assistant", &part).unwrap();
        let body: Value = serde_json::from_slice(&request.body.concat()).unwrap();
        assert_eq!(body["messages"][1]["content"], expected);
    }
}

#[test]
fn an_image_is_not_copied_and_keeps_its_escapes() {
    let data = format!("{}\\u002B", "A".repeat(50_000));
    let image = format!("\"data:image\\/png;base64,{data}\"");
    let open = format!(
        r#"{{"messages":[{{"role":"user","content":[{{"type":"image_url","image_url":{{"url":{image}}}}}]}}]"#
    );
    let body = Bytes::from(open);
    let call = ChatCall {
        body: chat_body(vec![body.clone()]),
        ..chat_call(claude("claude-opus-5"), &hello())
    };

    let prepared = prepare(&call, ResponseMode::Full).unwrap();

    let large = prepared.body.iter().max_by_key(|it| it.len()).unwrap();
    assert!(body.as_ptr_range().contains(&large.as_ptr()));
    let request: Value = serde_json::from_slice(&prepared.body.concat()).unwrap();
    let source = &request["messages"][0]["content"][0]["source"];
    assert_eq!(source["media_type"], "image/png");
    assert_eq!(source["data"], format!("{}+", "A".repeat(50_000)));
}

#[test]
fn the_user_begins_and_a_lone_system_message_becomes_the_users() {
    let system = json!({ "messages": [{ "role": "system", "content": "Say hi." }] });
    let assistant = json!({ "messages": [
        { "role": "system", "content": "s" }, { "role": "assistant", "content": "Hello." } ] });

    let alone = sent_body(&chat_call(claude("claude-opus-5"), &system), ResponseMode::Full);
    let assistant_first =
        sent_body(&chat_call(claude("claude-opus-5"), &assistant), ResponseMode::Full);

    assert_eq!(alone["messages"], json!([{ "role": "user", "content": [text("Say hi.")] }]));
    assert!(alone.get("system").is_none());
    assert_eq!(assistant_first["messages"][0], json!({ "role": "user", "content": [text("...")] }));
    assert_eq!(assistant_first["messages"][1]["role"], "assistant");
    assert_eq!(assistant_first["system"], json!([text("s")]));
}

#[test]
fn a_tool_choice_is_translated() {
    let choice = |choice: Value, parallel: Option<bool>| {
        let mut body = hello();
        body["tools"] = json!([{ "type": "function", "function": { "name": "f" } }]);
        body["tool_choice"] = choice;
        if let Some(parallel) = parallel {
            body["parallel_tool_calls"] = parallel.into();
        }
        sent_body(&chat_call(claude("claude-opus-5"), &body), ResponseMode::Full)["tool_choice"]
            .clone()
    };

    assert_eq!(choice(json!("auto"), None), json!({ "type": "auto" }));
    assert_eq!(choice(json!("required"), None), json!({ "type": "any" }));
    assert_eq!(choice(json!("none"), Some(false)), json!({ "type": "none" }));
    let named = json!({ "type": "function", "function": { "name": "f" } });
    assert_eq!(
        choice(named, Some(false)),
        json!({ "type": "tool", "name": "f", "disable_parallel_tool_use": true })
    );
    assert_eq!(
        choice(Value::Null, Some(false)),
        json!({ "type": "auto", "disable_parallel_tool_use": true })
    );
    assert_eq!(choice(Value::Null, None), Value::Null);
}

#[test]
fn called_tools_are_declared_even_if_none_may_be_called() {
    let body = json!({ "messages": [
        { "role": "user", "content": "Hi" },
        { "role": "assistant", "tool_calls": [
            { "id": "1", "type": "function", "function": { "name": "f", "arguments": "{}" } } ] },
        { "role": "tool", "tool_call_id": "1", "content": "x" },
    ] });

    let request_body = sent_body(&chat_call(claude("claude-opus-5"), &body), ResponseMode::Full);

    assert_eq!(
        request_body["tools"],
        json!([{ "name": "f", "input_schema": { "type": "object" } }])
    );
    assert_eq!(request_body["tool_choice"], json!({ "type": "none" }));
}

#[test]
fn thinking_has_the_format_of_the_models_generation() {
    let mut body = hello();
    body["temperature"] = json!(0.5);

    let older_request = request_body("claude-sonnet-4-5", ReasoningEffort::Medium, &body);
    let newer_request = request_body("claude-opus-4-8", ReasoningEffort::XHigh, &body);
    let none = request_body("claude-opus-4-8", ReasoningEffort::None, &body);

    assert_eq!(older_request["thinking"], json!({ "type": "enabled", "budget_tokens": 8192 }));
    assert_eq!(newer_request["thinking"], json!({ "type": "adaptive" }));
    assert_eq!(newer_request["output_config"], json!({ "effort": "xhigh" }));
    // Thinking excludes a temperature.
    assert!(
        older_request.get("temperature").is_none() && newer_request.get("temperature").is_none()
    );
    assert!(none.get("thinking").is_none());
    assert_eq!(none["temperature"], 0.5);
}

#[test]
fn a_forced_tool_call_excludes_thinking() {
    let mut body = hello();
    body["tools"] = json!([{ "type": "function", "function": { "name": "f" } }]);
    body["tool_choice"] = json!("required");

    assert!(
        request_body("claude-opus-4-5", ReasoningEffort::High, &body).get("thinking").is_none()
    );
}

#[test]
fn a_cap_limits_response_and_thinking() {
    let call = ChatCall {
        max_output: capped(5000, None),
        effort: Some(ReasoningEffort::High),
        ..chat_call(claude("claude-sonnet-4-5"), &hello())
    };

    let request_body = sent_body(&call, ResponseMode::Full);

    assert_eq!(request_body["max_tokens"], 5000);
    assert_eq!(request_body["thinking"]["budget_tokens"], 2500);
}

#[test]
fn a_response_schema_is_translated() {
    let mut body = hello();
    body["response_format"] = json!({ "type": "json_schema", "json_schema": {
        "name": "x", "schema": { "type": "object" } } });

    let request_body = sent_body(&chat_call(claude("claude-opus-5"), &body), ResponseMode::Full);

    let format = json!({ "type": "json_schema", "schema": { "type": "object" } });
    assert_eq!(request_body["output_config"], json!({ "format": format }));
}

#[tokio::test]
async fn a_stream_is_translated_into_the_common_format() {
    let events = include_str!("fixtures/anthropic_stream.sse");
    let parsed = streamed_response(ProviderType::Anthropic, false, events).await;

    assert_eq!(parsed.reasoning, "The weather is asked for.");
    assert_eq!(parsed.text, "Let me check.");
    let calls = [
        ParsedCall::new("get_weather", r#"{"location": "Paris"}"#),
        ParsedCall::new("get_time", "{}"),
    ];
    assert_eq!(parsed.calls, calls);
    assert_eq!(parsed.finish_reason.as_deref(), Some("tool_calls"));
    assert!(parsed.done);
    let usage = json!({
        "prompt_tokens": 525, "completion_tokens": 89, "total_tokens": 614,
        "prompt_tokens_details": { "cached_tokens": 400 },
    });
    assert_eq!(parsed.usage, usage);
}

#[tokio::test]
async fn too_many_open_blocks_end_the_stream() {
    let start = |number: usize| {
        format!(
            "data: {{\"type\":\"content_block_start\",\"index\":{number},\
             \"content_block\":{{\"type\":\"text\",\"text\":\"\"}}}}\n\n"
        )
    };
    let stream = async |blocks: usize| {
        let starts: String = (0..blocks).map(start).collect();
        let begin = "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\n";
        let events = format!("{begin}{starts}data: {{\"type\":\"message_stop\"}}\n\n");
        streamed_response(ProviderType::Anthropic, false, &events).await
    };

    assert_eq!(stream(128).await.error, Value::Null);
    assert_eq!(stream(129).await.error, json!({ "type": "api_error" }));
}

#[tokio::test]
async fn search_results_are_linked_behind_the_text() {
    let searching = Target { web_search: true, ..claude("claude-opus-4-8") };
    let request_body = sent_body(&chat_call(searching, &hello()), ResponseMode::Full);
    assert_eq!(
        request_body["tools"],
        json!([{ "type": "web_search_20250305", "name": "web_search", "max_uses": 5 }])
    );
    let events = include_str!("fixtures/anthropic_search_stream.sse");

    let parsed = streamed_response(ProviderType::Anthropic, true, events).await;

    assert_eq!(
        parsed.text,
        "He was born in 1916 ([Claude Shannon - \
         Wikipedia](https://en.wikipedia.org/wiki/Claude_Shannon)) in Petoskey."
    );
    assert!(parsed.calls.is_empty());
    assert_eq!(parsed.usage["prompt_tokens"], 10682);
}

#[test]
fn a_callers_tool_of_that_name_takes_precedence() {
    let mut body = hello();
    body["tools"] = json!([{ "type": "function", "function": { "name": "web_search" } }]);
    let searching = Target { web_search: true, ..claude("claude-opus-4-8") };

    assert_eq!(
        sent_body(&chat_call(searching, &body), ResponseMode::Full)["tools"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn a_full_response_is_translated_into_the_common_format() {
    let body = include_str!("fixtures/anthropic.json");
    let parsed = full_response(ProviderType::Anthropic, false, body).await.unwrap();

    assert_eq!(
        parsed.text,
        "Born in 1916 ([Claude Shannon](https://en.wikipedia.org/wiki/Claude_Shannon)), I believe."
    );
    assert_eq!(parsed.reasoning, "Think.");
    assert_eq!(parsed.calls, [ParsedCall::new("check", r#"{"year":1916}"#)]);
    assert_eq!(parsed.finish_reason.as_deref(), Some("tool_calls"));
    assert_eq!(parsed.usage["prompt_tokens"], 35);
    assert_eq!(parsed.usage["prompt_tokens_details"]["cached_tokens"], 20);
}

#[tokio::test]
async fn an_overload_has_its_status_only_before_the_first_event() {
    let overloaded = include_str!("fixtures/anthropic_error_stream.sse");
    let events = include_str!("fixtures/anthropic_stream.sse");
    let (start, _) = events.split_once("event: content_block_stop").unwrap();

    let first = streamed_response(ProviderType::Anthropic, false, overloaded).await;
    let later =
        streamed_response(ProviderType::Anthropic, false, &format!("{start}{overloaded}")).await;

    assert!(is_refusal(first.failure.as_ref().unwrap(), 529));
    assert_eq!(later.error["type"], "overloaded_error");
}

#[tokio::test]
async fn a_stream_without_its_end_is_cut() {
    let events = include_str!("fixtures/anthropic_stream.sse");
    let (start, _) = events.split_once("event: message_stop").unwrap();

    let parsed = streamed_response(ProviderType::Anthropic, false, start).await;

    assert_eq!(parsed.failure, Some(UpstreamError::Cut));
    assert!(!parsed.done && parsed.finish_reason.is_none());
}

#[tokio::test]
async fn finish_reasons_have_common_names() {
    for (reason, name) in [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "length"),
        ("tool_use", "tool_calls"),
        ("refusal", "content_filter"),
        ("something_new", "stop"),
    ] {
        let events = include_str!("fixtures/anthropic_stream.sse")
            .replace(r#""stop_reason":"tool_use""#, &format!(r#""stop_reason":"{reason}""#));

        let parsed = streamed_response(ProviderType::Anthropic, false, &events).await;

        assert_eq!(parsed.finish_reason.as_deref(), Some(name));
    }
}

#[tokio::test]
async fn a_malformed_response_is_an_error() {
    for body in ["<html>", "[]", "{}", r#"{"type":"message"}"#] {
        let err = full_response(ProviderType::Anthropic, false, body).await.unwrap_err();

        assert_eq!(err, UpstreamError::Malformed, "{body}");
    }
}
