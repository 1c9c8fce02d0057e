//! Steps of assignments, executed by the AI proxy in the user's name.
//!
//! A step is a chat on the user's budget, or runs on a pod if its skill is hosted
//! there. `step_error` and `pod_error` sort errors into the kinds that decide
//! whether the run repeats the step: busy, transient and permanent.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pia_assignments::{
    FailureCode, SkillMode, StepError, StepExecutor, StepHost, StepProgress, StepRequest,
    StepResponse, ToolCallRecord,
};
use pia_assistant::{AiCaller, AssistantError, Chat, ChatReply, Mode, Surface, ToolUse};
use pia_identity::AccountStore;
use pia_kernel::{Unavailable, UserId};
use pia_pods::{HostedSkill, ProgressSink, SkillCallError, ToolCallError, ToolCaller, ToolPlane};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};
use tokio_util::sync::CancellationToken;

/// Minimum time between two events of the progress of a step.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);
/// Interval of looking whether the run of a step has ended.
const CLAIM_INTERVAL: Duration = Duration::from_secs(1);

/// Models of the AI proxy, called in the user's name and on the user's budget.
pub(crate) struct ProxySteps {
    pub(crate) chat: Chat,
    pub(crate) accounts: Arc<dyn AccountStore>,
    /// Pods, which run hosted skills.
    pub(crate) pods: ToolPlane,
}

impl ProxySteps {
    /// Returns the user as a caller; `None` if the account is gone or
    /// deactivated.
    async fn caller(&self, user: UserId, mode: SkillMode) -> Result<Option<AiCaller>, Unavailable> {
        let mode = Some(match mode {
            SkillMode::Assistant => Mode::Assistant,
            SkillMode::Research => Mode::Research,
        });

        let Some(group) = self.accounts.active_group(user).await? else { return Ok(None) };
        Ok(Some(AiCaller {
            user,
            group,
            key: None,
            mode,
            persona: None,
            surface: Surface::Desktop,
        }))
    }

    /// Runs a skill on a pod, which is told to cancel it when the run has ended. Its
    /// response has the form of a model's.
    async fn run_on_pod(
        &self,
        caller: ToolCaller,
        host: StepHost,
        material: String,
        progress: &StepProgress,
    ) -> Result<StepResponse, StepError> {
        let StepHost { connector, skill, timeout } = host;
        let skill = HostedSkill { connector, name: skill, material, timeout };
        let (sender, reports) = watch::channel(String::new());
        let sink = ProgressSink::new(move |it| drop(sender.send_replace(it)));
        let gone = CancellationToken::new();
        let run = self.pods.run_skill(caller, skill, sink, gone.cancelled());
        let reply = with_progress(run, reports, progress, &gone).await;
        let reply = reply.map_err(|err| pod_error(&err))?;
        let is_error = reply.is_error;
        let text = reply.into_text();
        if is_error {
            return Err(failed(FailureCode::UpstreamFailed, &text));
        }

        let message = json!({ "role": "assistant", "content": text });
        let raw =
            json!({ "choices": [{ "message": message, "finish_reason": "stop" }] }).to_string();

        Ok(StepResponse { text: Some(text), raw, tokens: 0, tool_calls: Vec::new() })
    }
}

#[async_trait]
impl StepExecutor for ProxySteps {
    async fn tools(
        &self,
        user: UserId,
        mode: SkillMode,
    ) -> Result<Option<Vec<String>>, Unavailable> {
        let Some(caller) = self.caller(user, mode).await? else { return Ok(None) };
        match self.chat.server_tools(caller).await {
            Ok(tools) => Ok(Some(tools)),
            // The step itself reports the error.
            Err(err) if !matches!(err, AssistantError::Unavailable) => Ok(Some(Vec::new())),
            Err(err) => Err(Unavailable::new("assistant", err)),
        }
    }

    async fn execute(
        &self,
        request: StepRequest,
        progress: StepProgress,
    ) -> Result<StepResponse, StepError> {
        let caller = self
            .caller(request.user, request.mode)
            .await
            .map_err(|_unavailable| StepError::Busy { retry_after: None })?;
        let Some(caller) = caller else {
            let message = "The account may not use models any more.".to_owned();
            return Err(StepError::Permanent { code: FailureCode::NotPermitted, message });
        };

        let StepRequest { instructions, material, max_output, host, .. } = request;
        if let Some(host) = host {
            let caller = ToolCaller { user: request.user, group: caller.group };
            return self.run_on_pod(caller, host, material, &progress).await;
        }

        let reply = self.chat.ask(caller, &instructions, &material, max_output).await;
        let ChatReply { text, tokens, body, tool_uses } = reply.map_err(|err| step_error(&err))?;
        let record = |it: ToolUse| ToolCallRecord { tool: it.name, failed: it.failed };
        let tool_calls = tool_uses.into_iter().map(record).collect();

        Ok(StepResponse { text, raw: body, tokens, tool_calls })
    }
}

/// Runs a skill, and appends the reports of its pod to the progress of the step: of
/// those that follow each other quickly, the last. They become rarer the longer it
/// takes, so that a day has fewer events than a step may have. Sets `gone`, which ends
/// the skill, once its outcome would not be accepted.
async fn with_progress<T>(
    run: impl Future<Output = T>,
    mut reports: watch::Receiver<String>,
    progress: &StepProgress,
    gone: &CancellationToken,
) -> T {
    let mut run = pin!(run);
    let started_at = Instant::now();
    let mut due_at = started_at;
    let mut check = interval_at(started_at + CLAIM_INTERVAL, CLAIM_INTERVAL);
    check.set_missed_tick_behavior(MissedTickBehavior::Delay);

    loop {
        let is_reported = tokio::select! {
            biased;
            reply = &mut run => return reply,
            () = reported(&mut reports, due_at) => true,
            _ = check.tick() => false,
        };

        // Outside of `select!`: what the database has begun must not be dropped.
        if is_reported {
            let report = reports.borrow_and_update().clone();
            progress.append(&report).await;
            due_at = Instant::now() + PROGRESS_INTERVAL.max(started_at.elapsed() / 10);
        } else if !progress.is_claimed().await {
            gone.cancel();
            return run.await;
        }
    }
}

/// Waits for a report after a time.
async fn reported(reports: &mut watch::Receiver<String>, due_at: Instant) {
    sleep_until(due_at).await;
    if reports.changed().await.is_err() {
        pending::<()>().await;
    }
}

fn failed(code: FailureCode, message: &str) -> StepError {
    StepError::Transient { code, message: message.to_owned() }
}

fn pod_error(err: &SkillCallError) -> StepError {
    let message = err.to_string();

    match err {
        SkillCallError::NotAdvertised => {
            StepError::Permanent { code: FailureCode::PodPlaneMismatch, message }
        }
        SkillCallError::NotConnected
        | SkillCallError::Call(ToolCallError::Busy | ToolCallError::Unavailable) => {
            StepError::Busy { retry_after: None }
        }
        SkillCallError::Call(ToolCallError::TimedOut) => {
            failed(FailureCode::UpstreamTimeout, &message)
        }
        SkillCallError::Call(_) => failed(FailureCode::UpstreamFailed, &message),
    }
}

fn step_error(err: &AssistantError) -> StepError {
    let busy = |retry_after: Option<Duration>| StepError::Busy { retry_after };
    let permanent = |code| StepError::Permanent { code, message: err.message().into_owned() };

    match err {
        AssistantError::UpstreamBusy { retry_after }
        | AssistantError::UpstreamLimitReached { retry_after } => busy(Some(*retry_after)),
        AssistantError::Unavailable | AssistantError::Stopping => busy(None),
        AssistantError::OverBudget(_) => permanent(FailureCode::BudgetExceeded),
        AssistantError::UpstreamTimeout => failed(FailureCode::UpstreamTimeout, &err.message()),
        AssistantError::UpstreamFailed | AssistantError::UpstreamRefused => {
            failed(FailureCode::UpstreamFailed, &err.message())
        }
        AssistantError::Malformed(_)
        | AssistantError::Invalid(_)
        | AssistantError::TextTooLong { .. }
        | AssistantError::UnknownModel
        | AssistantError::NotConfigured
        | AssistantError::ToolsRefused
        | AssistantError::ContextTooLong => permanent(FailureCode::UpstreamFailed),
    }
}
