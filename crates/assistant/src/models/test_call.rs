//! Single calls that test an entry of the catalogue.
//!
//! A test sends what a use case would send, so that it fails for the same reasons, and
//! returns the upstream's failure with its status, which users never learn.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use pia_kernel::Secret;
use serde_json::json;

use super::CatalogueModel;
use crate::embeddings::parse_vectors;
use crate::error::AssistantError;
use crate::gateway::Gateway;
use crate::ports::{ChatCall, ModelCall, OutputCap, UpstreamError};
use crate::request::prompt_body::{AddedMessages, UpstreamPrompt};
use crate::request::sample::PromptText;
use crate::routing::attempts::AttemptOutcome;
use crate::routing::catalogue::SearchProvider;
use crate::routing::keys::requested_cooldown;
use crate::routing::target::Target;
use crate::routing::upstream_limiter::CallDemand;
use crate::single_call::BackgroundPurpose;
use crate::stream::completion;

/// Question that a chat model is tested with.
const QUESTION: &str = "Reply with one short greeting.";
/// Maximum length of the answer, with room for some reasoning.
const MAX_ANSWER_TOKENS: i64 = 256;
/// Time limit of the wait for the limits of an upstream.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Evidence that an entry works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelAnswer {
    /// Text; empty if the model wrote none.
    Text(String),
    /// Vector of this many dimensions.
    Vector(usize),
    /// This many results of a web search.
    Results(usize),
}

/// Reasons why an entry did not answer a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelTestFailure {
    /// Upstream failed, with the HTTP status that it sent.
    Upstream(AttemptOutcome, Option<u16>),
    /// Upstream's response contains no answer.
    Unreadable,
    /// Open calls exhaust the entry's limits.
    LimitReached,
    /// No response came in time.
    TimedOut,
    /// Server is stopping, so the call was abandoned.
    Stopping,
}

impl From<&UpstreamError> for ModelTestFailure {
    fn from(err: &UpstreamError) -> Self {
        Self::Upstream(AttemptOutcome::from_error(err), err.status())
    }
}

impl Gateway {
    /// Calls an entry once with a short question, under its limits.
    pub(super) async fn test_call(
        &self,
        model: &CatalogueModel,
    ) -> Result<ModelAnswer, ModelTestFailure> {
        match model {
            CatalogueModel::Chat(target) => self.test_chat(target).await,
            CatalogueModel::Embedder(target) => self.test_embedder(target).await,
            CatalogueModel::Search(provider) => self.test_search(provider).await,
        }
    }

    async fn test_chat(&self, target: &Arc<Target>) -> Result<ModelAnswer, ModelTestFailure> {
        let messages = json!([{ "role": "user", "content": QUESTION }]).to_string();
        let text = PromptText::from_words(&[QUESTION]);
        let prompt = UpstreamPrompt::from_messages(&messages, text);
        let send = |key| {
            self.upstream.complete(ChatCall {
                target: Arc::clone(target),
                key,
                body: prompt.body(&AddedMessages::default()),
                max_output: Some(OutputCap { tokens: MAX_ANSWER_TOKENS, name: None }),
                effort: target.reasoning_effort,
            })
        };

        let body = self.test_model(target, send).await?;
        let answer = completion::parse(&body).ok_or(ModelTestFailure::Unreadable)?;

        Ok(ModelAnswer::Text(answer.text))
    }

    async fn test_embedder(&self, target: &Arc<Target>) -> Result<ModelAnswer, ModelTestFailure> {
        let json = format!("{{\"input\":[{}],\"encoding_format\":\"float\"", json!(QUESTION));
        let body = Bytes::from(json);
        let send = |key| {
            let target = Arc::clone(target);
            let body = body.clone();
            self.upstream.embed(ModelCall { target, key, body })
        };
        let response = self.test_model(target, send).await?;
        let embeddings = parse_vectors(&response, 1, 0).ok_or(ModelTestFailure::Unreadable)?;
        Ok(ModelAnswer::Vector(embeddings.vectors.first().map_or(0, Vec::len)))
    }

    /// Sends a call like any other of the model, and returns the upstream's error
    /// instead of one for users.
    async fn test_model<F: Future<Output = Result<Bytes, UpstreamError>>>(
        &self,
        target: &Target,
        send: impl Fn(Secret<String>) -> F,
    ) -> Result<Bytes, ModelTestFailure> {
        let demand =
            CallDemand { group: BackgroundPurpose::Question.group(), tokens: MAX_ANSWER_TOKENS };
        let permit = self.acquire_permit(target, demand, MAX_WAIT).await;
        let _permit = permit.map_err(|err| match err {
            AssistantError::Stopping => ModelTestFailure::Stopping,
            _ => ModelTestFailure::LimitReached,
        })?;

        let failure = Mutex::new(ModelTestFailure::Stopping);
        let send_and_record = |key| {
            let call = send(key);
            let failure = &failure;
            async move {
                call.await.inspect_err(|err| {
                    *failure.lock().unwrap_or_else(PoisonError::into_inner) = err.into();
                })
            }
        };
        let outcome = self.call_with_keys(target, send_and_record).await;
        outcome.map_err(|_explained| failure.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Searches once with each key until one is accepted, as calls for users do.
    async fn test_search(
        &self,
        provider: &Arc<SearchProvider>,
    ) -> Result<ModelAnswer, ModelTestFailure> {
        let demand = CallDemand { group: BackgroundPurpose::Question.group(), tokens: 0 };
        let permit = self.upstream_limiter.acquire(&**provider, demand, MAX_WAIT, &self.timer);
        let _permit = permit.await.map_err(|_limit| ModelTestFailure::LimitReached)?;
        let mut failure = ModelTestFailure::Stopping;
        for key in self.keys.order(&provider.keys, self.timer.elapsed()) {
            let search = self.search.search(provider, &key, QUESTION);
            let err = match self.unless_stopped(search).await {
                None => return Err(ModelTestFailure::Stopping),
                Some(Ok(results)) => {
                    self.attempts.count_of(&provider.id, AttemptOutcome::Answered);
                    return Ok(ModelAnswer::Results(results.len()));
                }
                Some(Err(err)) => err,
            };
            let outcome = AttemptOutcome::from_error(&err);
            self.attempts.count_of(&provider.id, outcome);
            failure = (&err).into();
            // Another key would fail in the same way.
            if !outcome.is_key_failure() {
                break;
            }

            self.keys.set_cooldown(&key, self.timer.elapsed(), requested_cooldown(&err));
        }

        Err(failure)
    }
}
