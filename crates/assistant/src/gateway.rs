//! One call of a model, whole or streamed: what all use cases share.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use pia_kernel::{Clock, GroupId, Live, Secret, UserId};

use crate::admission::{Admitted, Wish};
use crate::answer::{Answer, UsageChunks};
use crate::catalogue::Catalogue;
use crate::completion;
use crate::credits::{Bank, CreditSettings};
use crate::error::AssistantError;
use crate::pieces::Pieces;
use crate::ports::{ChatCall, ChatUpstream, OutputCap, Tokens, UpstreamError, UsageLog, Waits};
use crate::refusal::{Tools, explained};
use crate::rules::{KeyPurse, Rules};
use crate::sample::Sample;
use crate::settings::Settings;
use crate::target::{Mode, ReasoningEffort};
use crate::ticket::{Cost, Ticket};

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
    /// What groups say of their members' calls.
    pub rules: Arc<dyn Rules>,
    /// Where credits are counted.
    pub bank: Arc<dyn Bank>,
    /// What counts tokens that no upstream tells.
    pub tokens: Arc<dyn Tokens>,
    /// What streams wait for.
    pub waits: Arc<dyn Waits>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Which models there are.
    pub catalogue: Live<Catalogue>,
    /// What an operator has set.
    pub settings: Live<Settings>,
    /// What an operator has said of credits.
    pub credits: Live<CreditSettings>,
}

/// A request that is ready but for its model: an object that is still open.
pub(crate) struct Prompt {
    /// `{"messages":[…]`, and what else the caller may say.
    pub(crate) body: Pieces,
    /// What our estimate of its tokens is made of.
    pub(crate) text: Text,
    pub(crate) tools: Tools,
    /// What the caller wants to be enough of an answer, in tokens.
    pub(crate) max_output: Option<OutputCap>,
    /// How long the caller wants it thought about.
    pub(crate) effort: Option<ReasoningEffort>,
}

/// What a prompt says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Text {
    /// Its words.
    pub(crate) words: Sample,
    /// The tokens of what else is in it: pictures, and what is put round each
    /// message.
    pub(crate) besides: i64,
}

impl Text {
    /// Its tokens.
    pub(crate) fn tokens(&self, tokens: &dyn Tokens) -> i64 {
        self.words.tokens(tokens).saturating_add(self.besides)
    }
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
        let Admitted { mut ticket, max_output } = self.asked(asker, otherwise, &prompt).await?;
        let call = call(&ticket, prompt, max_output);
        match self.unless_stopped(self.upstream.whole(call)).await {
            None => {
                ticket.fail(Cost::Something);
                Err(AssistantError::Stopping)
            }
            Some(Ok(body)) => {
                ticket.meter.told = completion::usage(&body);
                if ticket.meter.told.is_none() {
                    ticket.meter.wrote(&completion::text(&body));
                }
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
        let Admitted { ticket, max_output } = self.asked(asker, otherwise, &prompt).await?;
        let call = call(&ticket, prompt, max_output);
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

    /// Finds the model that answers, and admits the call.
    async fn asked(
        &self,
        asker: Asker,
        otherwise: Mode,
        prompt: &Prompt,
    ) -> Result<Admitted, AssistantError> {
        let target =
            self.catalogue.get().serving(asker.mode).ok_or(AssistantError::NotConfigured)?;
        let rules = self.rules.of(asker.group).await;
        let rules = rules.map_err(|err| AssistantError::unavailable(&err))?;
        let wish = Wish {
            asker,
            mode: asker.mode.unwrap_or(otherwise),
            rules: &rules,
            rates: target.rates,
            target,
            prompt: prompt.text.tokens(&*self.tokens),
            max_output: prompt.max_output,
        };
        self.admit(wish).await
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

/// What an upstream that failed so may bill.
pub(crate) fn cost(err: &UpstreamError) -> Cost {
    match err {
        UpstreamError::Refused { .. } | UpstreamError::Unreachable(_) => Cost::Nothing,
        UpstreamError::Silent | UpstreamError::Cut | UpstreamError::TooLong => Cost::Something,
    }
}

/// The call of a target, as its prompt has it.
fn call(ticket: &Ticket, prompt: Prompt, max_output: Option<OutputCap>) -> ChatCall {
    let target = Arc::clone(&ticket.target);
    ChatCall {
        key: target.keys.first().cloned().unwrap_or_else(|| Secret::new(String::new())),
        body: prompt.body.finish(),
        max_output,
        effort: prompt.effort.or(target.reasoning_effort),
        target,
    }
}
