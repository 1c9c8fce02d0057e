//! Mistral's dialect.

use super::*;

fn searching() -> Target {
    Target { web_search: true, ..target(ProviderType::Mistral) }
}

#[test]
fn a_request_has_only_known_members() {
    let body = json!({
        "messages": [
            { "role": "developer", "content": "Be brief." },
            { "role": "user", "content": "Hi" },
        ],
        "tools": [{ "type": "function", "function": { "name": "f" } }],
        "tool_choice": "required",
        "parallel_tool_calls": false,
        "temperature": 0.3,
        "seed": 42,
        "stop": ["x"],
        "logit_bias": { "1": 2 },
        "logprobs": true,
        "top_logprobs": 2,
    });
    let call = ChatCall {
        max_output: capped(7, Some(CapName::MaxCompletionTokens)),
        ..chat_call(target(ProviderType::Mistral), &body)
    };

    let expected = json!({
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "Hi" },
        ],
        "tools": [{ "type": "function", "function": { "name": "f" } }],
        "tool_choice": "any",
        "parallel_tool_calls": false,
        "temperature": 0.3,
        "random_seed": 42,
        "stop": ["x"],
        "model": "m",
        "max_tokens": 7,
        "stream": true,
    });
    assert_eq!(sent_body(&call, ResponseMode::Streamed), expected);
}

#[test]
fn an_agent_replaces_the_model() {
    let agent = Target { agent: Some("ag:1".to_owned()), ..target(ProviderType::Mistral) };
    let body = json!({ "messages": [], "temperature": 0.3, "top_p": 1 });

    let prepared = prepare(&chat_call(agent.clone(), &body), ResponseMode::Full).unwrap();

    assert_eq!(prepared.url, "https://models.example/v1/agents/completions");
    assert_eq!(
        sent_body(&chat_call(agent, &body), ResponseMode::Full),
        json!({ "messages": [], "agent_id": "ag:1" })
    );
    let model =
        prepare(&chat_call(target(ProviderType::Mistral), &body), ResponseMode::Full).unwrap();
    assert_eq!(model.url, "https://models.example/v1/chat/completions");
}

#[test]
fn ids_of_other_models_become_valid_and_still_match() {
    let body = json!({ "messages": [
        { "role": "assistant", "content": null, "tool_calls": [
            { "id": "call_abcdefghijklmnop", "type": "function",
              "function": { "name": "f", "arguments": "{}" } },
            { "id": "D681PevKs", "type": "function", "function": { "name": "g", "arguments": "{}" } },
        ] },
        { "role": "tool", "tool_call_id": "call_abcdefghijklmnop", "content": "1" },
        { "role": "tool", "tool_call_id": "D681PevKs", "content": "2" },
    ] });

    let request_body =
        sent_body(&chat_call(target(ProviderType::Mistral), &body), ResponseMode::Full);

    let messages = &request_body["messages"];
    let id = messages[0]["tool_calls"][0]["id"].as_str().unwrap();
    assert_eq!(id.len(), 9);
    assert_eq!(messages[1]["tool_call_id"], id);
    assert_eq!(messages[0]["tool_calls"][1]["id"], "D681PevKs");
    assert_eq!(messages[0]["tool_calls"][0]["function"]["name"], "f");
    assert_eq!(messages[2], body["messages"][2]);
}

#[test]
fn a_large_message_is_not_copied() {
    let image = format!("data:image/png;base64,{}", "A".repeat(50_000));
    let body = json!({ "messages": [{ "role": "user", "content": [
        { "type": "image_url", "image_url": { "url": image } } ] }] });
    let call = chat_call(target(ProviderType::Mistral), &body);
    let messages = call.body.messages.flat();

    let prepared = prepare(&call, ResponseMode::Full).unwrap();

    let large = prepared.body.iter().max_by_key(|it| it.len()).unwrap();
    assert!(large.len() > 50_000);
    assert!(messages.as_ptr_range().contains(&large.as_ptr()));
}

#[tokio::test]
async fn content_chunks_become_text_and_reasoning() {
    let events = include_str!("fixtures/mistral_stream.sse");
    let parsed = streamed_response(ProviderType::Mistral, false, events).await;
    assert_eq!(parsed.reasoning, "A sum of two.");
    assert_eq!(parsed.text, "It is 4.");
    assert_eq!(parsed.finish_reason.as_deref(), Some("stop"));
    assert!(parsed.done);
    assert_eq!(parsed.usage["completion_tokens"], 21);
}

#[tokio::test]
async fn its_own_search_is_hidden_except_for_citations() {
    let request_body = sent_body(&chat_call(searching(), &hello()), ResponseMode::Full);
    assert_eq!(request_body["tools"], json!([{ "type": "web_search" }]));
    let events = include_str!("fixtures/mistral_search_stream.sse");

    let parsed = streamed_response(ProviderType::Mistral, true, events).await;
    let body = include_str!("fixtures/mistral_search.json");
    let full = full_response(ProviderType::Mistral, true, body).await.unwrap();
    for parsed in [parsed, full] {
        assert_eq!(parsed.text, "Spain won ([Final](https://uefa.example/final)).");
        assert!(parsed.calls.is_empty());
        assert_eq!(parsed.usage["connector_tokens"], 7112);
        assert_eq!(parsed.finish_reason.as_deref(), Some("stop"));
    }
}

#[tokio::test]
async fn too_many_of_its_own_searches_end_the_stream() {
    let begin = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n";
    let stop = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let result = |number: usize| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"role\":\"tool\",\
             \"index\":{number},\"content\":\"\"}}}}]}}\n\n"
        )
    };
    let stream = async |searches: usize| {
        let results: String = (1..=searches).map(result).collect();
        streamed_response(ProviderType::Mistral, true, &format!("{begin}{results}{stop}")).await
    };

    assert_eq!(stream(256).await.error, Value::Null);
    assert_eq!(stream(257).await.error, json!({ "type": "upstream_error" }));
}

#[tokio::test]
async fn a_callers_tool_named_web_search_replaces_the_search() {
    let tool = json!({ "type": "function", "function": { "name": "web_search" } });
    let body = json!({ "messages": [], "tools": [tool] });
    let events = include_str!("fixtures/mistral_search_stream.sse");
    let (_server, target) = serving(ProviderType::Mistral, events, EVENTS).await;

    let request = sent_body(&chat_call(searching(), &body), ResponseMode::Full);
    let parsed = response_to(chat_call(Target { web_search: true, ..target }, &body)).await;

    assert_eq!(request["tools"], body["tools"]);
    assert_eq!(parsed.calls[0].name, "web_search");
}

#[tokio::test]
async fn error_and_full_context_are_reported_at_the_end() {
    let event = |reason: &str| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"x\"}}}}]}}\n\ndata: \
             {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\n"
        )
    };

    let failed_response = streamed_response(ProviderType::Mistral, false, &event("error")).await;
    let long_response =
        streamed_response(ProviderType::Mistral, false, &event("model_length")).await;

    assert_eq!(failed_response.error, json!({ "type": "upstream_error" }));
    assert_eq!(long_response.finish_reason.as_deref(), Some("length"));
    let body = r#"{"choices":[{"index":0,"finish_reason":"error","message":{"content":""}}]}"#;
    let full = full_response(ProviderType::Mistral, false, body).await.unwrap();
    assert!(full.error.is_object());
}

#[tokio::test]
async fn an_error_event_without_an_error_member_is_parsed() {
    let events = concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Half\"}}]}\n\n",
        "data: {\"object\":\"error\",\"message\":\"capacity exceeded\",\"code\":\"3505\"}\n\n",
        "data: [DONE]\n\n",
    );
    let (_server, target) = serving(ProviderType::Mistral, events, EVENTS).await;

    let stream =
        new_upstream(UpstreamLimits::default()).open(chat_call(target, &hello())).await.unwrap();
    let frames: Vec<_> = stream.collect().await;
    let has_error = frames.iter().any(
        |it| matches!(it, Ok(Frame::Inspect(json)) if json.starts_with(br#"{"object":"error""#)),
    );
    assert!(has_error, "{frames:?}");
}
