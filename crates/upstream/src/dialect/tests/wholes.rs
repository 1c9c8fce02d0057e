//! Whole answers as the types of upstreams give them, and streams of those that
//! add nothing of their own. Anthropic's, Mistral's and `OpenRouter`'s are with
//! their dialects.

use super::*;

/// Answers by type, valid and invalid: all say `Hello`.
const ANSWERS: &[(ProviderType, &str)] = &[
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
async fn whole_answers_are_heard_as_they_are() {
    for (provider, answer) in ANSWERS {
        let heard = whole(*provider, false, answer).await.unwrap();

        assert_eq!((heard.text.as_str(), heard.calls.len()), ("Hello", 0), "{provider:?}");
        assert_eq!(heard.finish_reason.as_deref(), Some("stop"), "{provider:?}");
        let usage = [&heard.usage["prompt_tokens"], &heard.usage["completion_tokens"]];
        assert_eq!(usage, [19, 10], "{provider:?}");
    }
}

#[tokio::test]
async fn streams_in_the_common_form_are_heard_as_they_are() {
    let openai = include_str!("fixtures/openai_stream.sse");
    let compatible = include_str!("fixtures/compatible_stream.sse");

    for (provider, events, tokens) in
        [(ProviderType::OpenAi, openai, 10), (ProviderType::OpenAiCompatible, compatible, 2)]
    {
        let heard = streamed(provider, false, events).await;

        assert_eq!((heard.text.as_str(), heard.done), ("Hello", true), "{provider:?}");
        assert_eq!(heard.finish_reason.as_deref(), Some("stop"), "{provider:?}");
        assert_eq!(heard.usage["completion_tokens"], tokens, "{provider:?}");
        assert_eq!((heard.error, heard.failure), (Value::Null, None), "{provider:?}");
    }
}
