//! Answers that the server requests for itself, which no caller pays for.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::GroupId;
use serde_json::json;
use uuid::Uuid;

use crate::error::AssistantError;
use crate::gateway::Gateway;
use crate::ports::{ChatCall, OutputCap};
use crate::request::prompt_body::{AddedMessages, UpstreamPrompt};
use crate::request::sample::PromptText;
use crate::routing::attempts::AttemptOutcome;
use crate::routing::keys::requested_cooldown;
use crate::routing::refusal::{Tools, explain_failure};
use crate::routing::target::Target;
use crate::stream::completion;

/// Maximum time for which a call waits for a permit of its upstream; nobody
/// waits for it.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Answer of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackgroundAnswer {
    /// Text.
    pub text: String,
    /// Tokens of prompt and answer that the upstream reports, or an estimate.
    pub tokens: i64,
}

/// Model that answers the server itself, under the upstream's protection.
#[derive(Clone)]
pub struct BackgroundChat {
    gateway: Gateway,
    target: Arc<Target>,
}

impl BackgroundChat {
    /// Creates a chat with this model.
    pub fn new(gateway: Gateway, target: Arc<Target>) -> Self {
        Self { gateway, target }
    }

    /// Asks a question, with instructions, and returns the answer, which has at
    /// most `max_tokens` tokens.
    pub async fn ask(
        &self,
        instructions: &str,
        question: &str,
        max_tokens: i64,
    ) -> Result<BackgroundAnswer, AssistantError> {
        let text = PromptText::from_words(&[instructions, question]);
        let estimate = text.estimate().saturating_add(max_tokens);
        let demand = (GroupId(Uuid::nil()), estimate);
        let _permit = self.gateway.acquire_permit(&self.target, demand, MAX_WAIT).await?;
        let messages = json!([
            { "role": "system", "content": instructions },
            { "role": "user", "content": question },
        ]);
        let prompt = UpstreamPrompt::from_messages(&messages.to_string(), text);
        let body = self.call_with_keys(&prompt, max_tokens).await?;
        let answer = completion::text(&body);
        if answer.trim().is_empty() {
            tracing::warn!(upstream.model = self.target.model, "upstream response has no text");
            return Err(AssistantError::UpstreamFailed);
        }
        let usage = completion::usage(&body);
        let tokens = usage.map_or(estimate, |it| it.input.saturating_add(it.output));
        Ok(BackgroundAnswer { text: answer, tokens })
    }

    /// Calls the model with one key after the other.
    async fn call_with_keys(
        &self,
        prompt: &UpstreamPrompt,
        max_tokens: i64,
    ) -> Result<bytes::Bytes, AssistantError> {
        let (gateway, target) = (&self.gateway, &self.target);
        let mut failure = AssistantError::NotConfigured;
        for key in gateway.keys.order(&target.keys, gateway.timer.elapsed()) {
            let call = ChatCall {
                target: Arc::clone(target),
                key: key.clone(),
                body: prompt.body(&AddedMessages::default()),
                max_output: Some(OutputCap { tokens: max_tokens, name: None }),
                effort: None,
            };
            let err = match gateway.unless_stopped(gateway.upstream.complete(call)).await {
                None => return Err(AssistantError::Stopping),
                Some(Ok(body)) => {
                    gateway.attempts.count(target, AttemptOutcome::Answered);
                    return Ok(body);
                }
                Some(Err(err)) => err,
            };
            let outcome = AttemptOutcome::from_error(&err);
            gateway.attempts.count(target, outcome);
            failure = explain_failure(&err, Tools::None, target);
            if !outcome.is_key_failure() {
                break;
            }
            gateway.keys.set_cooldown(&key, gateway.timer.elapsed(), requested_cooldown(&err));
        }
        Err(failure)
    }
}
