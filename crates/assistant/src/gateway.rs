//! Calls of models, full or streamed, that all use cases share.
//!
//! `Gateway` bundles the ports and the state that every call needs. Other files add methods
//! to it: `credits/admission.rs`, `answering.rs`, `single_call.rs`, `tools/searching.rs` and
//! `knowledge/rewriting.rs`. Clones are cheap, and a turn has its own.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use pia_kernel::{Clock, GroupId, LiveSetting};

use crate::ai_caller::AiCaller;
use crate::credits::{CreditSettings, CreditStore};
use crate::error::AssistantError;
use crate::guardrail::Guardrail;
use crate::knowledge::Knowledge;
use crate::personas::Personas;
use crate::ports::{ChatUpstream, Timer, TimerFuture, TokenCounter, UsageLog};
use crate::request::surface::Surface;
use crate::routing::attempts::Attempts;
use crate::routing::catalogue::ModelCatalogue;
use crate::routing::keys::KeyHealth;
use crate::routing::route::{choices, embedders, modes};
use crate::routing::target::{Mode, Target, TimedTarget};
use crate::routing::upstream_limiter::{CallDemand, LimitReached, Permit, UpstreamLimiter};
use crate::rules::Rules;
use crate::settings::Settings;
use crate::tools::connectors::ConnectorTools;
use crate::tools::web_search::WebSearch;

/// Availability of the AI proxy for a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Set if any model is available.
    pub available: bool,
    /// Modes that are served without a model name.
    pub modes: Vec<Mode>,
}

/// Gateway to the upstream models. Each worker has its own, since `upstream`
/// holds the connections of that worker.
#[derive(Clone)]
pub struct Gateway {
    /// Client of upstream models, with this worker's connections.
    pub upstream: Arc<dyn ChatUpstream>,
    /// Log that records the usage of every call.
    pub usage: Arc<dyn UsageLog>,
    /// Timer of timeouts and durations.
    pub timer: Arc<dyn Timer>,
    /// Clock of usage records and budgets.
    pub clock: Arc<dyn Clock>,
    /// Catalogue of models; a change applies to the next call.
    pub catalogue: LiveSetting<ModelCatalogue>,
    /// Operator's settings of calls; a change applies to the next one.
    pub settings: LiveSetting<Settings>,
    /// Rules of groups for their members' calls.
    pub rules: Arc<dyn Rules>,
    /// Store that admits limited calls and settles them.
    pub credit_store: Arc<dyn CreditStore>,
    /// Operator's settings of credits; a change applies to the next call.
    pub credits: LiveSetting<CreditSettings>,
    /// Counter of tokens that no upstream reports.
    pub tokens: Arc<dyn TokenCounter>,
    /// Assignments of personas, whose instructions a call may name.
    pub personas: Arc<dyn Personas>,
    /// Knowledge bases that chats are answered from.
    pub knowledge: Arc<dyn Knowledge>,
    /// Tools that connectors offer to models.
    pub connectors: Arc<dyn ConnectorTools>,
    /// Model that rewrites the questions that knowledge bases are searched for;
    /// `None` searches for the questions of users.
    pub question_model: Option<TimedTarget>,
    /// Source of the protection of responses.
    pub guardrail: Arc<dyn Guardrail>,
    /// Web search for models without one.
    pub search: Arc<dyn WebSearch>,
    /// Health of upstream keys, shared by all workers.
    pub keys: Arc<KeyHealth>,
    /// Limiter of calls to upstreams.
    pub upstream_limiter: Arc<UpstreamLimiter>,
    /// Counters of attempts, shared by all workers.
    pub attempts: Arc<Attempts>,
}

impl Gateway {
    /// Returns the availability of the AI proxy for the members of a group, as
    /// configured now.
    pub async fn status(&self, group: GroupId) -> Result<Status, AssistantError> {
        let rules = self.rules.rules_of(group).await?;
        let catalogue = self.catalogue.get();
        let served_modes = modes(&catalogue, &rules);
        let available = !served_modes.is_empty() || !choices(&catalogue, &rules).is_empty();
        Ok(Status { available, modes: served_modes })
    }

    /// Returns a model name, which may be in any case, as the catalogue spells
    /// it, or `None` if the caller may not use it.
    pub async fn model(
        &self,
        caller: AiCaller,
        name: &str,
    ) -> Result<Option<String>, AssistantError> {
        let models = self.models(caller).await?;
        Ok(models.into_iter().find(|it| it.eq_ignore_ascii_case(name)))
    }

    /// Returns the names that a caller may use as the `model` of a request; for
    /// OpenAI's clients they include embedding models.
    pub async fn models(&self, caller: AiCaller) -> Result<Vec<String>, AssistantError> {
        let rules = self.rules.rules_of(caller.group).await?;
        let catalogue = self.catalogue.get();
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

    /// Waits at most `max_wait` for a permit of an upstream.
    pub(crate) async fn acquire_permit(
        &self,
        target: &Target,
        demand: CallDemand,
        max_wait: Duration,
    ) -> Result<Permit, AssistantError> {
        let permit = self.upstream_limiter.acquire(target, demand, max_wait, &self.timer);
        match self.unless_stopped(permit).await {
            None => Err(AssistantError::Stopping),
            Some(Ok(permit)) => Ok(permit),
            Some(Err(LimitReached { retry_after })) => {
                Err(AssistantError::UpstreamLimitReached { retry_after })
            }
        }
    }

    /// Returns the result of work, unless the server stops before.
    pub(crate) async fn unless_stopped<F: Future>(&self, work: F) -> Option<F::Output> {
        run_until(self.timer.stop(), work).await
    }

    /// Returns the result of work, unless it takes longer than this.
    pub(crate) async fn within<F: Future>(&self, limit: Duration, work: F) -> Option<F::Output> {
        run_until(self.timer.pause(limit), work).await
    }
}

async fn run_until<F: Future>(mut end: TimerFuture, work: F) -> Option<F::Output> {
    let mut work = pin!(work);
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => end.as_mut().poll(cx).map(|()| None),
    })
    .await
}
