//! A turn of a conversation.
//!
//! `Chat::answer` serves requests of callers, `Chat::ask` questions of the server in a
//! caller's name, which that caller pays for. Both take the same path from `parse` on.

use bytes::Bytes;
use pia_json::NullStripper;
use serde_json::json;

use crate::ai_caller::AiCaller;
use crate::answering::{ChatStreamOptions, FullAnswer};
use crate::credits::metered_call::{Billable, CallEnd};
use crate::credits::usage::Usage;
use crate::error::AssistantError;
use crate::gateway::Gateway;
use crate::guardrail::{with_mark, without_mark};
use crate::request::chat_request::{RequestedChoice, parse};
use crate::request::prompt_body::UpstreamPrompt;
use crate::request::sample::PromptText;
use crate::request::surface::Surface;
use crate::routing::target::Mode;
use crate::stream;
use crate::stream::answer::ChatStream;
use crate::stream::normalize::normalize_answer;
use crate::tools::calls::ToolUse;
use crate::turn::{ToolMode, Turn};

/// Chat completions from a model.
#[derive(Clone)]
pub struct Chat {
    gateway: Gateway,
}

/// Response in the form that the caller requested.
pub enum ChatAnswer {
    /// The upstream's JSON without nulls.
    Complete(Bytes),
    /// Event stream, which begins before the model has finished.
    Stream(Box<ChatStream>),
}

/// Answer to a question in a caller's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatReply {
    /// Text; `None` if there is none.
    pub text: Option<String>,
    /// Tokens of all calls of models that the answer took.
    pub tokens: i64,
    /// Response in the format of OpenAI's chat completions.
    pub body: String,
    /// Calls of server tools that were run.
    pub tool_uses: Vec<ToolUse>,
}

impl Chat {
    /// Creates a chat that calls models through this gateway.
    pub fn new(gateway: Gateway) -> Self {
        Self { gateway }
    }

    /// Answers a request in the format of OpenAI's chat completions.
    ///
    /// The model is the one that it names, if the caller's group may choose it,
    /// and otherwise the one for its mode. The body is held once: upstream
    /// requests are slices of it. A call without a mode is recorded as
    /// `Assistant`.
    pub async fn answer(
        &self,
        caller: AiCaller,
        body: Bytes,
    ) -> Result<ChatAnswer, AssistantError> {
        let choice = parse(&body)?;
        // Slices are freed as they are sent; the body would hold all of them.
        drop(body);
        let (RequestedChoice::Full(prompt) | RequestedChoice::Stream(prompt, _)) = &choice;
        self.check_model(caller, prompt.model_hint.model.as_deref()).await?;

        match choice {
            RequestedChoice::Full(prompt) => {
                let (answer, _) = self.answer_full(caller, prompt).await?;
                Ok(ChatAnswer::Complete(answer))
            }
            RequestedChoice::Stream(prompt, usage) => {
                let options = ChatStreamOptions { tool_mode: ToolMode::WithTools, usage };
                let answer = self.gateway.stream(caller, Mode::Assistant, prompt, options).await?;
                Ok(ChatAnswer::Stream(Box::new(answer)))
            }
        }
    }

    /// Answers a question in a caller's name, with instructions.
    pub async fn ask(
        &self,
        caller: AiCaller,
        instructions: &str,
        question: &str,
        max_output: Option<i64>,
    ) -> Result<ChatReply, AssistantError> {
        let mut request = json!({ "messages": [
            { "role": "system", "content": instructions },
            { "role": "user", "content": question },
        ] });
        if let (Some(members), Some(tokens)) = (request.as_object_mut(), max_output) {
            members.insert("max_tokens".to_owned(), tokens.into());
        }

        // The body requests no stream, and no model.
        let RequestedChoice::Full(prompt) = parse(&request.to_string().into())? else {
            return Err(AssistantError::UpstreamFailed);
        };

        let (body, tool_uses) = self.answer_full(caller, prompt).await?;
        let text = stream::completion::parse(&body).map(|it| it.text);
        let usage = stream::completion::usage(&body).unwrap_or_default();
        Ok(ChatReply {
            text: text.filter(|it| !it.trim().is_empty()),
            tokens: usage.input.saturating_add(usage.output),
            body: String::from_utf8_lossy(&body).into_owned(),
            tool_uses,
        })
    }

    /// Waits for a full response. Returns it for the caller, with the calls of server
    /// tools.
    async fn answer_full(
        &self,
        caller: AiCaller,
        prompt: UpstreamPrompt,
    ) -> Result<(Bytes, Vec<ToolUse>), AssistantError> {
        let mut answer =
            self.gateway.answer_full(caller, Mode::Assistant, prompt, ToolMode::WithTools).await?;
        let tool_uses = std::mem::take(&mut answer.tool_uses);
        let body = complete(answer)?;
        let is_protected = self.gateway.guardrail.protects(&caller);
        Ok((if is_protected { with_mark(&body) } else { body }, tool_uses))
    }

    /// Returns the names of the server's tools that a model may use for a caller
    /// now.
    pub async fn server_tools(&self, caller: AiCaller) -> Result<Vec<String>, AssistantError> {
        let prompt = UpstreamPrompt::from_messages("[]", PromptText::default());
        let gateway = self.gateway.clone();
        let mode = ToolMode::WithTools;
        let turn = Turn::begin(gateway, caller, Mode::Assistant, prompt, mode).await?;
        Ok(turn.tool_names())
    }

    /// Refuses a model that the caller may not name, on surfaces where that is
    /// an error.
    async fn check_model(
        &self,
        caller: AiCaller,
        name: Option<&str>,
    ) -> Result<(), AssistantError> {
        let (Surface::OpenAi, Some(name)) = (caller.surface, name) else { return Ok(()) };
        let is_allowed = self.gateway.may_chat(caller, name).await?;
        if is_allowed { Ok(()) } else { Err(AssistantError::UnknownModel) }
    }
}

/// Returns the response for the caller, with the usage of all its calls. Errors
/// if it has no message.
fn complete(answer: FullAnswer) -> Result<Bytes, AssistantError> {
    let FullAnswer { body, mut metered_call, previous_usage, .. } = answer;
    if !stream::completion::has_message(&body) {
        tracing::warn!(
            upstream.model = metered_call.target.model,
            "upstream response has no message"
        );
        // A response without message and usage costs nothing.
        let has_usage = metered_call.meter.reported.is_some();
        metered_call.fail(if has_usage { Billable::Something } else { Billable::Nothing });
        return Err(AssistantError::UpstreamFailed);
    }

    metered_call.end = CallEnd::Completed;
    let body = normalize_answer(without_mark(body));
    let mut body_with_total = None;
    if previous_usage != Usage::default() {
        let total_usage = previous_usage.plus(&metered_call.usage());
        body_with_total = stream::completion::with_usage(&body, &total_usage);
    }

    Ok(NullStripper::default().strip(body_with_total.unwrap_or(body)))
}

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
