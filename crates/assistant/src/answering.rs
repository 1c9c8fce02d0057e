//! Answers of models, in full or streamed.
//!
//! Both begin a `Turn`. For a full response the model is called again until it requests no
//! more tools of the server; a stream does so while it is read
//! (`stream/answer/closing.rs`).

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
use crate::tools::calls::ToolUse;
use crate::turn::{ToolMode, Turn};

/// Options of a streamed response.
pub(crate) struct ChatStreamOptions {
    pub(crate) tool_mode: ToolMode,
    pub(crate) usage: UsageChunks,
}

/// Full response and its usage.
pub(crate) struct FullAnswer {
    pub(crate) body: Bytes,
    /// Last call of the turn.
    pub(crate) metered_call: MeteredCall,
    /// Usage of the turn's earlier calls.
    pub(crate) previous_usage: Usage,
    /// Calls of server tools that were run.
    pub(crate) tool_uses: Vec<ToolUse>,
}

impl Gateway {
    /// Waits for a full response, and runs the server's tools for the model.
    /// The metered call is still open: the caller must validate the response
    /// and end it.
    pub(crate) async fn answer_full(
        &self,
        caller: AiCaller,
        default_mode: Mode,
        prompt: UpstreamPrompt,
        tool_mode: ToolMode,
    ) -> Result<FullAnswer, AssistantError> {
        let mut turn = Turn::begin(self.clone(), caller, default_mode, prompt, tool_mode).await?;
        loop {
            let (body, metered_call) = turn.complete().await?;
            let tool_calls = if turn.has_tools() { stream::completion::calls(&body) } else { None };
            let Some((calls, text)) = tool_calls else {
                return Ok(turn.into_full_answer(body, metered_call));
            };

            let (server_calls, caller_calls): (Vec<_>, Vec<_>) =
                calls.into_iter().partition(|it| turn.is_server_tool(&it.name));
            let can_continue =
                !server_calls.is_empty() && caller_calls.is_empty() && turn.has_rounds_left();
            if !can_continue {
                // The caller gets its own calls only, as it cannot run those of the server.
                let body = stream::completion::with_calls(&body, &caller_calls).unwrap_or(body);
                return Ok(turn.into_full_answer(body, metered_call));
            }

            turn.settle(metered_call);
            turn.serve(server_calls, &text).await;
        }
    }

    /// Starts a streamed response. Returns once the upstream has accepted the call, or has been
    /// silent for a while.
    pub(crate) async fn stream(
        &self,
        caller: AiCaller,
        default_mode: Mode,
        prompt: UpstreamPrompt,
        options: ChatStreamOptions,
    ) -> Result<ChatStream, AssistantError> {
        let ChatStreamOptions { tool_mode, usage } = options;
        let tools = prompt.tools;
        let turn = Turn::begin(self.clone(), caller, default_mode, prompt, tool_mode).await?;
        let settings = self.settings.get();
        let protected = self.guardrail.protects(&caller);
        ChatStream::new(turn, self, settings.heartbeat, protected)
            .with_tools(tools)
            .with_usage(usage)
            .wait_for_start(settings.open_after)
            .await
    }
}

impl Turn {
    fn into_full_answer(self, body: Bytes, metered_call: MeteredCall) -> FullAnswer {
        let Self { previous_usage, tool_uses, .. } = self;
        FullAnswer { body, metered_call, previous_usage, tool_uses }
    }
}
