//! Full responses of the upstream types, and streams in the common format.
//! Those of Anthropic, Mistral and `OpenRouter` are with their dialects.

use super::*;

/// Responses by type, all with the text `Hello`.
const RESPONSES: &[(ProviderType, &str)] = &[
    (
        ProviderType::OpenAi,
        r#"{"id":"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT","object":"chat.completion","created":1741569952,"model":"gpt-4.1-2025-04-14","choices":[{"index":0,"message":{"role":"assistant","content":"Hello","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},"service_tier":"default"}"#,
    ),
    (
        ProviderType::AzureOpenAi,
        r#"{"choices":[{"content_filter_results":{"hate":{"filtered":false,"severity":"safe"},"self_harm":{"filtered":false,"severity":"safe"}},"finish_reason":"stop","index":0,"logprobs":null,"message":{"content":"Hello","refusal":null,"role":"assistant"}}],"created":1741569952,"id":"chatcmpl-9","model":"gpt-4o-2024-08-06","object":"chat.completion","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}],"system_fingerprint":"fp_b705f0c291","usage":{"completion_tokens":10,"prompt_tokens":19,"total_tokens":29}}"#,
    ),
    (
        ProviderType::Ollama,
        r#"{"id":"chatcmpl-815","object":"chat.completion","created":1739600000,"model":"llama3.2","system_fingerprint":"fp_ollama","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29}}"#,
    ),
    (
        ProviderType::OpenAiCompatible,
        r#"{"id":"chatcmpl-k4","object":"chat.completion","created":1743000000,"model":"qwen2.5-7b","choices":[{"index":0,"logprobs":null,"finish_reason":"stop","message":{"role":"assistant","content":"Hello"}}],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29},"stats":{},"system_fingerprint":"qwen2.5-7b"}"#,
    ),
    (
        ProviderType::VLlm,
        r#"{"id":"chatcmpl-f1","object":"chat.completion","created":1741569952,"model":"Qwen/Qwen3-8B","choices":[{"index":0,"message":{"role":"assistant","reasoning_content":null,"content":"Hello","tool_calls":[]},"logprobs":null,"finish_reason":"stop","stop_reason":null}],"usage":{"prompt_tokens":19,"total_tokens":29,"completion_tokens":10,"prompt_tokens_details":null},"prompt_logprobs":null,"kv_transfer_params":null}"#,
    ),
];

#[tokio::test]
async fn full_responses_are_parsed_unchanged() {
    for (provider, answer) in RESPONSES {
        let parsed = full_response(*provider, false, answer).await.unwrap();

        assert_eq!(parsed.text, "Hello", "{provider:?}");
        assert!(parsed.calls.is_empty(), "{provider:?}");
        assert_eq!(parsed.finish_reason.as_deref(), Some("stop"), "{provider:?}");
        let usage = [&parsed.usage["prompt_tokens"], &parsed.usage["completion_tokens"]];
        assert_eq!(usage, [19, 10], "{provider:?}");
    }
}

#[tokio::test]
async fn streams_in_the_common_format_are_parsed_unchanged() {
    let openai = include_str!("fixtures/openai_stream.sse");
    let compatible = include_str!("fixtures/compatible_stream.sse");

    for (provider, events, tokens) in
        [(ProviderType::OpenAi, openai, 10), (ProviderType::OpenAiCompatible, compatible, 2)]
    {
        let parsed = streamed_response(provider, false, events).await;

        assert_eq!(parsed.text, "Hello", "{provider:?}");
        assert!(parsed.done, "{provider:?}");
        assert_eq!(parsed.finish_reason.as_deref(), Some("stop"), "{provider:?}");
        assert_eq!(parsed.usage["completion_tokens"], tokens, "{provider:?}");
        assert_eq!(parsed.error, Value::Null, "{provider:?}");
        assert_eq!(parsed.failure, None, "{provider:?}");
    }
}
