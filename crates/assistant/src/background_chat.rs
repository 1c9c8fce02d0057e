//! Answers that the server requests for itself, which no caller pays for.
//!
//! The rewriting of questions and the ingestion of documents use them. There is no turn,
//! budget, fallback or tool, but the upstream's limits apply (`single_call.rs`).

use std::sync::Arc;

use serde_json::json;

use crate::error::AssistantError;
use crate::gateway::Gateway;
use crate::ports::{ChatCall, OutputCap};
use crate::request::prompt_body::{AddedMessages, UpstreamPrompt};
use crate::request::sample::PromptText;
use crate::routing::target::Target;
use crate::single_call::BackgroundPurpose;
use crate::stream::completion;

/// Answer of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackgroundAnswer {
    /// Text; empty if the model wrote none, such as for content that its provider
    /// filters.
    pub text: String,
    /// Tokens of prompt and answer that the upstream reports, or an estimate.
    pub tokens: i64,
}

/// Model that answers the server itself, under the upstream's protection.
#[derive(Clone)]
pub struct BackgroundChat {
    gateway: Gateway,
    target: Arc<Target>,
    purpose: BackgroundPurpose,
}

impl BackgroundChat {
    /// Creates a chat with this model.
    pub fn new(gateway: Gateway, target: Arc<Target>, purpose: BackgroundPurpose) -> Self {
        Self { gateway, target, purpose }
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
        let gateway = &self.gateway;
        let target = &self.target;
        // Lives until the answer is complete: the limits count open calls.
        let _permit = gateway.acquire_background_permit(target, self.purpose, estimate).await?;

        let messages = json!([
            { "role": "system", "content": instructions },
            { "role": "user", "content": question },
        ]);
        let prompt = UpstreamPrompt::from_messages(&messages.to_string(), text);
        let send = |key| {
            gateway.upstream.complete(ChatCall {
                target: Arc::clone(target),
                key,
                body: prompt.body(&AddedMessages::default()),
                max_output: Some(OutputCap { tokens: max_tokens, name: None }),
                effort: None,
            })
        };
        let outcome = gateway.call_with_keys(target, send).await;
        let body = outcome.map_err(|failure| failure.error)?;
        let Some(answer) = completion::parse(&body) else {
            tracing::warn!(upstream.model = target.model, "upstream response has no message");
            return Err(AssistantError::UpstreamFailed);
        };

        let usage = completion::usage(&body);
        let tokens = usage.map_or(estimate, |it| it.input.saturating_add(it.output));

        Ok(BackgroundAnswer { text: answer.text, tokens })
    }
}
