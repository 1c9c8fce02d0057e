//! Turns of a conversation: their catalogues, requests and responses.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use pia_kernel::{LiveSetting, Secret};
use serde_json::{Value, json};

use super::{TestEnv, caller};
use crate::chat::{Chat, ChatAnswer};
use crate::error::AssistantError;
use crate::gateway::Gateway;
use crate::ports::UpstreamError;
use crate::routing::catalogue::{ModelCatalogue, SearchDepth, SearchProvider};
use crate::routing::target::{Protection, ProviderType, Target};

/// Full response that ends a turn.
pub(crate) const ANSWER: &str = r#"{"choices":[{"message":{"content":"Fine."},"finish_reason":"stop"}],"usage":{"prompt_tokens":30,"completion_tokens":3}}"#;
/// Full response that calls the web search.
pub(crate) const SEARCH_CALL: &str = r#"{"choices":[{"message":{"content":"I look.","tool_calls":[{"id":"a","type":"function","function":{"name":"pia_web_search","arguments":"{\"query\":\"news\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":2}}"#;
/// Event of a stream without text, in the server's format.
pub(crate) const EMPTY_EVENT: &str = "data: {\"choices\":[{\"delta\":{}}]}\n\n";
/// Failure of an upstream that is down.
pub(crate) const DOWN: UpstreamError = UpstreamError::Unreachable(String::new());

pub(crate) fn refusal(status: u16) -> UpstreamError {
    UpstreamError::Refused { status, retry_after: None, body: Bytes::new() }
}

/// Returns a catalogue entry with one key.
pub(crate) fn entry(id: &str) -> Target {
    let target = Target::new(ProviderType::OpenAi, "http://h", id).with_key("k1");
    Target { id: Some(id.to_owned()), ..target }
}

/// Returns a search provider with two keys.
pub(crate) fn search_provider() -> SearchProvider {
    SearchProvider {
        id: "web".to_owned(),
        endpoint: "http://h".to_owned(),
        keys: ["s1", "s2"].map(|it| Secret::new(it.to_owned())).into(),
        depth: SearchDepth::Fast,
        protection: Protection::default(),
    }
}

/// Returns a catalogue whose first entry is the default.
pub(crate) fn catalogue_of(entries: Vec<Target>) -> ModelCatalogue {
    let entries: Vec<_> = entries.into_iter().map(Arc::new).collect();
    ModelCatalogue {
        default: entries.first().cloned(),
        entries,
        searches: vec![Arc::new(search_provider())],
        ..ModelCatalogue::default()
    }
}

/// Returns a catalogue of the model `first` and its fallback `second`.
pub(crate) fn with_fallback() -> ModelCatalogue {
    let model = Target { fallbacks: vec!["second".to_owned()], ..entry("first") };
    catalogue_of(vec![model, entry("second")])
}

/// Returns a catalogue of a model that may search the web.
pub(crate) fn with_search() -> ModelCatalogue {
    catalogue_of(vec![Target { web_search_tool: Some("web".to_owned()), ..entry("first") }])
}

pub(crate) fn new_chat(env: &TestEnv, catalogue: ModelCatalogue) -> Chat {
    Chat::new(Gateway { catalogue: LiveSetting::new(catalogue), ..env.gateway() })
}

/// Returns the answer of a chat to `request_body`.
pub(crate) async fn send_request(chat: &Chat) -> Result<ChatAnswer, AssistantError> {
    chat.answer(caller(), Bytes::from(request_body().to_string())).await
}

/// Returns the full response to a request.
pub(crate) async fn full_answer(
    env: &TestEnv,
    catalogue: ModelCatalogue,
    body: &Value,
) -> Result<Value, AssistantError> {
    let chat = new_chat(env, catalogue);
    match chat.answer(caller(), Bytes::from(body.to_string())).await? {
        ChatAnswer::Complete(body) => Ok(serde_json::from_slice(&body).unwrap()),
        ChatAnswer::Stream(_) => panic!("a stream"),
    }
}

/// Returns the text of the event stream that answers a request.
pub(crate) async fn stream_text(env: &TestEnv, catalogue: ModelCatalogue, body: &Value) -> String {
    let chat = new_chat(env, catalogue);
    match chat.answer(caller(), Bytes::from(body.to_string())).await.unwrap() {
        ChatAnswer::Stream(answer) => {
            String::from_utf8(answer.collect::<Vec<_>>().await.concat()).unwrap()
        }
        ChatAnswer::Complete(_) => panic!("no stream"),
    }
}

/// Returns a request of one message, for a full response.
pub(crate) fn request_body() -> Value {
    json!({ "messages": [{ "role": "user", "content": "12345678" }] })
}

/// Returns a request for a stream with usage.
pub(crate) fn stream_body() -> Value {
    let mut body = request_body();
    body["stream"] = json!(true);
    body["stream_options"] = json!({ "include_usage": true });
    body
}

/// Returns the model of each call.
pub(crate) fn called_models(env: &TestEnv) -> Vec<String> {
    env.calls().into_iter().map(|it| it.model).collect()
}

/// Returns the key of each call.
pub(crate) fn used_keys(env: &TestEnv) -> Vec<String> {
    env.calls().into_iter().map(|it| it.key).collect()
}
