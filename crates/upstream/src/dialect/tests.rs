//! Each dialect against the examples of its upstream's documentation.

mod anthropic;
mod framing;
mod full_responses;
mod mistral;
mod openai_shaped;
mod openrouter;
mod refusals;

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use pia_assistant::{
    CapName, ChatCall, ChatUpstream, Frame, ModelCall, OutputCap, ReasoningEffort, Target,
    UpstreamError,
};
use pia_kernel::Secret;
use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;
use crate::UpstreamLimits;
use crate::peer::{chat_body, new_upstream};

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// Endpoint for tests that send no request.
const NOWHERE: &str = "https://models.example/v1";

/// Returns a call with these members of a request.
fn chat_call(target: Target, members: &Value) -> ChatCall {
    let mut open = members.to_string();
    open.pop();
    ChatCall {
        target: Arc::new(target),
        key: Secret::new("sk-secret".to_owned()),
        body: chat_body(vec![Bytes::from(open)]),
        max_output: None,
        effort: None,
    }
}

fn embedding_call(target: Target) -> ModelCall {
    let body = Bytes::from_static(br#"{"input":"Hi""#);
    ModelCall { target: Arc::new(target), key: Secret::new("sk-secret".to_owned()), body }
}

fn hello() -> Value {
    json!({ "messages": [{ "role": "user", "content": "Hi" }] })
}

fn target(provider: ProviderType) -> Target {
    Target::new(provider, NOWHERE, "m")
}

#[expect(clippy::unnecessary_wraps, reason = "it is what a call may have")]
fn capped(tokens: i64, name: Option<CapName>) -> Option<OutputCap> {
    Some(OutputCap { tokens, name })
}

/// Returns the body that would be sent.
fn sent_body(call: &ChatCall, mode: ResponseMode) -> Value {
    let prepared = prepare(call, mode).unwrap();
    serde_json::from_slice(&prepared.body.concat()).unwrap()
}

/// Starts an upstream with this response, and returns it with its target.
async fn serving(provider: ProviderType, body: &str, media_type: &str) -> (MockServer, Target) {
    let server = MockServer::start().await;
    let template = ResponseTemplate::new(200).set_body_raw(body.as_bytes(), media_type);
    Mock::given(method("POST")).respond_with(template).mount(&server).await;
    let target = Target::new(provider, &format!("{}/v1", server.uri()), "m");
    (server, target)
}

/// Call of a tool, put together from its pieces.
#[derive(Debug, Clone, Default, PartialEq)]
struct ParsedCall {
    name: String,
    arguments: String,
}

impl ParsedCall {
    fn new(name: &str, arguments: &str) -> Self {
        Self { name: name.to_owned(), arguments: arguments.to_owned() }
    }
}

/// Response as a caller parses it.
#[derive(Debug, Default, PartialEq)]
struct ParsedResponse {
    text: String,
    reasoning: String,
    calls: Vec<ParsedCall>,
    finish_reason: Option<String>,
    usage: Value,
    error: Value,
    done: bool,
    failure: Option<UpstreamError>,
}

impl ParsedResponse {
    fn event(&mut self, json: &[u8]) {
        let event: Value = serde_json::from_slice(json).unwrap();
        if let Some(usage) = event.get("usage").filter(|it| it.is_object()) {
            self.usage = usage.clone();
        }
        if let Some(error) = event.get("error") {
            self.error = error.clone();
        }
        for choice in event["choices"].as_array().into_iter().flatten() {
            self.message(if choice["delta"].is_object() {
                &choice["delta"]
            } else {
                &choice["message"]
            });
            if let Some(reason) = choice["finish_reason"].as_str() {
                self.finish_reason = Some(reason.to_owned());
            }
        }
    }

    fn message(&mut self, message: &Value) {
        self.text.push_str(message["content"].as_str().unwrap_or_default());
        for key in ["reasoning", "reasoning_content"] {
            self.reasoning.push_str(message[key].as_str().unwrap_or_default());
        }
        assert!(message.get("annotations").is_none(), "{message}");
        for (nth, call) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
            let number = call["index"].as_u64().map_or(nth, |it| usize::try_from(it).unwrap());
            if self.calls.len() <= number {
                self.calls.resize(number + 1, ParsedCall::default());
            }
            let parsed_call = &mut self.calls[number];
            let function = &call["function"];
            parsed_call.name.push_str(function["name"].as_str().unwrap_or_default());
            parsed_call.arguments.push_str(function["arguments"].as_str().unwrap_or_default());
        }
    }
}

async fn response_to(call: ChatCall) -> ParsedResponse {
    let mut parsed = ParsedResponse::default();
    let frames = new_upstream(UpstreamLimits::default()).open(call).await.unwrap();
    for frame in frames.collect::<Vec<_>>().await {
        match frame {
            Ok(Frame::Forward { bytes, .. }) => {
                for event in bytes.split(|it| *it == b'\n').filter(|it| !it.is_empty()) {
                    parsed.event(event.strip_prefix(b"data: ").unwrap());
                }
            }
            Ok(Frame::Inspect(json)) => parsed.event(&json),
            Ok(Frame::Alive | Frame::Unreadable) => {}
            Ok(Frame::Done) => parsed.done = true,
            Err(err) => parsed.failure = Some(err),
        }
    }
    parsed
}

/// Returns a stream as its caller parses it.
async fn streamed_response(provider: ProviderType, search: bool, events: &str) -> ParsedResponse {
    let (_server, target) = serving(provider, events, EVENTS).await;
    response_to(chat_call(Target { web_search: search, ..target }, &hello())).await
}

/// Returns a full response as its caller parses it.
async fn full_response(
    provider: ProviderType,
    search: bool,
    body: &str,
) -> Result<ParsedResponse, UpstreamError> {
    let (_server, target) = serving(provider, body, JSON).await;
    let target = Target { web_search: search, ..target };
    let answer =
        new_upstream(UpstreamLimits::default()).complete(chat_call(target, &hello())).await?;
    let mut parsed = ParsedResponse::default();
    parsed.event(&answer);
    Ok(parsed)
}

fn is_refusal(err: &UpstreamError, status: u16) -> bool {
    matches!(err, UpstreamError::Refused { status: it, .. } if *it == status)
}

#[test]
fn embeddings_have_a_path_beside_chat_completions() {
    for (provider, url) in [
        (ProviderType::OpenAi, "https://models.example/v1/embeddings"),
        (ProviderType::OpenAiCompatible, "https://models.example/v1/embeddings"),
        (ProviderType::OpenRouter, "https://models.example/v1/embeddings"),
        (ProviderType::Ollama, "https://models.example/v1/embeddings"),
        (ProviderType::Mistral, "https://models.example/v1/embeddings"),
        (ProviderType::VLlm, "https://models.example/v1/embeddings"),
        (
            ProviderType::AzureOpenAi,
            "https://models.example/v1/openai/deployments/m/embeddings?api-version=2024-10-21",
        ),
    ] {
        let target = Target { api_version: Some("2024-10-21".to_owned()), ..target(provider) };

        let prepared = prepare_embeddings(embedding_call(target)).unwrap();

        let body: Value = serde_json::from_slice(&prepared.body.concat()).unwrap();
        let model = (provider != ProviderType::AzureOpenAi).then_some("m");
        assert_eq!(prepared.url, url);
        assert_eq!(body["model"].as_str(), model);
        assert_eq!(body["input"], "Hi");
        assert_eq!(prepared.headers.len(), 1);
    }
    assert!(prepare_embeddings(embedding_call(target(ProviderType::Anthropic))).is_err());
}

#[test]
fn rankings_have_a_path_beside_chat_completions() {
    let open = Bytes::from_static(br#"{"query":"Hi","documents":["a"],"top_n":1"#);
    let ranking_call = |target| ModelCall { body: open.clone(), ..embedding_call(target) };
    for (provider, endpoint, url) in [
        (
            ProviderType::OpenAiCompatible,
            "https://api.cohere.com/v2",
            "https://api.cohere.com/v2/rerank",
        ),
        (ProviderType::OpenAi, "https://api.jina.ai/v1/", "https://api.jina.ai/v1/rerank"),
        (ProviderType::VLlm, "http://vllm:8000", "http://vllm:8000/v1/rerank"),
    ] {
        let prepared = prepare_ranking(ranking_call(Target::new(provider, endpoint, "m"))).unwrap();

        let body: Value = serde_json::from_slice(&prepared.body.concat()).unwrap();
        let expected = json!({ "model": "m", "query": "Hi", "documents": ["a"], "top_n": 1 });
        assert_eq!(prepared.url, url);
        assert_eq!(body, expected);
        assert_eq!(prepared.headers["authorization"], "Bearer sk-secret");
    }
    for provider in [ProviderType::Anthropic, ProviderType::AzureOpenAi] {
        assert!(prepare_ranking(ranking_call(target(provider))).is_err());
    }
}
