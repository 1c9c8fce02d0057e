//! Answers of models, in full or streamed.

use bytes::Bytes;

use crate::ai_caller::AiCaller;
use crate::credits::metered_call::MeteredCall;
use crate::credits::usage::Usage;
use crate::error::AssistantError;
use crate::gateway::Gateway;
use crate::request::prompt_body::UpstreamPrompt;
use crate::routing::target::Mode;
use crate::stream;
use crate::stream::answer::{ChatStream, UsageChunks};
use crate::turn::{ToolMode, Turn};

/// A whole answer, and what it cost.
pub(crate) struct FullAnswer {
    pub(crate) body: Bytes,
    /// Metered call of the last attempt.
    pub(crate) metered_call: MeteredCall,
    /// Usage of the attempts before the last.
    pub(crate) spent: Usage,
}

impl Gateway {
    /// Waits for a whole answer, and does meanwhile what the model calls for.
    /// The ticket is still open: whether the answer is one is for the caller
    /// to find out.
    pub(crate) async fn answer_full(
        &self,
        caller: AiCaller,
        otherwise: Mode,
        prompt: UpstreamPrompt,
        served: ToolMode,
    ) -> Result<FullAnswer, AssistantError> {
        let mut turn = Turn::begin(self.clone(), caller, otherwise, prompt, served).await?;
        loop {
            let (body, metered_call) = turn.whole().await?;
            let called = turn.has_tools().then(|| stream::completion::calls(&body)).flatten();
            let Some((calls, text)) = called else {
                return Ok(FullAnswer { body, metered_call, spent: turn.previous_usage });
            };
            let (ours, theirs): (Vec<_>, Vec<_>) =
                calls.into_iter().partition(|it| turn.is_ours(&it.name));
            if ours.is_empty() || !theirs.is_empty() || !turn.has_rounds_left() {
                let body = stream::completion::with_calls(&body, &theirs).unwrap_or(body);
                return Ok(FullAnswer { body, metered_call, spent: turn.previous_usage });
            }
            turn.settle(metered_call);
            turn.serve(ours, &text).await;
        }
    }

    /// Begins a streamed answer.
    pub(crate) async fn stream(
        &self,
        caller: AiCaller,
        otherwise: Mode,
        prompt: UpstreamPrompt,
        (served, usage): (ToolMode, UsageChunks),
    ) -> Result<ChatStream, AssistantError> {
        let tools = prompt.tools;
        let turn = Turn::begin(self.clone(), caller, otherwise, prompt, served).await?;
        let settings = self.settings.get();
        let protected = self.guardrail.protects(&caller);
        ChatStream::new(turn, self, settings.heartbeat, protected)
            .with_tools(tools)
            .with_usage(usage)
            .opened(settings.open_after)
            .await
    }
}
