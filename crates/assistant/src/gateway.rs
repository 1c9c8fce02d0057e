//! Call of a model, whole or streamed: what all use cases share.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use pia_kernel::{Clock, GroupId, LiveSetting, UserId};
use uuid::Uuid;

use crate::credits::metered_call::{Billable, MeteredCall};
use crate::credits::usage::Usage;
use crate::credits::{CreditSettings, CreditStore};
use crate::error::AssistantError;
use crate::guardrail::Guardrail;
use crate::personas::Personas;
use crate::ports::{ChatUpstream, Timer, TokenCounter, UpstreamError, UsageLog};
use crate::request::prompt_body::UpstreamPrompt;
use crate::request::surface::Surface;
use crate::routing::attempts::Attempts;
use crate::routing::catalogue::ModelCatalogue;
use crate::routing::keys::KeyHealth;
use crate::routing::route::{choices, embedders, modes};
use crate::routing::target::{Mode, Target};
use crate::routing::upstream_limiter::{LimitReached, Permit, UpstreamLimiter};
use crate::rules::{ApiKeyBudget, Rules};
use crate::settings::Settings;
use crate::stream;
use crate::stream::answer::{ChatStream, UsageChunks};
use crate::tools::web_search::WebSearch;
use crate::turn::{ToolMode, Turn};

/// Caller of a model, and their purpose.
#[derive(Debug, Clone, Copy)]
pub struct AiCaller {
    /// Account of the caller.
    pub user: UserId,
    /// The group that they are in.
    pub group: GroupId,
    /// The key that they call with, if they use one.
    pub key: Option<ApiKeyBudget>,
    /// The mode that was named, where it is one we know.
    pub mode: Option<Mode>,
    /// The persona that was named, granted or not.
    pub persona: Option<Uuid>,
    /// Through which surface.
    pub surface: Surface,
}

/// Availability of the AI proxy for somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// True if it can answer them anything.
    pub available: bool,
    /// The modes that a model serves, without one being named.
    pub modes: Vec<Mode>,
}

/// The way to the upstream models. Each worker has one of its own, since its
/// `upstream` holds the connections of that worker.
#[derive(Clone)]
pub struct Gateway {
    /// Client of the models.
    pub upstream: Arc<dyn ChatUpstream>,
    /// Log of usage.
    pub usage: Arc<dyn UsageLog>,
    /// Timer of streams.
    pub timer: Arc<dyn Timer>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Catalogue of models.
    pub catalogue: LiveSetting<ModelCatalogue>,
    /// Operator's settings.
    pub settings: LiveSetting<Settings>,
    /// Rules of groups for their members' calls.
    pub rules: Arc<dyn Rules>,
    /// Store of credits.
    pub credit_store: Arc<dyn CreditStore>,
    /// Operator's settings of credits.
    pub credits: LiveSetting<CreditSettings>,
    /// Counter of tokens that no upstream reports.
    pub tokens: Arc<dyn TokenCounter>,
    /// Grants of personas.
    pub personas: Arc<dyn Personas>,
    /// Marking of answers given under protection.
    pub guardrail: Arc<dyn Guardrail>,
    /// Web search for models that have none.
    pub search: Arc<dyn WebSearch>,
    /// Health of upstream keys.
    pub keys: Arc<KeyHealth>,
    /// Lets calls to upstreams as much may be asked of them.
    pub upstream_limiter: Arc<UpstreamLimiter>,
    /// Counters of attempts.
    pub attempts: Arc<Attempts>,
}

/// A whole answer, and what it cost.
pub(crate) struct FullAnswer {
    pub(crate) body: Bytes,
    /// Metered call of the last attempt.
    pub(crate) metered_call: MeteredCall,
    /// Usage of the attempts before the last.
    pub(crate) spent: Usage,
}

impl Gateway {
    /// Returns the availability of the AI proxy for the members of a group, as
    /// configured now.
    pub async fn status(&self, group: GroupId) -> Result<Status, AssistantError> {
        let (rules, catalogue) = (self.rules.rules_of(group).await?, self.catalogue.get());
        let modes = modes(&catalogue, &rules);
        let available = !modes.is_empty() || !choices(&catalogue, &rules).is_empty();
        Ok(Status { available, modes })
    }

    /// The name that a caller may give as the `model` of a request, which may
    /// be spelled in any case; nothing where they may not.
    pub async fn model(
        &self,
        caller: AiCaller,
        name: &str,
    ) -> Result<Option<String>, AssistantError> {
        let models = self.models(caller).await?;
        Ok(models.into_iter().find(|it| it.eq_ignore_ascii_case(name)))
    }

    /// The names that a caller may give as the `model` of a request: for
    /// OpenAI's clients also those of embedding models.
    pub async fn models(&self, caller: AiCaller) -> Result<Vec<String>, AssistantError> {
        let (rules, catalogue) = (self.rules.rules_of(caller.group).await?, self.catalogue.get());
        let mut models = choices(&catalogue, &rules);
        if caller.surface == Surface::OpenAi {
            models.extend(embedders(&catalogue, &rules));
        }
        Ok(models)
    }

    /// Returns whether a caller may name this model for a conversation.
    pub(crate) async fn may_chat(
        &self,
        caller: AiCaller,
        name: &str,
    ) -> Result<bool, AssistantError> {
        let rules = self.rules.rules_of(caller.group).await?;
        let models = choices(&self.catalogue.get(), &rules);
        Ok(models.iter().any(|it| it.eq_ignore_ascii_case(name)))
    }

    /// Waits for room at an upstream, so long at most, for a call of a group
    /// with so many tokens.
    pub(crate) async fn acquire_permit(
        &self,
        target: &Target,
        requested: (GroupId, i64),
        patience: Duration,
    ) -> Result<Permit, AssistantError> {
        let entering = self.upstream_limiter.acquire(target, requested, patience, &self.timer);
        match self.unless_stopped(entering).await {
            None => Err(AssistantError::Stopping),
            Some(Ok(slot)) => Ok(slot),
            Some(Err(LimitReached { retry_after })) => {
                Err(AssistantError::UpstreamLimitReached { retry_after })
            }
        }
    }

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

    pub(crate) async fn unless_stopped<F: Future>(&self, work: F) -> Option<F::Output> {
        let mut work = pin!(work);
        let mut stop = self.timer.stop();
        poll_fn(|cx| match work.as_mut().poll(cx) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending => stop.as_mut().poll(cx).map(|()| None),
        })
        .await
    }
}

/// Returns whether an upstream may bill a call that failed so.
pub(crate) fn cost(err: &UpstreamError) -> Billable {
    match err {
        UpstreamError::Refused { .. } | UpstreamError::Unreachable(_) => Billable::Nothing,
        UpstreamError::Silent | UpstreamError::Cut | UpstreamError::TooLong => Billable::Something,
    }
}
