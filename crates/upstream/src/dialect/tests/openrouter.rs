//! `OpenRouter`'s dialect.

use super::*;

#[test]
fn reasoning_and_search_have_its_own_format() {
    let searching = Target { web_search: true, ..target(ProviderType::OpenRouter) };
    let call = ChatCall { effort: Some(ReasoningEffort::High), ..chat_call(searching, &hello()) };

    let expected = json!({
        "messages": hello()["messages"], "model": "m", "reasoning": { "effort": "high" },
        "plugins": [{ "id": "web" }],
    });
    assert_eq!(sent_body(&call, ResponseMode::Full), expected);
}

#[tokio::test]
async fn comments_keep_a_stream_alive_and_citations_become_links() {
    let events = include_str!("fixtures/openrouter_stream.sse");

    let parsed = streamed_response(ProviderType::OpenRouter, true, events).await;

    assert_eq!(parsed.reasoning, "Hm.");
    assert_eq!(parsed.text, "Sunny.\n\n- [Today's weather](https://weather.example/today)");
    assert_eq!(parsed.finish_reason.as_deref(), Some("stop"));
    assert_eq!(parsed.usage["prompt_tokens_details"]["cached_tokens"], 2);
    assert!(parsed.done && parsed.failure.is_none());
}

#[tokio::test]
async fn an_error_within_a_stream_is_its_last_event() {
    let events = include_str!("fixtures/openrouter_error_stream.sse");

    for search in [false, true] {
        let parsed = streamed_response(ProviderType::OpenRouter, search, events).await;

        assert_eq!(parsed.text, "Once");
        assert_eq!(parsed.error["code"], "server_error");
        assert_eq!(parsed.finish_reason, None);
        assert_eq!(parsed.failure, None);
    }
}

#[tokio::test]
async fn an_error_before_the_first_event_has_its_status() {
    let body = include_str!("fixtures/openrouter_error.json");
    let event = format!(": OPENROUTER PROCESSING\n\ndata: {}\n\n", body.trim());

    let parsed = streamed_response(ProviderType::OpenRouter, false, &event).await;
    let full = full_response(ProviderType::OpenRouter, false, body).await.unwrap_err();

    assert!(is_refusal(parsed.failure.as_ref().unwrap(), 429));
    assert!(is_refusal(&full, 429));
    // Its message is not passed on: it may contain a key.
    assert!(!full.to_string().contains("sk-or"));
}

#[tokio::test]
async fn an_error_in_a_choice_is_reported() {
    let body = include_str!("fixtures/openrouter_choice_error.json");

    let err = full_response(ProviderType::OpenRouter, false, body).await.unwrap_err();

    assert!(is_refusal(&err, 502), "{err:?}");
}

#[tokio::test]
async fn the_finish_reason_error_is_reported() {
    let event = r#"{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}"#;
    let chunk = r#"{"choices":[{"index":0,"delta":{"content":"Once"}}]}"#;

    let events = format!("data: {chunk}\n\ndata: {event}\n\n");
    let parsed = streamed_response(ProviderType::OpenRouter, false, &events).await;

    assert_eq!(parsed.text, "Once");
    assert_eq!(parsed.finish_reason, None);
    assert_eq!(parsed.error, json!({ "type": "upstream_error" }));
}

#[tokio::test]
async fn a_model_without_tools_refuses_them() {
    let body = |message: &str| json!({ "error": { "message": message, "code": 404 } });
    let refusal = async |message: &str| {
        let server = MockServer::start().await;
        let template = ResponseTemplate::new(404).set_body_json(body(message));
        Mock::given(method("POST")).respond_with(template).mount(&server).await;
        let target = Target::new(ProviderType::OpenRouter, &server.uri(), "m");
        new_upstream(UpstreamLimits::default())
            .complete(chat_call(target, &hello()))
            .await
            .unwrap_err()
    };

    assert!(is_refusal(&refusal("No endpoints found that support tool use.").await, 400));
    assert!(is_refusal(&refusal("No endpoints found for x/y.").await, 404));
}
