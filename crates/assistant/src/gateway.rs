//! One call of a model, whole or streamed: what all use cases share.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use pia_kernel::{Clock, GroupId, Live, Secret, UserId};

use crate::answer::{Answer, UsageChunks};
use crate::catalogue::Catalogue;
use crate::error::AssistantError;
use crate::pieces::Pieces;
use crate::ports::{ChatCall, ChatUpstream, OutputCap, UpstreamError, UsageLog, Waits};
use crate::refusal::{Tools, explained};
use crate::rules::KeyPurse;
use crate::settings::Settings;
use crate::target::{Mode, ReasoningEffort};
use crate::ticket::{Cost, End, Meter, Ticket};

/// Who asks, and for what.
#[derive(Debug, Clone, Copy)]
pub struct Asker {
    /// Who.
    pub user: UserId,
    /// The group that they are in.
    pub group: GroupId,
    /// The key that they call with, if they use one.
    pub key: Option<KeyPurse>,
    /// The mode that was named, where it is one we know.
    pub mode: Option<Mode>,
}

/// What the AI proxy can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Whether it can answer anything.
    pub available: bool,
    /// The modes that a model serves.
    pub modes: Vec<Mode>,
}

/// The way to the upstream models. Each worker has one of its own, since its
/// `upstream` holds the connections of that worker.
#[derive(Clone)]
pub struct Gateway {
    /// Where models answer.
    pub upstream: Arc<dyn ChatUpstream>,
    /// Where usage is written down.
    pub usage: Arc<dyn UsageLog>,
    /// What streams wait for.
    pub waits: Arc<dyn Waits>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Which models there are.
    pub catalogue: Live<Catalogue>,
    /// What an operator has set.
    pub settings: Live<Settings>,
}

/// A request that is ready but for its model: an object that is still open.
pub(crate) struct Prompt {
    /// `{"messages":[…]`, and what else the caller may say.
    pub(crate) body: Pieces,
    /// Our estimate of its tokens.
    pub(crate) tokens: i64,
    pub(crate) tools: Tools,
    /// What the caller wants to be enough of an answer, in tokens.
    pub(crate) max_output: Option<OutputCap>,
    /// How long the caller wants it thought about.
    pub(crate) effort: Option<ReasoningEffort>,
}

/// A whole answer, and what it cost.
pub(crate) struct Whole {
    pub(crate) body: Bytes,
    pub(crate) ticket: Ticket,
}

impl Gateway {
    /// What the AI proxy can do, as it is configured now.
    pub fn status(&self) -> Status {
        let catalogue = self.catalogue.get();
        let modes: Vec<Mode> =
            Mode::ALL.into_iter().filter(|it| catalogue.serving(Some(*it)).is_some()).collect();
        Status { available: !modes.is_empty(), modes }
    }

    /// Waits for a whole answer. The ticket is still open: whether the answer
    /// is one is for the caller to find out.
    pub(crate) async fn whole(
        &self,
        asker: Asker,
        otherwise: Mode,
        prompt: Prompt,
    ) -> Result<Whole, AssistantError> {
        let tools = prompt.tools;
        let mut ticket = self.admit(asker, otherwise, prompt.tokens)?;
        let call = call(&ticket, prompt);
        match self.unless_stopped(self.upstream.whole(call)).await {
            None => {
                ticket.fail(Cost::Something);
                Err(AssistantError::Stopping)
            }
            Some(Ok(body)) => {
                ticket.meter.answer = estimate(body.len());
                Ok(Whole { body, ticket })
            }
            Some(Err(err)) => {
                ticket.fail(cost(&err));
                Err(explained(&err, tools, &ticket.target))
            }
        }
    }

    /// Begins a streamed answer.
    pub(crate) async fn stream(
        &self,
        asker: Asker,
        otherwise: Mode,
        prompt: Prompt,
        usage: UsageChunks,
    ) -> Result<Answer, AssistantError> {
        let tools = prompt.tools;
        let ticket = self.admit(asker, otherwise, prompt.tokens)?;
        let call = call(&ticket, prompt);
        let upstream = Arc::clone(&self.upstream);
        let opening = Box::pin(async move { upstream.open(call).await });
        let settings = self.settings.get();
        let waits = Arc::clone(&self.waits);
        Answer::new(opening, ticket, waits, settings.heartbeat)
            .with_tools(tools)
            .with_usage(usage)
            .opened(settings.open_after)
            .await
    }

    /// Decides whether a call may be made. Budgets belong here.
    fn admit(&self, asker: Asker, otherwise: Mode, prompt: i64) -> Result<Ticket, AssistantError> {
        let target =
            self.catalogue.get().serving(asker.mode).ok_or(AssistantError::NotConfigured)?;
        Ok(Ticket {
            user: asker.user,
            mode: asker.mode.unwrap_or(otherwise),
            target,
            meter: Meter { prompt, ..Meter::default() },
            end: End::Open,
            log: Arc::clone(&self.usage),
            clock: Arc::clone(&self.clock),
        })
    }

    async fn unless_stopped<F: Future>(&self, work: F) -> Option<F::Output> {
        let mut work = pin!(work);
        let mut stop = self.waits.stop();
        poll_fn(|cx| match work.as_mut().poll(cx) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending => stop.as_mut().poll(cx).map(|()| None),
        })
        .await
    }
}

/// About four characters make a token.
pub(crate) fn estimate(characters: usize) -> i64 {
    i64::try_from(characters.div_ceil(4)).unwrap_or(i64::MAX)
}

/// What an upstream that failed so may bill.
pub(crate) fn cost(err: &UpstreamError) -> Cost {
    match err {
        UpstreamError::Refused { .. } | UpstreamError::Unreachable(_) => Cost::Nothing,
        UpstreamError::Silent | UpstreamError::Cut | UpstreamError::TooLong => Cost::Something,
    }
}

/// The call of a target, as its prompt has it.
fn call(ticket: &Ticket, prompt: Prompt) -> ChatCall {
    let target = Arc::clone(&ticket.target);
    ChatCall {
        key: target.keys.first().cloned().unwrap_or_else(|| Secret::new(String::new())),
        body: prompt.body.finish(),
        max_output: prompt.max_output,
        effort: prompt.effort.or(target.reasoning_effort),
        target,
    }
}
