//! Refusals of the upstream types. Their translation into messages is tested
//! with the code that does it.

use std::time::Duration;

use super::*;

/// Refusals: type, status, `Retry-After`, and the expected error.
const REFUSALS: &[(ProviderType, u16, Option<u64>, &str)] = &[
    (
        ProviderType::OpenAi,
        429,
        Some(20),
        r#"{"error":{"message":"Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29500, Requested 1200.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#,
    ),
    (
        ProviderType::OpenAi,
        401,
        None,
        r#"{"error":{"message":"Incorrect API key provided: sk-ab**cd.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
    ),
    (
        ProviderType::AzureOpenAi,
        429,
        Some(26),
        r#"{"error":{"code":"429","message":"Requests to the ChatCompletions_Create Operation have exceeded token rate limit of your current pricing tier. Please retry after 26 seconds."}}"#,
    ),
    (
        ProviderType::AzureOpenAi,
        400,
        None,
        r#"{"error":{"message":"The response was filtered due to the prompt triggering the content management policy.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"hate":{"filtered":true,"severity":"high"}}}}}"#,
    ),
    (
        ProviderType::Ollama,
        404,
        None,
        r#"{"error":{"message":"model \"m\" not found, try pulling it first","type":"api_error","param":null,"code":null}}"#,
    ),
    (
        ProviderType::OpenRouter,
        402,
        None,
        r#"{"error":{"code":402,"message":"Insufficient credits. Add more using https://openrouter.ai/settings/credits"},"user_id":"user_x"}"#,
    ),
    (
        ProviderType::OpenRouter,
        429,
        Some(5),
        r#"{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"m is temporarily rate-limited upstream","provider_name":"P"}}}"#,
    ),
    (ProviderType::OpenAiCompatible, 400, None, r#"{"error":"Model m is not loaded"}"#),
    (
        ProviderType::Mistral,
        422,
        None,
        r#"{"object":"error","message":{"detail":[{"type":"missing","loc":["body","messages"],"msg":"Field required","input":{}}]},"type":"invalid_request_error","param":null,"code":null}"#,
    ),
    (
        ProviderType::Mistral,
        429,
        None,
        r#"{"object":"error","message":"Service tier capacity exceeded for this model.","type":"service_tier_capacity_exceeded","param":null,"code":"3505"}"#,
    ),
    (ProviderType::Mistral, 401, None, r#"{"message":"Unauthorized","request_id":"x"}"#),
    (
        ProviderType::VLlm,
        400,
        None,
        r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.","type":"BadRequestError","param":null,"code":400}"#,
    ),
    (
        ProviderType::Anthropic,
        529,
        None,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_x"}"#,
    ),
];

#[tokio::test]
async fn refusals_keep_status_retry_after_and_body() {
    for (provider, status, seconds, body) in REFUSALS {
        let server = MockServer::start().await;
        let mut template = ResponseTemplate::new(*status).set_body_raw(*body, JSON);
        if let Some(seconds) = seconds {
            template = template.insert_header("retry-after", seconds.to_string());
        }
        Mock::given(method("POST")).respond_with(template).mount(&server).await;
        let target = Target::new(*provider, &format!("{}/v1", server.uri()), "m");
        let upstream = new_upstream(UpstreamLimits::default());

        let streamed = upstream.open(chat_call(target.clone(), &hello())).await.err();
        let full = upstream.complete(chat_call(target, &hello())).await.err();

        let retry_after = seconds.map(Duration::from_secs);
        let body = Bytes::from_static(body.as_bytes());
        let expected = Some(UpstreamError::Refused { status: *status, retry_after, body });
        assert_eq!(streamed, expected, "{provider:?}");
        assert_eq!(full, expected, "{provider:?}");
    }
}
