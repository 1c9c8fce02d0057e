//! `OpenAI`, `AzureOpenAI`, Ollama, `OpenAICompatible` and `VLlm`.

use super::*;

fn request_body(provider: ProviderType, effort: ReasoningEffort) -> Value {
    let call = ChatCall { effort: Some(effort), ..chat_call(target(provider), &hello()) };
    sent_body(&call, ResponseMode::Full)
}

#[test]
fn openai_gets_the_callers_parameters_unchanged() {
    let body = json!({ "messages": [], "temperature": 0.5, "seed": 7 });
    let call = ChatCall {
        max_output: capped(9, None),
        effort: Some(ReasoningEffort::None),
        ..chat_call(target(ProviderType::OpenAi), &body)
    };

    let prepared = prepare(&call, ResponseMode::Streamed).unwrap();

    assert_eq!(prepared.url, "https://models.example/v1/chat/completions");
    assert_eq!(prepared.headers["authorization"], "Bearer sk-secret");
    assert_eq!(prepared.format, ResponseFormat::Common);
    let expected = json!({
        "messages": [], "temperature": 0.5, "seed": 7, "model": "m", "max_completion_tokens": 9,
        "reasoning_effort": "none", "stream": true, "stream_options": { "include_usage": true },
    });
    assert_eq!(sent_body(&call, ResponseMode::Streamed), expected);
}

#[test]
fn large_messages_are_sent_unchanged_and_not_copied() {
    let body = json!({ "messages": [{ "role": "user", "content": "x".repeat(5000) }] });
    let call = chat_call(target(ProviderType::OpenAi), &body);
    let messages = call.body.messages.flat();

    let prepared = prepare(&call, ResponseMode::Streamed).unwrap();

    assert!(prepared.body.iter().any(|it| it.as_ptr() == messages.as_ptr()));
}

#[test]
fn an_azure_deployment_is_part_of_the_url() {
    let azure = |endpoint: &str| Target {
        deployment: Some("gpt 4/o".to_owned()),
        api_version: Some("2024-10-21".to_owned()),
        ..Target::new(ProviderType::AzureOpenAi, endpoint, "gpt-4o")
    };
    let expected = "https://x.openai.azure.com/openai/deployments/gpt%204%2Fo/chat/completions?api-version=2024-10-21";
    for endpoint in [
        "https://x.openai.azure.com",
        "https://x.openai.azure.com/",
        "https://x.openai.azure.com/openai",
    ] {
        let prepared = prepare(&chat_call(azure(endpoint), &hello()), ResponseMode::Full).unwrap();

        assert_eq!(prepared.url, expected);
        assert_eq!(prepared.headers["api-key"], "sk-secret");
        assert!(prepared.headers["api-key"].is_sensitive());
        assert!(!prepared.headers.contains_key("authorization"));
    }
    assert_eq!(sent_body(&chat_call(azure(NOWHERE), &hello()), ResponseMode::Full), hello());
}

#[test]
fn a_compatible_server_gets_no_parameter_that_it_may_not_know() {
    let effort = |takes_reasoning_effort| {
        let target = Target { takes_reasoning_effort, ..target(ProviderType::OpenAiCompatible) };
        let call = ChatCall {
            effort: Some(ReasoningEffort::High),
            max_output: capped(5, None),
            ..chat_call(target, &hello())
        };
        sent_body(&call, ResponseMode::Full)
    };

    let mut expected = json!({ "messages": hello()["messages"], "model": "m", "max_tokens": 5 });
    assert_eq!(effort(false), expected);
    expected["reasoning_effort"] = "high".into();
    assert_eq!(effort(true), expected);
}

#[test]
fn a_cap_has_the_name_of_its_provider_type() {
    let cap_keys = |provider, name| {
        let call =
            ChatCall { max_output: capped(5, name), ..chat_call(target(provider), &hello()) };
        let body = sent_body(&call, ResponseMode::Full);
        let keys = ["max_tokens", "max_completion_tokens"];
        keys.into_iter().filter(|it| body.get(it).is_some()).collect::<Vec<_>>()
    };
    let new_name = Some(CapName::MaxCompletionTokens);

    for provider in [
        ProviderType::Ollama,
        ProviderType::OpenRouter,
        ProviderType::Mistral,
        ProviderType::Anthropic,
    ] {
        assert_eq!(cap_keys(provider, new_name), ["max_tokens"], "{provider:?}");
    }
    for provider in [ProviderType::OpenAiCompatible, ProviderType::VLlm] {
        assert_eq!(cap_keys(provider, new_name), ["max_completion_tokens"], "{provider:?}");
        assert_eq!(cap_keys(provider, None), ["max_tokens"], "{provider:?}");
    }
    for provider in [ProviderType::OpenAi, ProviderType::AzureOpenAi] {
        assert_eq!(cap_keys(provider, Some(CapName::MaxTokens)), ["max_tokens"], "{provider:?}");
        assert_eq!(cap_keys(provider, None), ["max_completion_tokens"], "{provider:?}");
    }
}

#[test]
fn an_effort_has_the_name_of_its_provider_type() {
    for (effort, openai, nearest) in [
        (ReasoningEffort::Minimal, "minimal", "low"),
        (ReasoningEffort::Low, "low", "low"),
        (ReasoningEffort::Medium, "medium", "medium"),
        (ReasoningEffort::High, "high", "high"),
        (ReasoningEffort::XHigh, "xhigh", "high"),
    ] {
        for provider in [ProviderType::OpenAi, ProviderType::AzureOpenAi, ProviderType::Mistral] {
            assert_eq!(request_body(provider, effort)["reasoning_effort"], openai);
        }
        for provider in [ProviderType::Ollama, ProviderType::VLlm] {
            assert_eq!(request_body(provider, effort)["reasoning_effort"], nearest);
        }
        assert_eq!(request_body(ProviderType::OpenRouter, effort)["reasoning"]["effort"], openai);
    }
    assert_eq!(
        request_body(ProviderType::Ollama, ReasoningEffort::None)["reasoning_effort"],
        "none"
    );
    let vllm = request_body(ProviderType::VLlm, ReasoningEffort::None);
    assert_eq!(
        vllm["chat_template_kwargs"],
        json!({ "enable_thinking": false, "thinking": false })
    );
    assert!(vllm.get("reasoning_effort").is_none());
}

#[test]
fn servers_without_a_path_are_called_with_the_usual_version() {
    for provider in [ProviderType::Ollama, ProviderType::VLlm] {
        let target = Target::new(provider, "http://localhost:11434", "m");
        let prepared = prepare(&chat_call(target, &hello()), ResponseMode::Full).unwrap();

        assert_eq!(prepared.url, "http://localhost:11434/v1/chat/completions");
    }
}

#[tokio::test]
async fn azures_first_chunk_without_choices_is_accepted() {
    let events = include_str!("fixtures/azure_stream.sse");
    let parsed = streamed_response(ProviderType::AzureOpenAi, false, events).await;
    assert_eq!(parsed.text, "Hello");
    assert_eq!(parsed.finish_reason.as_deref(), Some("stop"));
    assert_eq!(parsed.usage["prompt_tokens"], 9);
    assert!(parsed.done);
}

#[tokio::test]
async fn ollama_streams_reasoning_and_tool_calls() {
    let events = include_str!("fixtures/ollama_stream.sse");
    let parsed = streamed_response(ProviderType::Ollama, false, events).await;

    assert_eq!(parsed.reasoning, "Let me look.");
    assert_eq!(parsed.calls, [ParsedCall::new("get_weather", r#"{"city":"Paris"}"#)]);
    assert_eq!(parsed.finish_reason.as_deref(), Some("tool_calls"));
    assert_eq!(parsed.usage["total_tokens"], 293);
}

#[tokio::test]
async fn vllm_streams_reasoning_under_either_name() {
    let events = include_str!("fixtures/vllm_stream.sse");
    let older_events = events.replace(r#""reasoning":"#, r#""reasoning_content":"#);

    for events in [events, &older_events] {
        let parsed = streamed_response(ProviderType::VLlm, false, events).await;

        assert_eq!(parsed.reasoning, "Okay.");
        assert_eq!(parsed.text, "9.8 is greater.");
        assert_eq!(parsed.usage["completion_tokens"], 22);
    }
}

#[test]
fn openai_searches_if_configured() {
    let searching = Target { web_search: true, ..target(ProviderType::OpenAi) };

    let prepared = prepare(&chat_call(searching.clone(), &hello()), ResponseMode::Full).unwrap();

    assert_eq!(prepared.format, ResponseFormat::Cited);
    assert_eq!(
        sent_body(&chat_call(searching, &hello()), ResponseMode::Full)["web_search_options"],
        json!({})
    );
}

#[tokio::test]
async fn unlinked_citations_of_openai_are_listed_before_the_end() {
    let events = include_str!("fixtures/openai_search_stream.sse");

    let parsed = streamed_response(ProviderType::OpenAi, true, events).await;

    assert_eq!(
        parsed.text,
        concat!(
            "It opened in 1889 ([wikipedia.org](https://en.wikipedia.org/wiki/Eiffel_Tower",
            "?utm_source=openai)).\n\n",
            "- [Tickets](https://www.toureiffel.paris/en?utm_source=openai)"
        )
    );
    assert_eq!(parsed.finish_reason.as_deref(), Some("stop"));
    assert!(parsed.done);
    assert_eq!(parsed.usage["total_tokens"], 51);
    let body = include_str!("fixtures/openai_search.json");
    let full = full_response(ProviderType::OpenAi, true, body).await.unwrap();
    assert_eq!(
        full.text,
        "It opened in 1889.\n\n- [Eiffel Tower](https://en.wikipedia.org/wiki/Eiffel_Tower)"
    );
}

#[tokio::test]
async fn the_list_comes_before_the_finish_reason() {
    let events = include_str!("fixtures/openai_search_stream.sse");
    let (_server, target) = serving(ProviderType::OpenAi, events, EVENTS).await;
    let call = chat_call(Target { web_search: true, ..target }, &hello());

    let stream = new_upstream(UpstreamLimits::default()).open(call).await.unwrap();
    let frames: Vec<_> = stream.map(Result::unwrap).collect().await;

    let position = |words: &str| {
        let contains = |it: &Frame| match it {
            Frame::Forward { bytes, .. } | Frame::Inspect(bytes) => {
                String::from_utf8_lossy(bytes).contains(words)
            }
            _ => false,
        };
        frames.iter().position(contains).unwrap()
    };
    assert!(position("- [Tickets]") < position(r#""finish_reason":"stop""#));
}
