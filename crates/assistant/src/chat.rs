//! A turn of a conversation.

use bytes::Bytes;

use crate::ai_caller::AiCaller;
use crate::answering::FullAnswer;
use crate::credits::metered_call::{Billable, CallEnd};
use crate::credits::usage::Usage;
use crate::error::AssistantError;
use crate::gateway::Gateway;
use crate::guardrail::{marked, unmarked};
use crate::request::chat_request::{RequestedChoice, parse};
use crate::request::surface::Surface;
use crate::routing::target::Mode;
use crate::stream;
use crate::stream::answer::ChatStream;
use crate::stream::normalize::normalize_answer;
use crate::turn::ToolMode;
use pia_json::NullStripper;

/// Passes conversations on to a model.
#[derive(Clone)]
pub struct Chat {
    gateway: Gateway,
}

/// The answer, in the form that the request requested.
pub enum ChatAnswer {
    /// The upstream's JSON, as it came but for nulls.
    Whole(Bytes),
    /// An event stream.
    Stream(Box<ChatStream>),
}

impl Chat {
    /// Conversations through this gateway.
    pub fn new(gateway: Gateway) -> Self {
        Self { gateway }
    }

    /// Answers a request in the shape of OpenAI's chat completions.
    ///
    /// Its model is the one that it names, where the caller's group may choose
    /// that, and else the one for its mode. The body is held once: what goes
    /// upstream are slices of it. A call without a mode is written down as
    /// talking.
    pub async fn answer(
        &self,
        caller: AiCaller,
        body: Bytes,
    ) -> Result<ChatAnswer, AssistantError> {
        let requested = parse(&body)?;
        // Its slices go as the upstream takes them; this would hold them all.
        drop(body);
        let (RequestedChoice::Whole(prompt) | RequestedChoice::Stream(prompt, _)) = &requested;
        self.check_model(caller, prompt.model_hint.model.as_deref()).await?;
        match requested {
            RequestedChoice::Whole(prompt) => {
                let requested =
                    self.gateway.answer_full(caller, Mode::Assistant, prompt, ToolMode::WithTools);
                let answer = complete(requested.await?)?;
                let protected = self.gateway.guardrail.protects(&caller);
                Ok(ChatAnswer::Whole(if protected { marked(&answer) } else { answer }))
            }
            RequestedChoice::Stream(prompt, usage) => {
                let how = (ToolMode::WithTools, usage);
                let answer = self.gateway.stream(caller, Mode::Assistant, prompt, how).await?;
                Ok(ChatAnswer::Stream(Box::new(answer)))
            }
        }
    }
}

impl Chat {
    /// Refuses a model that the caller may not name, where that is an error.
    async fn check_model(
        &self,
        caller: AiCaller,
        name: Option<&str>,
    ) -> Result<(), AssistantError> {
        let (Surface::OpenAi, Some(name)) = (caller.surface, name) else { return Ok(()) };
        let may = self.gateway.may_chat(caller, name).await?;
        if may { Ok(()) } else { Err(AssistantError::UnknownModel) }
    }
}

/// The answer as callers take it, if it is one: usage is reported for all calls
/// that it took.
fn complete(whole: FullAnswer) -> Result<Bytes, AssistantError> {
    let FullAnswer { body, mut metered_call, spent } = whole;
    if !stream::completion::has_message(&body) {
        tracing::warn!(
            upstream.model = metered_call.target.model,
            "upstream response has no message"
        );
        // An upstream that reported no usage and no text is owed nothing.
        let reported = metered_call.meter.reported.is_some();
        metered_call.fail(if reported { Billable::Something } else { Billable::Nothing });
        return Err(AssistantError::UpstreamFailed);
    }
    metered_call.end = CallEnd::Completed;
    let body = normalize_answer(unmarked(body));
    let all = (spent != Usage::default()).then(|| spent.plus(&metered_call.used()));
    let reported = all.and_then(|it| stream::completion::with_usage(&body, &it));
    Ok(NullStripper::default().strip(reported.unwrap_or(body)))
}

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
