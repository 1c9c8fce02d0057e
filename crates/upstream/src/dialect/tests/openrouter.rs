//! `OpenRouter`.

use super::*;

#[test]
fn it_reasons_and_searches_in_its_own_words() {
    let searching = Target { web_search: true, ..target(ProviderType::OpenRouter) };
    let call = ChatCall { effort: Some(ReasoningEffort::High), ..call(searching, &hello()) };

    let expected = json!({
        "messages": hello()["messages"], "model": "m", "reasoning": { "effort": "high" },
        "plugins": [{ "id": "web" }],
    });
    assert_eq!(sent(&call, false), expected);
}

#[tokio::test]
async fn comments_are_signs_of_life_and_citations_become_links() {
    let events = include_str!("fixtures/openrouter_stream.sse");

    let heard = streamed(ProviderType::OpenRouter, true, events).await;

    assert_eq!(heard.reasoning, "Hm.");
    assert_eq!(heard.text, "Sunny.\n\n- [Today's weather](https://weather.example/today)");
    assert_eq!(heard.finish_reason.as_deref(), Some("stop"));
    assert_eq!(heard.usage["prompt_tokens_details"]["cached_tokens"], 2);
    assert!(heard.done && heard.failure.is_none());
}

#[tokio::test]
async fn an_error_in_mid_answer_is_the_last_word() {
    let events = include_str!("fixtures/openrouter_error_stream.sse");

    for search in [false, true] {
        let heard = streamed(ProviderType::OpenRouter, search, events).await;

        assert_eq!(heard.text, "Once");
        assert_eq!(heard.error["code"], "server_error");
        assert_eq!((heard.finish_reason, heard.failure), (None, None));
    }
}

#[tokio::test]
async fn an_error_before_anything_was_stated_has_its_status() {
    let body = include_str!("fixtures/openrouter_error.json");
    let event = format!(": OPENROUTER PROCESSING\n\ndata: {}\n\n", body.trim());

    let heard = streamed(ProviderType::OpenRouter, false, &event).await;
    let whole = whole(ProviderType::OpenRouter, false, body).await.unwrap_err();

    assert!(refused(429)(heard.failure.as_ref().unwrap()));
    assert!(refused(429)(&whole));
    // Its words stay with us: they may hold a key.
    assert!(!whole.to_string().contains("sk-or"));
}

#[tokio::test]
async fn an_error_in_a_choice_is_one() {
    let body = include_str!("fixtures/openrouter_choice_error.json");

    let err = whole(ProviderType::OpenRouter, false, body).await.unwrap_err();

    assert!(refused(502)(&err), "{err:?}");
}

#[tokio::test]
async fn a_reason_for_the_end_that_is_an_error_is_one() {
    let event = r#"{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}"#;
    let message = r#"{"choices":[{"index":0,"delta":{"content":"Once"}}]}"#;

    let heard =
        streamed(ProviderType::OpenRouter, false, &format!("data: {message}\n\ndata: {event}\n\n"))
            .await;

    assert_eq!((heard.text.as_str(), heard.finish_reason), ("Once", None));
    assert_eq!(heard.error, json!({ "type": "upstream_error" }));
}

#[tokio::test]
async fn a_model_without_tools_refuses_them() {
    let body = |message: &str| json!({ "error": { "message": message, "code": 404 } });
    let refusal = async |message: &str| {
        let server = MockServer::start().await;
        let template = ResponseTemplate::new(404).set_body_json(body(message));
        Mock::given(method("POST")).respond_with(template).mount(&server).await;
        let target = Target::new(ProviderType::OpenRouter, &server.uri(), "m");
        upstream(UpstreamLimits::default()).complete(call(target, &hello())).await.unwrap_err()
    };

    assert!(refused(400)(&refusal("No endpoints found that support tool use.").await));
    assert!(refused(404)(&refusal("No endpoints found for x/y.").await));
}
