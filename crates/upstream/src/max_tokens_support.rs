//! Parameter name for the maximum length of a response, by model.
//!
//! For each call `client.rs` applies `with_supported_name`, takes a `retry_call` as long as
//! the model is unknown, sends, and reports the outcome to `learn`, which decides
//! whether the retry is sent.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use pia_assistant::{CapName, ChatCall, OutputCap, ProviderType, Target, UpstreamError};

/// Parameter names learnt from OpenAI's models: those that reason refuse
/// `max_tokens`, which callers send to any model. Shared by all workers of a
/// process, so that each model refuses it once.
#[derive(Debug, Default)]
pub struct MaxTokensSupport(Mutex<BTreeMap<String, CapSupport>>);

/// Support of `max_tokens` by a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CapSupport {
    Supported,
    /// The model requires `max_completion_tokens`.
    Refused,
}

impl MaxTokensSupport {
    /// Returns the call with the name that its model is known to accept.
    pub(crate) fn with_supported_name(&self, call: ChatCall) -> ChatCall {
        if uses_max_tokens(&call) && self.cached(&call.target) == Some(CapSupport::Refused) {
            with_max_completion_tokens(call)
        } else {
            call
        }
    }

    /// Returns the call to repeat if the old name is refused. `None` if it is known
    /// whether the model accepts it, since the copy holds the entire call in memory.
    pub(crate) fn retry_call(&self, call: &ChatCall) -> Option<ChatCall> {
        self.cached(&call.target).is_none().then(|| with_max_completion_tokens(call.clone()))
    }

    /// Records the outcome of a call with the old name, and returns whether the
    /// name was refused.
    pub(crate) fn learn<T>(&self, target: &Target, outcome: &Result<T, UpstreamError>) -> bool {
        let support = match outcome {
            Ok(_) => CapSupport::Supported,
            Err(UpstreamError::Refused { status: 400, body, .. }) if is_about_name(body) => {
                CapSupport::Refused
            }
            Err(_) => return false,
        };
        let mut support_by_model = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        support_by_model.insert(target.model_key(), support);
        support == CapSupport::Refused
    }

    fn cached(&self, target: &Target) -> Option<CapSupport> {
        let support_by_model = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        support_by_model.get(&target.model_key()).copied()
    }
}

/// Returns whether a call uses the name that some models of its upstream
/// refuse.
pub(crate) fn uses_max_tokens(call: &ChatCall) -> bool {
    let is_openai =
        matches!(call.target.provider, ProviderType::OpenAi | ProviderType::AzureOpenAi);
    is_openai && call.max_output.is_some_and(|it| it.name == Some(CapName::MaxTokens))
}

fn with_max_completion_tokens(call: ChatCall) -> ChatCall {
    let name = Some(CapName::MaxCompletionTokens);
    ChatCall { max_output: call.max_output.map(|it| OutputCap { name, ..it }), ..call }
}

/// Returns whether a refusal is about the name: it mentions the name to use, or
/// that this one is unsupported.
fn is_about_name(body: &[u8]) -> bool {
    let mentions = |text: &str| memchr::memmem::find(body, text.as_bytes()).is_some();
    let not_supported = mentions("unsupported_parameter") && mentions("max_tokens");
    mentions("max_completion_tokens") || not_supported
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use pia_assistant::ChatUpstream;
    use wiremock::matchers::{body_partial_json, method};
    use wiremock::{Mock, MockServer, Request, ResponseTemplate};

    use super::*;
    use crate::peer::{OPEN, chat_call, new_upstream};
    use crate::{Upstream, UpstreamLimits};

    /// Response of an OpenAI model that reasons.
    const REFUSAL: &str = r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#;
    const ANSWER: &str = r#"{"choices":[{"message":{"content":"Hi"}}]}"#;

    /// Starts an upstream that accepts only this name.
    async fn start_accepting(name: &str, refusal: &str) -> MockServer {
        let server = MockServer::start().await;
        let response = |status: u16, body: &str| {
            ResponseTemplate::new(status).set_body_raw(body.to_owned(), "application/json")
        };
        Mock::given(method("POST"))
            .and(body_partial_json(serde_json::json!({ name: 7 })))
            .respond_with(response(200, ANSWER))
            .mount(&server)
            .await;
        Mock::given(method("POST")).respond_with(response(400, refusal)).mount(&server).await;
        server
    }

    fn capped(server: &MockServer, provider: ProviderType, name: CapName) -> ChatCall {
        let call = chat_call(&format!("{}/v1", server.uri()), &[OPEN]);
        let target = Target { provider, ..Target::clone(&call.target) };
        let max_output = Some(OutputCap { tokens: 7, name: Some(name) });
        ChatCall { target: Arc::new(target), max_output, ..call }
    }

    /// Returns whether each request used the old or the new name.
    async fn sent_names(server: &MockServer) -> Vec<&'static str> {
        let name = |request: &Request| {
            let text = String::from_utf8_lossy(&request.body).into_owned();
            if text.contains("max_completion_tokens") { "new" } else { "old" }
        };
        server.received_requests().await.unwrap().iter().map(name).collect()
    }

    #[tokio::test]
    async fn a_refused_old_name_is_replaced_and_remembered() {
        for provider in [ProviderType::OpenAi, ProviderType::AzureOpenAi] {
            let server = start_accepting("max_completion_tokens", REFUSAL).await;
            let upstream = new_upstream(UpstreamLimits::default());
            let call = || capped(&server, provider, CapName::MaxTokens);

            assert_eq!(upstream.complete(call()).await.unwrap(), ANSWER);
            assert!(upstream.open(call()).await.is_ok());
            assert_eq!(sent_names(&server).await, ["old", "new", "new"]);

            // Another worker shares the finding.
            let other_upstream = new_upstream(UpstreamLimits::default())
                .with_max_tokens_support(Arc::clone(&upstream.max_tokens));
            assert_eq!(other_upstream.complete(call()).await.unwrap(), ANSWER);
            assert_eq!(sent_names(&server).await.len(), 4);
        }
    }

    #[tokio::test]
    async fn a_stream_is_repeated_before_it_opens() {
        let server = start_accepting("max_completion_tokens", REFUSAL).await;

        let upstream = new_upstream(UpstreamLimits::default());
        let call = capped(&server, ProviderType::OpenAi, CapName::MaxTokens);

        assert!(upstream.open(call).await.is_ok());
        assert_eq!(sent_names(&server).await, ["old", "new"]);
    }

    #[tokio::test]
    async fn nothing_else_is_repeated() {
        let other_refusal =
            r#"{"error":{"message":"no","code":"unsupported_value","param":"temperature"}}"#;
        for (provider, name, refusal) in [
            (ProviderType::OpenAi, CapName::MaxTokens, other_refusal),
            (ProviderType::OpenAi, CapName::MaxCompletionTokens, REFUSAL),
            (ProviderType::OpenAiCompatible, CapName::MaxTokens, REFUSAL),
        ] {
            let server = start_accepting("neither", refusal).await;

            let upstream = new_upstream(UpstreamLimits::default());
            let outcome = upstream.complete(capped(&server, provider, name)).await;

            let body = Bytes::copy_from_slice(refusal.as_bytes());
            let expected = UpstreamError::Refused { status: 400, retry_after: None, body };
            assert_eq!(outcome, Err(expected));
            assert_eq!(sent_names(&server).await.len(), 1, "{refusal}");
        }
    }

    #[tokio::test]
    async fn an_accepted_old_name_stays_in_use_and_its_calls_are_not_copied() {
        let server = start_accepting("max_tokens", REFUSAL).await;
        let upstream: Upstream = new_upstream(UpstreamLimits::default());
        let call = || capped(&server, ProviderType::OpenAi, CapName::MaxTokens);

        assert!(upstream.max_tokens.retry_call(&call()).is_some());
        upstream.complete(call()).await.unwrap();
        upstream.complete(call()).await.unwrap();

        assert_eq!(sent_names(&server).await, ["old", "old"]);
        assert!(upstream.max_tokens.retry_call(&call()).is_none());

        // Another model replaces it.
        server.reset().await;
        let refusal = ResponseTemplate::new(400).set_body_string(REFUSAL);
        Mock::given(method("POST")).respond_with(refusal).mount(&server).await;
        assert!(upstream.complete(call()).await.is_err());
        assert!(upstream.complete(call()).await.is_err());
        assert_eq!(sent_names(&server).await, ["old", "new"]);
    }
}
